//! NVIDIA's context relevance: can the question be answered from the contexts?

use super::{About, Case, Metric, is_blank, list_of, ratings, text_of};
use crate::judge::asks;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;

/// CR = (r1 + r2) / 4: do the contexts hold what answers the question, rated 0, 1 or 2 in two wordings?
///
/// A rating is the judge's distribution over the levels; both the expected and the most likely level stand beside the
/// score, as shares of the highest.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the question is empty, or nothing was retrieved; in `strict` also if either is white space alone.
/// - Edge cases: in `ragas` white space alone gives 0, and so do contexts that are the question or a part of it.
/// - Source: Ragas 0.4.3, `metrics/collections/context_relevance`, by NVIDIA.
/// - Difference from Ragas 0.4.3, strict: the expected level; there, and in `ragas`, the most likely one.
/// - Difference from Ragas 0.4.3, strict: contexts that repeat the question are rated like others; there, and in
///   `ragas`, they are 0.
/// - Difference from Ragas 0.4.3, both profiles: the wording of the levels does not contradict itself.
#[derive(Debug)]
pub struct NvContextRelevance;

impl Metric for NvContextRelevance {
    fn about(&self) -> About<'_> {
        About {
            name: "nv_context_relevance",
            summary: "whether the contexts answer the question, rated twice",
            columns: &[Column::UserInput, Column::RetrievedContexts],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, contexts) = (text_of(&sample.user_input), list_of(&sample.retrieved_contexts));
        if user_input.is_empty() || contexts.is_empty() {
            return Err(Stop::unscored("the question is empty, or nothing was retrieved"));
        }
        if is_blank(user_input) || contexts.iter().all(|context| is_blank(context)) {
            return Ok(Vec::new());
        }
        ratings::judge(answers, |template| asks::ContextRelevance { template, contexts, user_input })
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let (user_input, contexts) = (text_of(&case.sample.user_input), list_of(&case.sample.retrieved_contexts));
        let joined = contexts.join("\n");
        match (ratings::score(case), case.settings.profile) {
            (None, Profile::Strict) => Err(Stop::unscored("the question or the contexts hold nothing but white space")),
            (None, Profile::Ragas) => Ok(Score::of(0.0)),
            (Some(_), Profile::Ragas) if user_input.contains(joined.trim()) => Ok(Score::of(0.0)),
            (Some(score), _) => Ok(score),
        }
    }
}
