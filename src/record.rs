//! Plain data: what does a run leave behind?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sample::Sample;
use crate::text::Language;

/// The first line of `records.jsonl`: everything that determines the lines after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this file format.
    pub format: u32,
    /// The version of ragstone.
    pub ragstone: String,
    /// Which arithmetic makes scores of verdicts.
    pub profile: String,
    /// Metrics, in the order of the table.
    pub metrics: Vec<String>,
    /// SHA-256 of the prompt packs.
    pub prompts_sha256: String,
    /// P(yes) from which a verdict is yes.
    pub threshold: f64,
    /// Reverse questions a response.
    pub questions: u32,
    /// The seed of random draws.
    pub seed: u64,
    /// `auto`, `en` or `ko`.
    pub language: String,
    /// The judge; absent if no metric needs one.
    pub judge: Option<PinnedModel>,
    /// The embedder; absent if no metric needs one.
    pub embedder: Option<PinnedModel>,
}

/// A model as a run used it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedModel {
    /// Its name.
    pub name: String,
    /// SHA-256 of each file that shapes its answers, and what else does.
    pub pins: BTreeMap<String, String>,
    /// The languages it was made for; empty if nobody says.
    pub languages: Vec<String>,
}

/// A line of `records.jsonl`: a sample with its outcomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The sample as it was read; of a row that could not be read only the id.
    pub sample: Sample,
    /// The language of the prompts.
    pub language: Language,
    /// By metric, in the order of the header.
    pub cells: Vec<Cell>,
}

/// One metric on one sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The metric.
    pub metric: String,
    /// The score, or why there is none.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What a reader should know about this cell, such as a language that the model was not made for.
    pub notes: Vec<String>,
    /// Texts the judge wrote for it, raw.
    pub written: Vec<String>,
    /// Tokens of all prompts and written texts, whether or not they had to be computed.
    pub tokens_asked: u64,
}

/// A score, or why there is none. Never NaN, and never 0 because something failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// The score and what it rests on.
    Scored(Score),
    /// There was nothing to score.
    Unscored {
        /// Why.
        reason: String,
    },
    /// The score could not be had.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A score and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// In the range that the metric declares.
    pub score: f64,
    /// The judged parts, in order.
    pub evidence: Vec<Evidence>,
}

/// One judged part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Evidence {
    /// A claim of the response, against the contexts.
    Claim(Judged),
    /// A statement of the reference, against the contexts.
    Statement(Judged),
    /// A context, by its rank from 1, against an answer.
    Context {
        /// The rank.
        rank: usize,
        /// Whether it is useful.
        verdict: bool,
        /// P(yes).
        p_yes: f64,
    },
    /// A reverse question, against the user's.
    Question {
        /// The text; empty if the judge wrote none.
        text: String,
        /// The cosine of the two questions; `None` for an empty text.
        cosine: Option<f64>,
    },
    /// Whether the response evades the question.
    Noncommittal {
        /// Whether it does.
        verdict: bool,
        /// P(yes).
        p_yes: f64,
    },
}

/// A text with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The text.
    pub text: String,
    /// Whether it is supported.
    pub verdict: bool,
    /// P(yes); `None` if there was no context to ask about.
    pub p_yes: Option<f64>,
}

impl Outcome {
    /// The score, if there is one.
    pub fn score(&self) -> Option<f64> {
        match self {
            Self::Scored(score) => Some(score.score),
            Self::Unscored { .. } | Self::Failed { .. } => None,
        }
    }
}
