//! Reports: what do people read of a run?

pub mod files;
pub mod rescore;
pub mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metrics::Metric;
use crate::record::{Outcome, Record};

/// The figures of a metric over all samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MetricSummary {
    /// The mean of the scores; `None` if there is none.
    pub mean: Option<f64>,
    /// The mean with failed cells as the worst score, 0 for most metrics; `None` if all are unscored.
    pub strict_mean: Option<f64>,
    /// Scored cells as a share of those that had something to score (scored and failed); `None` if there was none.
    pub coverage: Option<f64>,
    /// Cells with a score: the denominator of the mean.
    pub n_scored: usize,
    /// Cells with nothing to score.
    pub n_unscored: usize,
    /// Cells whose score could not be had.
    pub n_failed: usize,
}

/// The figures of a run, gathered record by record.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    n_samples: usize,
    tokens_asked: u64,
    /// By metric, in the order of the cells.
    totals: Vec<(String, Totals)>,
}

#[derive(Debug, Clone, Default)]
struct Totals {
    failed_as: f64,
    sum: f64,
    n_scored: usize,
    n_unscored: usize,
    n_failed: usize,
}

impl Summary {
    /// Nothing yet, for these metrics.
    pub fn new(metrics: &[&dyn Metric]) -> Self {
        let totals = metrics.iter().map(|metric| {
            let about = metric.about();
            (about.name.to_owned(), Totals { failed_as: about.failed_as, ..Totals::default() })
        });
        let totals = totals.collect();
        Self { totals, ..Self::default() }
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        self.n_samples += 1;
        for (cell, (_, totals)) in record.cells.iter().zip(&mut self.totals) {
            self.tokens_asked += cell.tokens_asked;
            match &cell.outcome {
                Outcome::Scored(score) => {
                    totals.sum += score.score;
                    totals.n_scored += 1;
                }
                Outcome::Unscored { .. } => totals.n_unscored += 1,
                Outcome::Failed { .. } => totals.n_failed += 1,
            }
        }
    }

    /// Samples so far.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Tokens of all prompts and texts so far.
    pub fn tokens_asked(&self) -> u64 {
        self.tokens_asked
    }

    /// Cells that failed so far.
    pub fn n_failed(&self) -> usize {
        self.totals.iter().map(|(_, totals)| totals.n_failed).sum()
    }

    /// The figures of each metric, in order.
    pub fn metrics(&self) -> Vec<(&str, MetricSummary)> {
        self.totals.iter().map(|(name, totals)| (name.as_str(), totals.summary())).collect()
    }

    /// `summary.json`.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Json<'a> {
            n_samples: usize,
            metrics: BTreeMap<&'a str, MetricSummary>,
        }
        let json = Json { n_samples: self.n_samples, metrics: self.metrics().into_iter().collect() };
        serde_json::to_string_pretty(&json).expect("a summary has only strings and finite numbers") + "\n"
    }
}

impl Totals {
    fn summary(&self) -> MetricSummary {
        let share = |amount: f64, n: usize| (n > 0).then(|| amount / n as f64);
        let n_tried = self.n_scored + self.n_failed;
        MetricSummary {
            mean: share(self.sum, self.n_scored),
            strict_mean: share(self.sum + self.failed_as * self.n_failed as f64, n_tried),
            coverage: share(self.n_scored as f64, n_tried),
            n_scored: self.n_scored,
            n_unscored: self.n_unscored,
            n_failed: self.n_failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Faithfulness, Noise, NoiseSensitivity};
    use crate::record::{Cell, Score};
    use crate::sample::Sample;
    use crate::text::Language;

    const FAITHFULNESS: &[&dyn Metric] = &[&Faithfulness];

    fn record(outcome: Outcome) -> Record {
        let cell = Cell {
            metric: "m".into(),
            outcome,
            evidence: None,
            notes: Vec::new(),
            written: Vec::new(),
            tokens_asked: 10,
        };
        Record { sample: Sample::default(), language: Language::English, cells: vec![cell] }
    }

    fn scored(score: f64) -> Record {
        record(Outcome::Scored(Score::of(score)))
    }

    #[test]
    fn unscored_cells_are_counted_and_failed_ones_weigh_as_zero_in_the_strict_mean() {
        let mut summary = Summary::new(FAITHFULNESS);
        [1.0, 0.5].into_iter().for_each(|score| summary.add(&scored(score)));
        summary.add(&record(Outcome::Unscored { reason: "empty".into() }));
        summary.add(&record(Outcome::Failed { reason: "broken".into() }));
        let expected = MetricSummary {
            mean: Some(0.75),
            strict_mean: Some(0.5),
            coverage: Some(2.0 / 3.0),
            n_scored: 2,
            n_unscored: 1,
            n_failed: 1,
        };
        assert_eq!(summary.metrics(), [("faithfulness", expected)]);
        assert_eq!((summary.n_samples(), summary.n_failed(), summary.tokens_asked()), (4, 1, 40));
    }

    #[test]
    fn failed_cell_is_the_worst_where_the_lowest_score_is_best() {
        let mut summary = Summary::new(&[&NoiseSensitivity { noise: Noise::Relevant }]);
        summary.add(&scored(0.0));
        summary.add(&record(Outcome::Failed { reason: "broken".into() }));
        assert_eq!(summary.metrics()[0].1.strict_mean, Some(0.5));
    }

    #[test]
    fn metric_without_scores_has_no_mean() {
        let mut summary = Summary::new(FAITHFULNESS);
        summary.add(&record(Outcome::Unscored { reason: "empty".into() }));
        let (_, figures) = summary.metrics().remove(0);
        assert_eq!((figures.mean, figures.strict_mean, figures.coverage), (None, None, None));
    }
}
