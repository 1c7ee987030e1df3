//! Answer relevancy: does the response answer the question that was asked?

use super::{About, Metric, text_of};
use crate::judge::asks::{Direction, Noncommittal, ReverseQuestion};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::stats;

/// AR = mean over i of cos(e(q), e(q_i)), where the judge writes the questions q_i from the response alone; 0 if the
/// response is noncommittal.
///
/// Range -1 to 1, 1 is best. Unscored if the response or the question is empty. It says nothing of correctness.
///
/// Source: Es et al. 2023 (RAGAS), section 3, equation 1, and Ragas 0.4.3, `metrics/_answer_relevance.py`. Differences
/// from it: question 0 is the most likely one and the others are drawn, there all are near-identical or need a server
/// that can sample; whether the response is noncommittal is one question of its own, there every reverse question
/// carries a flag and all flags must agree.
#[derive(Debug)]
pub struct AnswerRelevancy;

impl Metric for AnswerRelevancy {
    fn about(&self) -> &About {
        &About {
            name: "answer_relevancy",
            summary: "likeness of the question and the questions that the response would answer",
            columns: &[Column::UserInput, Column::Response],
            models: &[Role::Judge, Role::Embedder],
            range: (-1.0, 1.0),
            depth: 2,
        }
    }

    fn score(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        if response.trim().is_empty() || user_input.trim().is_empty() {
            return Err(Stop::unscored("the question or the response is empty"));
        }
        let n_questions = answers.settings().questions;
        let asked = answers.ask(&Direction { text: user_input });
        let questions = answers.ask_all((0..n_questions).map(|draw| ReverseQuestion { response, draw }));
        let noncommittal = answers.ask(&Noncommittal { response });
        // The reverse questions first: their directions can be asked for while the verdict is still open.
        let questions = questions?;
        let written = questions.iter().filter(|question| !question.is_empty());
        let directions = answers.ask_all(written.map(|text| Direction { text }));
        let (asked, noncommittal, directions) = (asked?, noncommittal?, directions?);
        let cosines = directions.iter().map(|direction| stats::cosine(&asked, direction)).collect::<Option<Vec<_>>>();
        let cosines = cosines.ok_or_else(|| Stop::Failed("the embedder gave a zero vector".to_owned()))?;
        let Some(mean) = stats::mean(&cosines) else {
            return Err(Stop::Failed("the judge wrote no question".to_owned()));
        };
        let mut evidence = question_evidence(questions, &cosines);
        evidence.push(Evidence::Noncommittal { verdict: noncommittal.is_yes, p_yes: noncommittal.p_yes });
        Ok(Score { score: if noncommittal.is_yes { 0.0 } else { mean }, evidence })
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
