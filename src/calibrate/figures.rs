//! Figures: how far do scores and labels agree?

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stats::agreement::{self, ReliabilityBin};
use crate::stats::bootstrap;

/// Bins of the reliability picture.
const N_BINS: usize = 10;
/// Resamples behind an interval: its ends move by about a hundredth of its width from one seed to another.
const N_RESAMPLES: usize = 2000;
/// Disagreements that are kept for reading.
const N_DISAGREEMENTS: usize = 5;

/// A score and what people said.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The row.
    pub id: String,
    /// What was judged, for reading.
    pub text: String,
    /// The score; of a pair of responses that of B less that of A.
    pub score: f64,
    /// The share of shared words, see [`super::floor`].
    pub overlap: Option<f64>,
    /// 1 for yes, 0 for no, or a grade.
    pub label: f64,
    /// Rows of one document.
    pub group: String,
    /// The pair that the row belongs to.
    pub pair: Option<String>,
}

/// A figure with its 95 % interval: of a bootstrap over groups, none where there are too few; of rates of attacks Wilson's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The ends of the interval.
    pub interval: Option<(f64, f64)>,
}

/// A row on which judge and people differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// The row.
    pub id: String,
    /// What was judged.
    pub text: String,
    /// What the judge said.
    pub score: f64,
    /// What people said.
    pub label: f64,
}

/// How far a metric and people agree on a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// The set: the file's name.
    pub set: String,
    /// The language of the rows.
    pub language: String,
    /// The metric.
    pub metric: String,
    /// Rows with a score.
    pub n_rows: usize,
    /// Rows without one.
    pub n_without_score: usize,
    /// The area under the ROC curve.
    pub auc: Option<Estimate>,
    /// The same for the share of shared words on the same rows, or, of pairs of responses, the share of pairs in order: what
    /// a judge must beat.
    pub floor: Option<f64>,
    /// The threshold of the run.
    pub threshold: f64,
    /// Balanced accuracy at it.
    pub balanced_accuracy: Option<Estimate>,
    /// Cohen's kappa at it.
    pub kappa: Option<f64>,
    /// The threshold with the largest balanced accuracy on these very rows.
    pub best_threshold: Option<f64>,
    /// Balanced accuracy at that one; it flatters, since it was chosen on the same rows.
    pub best_balanced_accuracy: Option<f64>,
    /// Brier score: the mean squared distance of score and label.
    pub brier: Option<f64>,
    /// Expected calibration error.
    pub calibration_error: Option<f64>,
    /// Scores in bins of equal width, with the share of yes in each.
    pub reliability: Vec<ReliabilityBin>,
    /// Share of pairs in their right order, ties counting half.
    pub pairwise_accuracy: Option<Estimate>,
    /// Spearman's rank correlation with graded labels.
    pub spearman: Option<Estimate>,
    /// The rows on which they differ most, worst first.
    pub disagreements: Vec<Disagreement>,
}

/// What is compared: a metric on the rows of a set in a language.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The set.
    pub set: &'a str,
    /// The language.
    pub language: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// Whether rows are pairs of responses.
    pub is_of_pairs: bool,
    /// Rows that have no score.
    pub n_without_score: usize,
    /// The threshold of the run.
    pub threshold: f64,
    /// Keys the bootstrap.
    pub seed: u64,
}

impl Figures {
    /// The figures of these points.
    pub fn of(subject: Subject<'_>, points: &[Point]) -> Self {
        let is_binary = !subject.is_of_pairs && points.iter().all(|point| point.label == 0.0 || point.label == 1.0);
        let rows: Vec<(f64, bool)> = points.iter().map(|point| (point.score, point.label == 1.0)).collect();
        let binary = if is_binary { rows.as_slice() } else { &[] };
        let is_probability = points.iter().all(|point| (0.0..=1.0).contains(&point.score));
        let probable = if is_probability { binary } else { &[] };
        let best_threshold = agreement::best_threshold(binary);
        let estimate =
            |statistic: &(dyn Fn(&[&Point]) -> Option<f64> + Sync)| estimate(points, subject.seed, statistic);
        let of_rows =
            |points: &[&Point]| points.iter().map(|point| (point.score, point.label == 1.0)).collect::<Vec<_>>();
        Self {
            set: subject.set.to_owned(),
            language: subject.language.to_owned(),
            metric: subject.metric.to_owned(),
            n_rows: points.len(),
            n_without_score: subject.n_without_score,
            auc: estimate(&|points| agreement::auc(&of_rows(points))).filter(|_| is_binary),
            floor: floor(points, subject.is_of_pairs).filter(|_| is_binary || subject.is_of_pairs),
            threshold: subject.threshold,
            balanced_accuracy: estimate(&|points| agreement::balanced_accuracy(&of_rows(points), subject.threshold))
                .filter(|_| is_binary),
            kappa: agreement::cohens_kappa(binary, subject.threshold),
            best_threshold,
            best_balanced_accuracy: best_threshold.and_then(|best| agreement::balanced_accuracy(binary, best)),
            brier: agreement::brier(probable),
            calibration_error: agreement::expected_calibration_error(probable, N_BINS),
            reliability: if probable.is_empty() { Vec::new() } else { agreement::reliability(probable, N_BINS) },
            pairwise_accuracy: estimate(&|points| pairwise(points, subject.is_of_pairs)),
            spearman: estimate(&|points| {
                agreement::spearman(&points.iter().map(|point| (point.score, point.label)).collect::<Vec<_>>())
            })
            .filter(|_| !is_binary),
            disagreements: if is_binary { disagreements(points) } else { Vec::new() },
        }
    }
}

/// What counting words reaches on these rows, if all have words.
fn floor(points: &[Point], is_of_pairs: bool) -> Option<f64> {
    let by_words = |point: &Point| Some(Point { score: point.overlap?, ..point.clone() });
    let points = points.iter().map(by_words).collect::<Option<Vec<Point>>>()?;
    if is_of_pairs {
        return pairwise(&points.iter().collect::<Vec<_>>(), true);
    }
    agreement::auc(&points.iter().map(|point| (point.score, point.label == 1.0)).collect::<Vec<_>>())
}

/// A statistic with its interval.
fn estimate(points: &[Point], seed: u64, statistic: &(dyn Fn(&[&Point]) -> Option<f64> + Sync)) -> Option<Estimate> {
    let value = statistic(&points.iter().collect::<Vec<_>>())?;
    let mut groups: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    points.iter().for_each(|point| groups.entry(&point.group).or_default().push(point));
    let groups: Vec<Vec<&Point>> = groups.into_values().collect();
    let of_refs = |points: &[&&Point]| statistic(&points.iter().map(|point| **point).collect::<Vec<_>>());
    Some(Estimate { value, interval: bootstrap::interval(&groups, of_refs, N_RESAMPLES, seed) })
}

/// Share of pairs in their right order: rows that name the same pair, the one with the higher label first; or rows that are
/// pairs themselves, of which those that people called equal do not count.
fn pairwise(points: &[&Point], is_of_pairs: bool) -> Option<f64> {
    if is_of_pairs {
        let decided = points.iter().filter(|point| point.label != 0.0);
        return agreement::pairwise_accuracy(
            &decided.map(|point| (point.score * point.label.signum(), 0.0)).collect::<Vec<_>>(),
        );
    }
    let mut pairs: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in points {
        if let Some(pair) = &point.pair {
            pairs.entry(pair).or_default().push(point);
        }
    }
    let mut ordered = Vec::new();
    for rows in pairs.values() {
        for (idx, first) in rows.iter().enumerate() {
            for second in &rows[idx + 1..] {
                if first.label > second.label {
                    ordered.push((first.score, second.score));
                } else if first.label < second.label {
                    ordered.push((second.score, first.score));
                }
            }
        }
    }
    agreement::pairwise_accuracy(&ordered)
}

fn disagreements(points: &[Point]) -> Vec<Disagreement> {
    let mut worst: Vec<&Point> = points.iter().filter(|point| (point.score - point.label).abs() > 0.5).collect();
    worst.sort_by(|a, b| (b.score - b.label).abs().total_cmp(&(a.score - a.label).abs()).then(a.id.cmp(&b.id)));
    let read = |point: &&Point| Disagreement {
        id: point.id.clone(),
        text: point.text.clone(),
        score: point.score,
        label: point.label,
    };
    worst.iter().take(N_DISAGREEMENTS).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(idx: usize, score: f64, label: f64, pair: Option<&str>) -> Point {
        let (id, text, group) = (format!("r{idx}"), format!("text {idx}"), format!("g{}", idx / 2));
        Point { id, text, score, overlap: None, label, group, pair: pair.map(str::to_owned) }
    }

    fn check(points: &[Point], is_of_pairs: bool) -> Figures {
        let subject =
            Subject { set: "s", language: "en", metric: "m", is_of_pairs, n_without_score: 0, threshold: 0.5, seed: 0 };
        Figures::of(subject, points)
    }

    #[test]
    fn binary_labels_have_what_speaks_of_yes_and_no() {
        let rows = [(0.9, 1.0), (0.6, 0.0), (0.7, 1.0), (0.2, 0.0)];
        let points: Vec<Point> = rows.iter().enumerate().map(|(idx, row)| point(idx, row.0, row.1, None)).collect();
        let figures = check(&points, false);
        // All yes above all no; at 0.5 both yes and one of two no are right; at 0.65 all.
        assert_eq!(figures.auc.map(|auc| auc.value), Some(1.0));
        assert_eq!(figures.balanced_accuracy.map(|accuracy| accuracy.value), Some(0.75));
        assert_eq!(figures.best_balanced_accuracy, Some(1.0));
        // 0.01 + 0.36 + 0.09 + 0.04, over 4.
        assert!((figures.brier.unwrap() - 0.125).abs() < 1e-12);
        assert_eq!((figures.spearman, figures.pairwise_accuracy), (None, None));
        let ids: Vec<&str> = figures.disagreements.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["r1"]);
    }

    #[test]
    fn pairs_are_rows_that_name_the_same_pair() {
        let rows = [(0.9, 1.0, "a"), (0.6, 0.0, "a"), (0.3, 1.0, "b"), (0.3, 0.0, "b")];
        let points: Vec<Point> =
            rows.iter().enumerate().map(|(idx, row)| point(idx, row.0, row.1, Some(row.2))).collect();
        // One pair in order and one tie.
        assert_eq!(check(&points, false).pairwise_accuracy.map(|share| share.value), Some(0.75));
    }

    #[test]
    fn pairs_of_responses_are_compared_by_sign_and_ties_of_people_left_out() {
        let rows = [(0.4, 0.5), (-0.2, 1.0), (0.0, -1.0), (0.3, 0.0)];
        let points: Vec<Point> = rows.iter().enumerate().map(|(idx, row)| point(idx, row.0, row.1, None)).collect();
        let figures = check(&points, true);
        // Right, wrong, a tie of the scores; people called the last one equal.
        assert_eq!(figures.pairwise_accuracy.map(|share| share.value), Some(0.5));
        assert_eq!((figures.auc, figures.brier), (None, None));
        assert!(figures.spearman.is_some());
    }
}
