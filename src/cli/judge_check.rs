//! `ragstone judge-check` and `ragstone calibrate`: does the judge say what people say?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use super::args::{CalibrateArgs, JudgeCheckArgs};
use super::eval::{self, Models, start_threads};
use super::progress::RunBar;
use super::{Done, print, tell};
use crate::calibrate::correction::{self, Calibration, Pinned};
use crate::calibrate::figures::{Figures, Point, Subject};
use crate::calibrate::floor;
use crate::calibrate::labelled::{self, Labelled};
use crate::calibrate::page::Check;
use crate::calibrate::steering::Injection;
use crate::calibrate::tasks::Task;
use crate::dataset::Dataset;
use crate::error::{Error, Place, Result};
use crate::metrics::Metric;
use crate::record::{Cell, Record};
use crate::report::files;
use crate::run::{self, Plan};
use crate::settings::{Correction, Settings, VerdictMode};
use crate::store::Store;

/// Runs the judge on labelled rows, and says how far it agrees with people.
pub fn judge_check(store: &Store, args: &JudgeCheckArgs) -> Result<Done> {
    let out = args.scoring.out.clone().unwrap_or_else(|| PathBuf::from("judge-check"));
    check_free(&out)?;
    let calibration = args.scoring.calibration.as_deref().map(Calibration::read).transpose()?;
    let sets = data_files(&args.data)?.into_iter().map(|file| Set::read(file, args)).collect::<Result<Vec<_>>>()?;
    let settings = eval::settings(&args.scoring, calibration.as_ref());
    let is_asked = |task: &Task| sets.iter().any(|set| set.has(*task)) || args.injection && *task == Task::Statement;
    let tasks: Vec<Task> = Task::ALL.into_iter().filter(is_asked).collect();
    let all = Plan { metrics: tasks.iter().flat_map(|task| task.metrics()).collect(), ..Plan::default() };
    start_threads(args.scoring.n_threads())?;
    let mut models = Models::load(store, &args.scoring, &all)?;
    calibration.iter().try_for_each(|calibration| calibration.check_judge(models.responder().judge()))?;
    let start = Instant::now();
    let mut check = Check {
        judge: models.responder().judge().cloned(),
        embedder: models.responder().embedder().cloned(),
        figures: Vec::new(),
        injection: None,
        secs: 0.0,
        tokens_asked: 0,
    };
    let mut corrections = Vec::new();
    for set in &sets {
        for task in tasks.iter().filter(|task| set.has(**task)) {
            let rows: Vec<&Labelled> = set.rows.iter().filter(|row| row.task == *task).collect();
            let records = judge(&rows, *task, &settings, args, &mut models)?;
            check.tokens_asked +=
                records.iter().flat_map(|record| &record.cells).map(|cell| cell.tokens_asked).sum::<u64>();
            compare(set, *task, &rows, &records, &settings, &mut check.figures, &mut corrections);
        }
    }
    if args.injection {
        let injection = steer(&settings, args, &mut models)?;
        check.tokens_asked += injection.tokens_asked;
        check.injection = Some(injection);
    }
    check.secs = start.elapsed().as_secs_f64();
    print(&check.to_markdown())?;
    write(&out, &check, corrections)?;
    tell(format_args!("{:.0} s; tables, pictures and calibration are in {}", check.secs, out.display()));
    Ok(Done::Well)
}

/// Compares the scores of a finished run with labels, with no model at hand.
pub fn calibrate(args: &CalibrateArgs) -> Result<Done> {
    let labels = read_labels(&args.labels)?;
    let (header, records) = files::read(&args.run)?;
    let records = records.collect::<Result<Vec<Record>>>()?;
    let mut check = Check {
        judge: header.judge,
        embedder: header.embedder,
        figures: Vec::new(),
        injection: None,
        secs: 0.0,
        tokens_asked: 0,
    };
    for (idx, metric) in header.metrics.iter().enumerate() {
        let labelled = records.iter().filter_map(|record| Some((record, labels.get(&record.sample.id)?)));
        let mut points: BTreeMap<&str, (Vec<Point>, usize)> = BTreeMap::new();
        for (record, label) in labelled {
            let (points, n_without) = points.entry(record.language.code()).or_default();
            match record.cells[idx].outcome.score() {
                Some(score) => points.push(Point { score, text: text_of(record), ..label.clone() }),
                None => *n_without += 1,
            }
        }
        for (language, (points, n_without_score)) in points {
            let subject = Subject {
                set: "labels",
                language,
                metric,
                is_of_pairs: false,
                n_without_score,
                threshold: header.settings.threshold,
                seed: 0,
            };
            check.figures.push(Figures::of(subject, &points));
        }
    }
    if check.figures.is_empty() {
        let message = format!("no id of `{}` is in `{}`", args.labels.display(), args.run.display());
        return Err(Error::usage(message, "labels are rows with the `id` of the run's samples and a `label`"));
    }
    print(&check.to_markdown())
}

/// A line of a labels file.
#[derive(Deserialize)]
struct Label {
    id: Value,
    label: Value,
}

/// Labels by the id of their row; the score is still to come.
fn read_labels(path: &Path) -> Result<BTreeMap<String, Point>> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let mut labels = BTreeMap::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let refused = |message: String| Error::Dataset {
            place: Place::line(path, number),
            message,
            help:
                "write rows like `{\"id\": \"a row of the run\", \"label\": 1}`: 1 is yes, 0 is no, others are grades"
                    .to_owned(),
        };
        let row: Label = serde_json::from_str(line).map_err(|err| refused(err.to_string()))?;
        let label = row.label.as_bool().map(|label| f64::from(u8::from(label))).or(row.label.as_f64());
        let label = label.ok_or_else(|| refused(format!("found the label `{}`, expected a number", row.label)))?;
        let id = row.id.as_str().map_or_else(|| row.id.to_string(), str::to_owned);
        let point = Point {
            id: id.clone(),
            text: String::new(),
            score: 0.0,
            overlap: None,
            label,
            group: id.clone(),
            pair: None,
        };
        if labels.insert(id.clone(), point).is_some() {
            return Err(refused(format!("`{id}` has a label already")));
        }
    }
    Ok(labels)
}

/// The files that were named, and the JSONL files of the folders, in their order.
fn data_files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(Error::io("read the folder", path))?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>();
        let mut found = paths.map_err(Error::io("read the folder", path))?;
        found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        found.sort();
        if found.is_empty() {
            return Err(Error::usage(
                format!("`{}` holds no `.jsonl` file", path.display()),
                "name the files themselves",
            ));
        }
        files.extend(found);
    }
    Ok(files)
}

/// A file of labelled rows.
struct Set {
    name: String,
    rows: Vec<Labelled>,
}

impl Set {
    fn read(file: PathBuf, args: &JudgeCheckArgs) -> Result<Self> {
        let mut rows = Vec::new();
        for sample in Dataset::open(&file)? {
            rows.extend(labelled::read(sample?, &Place::file(&file))?);
        }
        if rows.is_empty() {
            let help = "add a column `label`: 1 for yes, 0 for no, or a grade".to_owned();
            return Err(Error::Dataset { place: Place::file(&file), message: "no row has a label".to_owned(), help });
        }
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, rows: labelled::balanced(rows, args.rows, args.scoring.seed) })
    }

    fn has(&self, task: Task) -> bool {
        self.rows.iter().any(|row| row.task == task)
    }
}

/// The records of the rows' samples, in order.
fn judge(
    rows: &[&Labelled],
    task: Task,
    settings: &Settings,
    args: &JudgeCheckArgs,
    models: &mut Models,
) -> Result<Vec<Record>> {
    let language = args.scoring.language.language();
    let plan = Plan { metrics: task.metrics(), settings: settings.clone(), language, ..Plan::default() };
    let samples = rows.iter().flat_map(|row| row.samples.iter().cloned()).map(Ok);
    let bar = RunBar::new(rows.iter().map(|row| row.samples.len() as u64).sum());
    let mut records = Vec::new();
    let mut sink = |record| {
        records.push(record);
        Ok(())
    };
    run::run(samples, &plan, models.responder_mut(), &mut sink, &mut |event| bar.show(&event))?;
    bar.finish();
    Ok(records)
}

/// What the attacks that come with the program do to the judge.
fn steer(settings: &Settings, args: &JudgeCheckArgs, models: &mut Models) -> Result<Injection> {
    let bar = RunBar::new(Injection::n_samples() as u64);
    let language = args.scoring.language.language();
    let injection = Injection::judge(settings, language, models.responder_mut(), &mut |event| bar.show(&event))?;
    bar.finish();
    Ok(injection)
}

/// Adds the figures of a set's rows of one task, and the corrections that follow.
fn compare(
    set: &Set,
    task: Task,
    rows: &[&Labelled],
    records: &[Record],
    settings: &Settings,
    figures: &mut Vec<Figures>,
    corrections: &mut Vec<(String, String, Vec<Point>)>,
) {
    let n_samples = if task == Task::Pair { 2 } else { 1 };
    let metrics: Vec<&dyn Metric> = task.metrics();
    for (idx, metric) in metrics.iter().enumerate() {
        let mut points: BTreeMap<&str, (Vec<Point>, usize)> = BTreeMap::new();
        for (row, records) in rows.iter().zip(records.chunks_exact(n_samples)) {
            let (points, n_without) = points.entry(records[0].language.code()).or_default();
            match score(records.iter().map(|record| &record.cells[idx])) {
                Some(score) => points.push(Point {
                    id: row.samples[0].id.clone(),
                    text: text_of(&records[0]),
                    score,
                    overlap: floor::shared_words(task, &row.samples),
                    label: row.label,
                    group: row.group.clone(),
                    pair: row.pair.clone(),
                }),
                None => *n_without += 1,
            }
        }
        for (language, (points, n_without_score)) in points {
            let subject = Subject {
                set: &set.name,
                language,
                metric: metric.about().name,
                is_of_pairs: task == Task::Pair,
                n_without_score,
                threshold: settings.threshold,
                seed: settings.seed,
            };
            figures.push(Figures::of(subject, &points));
            // A correction is of the judge's own P(yes): not of one that was corrected, nor of one that follows a reason.
            let is_its_own = settings.corrections.is_empty() && settings.verdicts == VerdictMode::Logits;
            if is_its_own && matches!(task, Task::Statement | Task::Answer) && metric.about().range == (0.0, 1.0) {
                corrections.push((metric.about().name.to_owned(), language.to_owned(), points));
            }
        }
    }
}

/// The score of a row, or of a pair that of B less that of A.
fn score<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<f64> {
    let scores = cells.map(|cell| cell.outcome.score()).collect::<Option<Vec<f64>>>()?;
    Some(if let [a, b] = scores[..] { b - a } else { scores[0] })
}

/// What was judged, for reading.
fn text_of(record: &Record) -> String {
    let sample = &record.sample;
    sample.response.as_deref().or(sample.user_input.as_deref()).unwrap_or_default().to_owned()
}

/// The files of a check.
const FILES: [&str; 4] = ["check.json", "check.md", "check.html", "calibration.toml"];

fn check_free(out: &Path) -> Result<()> {
    let Some(name) = FILES.iter().find(|name| out.join(name).exists()) else { return Ok(()) };
    let message = format!("`{}` already holds a check: found `{name}`", out.display());
    Err(Error::usage(message, "name another folder with `--out DIR`"))
}

/// Writes the check, and the corrections fitted over all sets of a task and language.
fn write(out: &Path, check: &Check, points: Vec<(String, String, Vec<Point>)>) -> Result<()> {
    let mut by_task: BTreeMap<(String, String), Vec<Point>> = BTreeMap::new();
    points.into_iter().for_each(|(task, language, points)| by_task.entry((task, language)).or_default().extend(points));
    let fit = |((task, language), points): (&(String, String), &Vec<Point>)| correction::fit(task, language, points);
    let corrections: Vec<Correction> = by_task.iter().filter_map(fit).collect();
    let judge = check.judge.as_ref().map(|judge| Pinned { name: judge.name.clone(), pins: judge.pins.clone() });
    let calibration =
        judge.filter(|_| !corrections.is_empty()).map(|judge| Calibration { judge, corrections }.to_toml());
    fs::create_dir_all(out).map_err(Error::io("create the folder", out))?;
    let texts = [Some(check.to_json()), Some(check.to_report()), Some(check.to_html()), calibration];
    for (name, text) in FILES.iter().zip(texts) {
        let path = out.join(name);
        text.map_or(Ok(()), |text| fs::write(&path, text)).map_err(Error::io("write", &path))?;
    }
    Ok(())
}
