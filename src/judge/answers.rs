//! Answers as a metric sees them: known, or asked for?

use std::collections::HashMap;

use super::question::{Key, Pins, Question};
use crate::settings::Settings;
use crate::text::Language;

/// What came back for a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The probability of yes, in [0, 1].
    Verdict {
        /// P(yes) / (P(yes) + P(no)), without its prior, moved so that one half lies between the anchors.
        p_yes: f64,
    },
    /// The probability of each level, from the lowest; they add up to 1.
    Rating(Vec<f64>),
    /// The written text, raw.
    Text(String),
    /// A unit vector.
    Vector(Vec<f32>),
    /// No answer is possible, and asking again would not help: the reason.
    Failed(String),
}

/// An answer and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// Tokens of the prompt and of the text written, whether or not they had to be computed.
    pub tokens_asked: u64,
}

/// Why a metric has no score now, or at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Questions were noted; try again once they are answered.
    Pending,
    /// There is nothing to score: the reason.
    Unscored(String),
    /// The score cannot be had: the reason.
    Failed(String),
}

impl Stop {
    /// A [`Stop::Unscored`].
    pub fn unscored(reason: &str) -> Self {
        Self::Unscored(reason.to_owned())
    }
}

/// Something that can be asked: how is it put, and how is the answer read?
pub trait Ask {
    /// What the asker gets.
    type Reply;

    /// The question in the language of the sample.
    fn question(&self, language: Language, settings: &Settings) -> Question;

    /// What the answer means.
    ///
    /// # Errors
    /// [`Stop::Failed`] if it means nothing.
    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Self::Reply, Stop>;
}

/// All answers known so far, by key.
#[derive(Debug, Default)]
pub struct AnswerStore {
    replies: HashMap<Key, Reply>,
}

impl AnswerStore {
    /// The reply to the question of this key.
    pub fn get(&self, key: &Key) -> Option<&Reply> {
        self.replies.get(key)
    }

    /// Keeps a reply.
    pub fn insert(&mut self, key: Key, reply: Reply) {
        self.replies.insert(key, reply);
    }

    /// Forgets all replies: no sample to come asks for them.
    pub fn clear(&mut self) {
        self.replies.clear();
    }
}

/// The answers that one sample and metric may use, and the questions it has left open.
#[derive(Debug)]
pub struct Answers<'a> {
    store: &'a AnswerStore,
    pins: &'a Pins,
    settings: &'a Settings,
    language: Language,
    open: Vec<(Key, Question)>,
    used: Vec<Key>,
}

impl<'a> Answers<'a> {
    /// A view of the store for one try.
    pub fn new(store: &'a AnswerStore, pins: &'a Pins, settings: &'a Settings, language: Language) -> Self {
        Self { store, pins, settings, language, open: Vec::new(), used: Vec::new() }
    }

    /// The settings of the run.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// The language of the prompts.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The answer, if it is known; otherwise the question is noted.
    ///
    /// # Errors
    /// [`Stop::Pending`] if it is not known, [`Stop::Failed`] if it cannot be had.
    pub fn ask<A: Ask>(&mut self, ask: &A) -> Result<A::Reply, Stop> {
        let question = ask.question(self.language, self.settings);
        let key = question.key(self.pins);
        let Some(reply) = self.store.get(&key) else {
            self.open.push((key, question));
            return Err(Stop::Pending);
        };
        if !self.used.contains(&key) {
            self.used.push(key);
        }
        match &reply.answer {
            Answer::Failed(reason) => Err(Stop::Failed(reason.clone())),
            answer => ask.read(answer, self.settings),
        }
    }

    /// The answers in order, if all are known; otherwise all that are not are noted.
    ///
    /// # Errors
    /// The first failure if there is one, otherwise [`Stop::Pending`] if any is not known.
    pub fn ask_all<A: Ask>(&mut self, asks: impl IntoIterator<Item = A>) -> Result<Vec<A::Reply>, Stop> {
        all(asks.into_iter().map(|ask| self.ask(&ask)).collect())
    }

    /// The questions left open, and the replies used, in the order in which they were first asked.
    pub fn finish(self) -> (Vec<(Key, Question)>, Vec<&'a Reply>) {
        let used = self.used.iter().map(|key| self.store.get(key).expect("a used reply is in the store")).collect();
        (self.open, used)
    }
}

/// What was found, in order.
///
/// # Errors
/// The first failure if there is one, otherwise [`Stop::Pending`] if anything is.
pub fn all<T>(tries: Vec<Result<T, Stop>>) -> Result<Vec<T>, Stop> {
    let failure = tries.iter().position(|attempt| matches!(attempt, Err(stop) if *stop != Stop::Pending));
    match failure {
        Some(idx) => Err(tries.into_iter().nth(idx).and_then(Result::err).expect("it was just seen to fail")),
        None => tries.into_iter().collect(),
    }
}
