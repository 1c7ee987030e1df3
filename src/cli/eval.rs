//! `ragstone eval` and `ragstone quickstart`: from a file to scores.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::args::{EvalArgs, QuickstartArgs, ScoringArgs};
use super::log::Log;
use super::progress::RunBar;
use super::survey::Survey;
use super::{Done, RAGAS_NOTE, models, print, tell};
use crate::calibrate::correction::Calibration;
use crate::dataset::Dataset;
use crate::engine::kernels::Cpu;
use crate::engine::memory::Memory;
use crate::engine::{Counts, Options};
use crate::error::{Error, Result};
use crate::metrics::Metric;
use crate::metrics::rubric::{self, OwnMetric};
use crate::model::Role;
use crate::report::Summary;
use crate::report::files::{RunFolder, RunInfo};
use crate::report::table::Table;
use crate::respond::Responder;
use crate::respond::local::LocalModels;
use crate::respond::script::Script;
use crate::run::{self, Plan};
use crate::settings::{Profile, Settings};
use crate::store::{self, Store};

/// The built-in example, so that an installed program has it anywhere.
const EXAMPLE: &str = include_str!("../../examples/quickstart.jsonl");

/// Samples in a wave without models: enough for every thread.
const TEXT_WAVE_SAMPLES: usize = 256;

/// Fetches what is missing, then scores the built-in example.
pub fn quickstart(store: &Store, args: &QuickstartArgs) -> Result<Done> {
    if args.scoring.script.is_none() {
        fetch_missing(store, &args.scoring)?;
    }
    let name = Path::new("quickstart.jsonl");
    let open = || Dataset::read(name, EXAMPLE.as_bytes());
    let survey = Survey::of(open()?, name, usize::MAX)?;
    let metrics = survey.default_metrics();
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
    let metrics = match (args.metrics.is_empty(), &args.scoring.rubric) {
        (false, _) => survey.metrics(&args.metrics)?,
        (true, None) => survey.default_metrics(),
        (true, Some(_)) => Vec::new(),
    };
    if metrics.is_empty() && args.scoring.rubric.is_none() {
        return Err(survey.no_metrics());
    }
    survey.warn_of_bad_rows();
    if args.metrics.is_empty() && args.scoring.rubric.is_none() {
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

/// Loads the models, runs, and reports.
fn score<R: BufRead>(
    store: &Store,
    args: &ScoringArgs,
    file: &Path,
    survey: &Survey,
    metrics: Vec<&'static dyn Metric>,
    rows: Dataset<R>,
) -> Result<Done> {
    let own = args.rubric.as_deref().map(rubric::read).transpose()?;
    let calibration = args.calibration.as_deref().map(Calibration::read).transpose()?;
    let plan = plan(args, metrics, own.as_ref(), calibration.as_ref());
    plan.metrics.iter().try_for_each(|metric| survey.check_columns(*metric))?;
    let out = out_folder(args, file);
    RunFolder::check_free(&out)?;
    let mut log = Log::open(args)?;
    let started = SystemTime::now();
    let load_start = Instant::now();
    start_threads(args.n_threads())?;
    let mut models = Models::load(store, args, &plan)?;
    calibration.iter().try_for_each(|calibration| calibration.check_judge(models.responder().judge()))?;
    let load_secs = load_start.elapsed().as_secs_f64();
    let predicted_bytes = models.predicted_bytes(survey, &args.engine_options());
    let header = plan.header(models.responder());
    let mut folder = RunFolder::create(&out, &header)?;
    let (mut table, mut summary) = (Table::new(&header.metrics), Summary::new(&plan.metrics));
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
    let path = folder.finish(&summary, Some(&info))?;
    print(&table.render(&summary))?;
    if plan.settings.profile == Profile::Ragas {
        print(RAGAS_NOTE)?;
    }
    log.finish()?;
    tell(format_args!("{} s; records, scores and summary are in {}", info.score_secs.round(), path.display()));
    Ok(if summary.n_failed() > 0 { Done::WithFailures } else { Done::Well })
}

/// What is done with every sample: the metrics, then the user's own.
fn plan<'a>(
    args: &ScoringArgs,
    metrics: Vec<&'static dyn Metric>,
    own: Option<&'a (Vec<OwnMetric>, String)>,
    calibration: Option<&Calibration>,
) -> Plan<'a> {
    let own_metrics = own.iter().flat_map(|(metrics, _)| metrics.iter().map(|metric| metric as &dyn Metric));
    let plan = Plan {
        metrics: metrics.into_iter().map(|metric| metric as &dyn Metric).chain(own_metrics).collect(),
        own: own.map(|(metrics, sha256)| (metrics.as_slice(), sha256.as_str())),
        settings: settings(args, calibration),
        language: args.language.language(),
        ..Plan::default()
    };
    let needs_model = plan.needs(Role::Judge) || plan.needs(Role::Embedder);
    if needs_model { plan } else { Plan { wave_samples: TEXT_WAVE_SAMPLES, ..plan } }
}

/// What shapes questions and scores, with the corrections of a calibration file.
pub fn settings(args: &ScoringArgs, calibration: Option<&Calibration>) -> Settings {
    let corrections = calibration.map(|calibration| calibration.corrections.clone()).unwrap_or_default();
    Settings { corrections, ..args.settings() }
}

/// Starts the threads that make tokens of texts, and those of candle.
pub fn start_threads(n_threads: usize) -> Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global().map_err(|err| {
        Error::usage(format!("{n_threads} threads cannot be started: {err}"), "try fewer with `--threads N`")
    })
}

/// Who answers in this run.
pub enum Models {
    Local(Box<LocalModels>),
    Script(Script),
}

impl Models {
    /// The script, or those models that the plan's metrics need.
    ///
    /// # Errors
    /// If a model cannot be had.
    pub fn load(store: &Store, args: &ScoringArgs, plan: &Plan<'_>) -> Result<Self> {
        if let Some(path) = &args.script {
            return Ok(Self::Script(Script::read(path)?));
        }
        let cpu = Arc::new(Cpu::new(args.n_threads()));
        let options = args.engine_options();
        let embedder =
            plan.needs(Role::Embedder).then(|| models::load_embedder(store, &args.embedder, &cpu, options.device));
        let embedder = embedder.transpose()?;
        let judge = plan.needs(Role::Judge).then(|| models::load_judge(store, &args.judge, &cpu, options));
        let judge = judge.transpose()?;
        Ok(Self::Local(Box::new(LocalModels::new(judge, embedder))))
    }

    /// Who answers.
    pub fn responder(&self) -> &dyn Responder {
        match self {
            Self::Local(models) => models.as_ref(),
            Self::Script(script) => script,
        }
    }

    /// The same, to ask it.
    pub fn responder_mut(&mut self) -> &mut dyn Responder {
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
