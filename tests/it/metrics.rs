//! The cases of `tests/data/metrics`, a file a metric: does each metric give the score that was derived by hand?

use std::fs;
use std::path::Path;

use ragstone::judge::{AnswerStore, Answers, Question};
use ragstone::metrics::rubric::{ASPECT_CRITIC, OwnMetric, RUBRIC_SCORE};
use ragstone::metrics::{self, Finding, METRICS, Metric};
use ragstone::record::{Evidence, Outcome, Rubric};
use ragstone::respond::Responder;
use ragstone::respond::script::Script;
use ragstone::sample::Sample;
use ragstone::settings::{Explain, Settings, VerdictMode};
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
pub struct Case {
    name: String,
    /// The metric, in files that are not about one.
    #[serde(default)]
    metric: String,
    language: Language,
    expect: Expected,
    /// The reasons among what was judged, in order.
    reasons: Option<Vec<String>>,
    /// The texts that were judged, in order.
    judged: Option<Vec<String>>,
    /// What differs from the default settings.
    #[serde(default)]
    settings: toml::Table,
    /// The user's rubric, where it is the metric.
    rubric: Option<Rubric>,
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

/// The cases of a file below `tests/data`.
pub fn read_cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|err| panic!("`{path:?}`: {err}"));
    toml::from_str::<Cases>(&text).unwrap_or_else(|err| panic!("`{path:?}`: {err}")).case
}

/// The metrics of the table and the two kinds of the user's own, with their cases.
fn all_cases() -> Vec<(&'static str, Vec<Case>)> {
    let names = METRICS.iter().map(|metric| metric.about().name).chain([ASPECT_CRITIC.name, RUBRIC_SCORE.name]);
    let cases_of = |name: &'static str| {
        let mut cases = read_cases(&format!("metrics/{name}.toml"));
        cases.iter_mut().for_each(|case| case.metric = name.to_owned());
        (name, cases)
    };
    names.map(cases_of).collect()
}

impl Case {
    /// The default settings with those of the case in their place.
    fn settings(&self) -> Settings {
        let table = |settings: &Settings| toml::Table::try_from(settings).expect("settings are a table");
        let mut merged = table(&Settings::default());
        merged.extend(self.settings.clone());
        let settings = merged.clone().try_into().unwrap_or_else(|err| panic!("the settings of `{}`: {err}", self.name));
        assert!(table(&settings).keys().eq(merged.keys()), "`{}` has a setting that there is not", self.name);
        settings
    }

    fn script(&self) -> Script {
        let script = toml::to_string(&self.script).expect("the table was read from TOML");
        Script::parse(&script).unwrap_or_else(|err| panic!("the script of `{}`: {err}", self.name))
    }

    /// Hands the metric to `work`.
    fn with_metric<T>(&self, work: impl FnOnce(&dyn Metric) -> T) -> T {
        match &self.rubric {
            Some(rubric) => work(&OwnMetric::new(rubric.clone())),
            None => work(metrics::find(&self.metric).unwrap_or_else(|err| panic!("`{}`: {err}", self.name))),
        }
    }

    /// What is wrong with what the metric makes of the case; `None` if it is as expected.
    pub fn fault(&self) -> Option<String> {
        let (least, most) = self.with_metric(|metric| metric.about().range);
        let Finding { outcome, evidence } = self.find().0;
        let is_right = match (&self.expect, &outcome) {
            (Expected::Score(fraction), Outcome::Scored(found)) => {
                (found.score - value_of(fraction)).abs() <= MAX_ERROR && (least..=most).contains(&found.score)
            }
            (Expected::Unscored(expected), Outcome::Unscored { reason }) => reason == expected,
            (Expected::Failed(expected), Outcome::Failed { reason }) => reason == expected,
            _ => false,
        };
        let evidence = evidence.unwrap_or_default();
        let is_as_listed = |expected: &Option<Vec<String>>, found: fn(&Evidence) -> Option<&str>| {
            expected.as_ref().is_none_or(|expected| evidence.iter().filter_map(found).eq(expected))
        };
        let is_right = is_right && is_as_listed(&self.reasons, reason_of) && is_as_listed(&self.judged, text_of);
        (!is_right).then(|| format!("{}, {}: {outcome:?}\n{evidence:?}\n", self.metric, self.name))
    }

    /// What the metric makes of the case, and in how many rounds.
    fn find(&self) -> (Finding, usize) {
        let (settings, mut script) = (self.settings(), self.script());
        self.with_metric(|metric| drive(metric, &self.sample, self.language, &settings, &mut script))
    }

    /// Whether it is asked as [`About::depth`](metrics::About::depth) says.
    fn is_plain(&self) -> bool {
        let settings = self.settings();
        settings.verdicts == VerdictMode::Logits && settings.explain == Explain::None
    }
}

/// What the metric says once all it asks is answered, and in how many rounds it was.
pub fn drive(
    metric: &dyn Metric,
    sample: &Sample,
    language: Language,
    settings: &Settings,
    responder: &mut dyn Responder,
) -> (Finding, usize) {
    let (pins, mut store) = (responder.pins(), AnswerStore::default());
    for n_rounds in 0..100 {
        let mut answers = Answers::new(&store, &pins, settings, language);
        if let Some(finding) = metrics::evaluate(metric, sample, &mut answers) {
            return (finding, n_rounds);
        }
        let (keys, questions): (Vec<_>, Vec<Question>) = answers.finish().0.into_iter().unzip();
        let replies = responder.answer(&questions, &mut |_| ()).expect("a script never ends a run");
        assert_eq!(replies.len(), keys.len(), "a responder gives one reply a question");
        keys.into_iter().zip(replies).for_each(|(key, reply)| store.insert(key, reply));
    }
    panic!("`{}` asks without end", metric.about().name);
}

fn reason_of(part: &Evidence) -> Option<&str> {
    let reason = match part {
        Evidence::Claim(judged)
        | Evidence::Statement(judged)
        | Evidence::Sentence(judged)
        | Evidence::Answered(judged) => &judged.reason,
        Evidence::Context { verdict, .. } | Evidence::Noncommittal(verdict) | Evidence::Criterion(verdict) => {
            &verdict.reason
        }
        Evidence::Rating(rating) => &rating.reason,
        Evidence::Question { .. }
        | Evidence::ReferenceEntity { .. }
        | Evidence::ContextEntity { .. }
        | Evidence::Similarity { .. } => &None,
    };
    reason.as_deref()
}

fn text_of(part: &Evidence) -> Option<&str> {
    match part {
        Evidence::Claim(judged)
        | Evidence::Statement(judged)
        | Evidence::Sentence(judged)
        | Evidence::Answered(judged) => Some(&judged.text),
        Evidence::Question { text, .. } | Evidence::ReferenceEntity { text } | Evidence::ContextEntity { text } => {
            Some(text)
        }
        Evidence::Context { .. }
        | Evidence::Noncommittal(_)
        | Evidence::Criterion(_)
        | Evidence::Rating(_)
        | Evidence::Similarity { .. } => None,
    }
}

fn value_of(fraction: &str) -> f64 {
    let (over, under) = fraction.split_once('/').expect("a score is a fraction");
    over.parse::<f64>().expect("a number") / under.parse::<f64>().expect("a number")
}

#[test]
fn every_metric_gives_the_score_derived_by_hand() {
    let wrong: Vec<String> = all_cases().iter().flat_map(|(_, cases)| cases).filter_map(Case::fault).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_metric_takes_more_rounds_than_it_declares() {
    for (name, cases) in all_cases() {
        for case in cases.iter().filter(|case| case.is_plain()) {
            let (n_rounds, most) = (case.find().1, case.with_metric(|metric| metric.about().depth));
            assert!(n_rounds <= most, "`{name}`, {}: {n_rounds} rounds, declared are {most}", case.name);
        }
    }
}

#[test]
fn every_metric_has_cases_in_every_language() {
    for (name, cases) in all_cases() {
        assert!(cases.len() >= MIN_CASES, "`{name}` has {} cases, expected {MIN_CASES} at least", cases.len());
        for language in Language::ALL {
            assert!(cases.iter().any(|case| case.language == language), "`{name}` has no case in {}", language.code());
        }
    }
}
