//! Everything a metric can ask: how is it put into words, and how is the answer read?

use std::collections::HashSet;

use super::answers::{Answer, Ask, Settings, Stop};
use super::prompts::{Pack, Slot, Task};
use super::question::{Form, Labels, Question};
use crate::text::{self, Language};

/// A yes or no with its confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Whether P(yes) reaches the threshold.
    pub is_yes: bool,
    /// P(yes), in [0, 1].
    pub p_yes: f64,
}

/// Which claims does the response make? (Faithfulness, step 1.)
#[derive(Debug, Clone, Copy)]
pub struct Claims<'a> {
    /// The question, for the pronouns.
    pub user_input: &'a str,
    /// The response.
    pub response: &'a str,
}

/// Is this statement supported by these contexts? (Faithfulness, step 2; context recall.)
#[derive(Debug, Clone, Copy)]
pub struct Supported<'a> {
    /// The contexts, joined.
    pub contexts: &'a [String],
    /// The statement.
    pub statement: &'a str,
}

/// Does this context help to arrive at this answer? (Context precision and utilization.)
#[derive(Debug, Clone, Copy)]
pub struct Useful<'a> {
    /// One chunk.
    pub context: &'a str,
    /// The question.
    pub user_input: &'a str,
    /// The reference, or the response.
    pub answer: &'a str,
}

/// Which question does this response answer? (Answer relevancy.)
#[derive(Debug, Clone, Copy)]
pub struct ReverseQuestion<'a> {
    /// The response.
    pub response: &'a str,
    /// 0 for the most likely question, others for random draws.
    pub draw: u32,
}

/// Does this response evade the question? (Answer relevancy.)
#[derive(Debug, Clone, Copy)]
pub struct Noncommittal<'a> {
    /// The response.
    pub response: &'a str,
}

/// Where does this text point in the embedder's space?
#[derive(Debug, Clone, Copy)]
pub struct Direction<'a> {
    /// The text.
    pub text: &'a str,
}

impl Ask for Claims<'_> {
    /// The claims, each once, in order.
    type Reply = Vec<String>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let slots: [(Slot, &[&str]); 2] = [(Slot::UserInput, &[self.user_input]), (Slot::Response, &[self.response])];
        let prompt = Pack::of(language).prompt(Task::Claims, &slots);
        Question::Write { prompt, form: Form::Items, draw: 0, seed: 0 }
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<String>, Stop> {
        let Answer::Text(text) = answer else { return Err(wrong_kind("a text", answer)) };
        let mut seen = HashSet::new();
        // Small judges write several sentences on a line; `sentences` also drops what has no letter.
        let items = text.lines().map(item).flat_map(text::sentences);
        Ok(items.filter(|item| seen.insert(*item)).map(str::to_owned).collect())
    }
}

/// A line of a list without its bullet or number.
fn item(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    // "1. Text" and "1) Text" are numbered, "3.5 percent" and "2020 was" are not.
    match line[digits..].strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

impl Ask for Supported<'_> {
    type Reply = Verdict;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let contexts: Vec<&str> = self.contexts.iter().map(String::as_str).collect();
        verdict(language, Task::Supported, &[(Slot::Contexts, &contexts), (Slot::Statement, &[self.statement])])
    }

    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
        read_verdict(answer, settings)
    }
}

impl Ask for Useful<'_> {
    type Reply = Verdict;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let slots: [(Slot, &[&str]); 3] =
            [(Slot::Contexts, &[self.context]), (Slot::UserInput, &[self.user_input]), (Slot::Answer, &[self.answer])];
        verdict(language, Task::Useful, &slots)
    }

    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
        read_verdict(answer, settings)
    }
}

impl Ask for Noncommittal<'_> {
    type Reply = Verdict;

    /// The prompt asks whether the response says something definite, so its no is our yes: small judges tend to answer
    /// no to a text full of negations, whatever is asked (`docs/judge-quality.md`).
    fn question(&self, language: Language, _: &Settings) -> Question {
        let pack = Pack::of(language);
        Question::Verdict {
            prompt: pack.prompt(Task::Noncommittal, &[(Slot::Response, &[self.response])]),
            labels: Labels { yes: pack.labels.no.clone(), no: pack.labels.yes.clone() },
            anchors: pack.anchor_prompts(Task::Noncommittal),
        }
    }

    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
        read_verdict(answer, settings)
    }
}

fn verdict(language: Language, task: Task, slots: &[(Slot, &[&str])]) -> Question {
    let pack = Pack::of(language);
    Question::Verdict {
        prompt: pack.prompt(task, slots),
        labels: pack.labels.clone(),
        anchors: pack.anchor_prompts(task),
    }
}

fn read_verdict(answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
    match *answer {
        Answer::Verdict { p_yes } if (0.0..=1.0).contains(&p_yes) => {
            Ok(Verdict { is_yes: p_yes >= settings.threshold, p_yes })
        }
        Answer::Verdict { p_yes } => Err(Stop::Failed(format!("P(yes) is {p_yes}, expected a number from 0 to 1"))),
        _ => Err(wrong_kind("a verdict", answer)),
    }
}

impl Ask for ReverseQuestion<'_> {
    /// The question; empty if the judge wrote none.
    type Reply = String;

    fn question(&self, language: Language, settings: &Settings) -> Question {
        let prompt = Pack::of(language).prompt(Task::ReverseQuestion, &[(Slot::Response, &[self.response])]);
        let seed = if self.draw == 0 { 0 } else { settings.seed };
        Question::Write { prompt, form: Form::Line, draw: self.draw, seed }
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<String, Stop> {
        let Answer::Text(text) = answer else { return Err(wrong_kind("a text", answer)) };
        Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned())
    }
}

impl Ask for Direction<'_> {
    /// A unit vector.
    type Reply = Vec<f32>;

    fn question(&self, _: Language, _: &Settings) -> Question {
        Question::Embed { text: text::nfc(self.text).into_owned() }
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<f32>, Stop> {
        let Answer::Vector(vector) = answer else { return Err(wrong_kind("a vector", answer)) };
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(Stop::Failed("the embedder gave a vector with infinity or NaN in it".to_owned()));
        }
        Ok(vector.clone())
    }
}

/// A script or a foreign answer store may hold anything.
fn wrong_kind(expected: &str, answer: &Answer) -> Stop {
    Stop::Failed(format!("the answer is {answer:?}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_items_lose_bullets_and_numbers_but_not_figures() {
        let cases = [
            ("- A fee applies.", "A fee applies."),
            ("1. A fee applies.", "A fee applies."),
            ("12) A fee applies.", "A fee applies."),
            ("3.5 percent is the fee.", "3.5 percent is the fee."),
            ("2020 was a leap year.", "2020 was a leap year."),
            ("• 수수료가 있다.", "수수료가 있다."),
        ];
        for (line, expected) in cases {
            assert_eq!(item(line), expected);
        }
    }

    #[test]
    fn claims_are_each_line_once() {
        let ask = Claims { user_input: "", response: "" };
        let answer = Answer::Text("- A.\n\n- B.\n---\n- A.\n".to_owned());
        assert_eq!(ask.read(&answer, &Settings::default()), Ok(vec!["A.".to_owned(), "B.".to_owned()]));
    }

    #[test]
    fn probability_outside_its_range_is_a_failure() {
        let settings = Settings::default();
        assert!(read_verdict(&Answer::Verdict { p_yes: f64::NAN }, &settings).is_err());
        assert!(read_verdict(&Answer::Verdict { p_yes: 1.5 }, &settings).is_err());
        let at_threshold = read_verdict(&Answer::Verdict { p_yes: 0.5 }, &settings);
        assert_eq!(at_threshold, Ok(Verdict { is_yes: true, p_yes: 0.5 }));
    }
}
