//! Context utilization: do the contexts that the response used come first?

use super::{About, Metric, ranking, text_of};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::Score;
use crate::sample::{Column, Sample};

/// AP = sum over ranks k of (precision at k) * v_k, divided by the sum of v_k; v_k is 1 if chunk k is useful.
///
/// Useful means that the chunk, by itself, holds what the response says. Range 0 to 1, 1 is best: all useful chunks
/// stand before the useless ones. No useful chunk gives 0. Unscored if nothing was retrieved, or the response is empty.
///
/// Source: Ragas 0.4.3, `metrics/_context_precision.py`. Difference from it: no epsilon, see
/// [`average_precision`](crate::stats::average_precision).
#[derive(Debug)]
pub struct ContextUtilization;

impl Metric for ContextUtilization {
    fn about(&self) -> &About {
        &About {
            name: "context_utilization",
            summary: "average precision of the contexts, judged against the response",
            columns: &[Column::UserInput, Column::RetrievedContexts, Column::Response],
            models: &[Role::Judge],
            range: (0.0, 1.0),
            depth: 1,
        }
    }

    fn score(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop> {
        let response = text_of(&sample.response);
        if response.trim().is_empty() {
            return Err(Stop::unscored("the response is empty"));
        }
        ranking::score(sample, response, answers)
    }
}
