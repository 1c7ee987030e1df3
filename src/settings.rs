//! Settings: what shapes questions and scores beside the sample and the models?

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::text::distance::Distance;

/// The arithmetic that makes scores of verdicts; never what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Ours: what was submitted is the denominator, and a perfect score is 1.
    Strict,
    /// That of Ragas 0.4.3, with its epsilons: of its `metrics.collections`, and of the older metrics where those have
    /// none. Where it gives NaN or raises an error, there is no score.
    Ragas,
}

/// How a verdict comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum VerdictMode {
    /// The probability of the label that follows the question.
    Logits,
    /// The judge writes a reason first, and its verdict follows from question and reason.
    Written,
}

/// Which verdicts by logits get a reason, written after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Explain {
    /// No verdict.
    None,
    /// Those that lower a score.
    Losses,
    /// Every verdict.
    All,
}

/// Where the statements of a text come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Statements {
    /// They are its sentences.
    Sentences,
    /// The judge writes them.
    Written,
}

/// How finely, or how completely, a text is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Coarsely; the main points.
    Low,
    /// Finely; everything.
    High,
}

/// What makes of a judge's P(yes) a probability that people would agree with: sigmoid(slope * logit(p) + intercept).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The task in the prompt packs, such as `supported`.
    pub task: String,
    /// The language of the prompts: `en` or `ko`.
    pub language: String,
    /// SHA-256 of the words in which it was asked; for others it says nothing.
    pub words_sha256: String,
    /// Above 0.
    pub slope: f64,
    /// Any finite number.
    pub intercept: f64,
    /// The corrected probability from which a verdict is yes.
    pub threshold: f64,
    /// Rows that it was fitted to.
    pub n_rows: usize,
}

impl Correction {
    /// Whether its numbers are in their ranges.
    pub fn is_sound(&self) -> bool {
        let Self { slope, intercept, threshold, .. } = *self;
        slope.is_finite() && slope > 0.0 && intercept.is_finite() && (0.0..=1.0).contains(&threshold)
    }
}

/// What shapes questions and scores beside the sample; part of the run header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The arithmetic of the scores.
    pub profile: Profile,
    /// P(yes) from which a verdict is yes.
    pub threshold: f64,
    /// Reverse questions that `answer_relevancy` asks for.
    pub questions: u32,
    /// Keys the random draws.
    pub seed: u64,
    /// How verdicts come about.
    pub verdicts: VerdictMode,
    /// Which verdicts are explained.
    pub explain: Explain,
    /// Where the claims of `faithfulness` come from.
    pub claims: Statements,
    /// Where the statements of `context_recall` come from.
    pub statements: Statements,
    /// Sentences of a context that a statement is judged against at a time; `None` is all contexts, joined.
    pub window: Option<usize>,
    /// How finely `factual_correctness` takes texts apart.
    pub atomicity: Level,
    /// How much of a text `factual_correctness` takes.
    pub coverage: Level,
    /// How much recall weighs against precision, in `factual_correctness` and `answer_correctness`.
    pub beta: f64,
    /// How much claims and likeness weigh in `answer_correctness`; neither is negative, and not both are 0.
    pub weights: [f64; 2],
    /// How texts are compared letter by letter; `None` is Levenshtein's distance, and in the strict profile a chunk that lies
    /// wholly in another matches it.
    pub distance: Option<Distance>,
    /// Corrections of verdicts by logits, from a calibration file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// The cosine from which `semantic_similarity` is 1 and otherwise 0; `None` leaves the cosine.
    pub similarity_threshold: Option<f64>,
}

/// The largest beta: F is recall to the sixth digit by then, and the square of beta is far from infinite.
pub const MAX_BETA: f64 = 1000.0;

impl Settings {
    /// Whether a score follows from them that is a number.
    pub fn are_sound(&self) -> bool {
        is_beta(self.beta) && are_weights(self.weights)
    }
}

/// Whether an F-measure can have this beta.
pub fn is_beta(beta: f64) -> bool {
    beta > 0.0 && beta <= MAX_BETA
}

/// Whether two figures can have these weights: neither is negative, and their sum is above 0 and finite.
pub fn are_weights(weights: [f64; 2]) -> bool {
    let sum = weights[0] + weights[1];
    weights.iter().all(|weight| *weight >= 0.0) && sum > 0.0 && sum.is_finite()
}

impl Default for Settings {
    /// The strict profile, threshold one half, three reverse questions as in Ragas, seed 0, verdicts by logits without
    /// reasons, sentences of the reference, windows of six sentences, in which small judges are not lost
    /// (`docs/judge-quality.md`), and coarse claims, beta and weights as in Ragas.
    fn default() -> Self {
        Self {
            profile: Profile::Strict,
            threshold: 0.5,
            questions: 3,
            seed: 0,
            verdicts: VerdictMode::Logits,
            explain: Explain::None,
            claims: Statements::Written,
            statements: Statements::Sentences,
            window: Some(6),
            atomicity: Level::Low,
            coverage: Level::Low,
            beta: 1.0,
            weights: [0.75, 0.25],
            distance: None,
            corrections: Vec::new(),
            similarity_threshold: None,
        }
    }
}
