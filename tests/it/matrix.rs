//! Records do not depend on how they are computed: is `records.jsonl` the same, byte for byte, in every way to run?

#[path = "../../src/embed/fixture.rs"]
#[allow(dead_code, reason = "shared with the unit tests, which use the rest")]
mod embedder;
pub mod judge;
#[path = "../../src/engine/kernels/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ragstone::dataset::Dataset;
use ragstone::embed::Embedder;
use ragstone::engine::kernels::Cpu;
use ragstone::engine::kernels::pool::Pool;
use ragstone::engine::kernels::simd::Tier;
use ragstone::engine::{Engine, Options, arch};
use ragstone::judge::prompts::{Pack, Slot, Task};
use ragstone::judge::{Answer, Posed, Prompt, Question};
use ragstone::metrics::{METRICS, Metric};
use ragstone::record::{Cell, Header, Outcome, PinnedModel, Record};
use ragstone::report::files::RunFolder;
use ragstone::respond::Responder;
use ragstone::respond::judge::Judge;
use ragstone::respond::local::LocalModels;
use ragstone::run::{self, Plan};
use ragstone::sample::Sample;
use ragstone::text::Language;
use tempfile::TempDir;

use crate::cli::PROGRAM;
use crate::invariance::full_cache;
use crate::weights::{MINILM, SMOLLM2};

/// English and Korean; one has no reference, and a context of another is longer than the window of a tiny judge.
const SAMPLES: &str = "tests/data/matrix.jsonl";

/// Where the files of a judge and an embedder are.
struct Models {
    gguf: PathBuf,
    embedder: PathBuf,
}

/// A way to run, which must not show.
#[derive(Debug, Clone)]
struct Way {
    n_threads: usize,
    tier: Tier,
    options: Options,
    wave_samples: usize,
    /// The samples by their places in the file.
    order: Vec<usize>,
}

impl Way {
    /// The usual way.
    fn usual(n_samples: usize) -> Self {
        let (options, wave_samples) = (Options::default(), Plan::default().wave_samples);
        Self { n_threads: 2, tier: Tier::best(), options, wave_samples, order: (0..n_samples).collect() }
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut way = self.clone();
        change(&mut way);
        way
    }

    /// The models in memory.
    fn load(&self, models: &Models) -> LocalModels {
        let cpu = Arc::new(Cpu { pool: Pool::new(self.n_threads), tier: self.tier });
        let pinned = |name: &str| PinnedModel {
            name: name.to_owned(),
            pins: BTreeMap::new(),
            languages: Vec::new(),
            checked: Vec::new(),
        };
        let engine = Engine::load(&models.gguf, &cpu, self.options.clone()).expect("the judge can be run");
        let embedder = Embedder::load(&models.embedder, &cpu, self.options.device).expect("the embedder can be run");
        LocalModels::new(Some(Judge::new(pinned("judge"), engine)), Some((pinned("embedder"), embedder)))
    }

    /// The lines of `records.jsonl`: the header, then the samples in this way's order.
    fn run(&self, models: &Models, samples: &[Sample]) -> Vec<String> {
        let mut responder = self.load(models);
        let plan = Plan { metrics: metrics(), wave_samples: self.wave_samples, ..Plan::default() };
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut files = RunFolder::create(folder.path(), &plan.header(&responder)).expect("the folder is ours");
        let rows = self.order.iter().map(|&idx| Ok(samples[idx].clone()));
        run::run(rows, &plan, &mut responder, &mut |record| files.add(&record), &mut |_| ()).expect("nothing ends it");
        let records = fs::read_to_string(folder.path().join("records.jsonl")).expect("the file was written");
        records.lines().map(str::to_owned).collect()
    }
}

/// The usual metrics and one that rates: every kind of question.
fn metrics() -> Vec<&'static dyn Metric> {
    let is_run = |metric: &&dyn Metric| metric.about().is_default || metric.about().name == "nv_answer_accuracy";
    METRICS.iter().copied().filter(is_run).collect()
}

/// Asserts that every way gives the records of the first, and returns those.
fn check(models: &Models, samples: &[Sample], ways: &[Way]) -> Vec<String> {
    let (usual, others) = ways.split_first().expect("there is the usual way");
    let expected = usual.run(models, samples);
    assert_eq!(expected.len(), 1 + samples.len());
    for way in others {
        let lines = way.run(models, samples);
        assert_eq!(lines.len(), 1 + way.order.len());
        assert_eq!(lines[0], expected[0], "{way:?}: another header");
        for (&idx, line) in way.order.iter().zip(&lines[1..]) {
            assert_eq!(*line, expected[1 + idx], "{way:?}: another record of sample {idx}");
        }
    }
    expected
}

fn samples(path: &str) -> Vec<Sample> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    Dataset::open(&path).and_then(Iterator::collect).expect("the file is part of the repository")
}

/// A judge of the family `arch` and an embedder, in a folder.
fn tiny(arch: &str) -> (Models, TempDir) {
    let folder = embedder::Model::new().write();
    let gguf = folder.path().join("judge.gguf");
    fs::write(&gguf, judge::judge(arch)).expect("the folder is ours");
    (Models { gguf, embedder: folder.path().to_owned() }, folder)
}

/// One change each, and all in one.
fn tiny_ways(n_samples: usize) -> Vec<Way> {
    let usual = Way::usual(n_samples);
    let kv_bytes = full_cache(judge::CONTEXT, judge::SLOT_BYTES);
    let all = |way: &mut Way| {
        let options = Options { max_rows: 64, max_streams: 3, share_prefixes: false, kv_bytes, ..Options::default() };
        (way.n_threads, way.options, way.wave_samples) = (1, options, 2);
        way.order.reverse();
    };
    let mut ways = vec![
        usual.clone(),
        usual.with(|way| way.n_threads = 1),
        usual.with(|way| way.n_threads = 3),
        usual.with(|way| way.options.max_rows = 64),
        usual.with(|way| way.options.max_rows = 1024),
        usual.with(|way| way.options.max_streams = 1),
        usual.with(|way| way.options.share_prefixes = false),
        usual.with(|way| way.options.kv_bytes = kv_bytes),
        usual.with(|way| way.wave_samples = 1),
        usual.with(|way| way.wave_samples = 4),
        usual.with(|way| way.order.reverse()),
        usual.with(all),
    ];
    for tier in Tier::available().into_iter().filter(|tier| *tier != Tier::best()) {
        ways.push(usual.with(|way| way.tier = tier));
    }
    ways
}

/// Asserts that equal records say something: every metric has a score, and every kind of outcome occurs.
fn check_outcomes(lines: &[String]) {
    let records: Vec<Record> = lines[1..].iter().map(|line| serde_json::from_str(line).expect("a record")).collect();
    let has = |is_wanted: &dyn Fn(&Cell) -> bool| records.iter().flat_map(|record| &record.cells).any(is_wanted);
    for metric in metrics() {
        let name = metric.about().name;
        assert!(
            has(&|cell| cell.metric == name && cell.outcome.score().is_some()),
            "`{name}` has no score: try another `SEED`"
        );
    }
    assert!(has(&|cell| matches!(cell.outcome, Outcome::Unscored { .. })), "there is no unscored cell");
    assert!(has(&|cell| matches!(cell.outcome, Outcome::Failed { .. })), "there is no failed cell");
}

#[test]
fn tiny_judges_of_every_family_give_the_same_records_in_every_way() {
    let samples = samples(SAMPLES);
    for arch in arch::names() {
        let (models, _folder) = tiny(arch);
        check_outcomes(&check(&models, &samples, &tiny_ways(samples.len())));
    }
}

#[test]
fn prior_and_the_middle_between_anchors_are_taken_off_in_logits() {
    let (models, _folder) = tiny("llama");
    let mut judge = Way::usual(1).load(&models);
    let pack = Pack::of(Language::English);
    let pose = |statement: &str| {
        pack.pose(Task::Supported, &[(Slot::Contexts, &["Members may borrow books."]), (Slot::Statement, &[statement])])
    };
    let posed = [pose("Members may borrow five books."), pose("The library opens at nine."), pose("It closes at six.")];
    assert!(posed.iter().all(|posed| posed.prior.as_ref().is_some_and(|prior| *prior != posed.prompt)));
    let mut logit = |posed: &Posed, anchors: &[Posed]| {
        let (posed, anchors) = (posed.clone(), anchors.to_vec());
        let question = Question::Verdict { posed, labels: pack.labels.clone(), anchors };
        let replies = judge.answer(&[question], &mut |_| ()).expect("the judge answers");
        let Answer::Verdict { p_yes } = replies[0].answer else { panic!("{:?} is no verdict", replies[0].answer) };
        (p_yes / (1.0 - p_yes)).ln()
    };
    // Each prompt and each prior as a question of its own; the result is the difference, less the mean of the anchors'.
    let alone = |prompt: &Prompt| Posed { prompt: prompt.clone(), prior: None };
    let lifts: Vec<f64> = posed
        .iter()
        .map(|posed| logit(&alone(&posed.prompt), &[]) - logit(&alone(posed.prior.as_ref().expect("seen above")), &[]))
        .collect();
    let error = logit(&posed[0], &posed[1..]) - (lifts[0] - (lifts[1] + lifts[2]) / 2.0);
    assert!(error.abs() < 1e-9 && lifts.iter().all(|lift| lift.abs() > 1e-3), "{error} {lifts:?}");
}

#[test]
fn judge_whose_numbers_become_infinite_is_refused() {
    let (models, _folder) = tiny("llama");
    fs::write(&models.gguf, judge::judge_with_norm("llama", 3e38)).expect("the folder is ours");
    let mut command = Command::new(PROGRAM);
    command.args(["eval", SAMPLES, "--metrics", "context_recall", "--out"]).arg(models.embedder.join("out"));
    let output = command.arg("--judge").arg(&models.gguf).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.expect("the program was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "error: the judge computed something that is not a finite number: its weights are damaged or far too large\n\
                    help: check the file with `ragstone models verify`, or name another judge with `--judge`\n";
    assert!(said.ends_with(expected), "{said}");
    assert_eq!(output.status.code(), Some(2));
}

/// The bytes of `records.jsonl` after a run of the program with these options.
fn eval(models: &Models, name: &str, options: &[&str]) -> Vec<u8> {
    let out = models.embedder.join(name);
    let mut command = Command::new(PROGRAM);
    command.arg("eval").arg(SAMPLES).arg("--out").arg(&out).args(options);
    command.arg("--judge").arg(&models.gguf).arg("--embedder").arg(&models.embedder);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("the program was built");
    // 3 says that cells failed, as some do.
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(out.join("records.jsonl")).expect("the run wrote it")
}

#[test]
fn program_writes_the_same_records_with_any_threads_and_memory() {
    for arch in arch::names() {
        let (models, _folder) = tiny(arch);
        let kv_bytes = full_cache(judge::CONTEXT, judge::SLOT_BYTES).to_string();
        let usual = eval(&models, "usual", &[]);
        for options in [["--threads", "1"], ["--threads", "2"], ["--kv-budget", &kv_bytes]] {
            let name = options.concat();
            assert!(eval(&models, &name, &options) == usual, "{arch}: {name} makes other records");
        }
    }
}

#[test]
fn program_computes_judge_and_embedder_by_candle_if_asked() {
    let (models, _folder) = tiny("llama");
    let records = eval(&models, "candle", &["--device", "cpu-reference"]);
    let header = records.split(|byte| *byte == b'\n').next().expect("a split has a first part");
    let header: Header = serde_json::from_slice(header).expect("the first line is the header");
    for model in [header.judge, header.embedder] {
        let arithmetic = model.map(|model| model.pins["arithmetic"].clone());
        assert!(arithmetic.as_ref().is_some_and(|name| name.starts_with("candle")), "{arithmetic:?}");
    }
    let alone = eval(&models, "alone", &["--device", "cpu-reference", "--threads", "1"]);
    assert!(alone == records);
}

/// Some changes each, for the small judge takes seconds a run; without sharing most, so that is for one sample.
fn small_ways() -> Vec<Way> {
    let usual = Way::usual(3);
    let mut ways = vec![
        usual.clone(),
        usual.with(|way| way.n_threads = 1),
        usual.with(|way| (way.options.max_rows, way.options.max_streams) = (64, 1)),
        usual.with(|way| (way.options.share_prefixes, way.options.max_rows, way.order) = (false, 1024, vec![0])),
        usual.with(|way| (way.wave_samples, way.order) = (1, vec![2, 1, 0])),
    ];
    if Tier::best() != Tier::Avx2 && Tier::available().contains(&Tier::Avx2) {
        ways.push(usual.with(|way| way.tier = Tier::Avx2));
    }
    ways
}

#[test]
fn small_judge_gives_the_same_records_in_every_way() {
    let (Some(gguf), Some(embedder)) = (SMOLLM2.gguf(), MINILM.folder()) else { return };
    let quickstart = samples("examples/quickstart.jsonl");
    let samples: Vec<Sample> = [0, 3, 7].map(|idx| quickstart[idx].clone()).into();
    check(&Models { gguf, embedder }, &samples, &small_ways());
}
