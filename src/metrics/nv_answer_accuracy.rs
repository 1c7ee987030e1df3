//! Answer accuracy: does the response say what the reference says?

use super::{About, Case, Metric, is_blank, ratings, text_of};
use crate::judge::asks::AnswerAccuracy;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};

/// AA = (r1 + r2) / 8: how well do response and reference agree, rated 0, 2 or 4 in two wordings?
///
/// In the second wording response and reference change places. A rating is the judge's distribution over the levels;
/// both the expected and the most likely level stand beside the score, as shares of the highest.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the question, the response or the reference is empty.
/// - Edge cases: none.
/// - Source: Ragas 0.4.3, `metrics/collections/answer_accuracy`, by NVIDIA.
/// - Difference from Ragas 0.4.3, strict: the expected level; there, and in `ragas`, the most likely one.
/// - Difference from Ragas 0.4.3, both profiles: nothing is parsed, so a rating is never missing.
#[derive(Debug)]
pub struct NvAnswerAccuracy;

impl Metric for NvAnswerAccuracy {
    fn about(&self) -> About<'_> {
        About {
            name: "nv_answer_accuracy",
            aliases: &["nv_accuracy", "answer_accuracy"],
            summary: "agreement of the response with the reference, rated twice",
            columns: &[Column::UserInput, Column::Response, Column::Reference],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        let reference = text_of(&sample.reference);
        if [user_input, response, reference].into_iter().any(is_blank) {
            return Err(Stop::unscored("the question, the response or the reference is empty"));
        }
        ratings::judge(answers, |template| AnswerAccuracy { template, user_input, response, reference })
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        ratings::score(case).ok_or_else(|| Stop::unscored("nothing was rated"))
    }
}
