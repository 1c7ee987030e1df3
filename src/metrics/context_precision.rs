//! Context precision: do the contexts that lead to the reference come first?

use super::{About, Case, Metric, is_blank, ranking, text_of};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};

/// AP = sum over ranks k of (precision at k) * v_k, divided by the sum of v_k; v_k is 1 if chunk k is useful.
///
/// Useful means that the chunk, by itself, holds what the reference says: all useful chunks should stand before the
/// useless ones. Useless chunks after the last useful one cost nothing.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if nothing was retrieved, or the reference is empty.
/// - Edge cases: if no chunk is useful, the score is 0. A blank chunk takes its rank and is useless.
/// - Source: Ragas 0.4.3, `metrics/collections/context_precision`.
/// - Difference from Ragas 0.4.3, strict: no epsilon of 1e-10, so that a perfect ranking is 1; there, and in `ragas`,
///   it is 0.9999999999.
/// - Difference from Ragas 0.4.3, both profiles: a verdict is yes or no; there an integer that the judge writes is
///   summed as it is.
/// - Difference from Ragas 0.4.3, both profiles: nobody is asked about blank contexts; there the judge is.
#[derive(Debug)]
pub struct ContextPrecision;

impl Metric for ContextPrecision {
    fn about(&self) -> About<'_> {
        About {
            name: "context_precision",
            aliases: &["llm_context_precision_with_reference", "context_precision_with_reference"],
            summary: "average precision of the contexts, judged against the reference",
            columns: &[Column::UserInput, Column::RetrievedContexts, Column::Reference],
            models: &[Role::Judge],
            depth: 1,
            is_default: true,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let reference = text_of(&sample.reference);
        if is_blank(reference) {
            return Err(Stop::unscored("the reference is empty"));
        }
        ranking::judge(sample, reference, answers)
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        Ok(ranking::score(case))
    }
}
