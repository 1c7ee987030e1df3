//! Answer relevancy: does the response answer the question that was asked?

use super::{About, Case, Metric, is_blank, text_of};
use crate::judge::asks::{Direction, Noncommittal, ReverseQuestion};
use crate::judge::{Answers, Stop, asks};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;
use crate::stats;

/// AR = mean over i of cos(e(q), e(q_i)), where the judge writes the questions q_i from the response alone; 0 if the
/// response is noncommittal.
///
/// e is the embedder, q the user's question. The first question is the most likely one, the others are drawn
/// (`--questions`, `--seed`). It says nothing of correctness.
///
/// - Range: -1 to 1, 1 is best.
/// - Unscored: if the response or the question is empty.
/// - Edge cases: a question that the judge left empty does not count; if all are empty, the cell fails in `strict`.
/// - Source: Es et al. 2023 (RAGAS), section 3, equation 1, and Ragas 0.4.3, `metrics/collections/answer_relevancy`.
/// - Difference from Ragas 0.4.3, both profiles: questions are drawn; there three nearly equal calls are made.
/// - Difference from Ragas 0.4.3, both profiles: whether the response is noncommittal is one question; there every
///   reverse question carries a flag and all flags must agree.
/// - Difference from Ragas 0.4.3, strict: no question at all is a failure of the judge; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct AnswerRelevancy;

impl Metric for AnswerRelevancy {
    fn about(&self) -> About<'_> {
        About {
            name: "answer_relevancy",
            aliases: &["response_relevancy"],
            summary: "likeness of the question and the questions that the response would answer",
            columns: &[Column::UserInput, Column::Response],
            models: &[Role::Judge, Role::Embedder],
            range: (-1.0, 1.0),
            depth: 2,
            is_default: true,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        if is_blank(response) || is_blank(user_input) {
            return Err(Stop::unscored("the question or the response is empty"));
        }
        let n_questions = answers.settings().questions;
        let asked = answers.ask(&Direction { text: user_input });
        let questions = answers.ask_all((0..n_questions).map(|draw| ReverseQuestion { response, draw }));
        let noncommittal = answers.decide(&Noncommittal { response });
        // The reverse questions first: their directions can be asked for while the verdict is still open.
        let questions = questions?;
        let written = questions.iter().filter(|question| !question.is_empty());
        let directions = answers.ask_all(written.map(|text| Direction { text }));
        let (asked, noncommittal, directions) = (asked?, noncommittal?, directions?);
        let cosines =
            directions.iter().map(|direction| asks::cosine(&asked, direction)).collect::<Result<Vec<_>, _>>()?;
        let mut evidence = question_evidence(questions, &cosines);
        evidence.push(Evidence::Noncommittal(noncommittal));
        Ok(evidence)
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let cosine = |part: &Evidence| if let Evidence::Question { cosine, .. } = part { *cosine } else { None };
        let is_noncommittal = |part: &Evidence| matches!(part, Evidence::Noncommittal(verdict) if verdict.is_yes);
        let cosines: Vec<f64> = case.evidence.iter().filter_map(cosine).collect();
        match (stats::mean(&cosines), case.settings.profile) {
            (None, Profile::Strict) => Err(Stop::Failed("the judge wrote no question".to_owned())),
            (None, Profile::Ragas) => Ok(Score::of(0.0)),
            (Some(mean), _) if case.evidence.iter().any(is_noncommittal) => Ok(Score::of(0.0).with("cosine", mean)),
            (Some(mean), _) => Ok(Score::of(mean)),
        }
    }
}

/// Questions with their cosines; empty ones have none.
fn question_evidence(questions: Vec<String>, cosines: &[f64]) -> Vec<Evidence> {
    let mut cosines = cosines.iter();
    let evidence = |text: String| {
        let cosine = if text.is_empty() { None } else { cosines.next().copied() };
        Evidence::Question { text, cosine }
    };
    questions.into_iter().map(evidence).collect()
}
