//! Context precision: do the contexts that lead to the reference come first?

use super::{About, Metric, ranking, text_of};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::Score;
use crate::sample::{Column, Sample};

/// AP = sum over ranks k of (precision at k) * v_k, divided by the sum of v_k; v_k is 1 if chunk k is useful.
///
/// Useful means that the chunk, by itself, holds what the reference says. Range 0 to 1, 1 is best: all useful chunks
/// stand before the useless ones. No useful chunk gives 0. Unscored if nothing was retrieved, or the reference is empty.
///
/// Source: Ragas 0.4.3, `metrics/_context_precision.py`. Difference from it: no epsilon, see
/// [`average_precision`](crate::stats::average_precision).
#[derive(Debug)]
pub struct ContextPrecision;

impl Metric for ContextPrecision {
    fn about(&self) -> &About {
        &About {
            name: "context_precision",
            summary: "average precision of the contexts, judged against the reference",
            columns: &[Column::UserInput, Column::RetrievedContexts, Column::Reference],
            models: &[Role::Judge],
            range: (0.0, 1.0),
            depth: 1,
        }
    }

    fn score(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop> {
        let reference = text_of(&sample.reference);
        if reference.trim().is_empty() {
            return Err(Stop::unscored("the reference is empty"));
        }
        ranking::score(sample, reference, answers)
    }
}
