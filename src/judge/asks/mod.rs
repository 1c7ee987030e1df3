//! Everything a metric can ask: how is it put into words, and how is the answer read?

mod embed;
mod list;
mod rate;
mod reason;
mod write;
mod yes_no;

pub use embed::{Direction, cosine};
pub use rate::{AnswerAccuracy, ContextRelevance, Groundedness, OfRubric, Rate, Template};
pub use write::{Claims, ClosedQuestions, Entities, Facts, Keyphrases, ReverseQuestion};
pub use yes_no::{Answered, Answering, Criterion, Noncommittal, Relevant, Supported, Useful, YesNo};

use super::answers::{Answer, Stop};

/// A script or a foreign answer store may hold anything.
fn wrong_kind(expected: &str, answer: &Answer) -> Stop {
    Stop::Failed(format!("the answer is {answer:?}, expected {expected}"))
}

/// What the judge says in the end, without what it thinks aloud before, as some models do unasked.
fn said(answer: &Answer) -> Result<&str, Stop> {
    let Answer::Text(text) = answer else { return Err(wrong_kind("a text", answer)) };
    match text.rsplit_once("</think>") {
        Some((_, said)) => Ok(said),
        None if text.trim_start().starts_with("<think>") => {
            Err(Stop::Failed("the judge thought aloud and came to no answer".to_owned()))
        }
        None => Ok(text),
    }
}
