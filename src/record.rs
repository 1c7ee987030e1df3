//! Plain data: what does a run leave behind?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Checked;
use crate::sample::Sample;
use crate::settings::Settings;
use crate::text::Language;

/// The first line of `records.jsonl`: everything that determines the lines after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this file format.
    pub format: u32,
    /// The version of ragstone.
    pub ragstone: String,
    /// Metrics, in the order of the table.
    pub metrics: Vec<String>,
    /// The user's own metrics, each named `rubric.NAME` above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Rubric>,
    /// SHA-256 of the file that they were read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubrics_sha256: Option<String>,
    /// SHA-256 of the prompt packs.
    pub prompts_sha256: String,
    /// Profile, threshold and whatever else shapes questions and scores.
    #[serde(flatten)]
    pub settings: Settings,
    /// `auto`, `en` or `ko`.
    pub language: String,
    /// The judge; absent if no metric needs one.
    pub judge: Option<PinnedModel>,
    /// The embedder; absent if no metric needs one.
    pub embedder: Option<PinnedModel>,
}

/// A metric of the user's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// Its name, without `rubric.`.
    pub name: String,
    /// What is judged, in the user's words.
    pub definition: String,
    /// What each level means, from 1 on; none for a question of yes or no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

/// A model as a run used it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinnedModel {
    /// Its name.
    pub name: String,
    /// SHA-256 of each file that shapes its answers, and what else does.
    pub pins: BTreeMap<String, String>,
    /// The languages it was made for; empty if nobody says.
    pub languages: Vec<String>,
    /// How far it agreed with people, by language; empty if nobody says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Checked>,
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
    /// What was judged, in order, from which a score of any profile follows. `None` if the asking ended before: then
    /// the outcome says why, whatever the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Evidence>>,
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
    /// The score.
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

/// A score and the figures beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// In the range that the metric declares.
    pub score: f64,
    /// Other figures of the same measurement, by name: precision and recall of an F-measure, duplicates of a list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

/// One judged part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Evidence {
    /// A claim of the response, against the contexts, one of them, or the reference.
    Claim(Judged),
    /// A statement of the reference, against the contexts, one of them, or the response.
    Statement(Judged),
    /// A sentence of the contexts: does it help to answer the question?
    Sentence(Judged),
    /// A closed question about the reference contexts: does the response answer it with yes?
    Answered(Judged),
    /// A context, by its rank from 1, against an answer.
    Context {
        /// The rank.
        rank: usize,
        /// Whether it is useful, and why.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// A reverse question, against the user's.
    Question {
        /// The text; empty if the judge wrote none.
        text: String,
        /// The cosine of the two questions; `None` for an empty text.
        cosine: Option<f64>,
    },
    /// Whether the response evades the question.
    Noncommittal(Verdict),
    /// Whether the response meets a criterion of the user's.
    Criterion(Verdict),
    /// An entity of the reference.
    ReferenceEntity {
        /// Its name.
        text: String,
    },
    /// An entity of the contexts.
    ContextEntity {
        /// Its name.
        text: String,
    },
    /// A rating.
    Rating(Rating),
    /// How alike response and reference are.
    Similarity {
        /// The cosine of their directions.
        cosine: f64,
    },
}

/// A yes or no with its confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether P(yes) reaches the threshold.
    #[serde(rename = "verdict")]
    pub is_yes: bool,
    /// P(yes), in [0, 1].
    pub p_yes: f64,
    /// Why, in the judge's words, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A text with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The text.
    pub text: String,
    /// The rank, from 1, of the one context that it was held against; `None` if it was all, or another text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// The part of that in which P(yes) is largest; `None` if it was held against the whole at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Whether it is so.
    pub verdict: bool,
    /// P(yes); `None` if there was no context to ask about.
    pub p_yes: Option<f64>,
    /// Why, in the judge's words, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Sentences of contexts that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The ranks, from 1, of the first and the last context; both 1 in another text.
    pub contexts: [usize; 2],
    /// The first sentence, in the first of them, and the last, in the last of them, from 1.
    pub sentences: [usize; 2],
}

/// A rating as the judge's distribution over levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// The probability of each level, from the lowest; they add up to 1.
    pub levels: Vec<f64>,
    /// The most likely level, counted from 0; of equally likely ones the lowest.
    pub most_likely: usize,
    /// The mean level, counted from 0.
    pub expected: f64,
    /// Why, in the judge's words, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Header {
    /// The version of the format that this program writes and reads.
    pub const FORMAT: u32 = 1;
}

impl Judged {
    /// A text with the verdict on it.
    pub fn new(text: &str, verdict: Verdict) -> Self {
        let Verdict { is_yes, p_yes, reason } = verdict;
        Self { text: text.to_owned(), context: None, window: None, verdict: is_yes, p_yes: Some(p_yes), reason }
    }
}

impl Judged {
    /// A text that nothing could support.
    pub fn unsupported(text: &str) -> Self {
        Self { text: text.to_owned(), context: None, window: None, verdict: false, p_yes: None, reason: None }
    }
}

impl Rating {
    /// The rating of a distribution over levels, of which there is at least one.
    pub fn new(levels: Vec<f64>, reason: Option<String>) -> Self {
        let mut most_likely = 0;
        for (idx, p) in levels.iter().enumerate() {
            if *p > levels[most_likely] {
                most_likely = idx;
            }
        }
        let expected = levels.iter().enumerate().map(|(idx, p)| idx as f64 * p).sum();
        Self { levels, most_likely, expected, reason }
    }
}

impl Score {
    /// A score by itself.
    pub fn of(score: f64) -> Self {
        Self { score, figures: BTreeMap::new() }
    }

    /// The same with a figure beside it.
    pub fn with(mut self, name: &str, figure: f64) -> Self {
        self.figures.insert(name.to_owned(), figure);
        self
    }
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
