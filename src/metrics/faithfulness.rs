//! Faithfulness: how much of the response is supported by the retrieved contexts?

use super::{About, Case, Metric, is_blank, list_of, support, text_of};
use crate::judge::asks::Claims;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Statements;
use crate::text;

/// F = |V| / |S|, where S are the claims of the response and V those that the contexts support.
///
/// The judge writes the claims; with `--claims sentences` they are the response's sentences. Each is then a question of yes or
/// no against every window of six sentences of the contexts (`--window`), and supported if one of them supports it: small
/// judges get lost in long texts. What the judge says of the claim without any context is taken off before.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the response is empty or makes no claim; in `ragas` also if nothing was retrieved.
/// - Edge cases: where all contexts are blank, and in `strict` where nothing was retrieved, every claim is unsupported, and
///   the score is 0. A cell fails if the judge wrote fewer than half as many claims as the response has sentences, from four
///   on: it stopped early.
/// - Source: Es et al., "RAGAS: Automated Evaluation of Retrieval Augmented Generation", 2023, section 3.
/// - Difference from Ragas 0.4.3, both profiles: S is what was submitted; there it is what the judge chose to return.
/// - Difference from Ragas 0.4.3, both profiles: claims are held against windows; there against all contexts, joined, as
///   with `--window whole`.
/// - Difference from Ragas 0.4.3, both profiles: a claim that the judge lists twice counts once.
/// - Difference from Ragas 0.4.3, strict: without contexts the score is 0; there it is an error, so that `ragas` has no
///   score.
/// - Difference from Ragas 0.4.3, both profiles: nobody is asked about blank contexts; there the judge is.
#[derive(Debug)]
pub struct Faithfulness;

impl Metric for Faithfulness {
    fn about(&self) -> About<'_> {
        About {
            name: "faithfulness",
            summary: "share of the response's claims that the contexts support",
            columns: &[Column::UserInput, Column::Response, Column::RetrievedContexts],
            models: &[Role::Judge],
            depth: 2,
            is_default: true,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        if is_blank(response) {
            return Err(Stop::unscored("the response is empty"));
        }
        let claims = match answers.settings().claims {
            Statements::Written => answers.ask(&Claims { user_input, response })?,
            Statements::Sentences => text::sentences(response).into_iter().map(str::to_owned).collect(),
        };
        let judged = support::verify(&claims, list_of(&sample.retrieved_contexts), answers)?;
        Ok(judged.into_iter().map(Evidence::Claim).collect())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        support::share(case, "the response makes no claim")
    }
}
