//! Context recall: how much of the reference can be found in the retrieved contexts?

use super::{About, Metric, list_of, support, text_of};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::text;

/// Recall = statements of the reference that the contexts support / statements of the reference.
///
/// Range 0 to 1, 1 is best. Unscored if the reference has no sentence. Without contexts 0.
///
/// Source: Ragas 0.4.3, `metrics/_context_recall.py`. Differences from it: the statements are the reference's
/// sentences, there the judge splits the reference, and what it lists is the denominator; each statement is one
/// question of yes or no.
#[derive(Debug)]
pub struct ContextRecall;

impl Metric for ContextRecall {
    fn about(&self) -> &About {
        &About {
            name: "context_recall",
            summary: "share of the reference's sentences that the contexts support",
            columns: &[Column::UserInput, Column::RetrievedContexts, Column::Reference],
            models: &[Role::Judge],
            range: (0.0, 1.0),
            depth: 1,
        }
    }

    fn score(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop> {
        let statements: Vec<String> =
            text::sentences(text_of(&sample.reference)).into_iter().map(str::to_owned).collect();
        if statements.is_empty() {
            return Err(Stop::unscored("the reference is empty"));
        }
        let judged = support::verify(&statements, list_of(&sample.retrieved_contexts), answers)?;
        let score = support::share(&judged);
        Ok(Score { score, evidence: judged.into_iter().map(Evidence::Statement).collect() })
    }
}
