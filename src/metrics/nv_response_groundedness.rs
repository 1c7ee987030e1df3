//! NVIDIA's response groundedness: do the contexts say what the response says?

use super::{About, Case, Metric, is_blank, list_of, ratings, text_of};
use crate::judge::asks::Groundedness;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;

/// RG = (r1 + r2) / 4: is the response grounded in the contexts, rated 0, 1 or 2 in two wordings?
///
/// A rating is the judge's distribution over the levels; both the expected and the most likely level stand beside the
/// score, as shares of the highest.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the response is empty, or nothing was retrieved; in `strict` also if either is white space alone.
/// - Edge cases: in `ragas` white space alone gives 0.
/// - Source: Ragas 0.4.3, `metrics/collections/response_groundedness`, by NVIDIA.
/// - Difference from Ragas 0.4.3, strict: the expected level; there, and in `ragas`, the most likely one.
#[derive(Debug)]
pub struct NvResponseGroundedness;

impl Metric for NvResponseGroundedness {
    fn about(&self) -> About<'_> {
        About {
            name: "nv_response_groundedness",
            aliases: &["response_groundedness"],
            summary: "whether the contexts say what the response says, rated twice",
            columns: &[Column::Response, Column::RetrievedContexts],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (response, contexts) = (text_of(&sample.response), list_of(&sample.retrieved_contexts));
        if response.is_empty() || contexts.is_empty() {
            return Err(Stop::unscored("the response is empty, or nothing was retrieved"));
        }
        if is_blank(response) || contexts.iter().all(|context| is_blank(context)) {
            return Ok(Vec::new());
        }
        ratings::judge(answers, |template| Groundedness { template, contexts, response })
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        match (ratings::score(case), case.settings.profile) {
            (Some(score), _) => Ok(score),
            (None, Profile::Ragas) => Ok(Score::of(0.0)),
            (None, Profile::Strict) => Err(Stop::unscored("the response or the contexts hold nothing but white space")),
        }
    }
}
