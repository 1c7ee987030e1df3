//! The command line: what can be asked for?

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::engine::{Device, Options};
use crate::settings::{self, Explain, Level, MAX_BETA, Profile, Settings, Statements, VerdictMode};
use crate::text::Language;
use crate::text::distance::Distance;

/// Judges RAG systems offline: the judge and the embedder run in this process.
#[derive(Debug, Parser)]
#[command(name = "ragstone", version, arg_required_else_help = true)]
pub struct Cli {
    /// Folder of the model store [default: $RAGSTONE_HOME, else the user's cache folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fetch the default models if need be, and score the built-in example
    Quickstart(QuickstartArgs),
    /// Score a file
    Eval(EvalArgs),
    /// Show the scores of a run again, with no model: also in the arithmetic of Ragas
    Report(ReportArgs),
    /// Judge rows that people labelled, and say how far the judge agrees with them
    JudgeCheck(JudgeCheckArgs),
    /// Compare the scores of a run with labels, with no model
    Calibrate(CalibrateArgs),
    /// List the metrics: what they need and what they mean
    Metrics,
    /// List, fetch, find and check models
    #[command(subcommand)]
    Models(ModelsCommand),
}

/// Arguments of `quickstart`.
#[derive(Debug, Args)]
pub struct QuickstartArgs {
    /// How to score.
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// JSON or JSONL with the columns `user_input`, `response`, `retrieved_contexts`, `reference`; the old names
    /// `question`, `answer`, `contexts`, `ground_truth` are read as well
    pub file: PathBuf,
    /// Metrics, separated by commas, or `all` [default: the usual ones whose columns the file has]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub metrics: Vec<String>,
    /// Score the first N rows only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// How to score.
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of a run
    pub run: PathBuf,
    /// Arithmetic of the scores [default: that of the run]
    #[arg(long, value_enum, value_name = "NAME")]
    pub profile: Option<Profile>,
    /// Folder for the records in this arithmetic, with scores and summary
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `judge-check`.
#[derive(Debug, Args)]
pub struct JudgeCheckArgs {
    /// Labelled rows: JSONL files, or folders of them. A row has a `label` (1 yes, 0 no, or a grade), a `group` if rows of a
    /// document belong together, and `statement` or `response` with contexts, question or reference
    #[arg(long = "data", required_unless_present = "injection", num_args = 1.., value_name = "FILE|DIR")]
    pub data: Vec<PathBuf>,
    /// Try to steer the judge by attacks that come with the program (orders, forged verdicts and turns, flattery, ...), in
    /// English and Korean, and say how often its verdict turns; alone, or beside --data
    #[arg(long)]
    pub injection: bool,
    /// Rows a file at most, as many with yes as with no
    #[arg(long, value_name = "N", default_value_t = 120)]
    pub rows: usize,
    /// How to score.
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Folder of a run
    pub run: PathBuf,
    /// JSONL with the `id` of the run's samples and a `label` each: 1 yes, 0 no, or a grade
    #[arg(long, value_name = "FILE")]
    pub labels: PathBuf,
}

/// How to score, the same for a file and for the example.
#[derive(Debug, Args)]
pub struct ScoringArgs {
    /// Judge: a name from `ragstone models list`, or the path of a GGUF file
    #[arg(long, value_name = "NAME|PATH", default_value = super::models::DEFAULT_JUDGE)]
    pub judge: String,
    /// Embedder: a name from `ragstone models list`, or the path of a folder
    #[arg(long, value_name = "NAME|PATH", default_value = super::models::DEFAULT_EMBEDDER)]
    pub embedder: String,
    /// Folder for the results [default: runs/FILE, then runs/FILE-2, ...]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keys the random draws of reverse questions
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Reverse questions a response (answer_relevancy)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub questions: u32,
    /// Correct verdicts by what `judge-check` found for this judge: its `calibration.toml`
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,
    /// Your own metrics: a TOML file of criteria and rubrics
    #[arg(long, value_name = "FILE")]
    pub rubric: Option<PathBuf>,
    /// Arithmetic of the scores: ours, or that of Ragas 0.4.3
    #[arg(long, value_enum, default_value_t = Profile::Strict, value_name = "NAME")]
    pub profile: Profile,
    /// Verdicts from the probability of the label, or written: a reason first, then the verdict
    #[arg(long, value_enum, default_value_t = VerdictMode::Logits, value_name = "HOW")]
    pub verdicts: VerdictMode,
    /// Reasons for verdicts by logits: for none, for those that lower a score, or for all
    #[arg(long, value_enum, default_value_t = Explain::None, value_name = "WHICH")]
    pub explain: Explain,
    /// Claims of the response: written by the judge, or its sentences (faithfulness)
    #[arg(long, value_enum, default_value_t = Statements::Written, value_name = "HOW")]
    pub claims: Statements,
    /// Statements of the reference: its sentences, or written by the judge (context_recall)
    #[arg(long, value_enum, default_value_t = Statements::Sentences, value_name = "HOW")]
    pub statements: Statements,
    /// Sentences of a context that a claim is held against at a time, or `whole` for all contexts joined (verdicts on support)
    #[arg(long, value_name = "N", default_value = "6", value_parser = parse_window)]
    pub window: WindowChoice,
    /// How finely texts are taken apart (factual_correctness)
    #[arg(long, value_enum, default_value_t = Level::Low, value_name = "LEVEL")]
    pub atomicity: Level,
    /// How much of a text counts (factual_correctness)
    #[arg(long, value_enum, default_value_t = Level::Low, value_name = "LEVEL")]
    pub coverage: Level,
    /// How much recall weighs against precision (factual_correctness, answer_correctness)
    #[arg(long, value_name = "BETA", default_value_t = 1.0, allow_negative_numbers = true, value_parser = parse_beta)]
    pub beta: f64,
    /// How much claims and likeness weigh (answer_correctness)
    #[arg(long, value_name = "CLAIMS,LIKENESS", default_value = "0.75,0.25", value_parser = parse_weights)]
    pub weights: [f64; 2],
    /// How texts are compared letter by letter: levenshtein, and a chunk inside another matches it, unless one is named
    /// (string_similarity, nonllm_*)
    #[arg(long, value_enum, value_name = "NAME")]
    pub distance: Option<Distance>,
    /// The cosine from which a pair counts 1 and otherwise 0 (semantic_similarity)
    #[arg(long, value_name = "COSINE", allow_negative_numbers = true, value_parser = parse_cosine)]
    pub similarity_threshold: Option<f64>,
    /// Language of the prompts; `auto` follows each sample's script
    #[arg(long, value_enum, default_value_t = LanguageChoice::Auto)]
    pub language: LanguageChoice,
    /// Threads that compute [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What computes: our kernels, or the operations of candle, slower and kept to compare with
    #[arg(long, value_enum, default_value_t = DeviceChoice::Cpu)]
    pub device: DeviceChoice,
    /// Memory for keys and values of the judge: bytes, or with K, M or G behind; taken as it is used
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = parse_size)]
    pub kv_budget: usize,
    /// Print every prompt with its answer on stderr
    #[arg(short, long)]
    pub verbose: bool,
    /// Write every prompt with its answer to a file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Answer from a script instead of models, for tests
    #[arg(long, value_name = "FILE", hide = true)]
    pub script: Option<PathBuf>,
}

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// Our kernels on the processor
    Cpu,
    /// The operations of candle on the processor
    CpuReference,
}

/// A number of bytes: `1500000`, `512M`, `2G` (powers of 1024).
fn parse_size(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.to_ascii_uppercase().chars().last() {
        Some('K') => (&text[..text.len() - 1], 10),
        Some('M') => (&text[..text.len() - 1], 20),
        Some('G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let n: usize = digits.parse().map_err(|_| "expected a whole number, perhaps with K, M or G behind".to_owned())?;
    n.checked_mul(1 << shift).ok_or_else(|| "that is more than this machine can address".to_owned())
}

/// A number of sentences, or `whole`.
fn parse_window(text: &str) -> Result<WindowChoice, String> {
    if text == "whole" {
        return Ok(WindowChoice::Whole);
    }
    let n = text.parse().ok().filter(|n| *n > 0);
    n.map(WindowChoice::Sentences).ok_or_else(|| "expected a number of sentences from 1 on, or `whole`".to_owned())
}

fn parse_beta(text: &str) -> Result<f64, String> {
    let beta = text.parse().ok().filter(|beta| settings::is_beta(*beta));
    beta.ok_or_else(|| format!("expected a number above 0 and up to {MAX_BETA}"))
}

fn parse_cosine(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (-1.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from -1 to 1".to_owned())
}

/// Two weights, not both 0: `0.75,0.25`.
fn parse_weights(text: &str) -> Result<[f64; 2], String> {
    let weight = |text: &str| text.trim().parse().ok();
    let weights = text.split_once(',').and_then(|(first, second)| Some([weight(first)?, weight(second)?]));
    let weights = weights.filter(|weights| settings::are_weights(*weights));
    weights.ok_or_else(|| "expected two numbers that are not negative and not both 0, as in `0.75,0.25`".to_owned())
}

/// What a claim is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowChoice {
    /// So many sentences of a context at a time.
    Sentences(usize),
    /// All contexts, joined.
    Whole,
}

/// The language of the prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LanguageChoice {
    /// Korean where a quarter of the letters are Hangul, else English
    Auto,
    /// English
    En,
    /// Korean
    Ko,
}

impl ScoringArgs {
    /// Threads that compute.
    pub fn n_threads(&self) -> usize {
        match self.threads {
            Some(n) => usize::from(n),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// What shapes questions and scores.
    pub fn settings(&self) -> Settings {
        Settings {
            profile: self.profile,
            questions: self.questions,
            seed: self.seed,
            verdicts: self.verdicts,
            explain: self.explain,
            claims: self.claims,
            statements: self.statements,
            window: match self.window {
                WindowChoice::Sentences(n) => Some(n),
                WindowChoice::Whole => None,
            },
            atomicity: self.atomicity,
            coverage: self.coverage,
            beta: self.beta,
            weights: self.weights,
            distance: self.distance,
            similarity_threshold: self.similarity_threshold,
            ..Settings::default()
        }
    }

    /// How the judge computes.
    pub fn engine_options(&self) -> Options {
        let device = match self.device {
            DeviceChoice::Cpu => Device::Cpu,
            DeviceChoice::CpuReference => Device::CpuReference,
        };
        Options { device, kv_bytes: self.kv_budget, ..Options::default() }
    }
}

impl LanguageChoice {
    /// The language, unless it follows the sample.
    pub fn language(self) -> Option<Language> {
        match self {
            Self::Auto => None,
            Self::En => Some(Language::English),
            Self::Ko => Some(Language::Korean),
        }
    }
}

/// What to do with models.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the known models with licence and size, and whether they are in the store
    List,
    /// Fetch a model into the store: the one command that opens a connection, beside `quickstart`
    #[cfg(feature = "pull")]
    Pull {
        /// A name from `ragstone models list`
        name: String,
    },
    /// Print the folder of a model in the store
    Path {
        /// A name from `ragstone models list`
        name: String,
    },
    /// Hash a model's files again and compare them with the manifest
    Verify {
        /// Names from `ragstone models list` [default: all that are in the store]
        names: Vec<String>,
    },
}
