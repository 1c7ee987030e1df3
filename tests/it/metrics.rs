//! The cases of `tests/data/metrics`, a file a metric: does each metric give the score that was derived by hand?

use std::fs;
use std::path::Path;

use ragstone::judge::{AnswerStore, Answers, Question, Settings, Stop};
use ragstone::metrics::{self, METRICS, Metric};
use ragstone::record::Score;
use ragstone::respond::Responder;
use ragstone::respond::script::Script;
use ragstone::sample::Sample;
use ragstone::text::Language;
use serde::Deserialize;

/// How far a score may be from the fraction derived by hand: the rounding of a few operations.
const MAX_ERROR: f64 = 1e-12;

/// Cases that a metric must have at least.
const MIN_CASES: usize = 6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// A sample with the models' answers, and what the metric makes of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    language: Language,
    expect: Expected,
    threshold: Option<f64>,
    questions: Option<u32>,
    sample: Sample,
    /// As in a script file.
    #[serde(default)]
    script: toml::Table,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    /// A fraction, as in `2/3`.
    Score(String),
    Unscored(String),
    Failed(String),
}

fn cases_of(metric: &dyn Metric) -> Vec<Case> {
    let name = metric.about().name;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/metrics/{name}.toml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|err| panic!("metric `{name}` needs `{path:?}`: {err}"));
    toml::from_str::<Cases>(&text).unwrap_or_else(|err| panic!("`{path:?}`: {err}")).case
}

/// What the metric says once all it asks is answered, and in how many rounds it was.
pub fn drive(
    metric: &dyn Metric,
    sample: &Sample,
    language: Language,
    settings: &Settings,
    responder: &mut dyn Responder,
) -> (Result<Score, Stop>, usize) {
    let (pins, mut store) = (responder.pins(), AnswerStore::default());
    for n_rounds in 0..100 {
        let mut answers = Answers::new(&store, &pins, settings, language);
        let result = metrics::score(metric, sample, &mut answers);
        if result != Err(Stop::Pending) {
            return (result, n_rounds);
        }
        let (keys, questions): (Vec<_>, Vec<Question>) = answers.finish().0.into_iter().unzip();
        let replies = responder.answer(&questions, &mut |_| ()).expect("a script never ends a run");
        keys.into_iter().zip(replies).for_each(|(key, reply)| store.insert(key, reply));
    }
    panic!("`{}` asks without end", metric.about().name);
}

fn check(metric: &dyn Metric, case: &Case) -> (Result<Score, Stop>, usize) {
    let script = toml::to_string(&case.script).expect("the table was read from TOML");
    let mut script = Script::parse(&script).unwrap_or_else(|err| panic!("the script of `{}`: {err}", case.name));
    let default = Settings::default();
    let settings = Settings {
        threshold: case.threshold.unwrap_or(default.threshold),
        questions: case.questions.unwrap_or(default.questions),
        ..default
    };
    drive(metric, &case.sample, case.language, &settings, &mut script)
}

fn value_of(fraction: &str) -> f64 {
    let (over, under) = fraction.split_once('/').expect("a score is a fraction");
    over.parse::<f64>().expect("a number") / under.parse::<f64>().expect("a number")
}

#[test]
fn every_metric_gives_the_score_derived_by_hand() {
    let mut wrong = Vec::new();
    for &metric in METRICS {
        let (name, (least, most)) = (metric.about().name, metric.about().range);
        for case in cases_of(metric) {
            let found = check(metric, &case).0;
            let is_right = match (&case.expect, &found) {
                (Expected::Score(fraction), Ok(Score { score, .. })) => {
                    (score - value_of(fraction)).abs() <= MAX_ERROR && (least..=most).contains(score)
                }
                (Expected::Unscored(reason), Err(Stop::Unscored(found))) => found == reason,
                (Expected::Failed(reason), Err(Stop::Failed(found))) => found == reason,
                _ => false,
            };
            if !is_right {
                wrong.push(format!("{name}, {}: {found:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_metric_takes_more_rounds_than_it_declares() {
    for &metric in METRICS {
        let about = metric.about();
        let most = cases_of(metric).iter().map(|case| check(metric, case).1).max();
        assert!(most <= Some(about.depth), "`{}` took {most:?} rounds and declares {}", about.name, about.depth);
    }
}

#[test]
fn every_metric_has_cases_in_every_language() {
    for &metric in METRICS {
        let (name, cases) = (metric.about().name, cases_of(metric));
        assert!(cases.len() >= MIN_CASES, "`{name}` has {} cases, expected {MIN_CASES} at least", cases.len());
        for language in Language::ALL {
            assert!(cases.iter().any(|case| case.language == language), "`{name}` has no case in {}", language.code());
        }
    }
}
