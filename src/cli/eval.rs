//! `ragstone eval` and `ragstone quickstart`: from a file to scores.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::args::{EvalArgs, QuickstartArgs, ScoringArgs};
use super::progress::RunBar;
use super::{Done, models, print, tell};
use crate::dataset::Dataset;
use crate::engine::kernels::Cpu;
use crate::engine::memory::Memory;
use crate::engine::{Counts, Options};
use crate::error::{Error, Place, Result};
use crate::judge::{Answer, Question, Settings};
use crate::metrics::{self, METRICS, Metric};
use crate::model::Role;
use crate::report::Summary;
use crate::report::files::{RunFolder, RunInfo};
use crate::report::table::Table;
use crate::respond::Responder;
use crate::respond::local::LocalModels;
use crate::respond::script::Script;
use crate::run::{self, Event, Plan};
use crate::sample::Column;
use crate::store::{self, Store};

/// The built-in example, so that an installed program has it anywhere.
const EXAMPLE: &str = include_str!("../../examples/quickstart.jsonl");

/// Bad rows that are printed one by one; the records have them all.
const MAX_WARNINGS: usize = 5;

/// Fetches what is missing, then scores the built-in example.
pub fn quickstart(store: &Store, args: &QuickstartArgs) -> Result<Done> {
    if args.scoring.script.is_none() {
        fetch_missing(store, &args.scoring)?;
    }
    let name = Path::new("quickstart.jsonl");
    let open = || Dataset::read(name, EXAMPLE.as_bytes());
    let survey = Survey::of(open()?, name, usize::MAX)?;
    let metrics = survey.all_metrics();
    tell(format_args!(
        "the built-in example: {} samples; see examples/README.md for what is wrong with which",
        survey.n_rows
    ));
    score(store, &args.scoring, name, &survey, metrics, open()?)
}

#[cfg(feature = "pull")]
fn fetch_missing(store: &Store, args: &ScoringArgs) -> Result<()> {
    for name in [&args.judge, &args.embedder] {
        // A path is no name of the catalogue and needs no fetching.
        if let Ok(manifest) = store::find(name) {
            models::pull(store, &manifest)?;
        }
    }
    Ok(())
}

#[cfg(not(feature = "pull"))]
fn fetch_missing(store: &Store, args: &ScoringArgs) -> Result<()> {
    [&args.judge, &args.embedder].into_iter().try_for_each(|name| {
        let Ok(manifest) = store::find(name) else { return Ok(()) };
        store.locate(&manifest).map(|_| ())
    })
}

/// Scores a file.
pub fn eval(store: &Store, args: &EvalArgs) -> Result<Done> {
    check_regular(&args.file)?;
    let limit = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let survey = Survey::of(Dataset::open(&args.file)?, &args.file, limit)?;
    let metrics = if args.metrics.is_empty() { survey.all_metrics() } else { survey.metrics(&args.metrics)? };
    if metrics.is_empty() {
        return Err(survey.no_metrics());
    }
    survey.warn_of_bad_rows();
    if args.metrics.is_empty() {
        survey.warn_of_left_out_metrics();
    }
    let rows = Dataset::open(&args.file)?;
    score(store, &args.scoring, &args.file, &survey, metrics, rows)
}

/// Refuses pipes and devices: the file is read twice, first to see what is in it.
fn check_regular(file: &Path) -> Result<()> {
    // What is not there, or is a folder, is named when it is opened.
    let is_stream = file.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if !is_stream {
        return Ok(());
    }
    let message = format!("`{}` is a pipe or a device, expected a file", file.display());
    Err(Error::usage(message, "save the rows to a file first: it is read twice"))
}

/// What a first reading of a file found, before any model is loaded.
struct Survey {
    file: PathBuf,
    /// Rows to be scored, bad ones included.
    n_rows: usize,
    /// Columns that some row has.
    columns: Vec<Column>,
    /// Bytes of all responses.
    response_bytes: usize,
    /// Bytes of the contexts of the row that has most.
    max_context_bytes: usize,
    /// The first bad rows.
    warnings: Vec<Error>,
    n_bad: usize,
}

impl Survey {
    fn of<R: BufRead>(rows: Dataset<R>, file: &Path, limit: usize) -> Result<Self> {
        let mut survey = Self {
            file: file.to_owned(),
            n_rows: 0,
            columns: Vec::new(),
            response_bytes: 0,
            max_context_bytes: 0,
            warnings: Vec::new(),
            n_bad: 0,
        };
        for row in rows.take(limit) {
            survey.n_rows += 1;
            match row {
                Ok(sample) => {
                    let new = |column: &Column| column.is_present(&sample) && !survey.columns.contains(column);
                    let new: Vec<Column> = Column::ALL.into_iter().filter(new).collect();
                    survey.columns.extend(new);
                    let contexts = sample.retrieved_contexts.iter().flatten().map(String::len).sum();
                    survey.max_context_bytes = survey.max_context_bytes.max(contexts);
                    survey.response_bytes += sample.response.map_or(0, |response| response.len());
                }
                Err(err @ Error::Dataset { .. }) => {
                    survey.n_bad += 1;
                    if survey.warnings.len() < MAX_WARNINGS {
                        survey.warnings.push(err);
                    }
                }
                Err(err) => return Err(err),
            }
        }
        // Nothing can be scored: the first bad row is the error.
        if survey.n_bad == survey.n_rows {
            return Err(survey.warnings.swap_remove(0));
        }
        Ok(survey)
    }

    /// Tokens whose keys and values will be kept at a time: those of texts written side by side, each with instructions,
    /// the response and claims about it, or those of one sample's contexts and the questions about them.
    fn kv_tokens(&self, options: &Options) -> usize {
        /// Of UTF-8, English and Korean.
        const TOKEN_BYTES: usize = 4;
        /// Instructions after the response, and a question written about it.
        const TEXT_TOKENS: usize = 60;
        let response = self.response_bytes / self.n_rows / TOKEN_BYTES;
        // Claims once and a question three times: of the texts in work a quarter is as long as the response again.
        let n_texts = options.max_streams.min(4 * self.n_rows);
        let writing = n_texts * (TEXT_TOKENS + response + response / 4);
        writing.max(self.max_context_bytes / TOKEN_BYTES + 2 * options.max_rows)
    }

    fn has(&self, metric: &dyn Metric) -> bool {
        metric.about().columns.iter().all(|column| self.columns.contains(column))
    }

    fn all_metrics(&self) -> Vec<&'static dyn Metric> {
        METRICS.iter().copied().filter(|metric| self.has(*metric)).collect()
    }

    /// The metrics of these names, each once and in the order of the table, if the file has their columns.
    fn metrics(&self, names: &[String]) -> Result<Vec<&'static dyn Metric>> {
        names.iter().try_for_each(|name| self.check_columns(name))?;
        let is_asked = |metric: &&dyn Metric| names.iter().any(|name| name == metric.about().name);
        Ok(METRICS.iter().copied().filter(is_asked).collect())
    }

    fn check_columns(&self, name: &str) -> Result<()> {
        let metric = metrics::find(name)?;
        let missing = metric.about().columns.iter().find(|column| !self.columns.contains(column));
        let Some(missing) = missing else { return Ok(()) };
        let message = format!("no column `{}`, which metric `{name}` needs", missing.name());
        let help = format!("found {}; rename a column, or leave the metric out", self.found());
        Err(Error::Dataset { place: Place::file(&self.file), message, help })
    }

    fn no_metrics(&self) -> Error {
        let message = format!("no metric has all its columns; found {}", self.found());
        let help = "`ragstone metrics` lists which metric needs which columns".to_owned();
        Error::Dataset { place: Place::file(&self.file), message, help }
    }

    fn found(&self) -> String {
        // Every row is given an id, so that it was found says nothing of the file.
        let columns = self.columns.iter().filter(|column| **column != Column::Id);
        columns.map(|column| format!("`{}`", column.name())).collect::<Vec<_>>().join(", ")
    }

    fn warn_of_bad_rows(&self) {
        for err in &self.warnings {
            tell(format_args!("warning: {err}"));
            if let Some(help) = err.help() {
                tell(format_args!("help: {help}"));
            }
        }
        if self.n_bad > 0 {
            tell(format_args!(
                "warning: {} of {} rows cannot be read; their cells will be failed",
                self.n_bad, self.n_rows
            ));
        }
    }

    fn warn_of_left_out_metrics(&self) {
        for metric in METRICS.iter().filter(|metric| !self.has(**metric)) {
            let missing = metric.about().columns.iter().filter(|column| !self.columns.contains(column));
            let missing: Vec<&str> = missing.map(|column| column.name()).collect();
            tell(format_args!("left out: {}, the file has no `{}`", metric.about().name, missing.join("`, `")));
        }
    }
}

/// Loads the models, runs, and reports.
fn score<R: BufRead>(
    store: &Store,
    args: &ScoringArgs,
    file: &Path,
    survey: &Survey,
    metrics: Vec<&'static dyn Metric>,
    rows: Dataset<R>,
) -> Result<Done> {
    let settings = Settings { questions: args.questions, seed: args.seed, ..Settings::default() };
    let plan = Plan { metrics, settings, language: args.language.language(), ..Plan::default() };
    let out = out_folder(args, file);
    RunFolder::check_free(&out)?;
    let mut log = Log::open(args)?;
    let started = SystemTime::now();
    let load_start = Instant::now();
    start_threads(args.n_threads())?;
    let mut models = Models::load(store, args, &plan)?;
    let load_secs = load_start.elapsed().as_secs_f64();
    let predicted_bytes = models.predicted_bytes(survey, &args.engine_options());
    let header = plan.header(models.responder());
    let mut folder = RunFolder::create(&out, &header)?;
    let (mut table, mut summary) = (Table::new(&header.metrics), Summary::new(&header.metrics));
    let bar = RunBar::new(survey.n_rows as u64);
    let score_start = Instant::now();
    run::run(
        rows.take(survey.n_rows),
        &plan,
        models.responder_mut(),
        &mut |record| {
            table.add(&record);
            summary.add(&record);
            folder.add(&record)
        },
        &mut |event| {
            bar.show(&event);
            log.write(&event, &bar);
        },
    )?;
    bar.finish();
    let info = run_info(file, (started, load_secs, score_start), &summary, &models, predicted_bytes, args.n_threads());
    let path = folder.finish(&summary, &info)?;
    print(&table.render(&summary))?;
    log.finish()?;
    tell(format_args!("{} s; records, scores and summary are in {}", info.score_secs.round(), path.display()));
    Ok(if summary.n_failed() > 0 { Done::WithFailures } else { Done::Well })
}

/// Starts the threads that make tokens of texts, and those of candle.
fn start_threads(n_threads: usize) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global().map_err(|err| {
        Error::usage(format!("{n_threads} threads cannot be started: {err}"), "try fewer with `--threads N`")
    })
}

/// Who answers in this run.
enum Models {
    Local(Box<LocalModels>),
    Script(Script),
}

impl Models {
    /// The script, or those models that the plan's metrics need.
    fn load(store: &Store, args: &ScoringArgs, plan: &Plan) -> Result<Self> {
        if let Some(path) = &args.script {
            return Ok(Self::Script(Script::read(path)?));
        }
        let needs = |role| plan.metrics.iter().any(|metric| metric.about().models.contains(&role));
        let cpu = Arc::new(Cpu::new(args.n_threads()));
        let options = args.engine_options();
        let embedder =
            needs(Role::Embedder).then(|| models::load_embedder(store, &args.embedder, &cpu, options.device));
        let embedder = embedder.transpose()?;
        let judge = needs(Role::Judge).then(|| models::load_judge(store, &args.judge, &cpu, options));
        let judge = judge.transpose()?;
        Ok(Self::Local(Box::new(LocalModels::new(judge, embedder))))
    }

    fn responder(&self) -> &dyn Responder {
        match self {
            Self::Local(models) => models.as_ref(),
            Self::Script(script) => script,
        }
    }

    fn responder_mut(&mut self) -> &mut dyn Responder {
        match self {
            Self::Local(models) => models.as_mut(),
            Self::Script(script) => script,
        }
    }

    /// The largest memory that the run will take.
    fn predicted_bytes(&self, survey: &Survey, options: &Options) -> usize {
        match self {
            Self::Local(models) => models.predicted_bytes(survey.kv_tokens(options)),
            Self::Script(_) => 0,
        }
    }

    fn usage(&self) -> (Counts, Memory) {
        match self {
            Self::Local(models) => (models.counts(), models.memory()),
            Self::Script(_) => Default::default(),
        }
    }
}

/// The folder asked for, or the first of `runs/FILE`, `runs/FILE-2`, ... that holds no run.
fn out_folder(args: &ScoringArgs, file: &Path) -> PathBuf {
    if let Some(out) = &args.out {
        return out.clone();
    }
    let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
    let names = std::iter::once(stem.to_string()).chain((2..).map(|n| format!("{stem}-{n}")));
    let mut folders = names.map(|name| Path::new("runs").join(name));
    folders.find(|folder| !folder.exists()).expect("the names do not end")
}

/// Prompts and answers, for `--verbose` and `--log`.
struct Log {
    is_verbose: bool,
    file: Option<(PathBuf, BufWriter<File>)>,
    /// The first refusal of the disk; the run goes on and reports it at the end.
    refusal: Option<std::io::Error>,
}

impl Log {
    fn open(args: &ScoringArgs) -> Result<Self> {
        let open = |path: &PathBuf| {
            // Whatever is there is the user's: the data set, or the log of another run. A device may be written to.
            if path.metadata().is_ok_and(|meta| meta.is_file()) {
                let message = format!("`{}` is there already", path.display());
                return Err(Error::usage(message, "name another file with `--log FILE`"));
            }
            let file = File::create(path).map_err(Error::io("create", path))?;
            Ok((path.clone(), BufWriter::new(file)))
        };
        Ok(Self { is_verbose: args.verbose, file: args.log.as_ref().map(open).transpose()?, refusal: None })
    }

    fn write(&mut self, event: &Event<'_>, bar: &RunBar) {
        let Event::Answered { question, answer } = event else { return };
        if !self.is_verbose && self.file.is_none() {
            return;
        }
        let text = describe(question, answer);
        if self.is_verbose {
            bar.print(&text);
        }
        if let Some((_, file)) = &mut self.file
            && let Err(err) = writeln!(file, "{text}")
        {
            self.refusal.get_or_insert(err);
        }
    }

    fn finish(self) -> Result<()> {
        let Some((path, mut file)) = self.file else { return Ok(()) };
        let flushed = file.flush();
        self.refusal.map_or(flushed, Err).map_err(Error::io("write", &path))
    }
}

/// A question with its answer, for people.
fn describe(question: &Question, answer: &Answer) -> String {
    let asked = match question {
        Question::Verdict { prompt, .. } | Question::Write { prompt, .. } => prompt.to_string(),
        Question::Embed { text } => text.clone(),
    };
    let answered = match answer {
        Answer::Verdict { p_yes } => format!("P(yes) = {p_yes:.4}"),
        Answer::Text(text) => text.clone(),
        Answer::Vector(vector) => format!("a vector of {} numbers", vector.len()),
        Answer::Failed(reason) => format!("failed: {reason}"),
    };
    format!("----- asked\n{asked}\n----- answered\n{answered}")
}

fn run_info(
    file: &Path,
    (started, load_secs, score_start): (SystemTime, f64, Instant),
    summary: &Summary,
    models: &Models,
    predicted_memory_bytes: usize,
    n_threads: usize,
) -> RunInfo {
    let (counts, memory) = models.usage();
    RunInfo {
        data: file.display().to_string(),
        started_unix_secs: started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        load_secs,
        score_secs: score_start.elapsed().as_secs_f64(),
        n_samples: summary.n_samples(),
        tokens_asked: summary.tokens_asked(),
        tokens_computed: counts.computed,
        tokens_written: counts.written,
        weight_bytes: memory.weight_bytes,
        kv_peak_bytes: memory.kv_peak_bytes,
        predicted_memory_bytes,
        peak_memory_bytes: peak_memory_bytes(),
        n_threads,
        machine: format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
    }
}

/// The largest resident memory of this process so far; only Linux tells it in a file.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}
