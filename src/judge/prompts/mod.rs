//! Prompt packs: in which words is something asked?
//!
//! A pack is a TOML file, written by people in its language and compiled in. `{slot}` marks where data goes; the data
//! itself is never searched for slots. A paragraph with `{slot?}` is left out if there is no data for it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::question::{Labels, Posed, Prompt, Segment};
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
    /// By [`Task`]: the slot that is left empty to ask for the prior; `None` if that is not asked.
    prior: Vec<Option<Slot>>,
    /// By [`Task`].
    templates: Vec<Vec<Paragraph>>,
}

/// What the judge is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// List the claims of a response.
    Claims,
    /// List the main claims of a text, joined.
    FactsLowLow,
    /// List all claims of a text, joined.
    FactsLowHigh,
    /// List the main claims of a text, one fact each.
    FactsHighLow,
    /// List all claims of a text, one fact each.
    FactsHighHigh,
    /// Is a statement supported by contexts?
    Supported,
    /// Is a context useful for an answer?
    Useful,
    /// Is a sentence of the contexts relevant to a question?
    Relevant,
    /// Write the question that a response answers.
    ReverseQuestion,
    /// Is a response evasive?
    Noncommittal,
    /// List the named things of a text.
    Entities,
    /// List what a text is about.
    Keyphrases,
    /// List questions that a text answers with yes.
    ClosedQuestions,
    /// Does a response answer a question with yes?
    Answered,
    /// Does a response answer a question?
    Answering,
    /// Rate how well two answers agree.
    Accuracy1,
    /// The same in other words.
    Accuracy2,
    /// Rate whether contexts hold what answers a question.
    ContextRelevance1,
    /// The same in other words.
    ContextRelevance2,
    /// Rate whether contexts say what a response says.
    Groundedness1,
    /// The same in other words.
    Groundedness2,
    /// Does a response meet a criterion of the user's?
    Criterion,
    /// Rate a response by a rubric of the user's.
    Rubric,
    /// Say what speaks for which answer; follows another task.
    Reason,
    /// Answer yes or no after a reason was given; follows another task.
    AfterReason,
    /// Rate after a reason was given; follows another task.
    RatingAfterReason,
    /// Say why an answer is right; follows another task.
    Explain,
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
    /// A claim, a statement of the reference, or a sentence of the contexts.
    Statement,
    /// The reference, or another answer that is compared with.
    Answer,
    /// What a text is about.
    Keyphrases,
    /// What the user wants judged.
    Definition,
    /// The levels of the user's rubric.
    Levels,
    /// A reason that the judge gave.
    Reason,
    /// The answer that is to be explained.
    Label,
}

/// Tasks with their names in the packs.
const TASKS: &[(Task, &str)] = &[
    (Task::Claims, "claims"),
    (Task::FactsLowLow, "facts_low_low"),
    (Task::FactsLowHigh, "facts_low_high"),
    (Task::FactsHighLow, "facts_high_low"),
    (Task::FactsHighHigh, "facts_high_high"),
    (Task::Supported, "supported"),
    (Task::Useful, "useful"),
    (Task::Relevant, "relevant"),
    (Task::ReverseQuestion, "reverse_question"),
    (Task::Noncommittal, "noncommittal"),
    (Task::Entities, "entities"),
    (Task::Keyphrases, "keyphrases"),
    (Task::ClosedQuestions, "closed_questions"),
    (Task::Answered, "answered"),
    (Task::Answering, "answering"),
    (Task::Accuracy1, "accuracy_1"),
    (Task::Accuracy2, "accuracy_2"),
    (Task::ContextRelevance1, "context_relevance_1"),
    (Task::ContextRelevance2, "context_relevance_2"),
    (Task::Groundedness1, "groundedness_1"),
    (Task::Groundedness2, "groundedness_2"),
    (Task::Criterion, "criterion"),
    (Task::Rubric, "rubric"),
    (Task::Reason, "reason"),
    (Task::AfterReason, "after_reason"),
    (Task::RatingAfterReason, "rating_after_reason"),
    (Task::Explain, "explain"),
];

/// Slots with their names in the packs.
const SLOTS: &[(Slot, &str)] = &[
    (Slot::UserInput, "user_input"),
    (Slot::Response, "response"),
    (Slot::Contexts, "contexts"),
    (Slot::Statement, "statement"),
    (Slot::Answer, "answer"),
    (Slot::Keyphrases, "keyphrases"),
    (Slot::Definition, "definition"),
    (Slot::Levels, "levels"),
    (Slot::Reason, "reason"),
    (Slot::Label, "label"),
];

/// A part of a template that is there or not as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Paragraph {
    parts: Vec<Part>,
    /// The slot, written `{slot?}`, without whose data it is left out.
    needs: Option<Slot>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    Slot(Slot),
}

impl Task {
    /// The name in the packs.
    pub fn name(self) -> &'static str {
        TASKS[index_of(self)].1
    }
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
    prior: Option<String>,
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
            prior: tasks().map(|task| task.prior.as_deref().map(slot_of)).collect(),
            system: file.system,
            labels: Labels { yes: file.yes, no: file.no },
        }
    }

    /// The prompt for a task, with data in its slots. Several texts for a slot stand on lines of their own.
    ///
    /// # Panics
    /// If the task's template has a slot that is not given, and is not marked as one that may be missing.
    pub fn prompt(&self, task: Task, data: &[(Slot, &[&str])]) -> Prompt {
        let given = |slot: &Slot| data.iter().find(|(given, _)| given == slot).map(|(_, texts)| *texts);
        let mut user = Vec::new();
        let is_shown = |paragraph: &&Paragraph| paragraph.needs.is_none_or(|slot| given(&slot).is_some());
        for part in self.templates[index_of(task)].iter().filter(is_shown).flat_map(|paragraph| &paragraph.parts) {
            match part {
                Part::Words(words) => user.push(Segment::Words(words.clone())),
                Part::Slot(slot) => push_texts(&mut user, given(slot).expect("the asker gives every slot")),
            }
        }
        Prompt { system: self.system.clone(), user }
    }

    /// The prompt for a yes or no task, and the same without the text that decides it, if the pack names its slot.
    ///
    /// # Panics
    /// As [`Pack::prompt`].
    pub fn pose(&self, task: Task, data: &[(Slot, &[&str])]) -> Posed {
        let without = |empty: Slot| {
            let mut rest = data.to_vec();
            rest.iter_mut().filter(|(slot, _)| *slot == empty).for_each(|(_, texts)| *texts = &[]);
            self.prompt(task, &rest)
        };
        Posed { prompt: self.prompt(task, data), prior: self.prior[index_of(task)].map(without) }
    }

    /// A task about texts whose right answers are known, half of them yes and half no.
    pub fn anchors(&self, task: Task) -> Vec<Posed> {
        let pose = |anchor: &BTreeMap<String, String>| {
            let texts: Vec<(Slot, [&str; 1])> =
                anchor.iter().map(|(name, text)| (slot_of(name), [text.as_str()])).collect();
            let slots: Vec<(Slot, &[&str])> = texts.iter().map(|(slot, text)| (*slot, text.as_slice())).collect();
            self.pose(task, &slots)
        };
        self.anchors[index_of(task)].iter().map(pose).collect()
    }
}

/// SHA-256 of the words of a yes or no task in a language, those of its anchors included; `None` for names that are none.
pub fn words_sha256(task: &str, language: &str) -> Option<String> {
    let (task, _) = TASKS.iter().find(|(_, name)| *name == task)?;
    let language = Language::ALL.into_iter().find(|known| known.code() == language)?;
    let pack = Pack::of(language);
    let words = serde_json::to_vec(&(&pack.labels, pack.anchors(*task)));
    Some(hash::sha256_hex(&words.expect("words are strings")))
}

/// Whether a line stands in the example of the task's template, in some language: judges copy from it.
pub fn is_of_example(task: Task, line: &str) -> bool {
    let holds = |part: &Part| matches!(part, Part::Words(words) if words.lines().any(|known| known.trim() == line));
    let parts = |language: &Language| &Pack::of(*language).templates[index_of(task)];
    Language::ALL.iter().flat_map(parts).flat_map(|paragraph| &paragraph.parts).any(holds)
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

/// The paragraphs of a template: one, unless some may be left out.
fn parse_template(template: &str) -> Vec<Paragraph> {
    let template = template.trim();
    if !template.contains("?}") {
        return vec![Paragraph { parts: parse_parts(template), needs: None }];
    }
    let paragraph = |text: &str| {
        let needs =
            text.split_once("?}").and_then(|(before, _)| before.rsplit_once('{')).map(|(_, name)| slot_of(name));
        Paragraph { parts: parse_parts(&text.replace("?}", "}")), needs }
    };
    template.split_inclusive("\n\n").map(paragraph).collect()
}

/// Splits a text at its slots.
fn parse_parts(template: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = template;
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
        let slots = |paragraphs: &Vec<Paragraph>| -> Vec<(Slot, bool)> {
            let parts =
                paragraphs.iter().flat_map(|paragraph| paragraph.parts.iter().map(|part| (part, paragraph.needs)));
            parts
                .filter_map(
                    |(part, needs)| if let Part::Slot(slot) = part { Some((*slot, needs.is_some())) } else { None },
                )
                .collect()
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
            for name in ["supported", "useful", "relevant", "noncommittal", "answered", "answering"] {
                let task = &file.tasks[name];
                assert!(!task.yes.is_empty() && task.yes.len() == task.no.len(), "{name}");
            }
        }
        for (task, _) in TASKS {
            for language in Language::ALL {
                // Makes sure that every anchor fills every slot.
                Pack::of(language).anchors(*task);
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
    fn paragraph_without_data_is_left_out() {
        let pack = Pack::of(Language::English);
        let data: [(Slot, &[&str]); 3] =
            [(Slot::Response, &["R"]), (Slot::Definition, &["Is it kind?"]), (Slot::UserInput, &["Q"])];
        assert!(!pack.prompt(Task::Criterion, &data[..2]).to_string().contains("Question:"));
        assert!(pack.prompt(Task::Criterion, &data).to_string().contains("Question: Q\n\n"));
    }

    #[test]
    fn lines_of_an_example_are_known() {
        assert!(is_of_example(Task::Claims, "회원은 책을 다섯 권까지 빌릴 수 있습니다."));
        assert!(is_of_example(Task::Entities, "Ms Alder") && !is_of_example(Task::Entities, "Alder"));
        assert!(!is_of_example(Task::Claims, "The library opens at nine."));
    }

    #[test]
    fn several_texts_stand_on_lines_of_their_own() {
        let mut user = Vec::new();
        push_texts(&mut user, &["a", "b"]);
        let (a, b) = (Segment::Data("a".to_owned()), Segment::Data("b".to_owned()));
        assert_eq!(user, [a, Segment::Words("\n".to_owned()), b]);
    }
}
