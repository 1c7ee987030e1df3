//! Context recall: how much of the reference can be found in the retrieved contexts?

use super::{About, Case, Metric, list_of, support, text_of};
use crate::judge::asks::Claims;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Statements;
use crate::text;

/// Recall = statements of the reference that the contexts support / statements of the reference.
///
/// The statements are the reference's sentences, list items and table rows; with `--statements written` the judge
/// writes them, as it writes the claims of a response. Each is held against the contexts as a claim of faithfulness is.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the reference has no sentence, or the judge writes no statement; in `ragas` also if nothing was
///   retrieved.
/// - Edge cases: in `strict` the score is 0 where nothing was retrieved, and in both where all contexts are blank.
/// - Source: Ragas 0.4.3, `metrics/collections/context_recall`.
/// - Difference from Ragas 0.4.3, both profiles: there the judge splits the reference while it judges, and what it
///   lists is the denominator.
/// - Difference from Ragas 0.4.3, strict: without contexts the score is 0; there it is an error, so that `ragas` has no
///   score.
/// - Difference from Ragas 0.4.3, both profiles: nobody is asked about blank contexts; there the judge is.
#[derive(Debug)]
pub struct ContextRecall;

impl Metric for ContextRecall {
    fn about(&self) -> About<'_> {
        About {
            name: "context_recall",
            aliases: &["llm_context_recall"],
            summary: "share of the reference's sentences that the contexts support",
            columns: &[Column::UserInput, Column::RetrievedContexts, Column::Reference],
            models: &[Role::Judge],
            depth: 2,
            is_default: true,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let reference = text_of(&sample.reference);
        let sentences = text::sentences(reference);
        if sentences.is_empty() {
            return Err(Stop::unscored("the reference holds no sentence"));
        }
        let statements: Vec<String> = match answers.settings().statements {
            Statements::Sentences => sentences.into_iter().map(str::to_owned).collect(),
            Statements::Written => {
                answers.ask(&Claims { user_input: text_of(&sample.user_input), response: reference })?
            }
        };
        let judged = support::verify(&statements, list_of(&sample.retrieved_contexts), answers)?;
        Ok(judged.into_iter().map(Evidence::Statement).collect())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        support::share(case, "the reference makes no statement")
    }
}
