//! Reasons: what does the judge say before or after its answer?

use super::said;
use crate::judge::answers::{Answer, Ask, Stop};
use crate::judge::prompts::{Pack, Slot, Task};
use crate::judge::question::{Form, Prompt, Question};
use crate::settings::Settings;
use crate::text::Language;

/// What in the text decides the answer? Asked before it.
pub struct Reasoned<'a> {
    /// The question that is to be answered.
    pub pose: &'a dyn Fn(&Pack) -> Prompt,
}

/// Why is the answer as it is? Asked after it.
pub struct Explained<'a> {
    /// The question that was answered.
    pub pose: &'a dyn Fn(&Pack) -> Prompt,
    /// The answer.
    pub label: &'a str,
}

impl Ask for Reasoned<'_> {
    type Reply = String;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let pack = Pack::of(language);
        line((self.pose)(pack).then(pack.prompt(Task::Reason, &[])))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<String, Stop> {
        read_line(answer)
    }
}

impl Ask for Explained<'_> {
    type Reply = String;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let pack = Pack::of(language);
        line((self.pose)(pack).then(pack.prompt(Task::Explain, &[(Slot::Label, &[self.label])])))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<String, Stop> {
        read_line(answer)
    }
}

/// The most likely line after a prompt.
pub fn line(prompt: Prompt) -> Question {
    Question::Write { prompt, form: Form::Line, draw: 0, seed: 0 }
}

/// The first line that holds something; a judge that writes nothing gives an empty one.
pub fn read_line(answer: &Answer) -> Result<String, Stop> {
    Ok(said(answer)?.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned())
}
