//! Metrics: what is measured, and from which answers does a score follow?
//!
//! A metric first asks, a pure function of a sample and the answers about it, and then computes: a pure function of the
//! sample and what was judged, so that a score of either [`Profile`] follows from a record
//! with no model at hand. One file a metric, one line in [`METRICS`].

mod answer_correctness;
mod answer_relevancy;
mod bleu;
mod chrf;
mod context_entity_recall;
mod context_precision;
mod context_recall;
mod context_relevance;
mod context_utilization;
mod exact_match;
mod facts;
mod factual_correctness;
mod faithfulness;
mod id_based_context_precision;
mod id_based_context_recall;
mod ids;
mod likeness;
mod noise_sensitivity;
mod nonllm_context_precision;
mod nonllm_context_recall;
mod nv_answer_accuracy;
mod nv_context_relevance;
mod nv_response_groundedness;
mod quoted_spans;
mod ranking;
mod ratings;
mod rouge;
pub mod rubric;
mod semantic_similarity;
mod string_presence;
mod string_similarity;
mod summary_score;
pub(crate) mod support;

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Outcome, Score};
use crate::sample::{Column, Sample};
use crate::settings::{Profile, Settings};
use crate::text;

pub use answer_correctness::AnswerCorrectness;
pub use answer_relevancy::AnswerRelevancy;
pub use bleu::Bleu;
pub use chrf::Chrf;
pub use context_entity_recall::ContextEntityRecall;
pub use context_precision::ContextPrecision;
pub use context_recall::ContextRecall;
pub use context_relevance::ContextRelevance;
pub use context_utilization::ContextUtilization;
pub use exact_match::ExactMatch;
pub use factual_correctness::{FactualCorrectness, Mode};
pub use faithfulness::Faithfulness;
pub use id_based_context_precision::IdBasedContextPrecision;
pub use id_based_context_recall::IdBasedContextRecall;
pub use noise_sensitivity::{Noise, NoiseSensitivity};
pub use nonllm_context_precision::NonllmContextPrecision;
pub use nonllm_context_recall::NonllmContextRecall;
pub use nv_answer_accuracy::NvAnswerAccuracy;
pub use nv_context_relevance::NvContextRelevance;
pub use nv_response_groundedness::NvResponseGroundedness;
pub use quoted_spans::QuotedSpans;
pub use rouge::Rouge;
pub use semantic_similarity::SemanticSimilarity;
pub use string_presence::StringPresence;
pub use string_similarity::StringSimilarity;
pub use summary_score::SummaryScore;

/// Every metric, in the order in which tables show them; those of the user's own come after ([`rubric`]).
pub const METRICS: &[&dyn Metric] = &[
    &Faithfulness,
    &AnswerRelevancy,
    &ContextPrecision,
    &ContextUtilization,
    &ContextRecall,
    &ContextEntityRecall,
    &ContextRelevance,
    &NoiseSensitivity { noise: Noise::Relevant },
    &NoiseSensitivity { noise: Noise::Irrelevant },
    &NvContextRelevance,
    &NvResponseGroundedness,
    &NvAnswerAccuracy,
    &AnswerCorrectness,
    &FactualCorrectness { mode: Mode::F },
    &FactualCorrectness { mode: Mode::Precision },
    &FactualCorrectness { mode: Mode::Recall },
    &SemanticSimilarity,
    &SummaryScore,
    &NonllmContextPrecision,
    &NonllmContextRecall,
    &IdBasedContextPrecision,
    &IdBasedContextRecall,
    &ExactMatch,
    &StringPresence,
    &StringSimilarity,
    &Bleu,
    &Rouge,
    &Chrf,
    &QuotedSpans,
];

/// Something that can be measured on a sample.
pub trait Metric: Sync {
    /// What it needs and what its scores mean.
    fn about(&self) -> About<'_>;

    /// What was judged about a sample that has all columns it needs; nothing, if the sample alone is enough.
    ///
    /// # Errors
    /// [`Stop::Pending`] while answers are missing, otherwise why there is no score, in any profile.
    fn ask(&self, _sample: &Sample, _answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        Ok(Vec::new())
    }

    /// The score that follows.
    ///
    /// # Errors
    /// Why there is none; never [`Stop::Pending`].
    fn score(&self, case: &Case<'_>) -> Result<Score, Stop>;
}

/// A sample with what was judged about it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The sample; it has the columns that the metric needs.
    pub sample: &'a Sample,
    /// What the metric's [`ask`](Metric::ask) returned.
    pub evidence: &'a [Evidence],
    /// Profile, and what else shapes the arithmetic.
    pub settings: &'a Settings,
}

/// What a metric needs, and what its scores mean.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The name, that of Ragas if it has one.
    pub name: &'a str,
    /// Other names that are accepted.
    pub aliases: &'a [&'a str],
    /// One line of meaning.
    pub summary: &'a str,
    /// The columns it needs.
    pub columns: &'a [Column],
    /// The models it needs.
    pub models: &'a [Role],
    /// The smallest and the largest score.
    pub range: (f64, f64),
    /// Which end of the range is good.
    pub best: Best,
    /// What a failed cell counts as in the strict mean.
    pub failed_as: f64,
    /// Rounds of questions it needs at most, with verdicts by logits and without reasons.
    pub depth: usize,
    /// Whether it is computed without being named, where the file has its columns.
    pub is_default: bool,
}

/// Which end of a range is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// The largest score.
    Highest,
    /// The smallest.
    Lowest,
}

impl About<'static> {
    /// What most metrics have in common: from 0 to 1, 1 is best, no model, only if it is named.
    pub const COMMON: Self = Self {
        name: "",
        aliases: &[],
        summary: "",
        columns: &[],
        models: &[],
        range: (0.0, 1.0),
        best: Best::Highest,
        failed_as: 0.0,
        depth: 0,
        is_default: false,
    };
}

impl About<'_> {
    /// The best score there can be.
    pub fn best_score(&self) -> f64 {
        match self.best {
            Best::Highest => self.range.1,
            Best::Lowest => self.range.0,
        }
    }
}

/// The metric of this name.
///
/// # Errors
/// [`Error::Usage`] that names the nearest metric, or all.
pub fn find(name: &str) -> Result<&'static dyn Metric> {
    let is_called = |about: About<'_>| about.name == name || about.aliases.contains(&name);
    if let Some(metric) = METRICS.iter().find(|metric| is_called(metric.about())) {
        return Ok(*metric);
    }
    if [rubric::ASPECT_CRITIC.name, rubric::RUBRIC_SCORE.name].contains(&name) {
        let help = "describe it in a file and name that with `--rubric FILE`; README.md has an example";
        return Err(Error::usage(format!("`{name}` has no definition of its own"), help));
    }
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.about().name).collect();
    let nearest = names.iter().min_by_key(|known| strsim::levenshtein(name, known)).expect("there are metrics");
    let help = if strsim::levenshtein(name, nearest) <= 3 {
        format!("did you mean `{nearest}`?")
    } else {
        "`ragstone metrics` lists them all".to_owned()
    };
    Err(Error::usage(format!("there is no metric `{name}`"), help))
}

/// What a metric found: the outcome, and what was judged, unless the asking ended before.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The score, or why there is none.
    pub outcome: Outcome,
    /// What was judged.
    pub evidence: Option<Vec<Evidence>>,
}

/// Asks and scores, if the sample has the metric's columns; `None` while answers are missing.
///
/// # Panics
/// If the metric returns a score that is no number, or waits for an answer while it computes: a bug.
pub fn evaluate(metric: &dyn Metric, sample: &Sample, answers: &mut Answers<'_>) -> Option<Finding> {
    let stopped = |stop| match stop {
        Stop::Pending => None,
        Stop::Unscored(reason) => Some(Outcome::Unscored { reason }),
        Stop::Failed(reason) => Some(Outcome::Failed { reason }),
    };
    let missing: Vec<&str> =
        metric.about().columns.iter().filter(|column| !column.is_present(sample)).map(|column| column.name()).collect();
    if !missing.is_empty() {
        let reason = format!("the row has no `{}`", missing.join("`, `"));
        return Some(Finding { outcome: Outcome::Unscored { reason }, evidence: None });
    }
    match metric.ask(sample, answers) {
        Ok(evidence) => {
            let case = Case { sample, evidence: &evidence, settings: answers.settings() };
            Some(Finding { outcome: compute(metric, &case), evidence: Some(evidence) })
        }
        Err(stop) => stopped(stop).map(|outcome| Finding { outcome, evidence: None }),
    }
}

/// The score that follows from what was judged.
///
/// # Panics
/// As [`evaluate`].
pub fn compute(metric: &dyn Metric, case: &Case<'_>) -> Outcome {
    match metric.score(case) {
        Ok(score) => {
            assert!(score.score.is_finite(), "`{}` returned the score {}", metric.about().name, score.score);
            Outcome::Scored(score)
        }
        Err(Stop::Unscored(reason)) => Outcome::Unscored { reason },
        Err(Stop::Failed(reason)) => Outcome::Failed { reason },
        Err(Stop::Pending) => panic!("`{}` asks while it computes", metric.about().name),
    }
}

/// The text of a column that [`evaluate`] found present.
fn text_of(column: &Option<String>) -> &str {
    column.as_deref().expect("the columns were checked")
}

/// The list of a column that [`evaluate`] found present.
fn list_of(column: &Option<Vec<String>>) -> &[String] {
    column.as_deref().expect("the columns were checked")
}

/// Response and reference as the profile compares them.
fn compared_pair<'a>(case: &Case<'a>) -> [Cow<'a, str>; 2] {
    [&case.sample.response, &case.sample.reference].map(|text| compared_text(case.settings.profile, text_of(text)))
}

/// A text as the profile compares it: in NFC, but for Ragas as it is.
fn compared_text(profile: Profile, text: &str) -> Cow<'_, str> {
    match profile {
        Profile::Strict => text::nfc(text),
        Profile::Ragas => Cow::Borrowed(text),
    }
}

/// Whether there is nothing but white space.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
