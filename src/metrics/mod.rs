//! Metrics: what is measured, and from which answers does a score follow?
//!
//! A metric is a pure function of a sample and the answers about it. One file a metric, one line in [`METRICS`].

mod answer_relevancy;
mod context_precision;
mod context_recall;
mod context_utilization;
mod faithfulness;
mod ranking;
mod support;

use crate::error::{Error, Result};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::Score;
use crate::sample::{Column, Sample};

pub use answer_relevancy::AnswerRelevancy;
pub use context_precision::ContextPrecision;
pub use context_recall::ContextRecall;
pub use context_utilization::ContextUtilization;
pub use faithfulness::Faithfulness;

/// Every metric, in the order in which tables show them.
pub const METRICS: &[&dyn Metric] =
    &[&Faithfulness, &AnswerRelevancy, &ContextPrecision, &ContextUtilization, &ContextRecall];

/// Something that can be measured on a sample.
pub trait Metric: Sync {
    /// What it needs and what its scores mean.
    fn about(&self) -> &About;

    /// The score of a sample that has all columns it needs.
    ///
    /// # Errors
    /// [`Stop::Pending`] while answers are missing, otherwise why there is no score.
    fn score(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop>;
}

/// What a metric needs, and what its scores mean.
#[derive(Debug)]
pub struct About {
    /// The name, that of Ragas.
    pub name: &'static str,
    /// One line of meaning.
    pub summary: &'static str,
    /// The columns it needs.
    pub columns: &'static [Column],
    /// The models it needs.
    pub models: &'static [Role],
    /// The smallest and the largest score; the largest is the best.
    pub range: (f64, f64),
    /// Rounds of questions it needs at most.
    pub depth: usize,
}

/// The metric of this name.
///
/// # Errors
/// [`Error::Usage`] that names the nearest metric, or all.
pub fn find(name: &str) -> Result<&'static dyn Metric> {
    if let Some(metric) = METRICS.iter().find(|metric| metric.about().name == name) {
        return Ok(*metric);
    }
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.about().name).collect();
    let nearest = names.iter().min_by_key(|known| strsim::levenshtein(name, known)).expect("there are metrics");
    let help = if strsim::levenshtein(name, nearest) <= 3 {
        format!("did you mean `{nearest}`?")
    } else {
        format!("there are `{}`", names.join("`, `"))
    };
    Err(Error::usage(format!("there is no metric `{name}`"), help))
}

/// Scores a sample if it has the metric's columns.
///
/// # Errors
/// [`Stop::Unscored`] naming the columns it lacks, otherwise as [`Metric::score`].
pub fn score(metric: &dyn Metric, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop> {
    let missing: Vec<&str> =
        metric.about().columns.iter().filter(|column| !column.is_present(sample)).map(|column| column.name()).collect();
    if !missing.is_empty() {
        return Err(Stop::Unscored(format!("the row has no `{}`", missing.join("`, `"))));
    }
    metric.score(sample, answers)
}

/// The text of a column that [`score`] found present.
fn text_of(column: &Option<String>) -> &str {
    column.as_deref().expect("the columns were checked")
}

/// The list of a column that [`score`] found present.
fn list_of(column: &Option<Vec<String>>) -> &[String] {
    column.as_deref().expect("the columns were checked")
}
