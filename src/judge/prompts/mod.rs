//! Prompt packs: in which words is something asked?
//!
//! A pack is a TOML file, written by people in its language and compiled in. `{slot}` marks where data goes; the data
//! itself is never searched for slots.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::question::{Labels, Prompt, Segment};
use crate::hash;
use crate::text::{self, Language};

const ENGLISH: &str = include_str!("en.toml");
const KOREAN: &str = include_str!("ko.toml");

/// All prompts in one language.
#[derive(Debug)]
pub struct Pack {
    /// The system turn of every prompt, so that all prompts of a run begin alike.
    system: String,
    /// The words that mean yes and no.
    pub labels: Labels,
    /// By [`Task`]: data for its slots whose right answer is known, half of it yes and half no; none for writing tasks.
    anchors: Vec<Vec<BTreeMap<String, String>>>,
    /// By [`Task`].
    templates: Vec<Vec<Part>>,
}

/// What the judge is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// List the claims of a response.
    Claims,
    /// Is a statement supported by contexts?
    Supported,
    /// Is a context useful for an answer?
    Useful,
    /// Write the question that a response answers.
    ReverseQuestion,
    /// Is a response evasive?
    Noncommittal,
}

/// A place for data in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The user's question.
    UserInput,
    /// The response of the RAG system.
    Response,
    /// One or more contexts.
    Contexts,
    /// A claim, or a statement of the reference.
    Statement,
    /// The answer that a context should help to find.
    Answer,
}

/// Tasks with their names in the packs.
const TASKS: &[(Task, &str)] = &[
    (Task::Claims, "claims"),
    (Task::Supported, "supported"),
    (Task::Useful, "useful"),
    (Task::ReverseQuestion, "reverse_question"),
    (Task::Noncommittal, "noncommittal"),
];

/// Slots with their names in the packs.
const SLOTS: &[(Slot, &str)] = &[
    (Slot::UserInput, "user_input"),
    (Slot::Response, "response"),
    (Slot::Contexts, "contexts"),
    (Slot::Statement, "statement"),
    (Slot::Answer, "answer"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    Slot(Slot),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackFile {
    system: String,
    yes: Vec<String>,
    no: Vec<String>,
    tasks: BTreeMap<String, TaskFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    prompt: String,
    #[serde(default)]
    yes: Vec<BTreeMap<String, String>>,
    #[serde(default)]
    no: Vec<BTreeMap<String, String>>,
}

impl Pack {
    /// The pack of a language.
    pub fn of(language: Language) -> &'static Self {
        static PACKS: LazyLock<[Pack; 2]> = LazyLock::new(|| [Pack::parse(ENGLISH), Pack::parse(KOREAN)]);
        match language {
            Language::English => &PACKS[0],
            Language::Korean => &PACKS[1],
        }
    }

    /// SHA-256 over all packs: which words were used?
    pub fn sha256() -> String {
        hash::sha256_hex(&[ENGLISH.as_bytes(), KOREAN.as_bytes()].join(&0))
    }

    fn parse(text: &str) -> Self {
        let file: PackFile = toml::from_str(text).expect("the packs are compiled in and tested");
        let tasks = || TASKS.iter().map(|(_, name)| &file.tasks[*name]);
        Self {
            templates: tasks().map(|task| parse_template(&task.prompt)).collect(),
            anchors: tasks().map(|task| [task.yes.clone(), task.no.clone()].concat()).collect(),
            system: file.system,
            labels: Labels { yes: file.yes, no: file.no },
        }
    }

    /// The prompt for a task, with data in its slots. Several texts for a slot stand on lines of their own.
    ///
    /// # Panics
    /// If the task's template has a slot that is not given.
    pub fn prompt(&self, task: Task, data: &[(Slot, &[&str])]) -> Prompt {
        let mut user = Vec::new();
        for part in &self.templates[index_of(task)] {
            match part {
                Part::Words(words) => user.push(Segment::Words(words.clone())),
                Part::Slot(slot) => {
                    let texts = data.iter().find(|(given, _)| given == slot).expect("the asker gives every slot").1;
                    push_texts(&mut user, texts);
                }
            }
        }
        Prompt { system: self.system.clone(), user }
    }

    /// The prompts for a task about texts whose right answers are known, half of them yes and half no.
    pub fn anchor_prompts(&self, task: Task) -> Vec<Prompt> {
        let prompt = |anchor: &BTreeMap<String, String>| {
            let texts: Vec<(Slot, [&str; 1])> =
                anchor.iter().map(|(name, text)| (slot_of(name), [text.as_str()])).collect();
            let slots: Vec<(Slot, &[&str])> = texts.iter().map(|(slot, text)| (*slot, text.as_slice())).collect();
            self.prompt(task, &slots)
        };
        self.anchors[index_of(task)].iter().map(prompt).collect()
    }
}

fn index_of(task: Task) -> usize {
    TASKS.iter().position(|(known, _)| *known == task).expect("every task is in the table")
}

fn slot_of(name: &str) -> Slot {
    SLOTS.iter().find(|(_, known)| *known == name).expect("a slot has a known name").0
}

fn push_texts(user: &mut Vec<Segment>, texts: &[&str]) {
    for (idx, data) in texts.iter().enumerate() {
        if idx > 0 {
            user.push(Segment::Words("\n".to_owned()));
        }
        user.push(Segment::Data(text::nfc(data).into_owned()));
    }
}

/// Splits a template at its slots.
fn parse_template(template: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = template.trim();
    while let Some((words, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').expect("a slot is closed");
        if !words.is_empty() {
            parts.push(Part::Words(words.to_owned()));
        }
        parts.push(Part::Slot(slot_of(name)));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Words(rest.to_owned()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pack_has_every_task_with_the_same_slots() {
        let slots = |parts: &Vec<Part>| -> Vec<Slot> {
            parts.iter().filter_map(|part| if let Part::Slot(slot) = part { Some(*slot) } else { None }).collect()
        };
        let (english, korean) = (Pack::of(Language::English), Pack::of(Language::Korean));
        for (en, ko) in english.templates.iter().zip(&korean.templates) {
            assert_eq!(slots(en), slots(ko));
        }
    }

    #[test]
    fn every_verdict_has_as_many_anchors_for_yes_as_for_no() {
        for text in [ENGLISH, KOREAN] {
            let file: PackFile = toml::from_str(text).unwrap();
            for name in ["supported", "useful", "noncommittal"] {
                let task = &file.tasks[name];
                assert!(!task.yes.is_empty() && task.yes.len() == task.no.len(), "{name}");
            }
        }
        for (task, _) in TASKS {
            for language in Language::ALL {
                // Makes sure that every anchor fills every slot.
                Pack::of(language).anchor_prompts(*task);
            }
        }
    }

    #[test]
    fn data_is_never_searched_for_slots() {
        let data = [(Slot::Contexts, ["{statement}"].as_slice()), (Slot::Statement, &["S"])];
        let prompt = Pack::of(Language::English).prompt(Task::Supported, &data);
        assert!(prompt.user.contains(&Segment::Data("{statement}".to_owned())));
        assert!(prompt.user.contains(&Segment::Data("S".to_owned())));
    }

    #[test]
    fn several_texts_stand_on_lines_of_their_own() {
        let mut user = Vec::new();
        push_texts(&mut user, &["a", "b"]);
        let (a, b) = (Segment::Data("a".to_owned()), Segment::Data("b".to_owned()));
        assert_eq!(user, [a, Segment::Words("\n".to_owned()), b]);
    }
}
