//! The metrics that need no model, on many texts: is there always a score in its range, and always the same?

use ragstone::metrics::{self, Case, IdBasedContextPrecision, METRICS, Metric};
use ragstone::record::{Outcome, Record, Score};
use ragstone::respond::local::LocalModels;
use ragstone::run::{Plan, run};
use ragstone::sample::Sample;
use ragstone::settings::{Profile, Settings};
use ragstone::text::distance::Distance;

/// What texts are made of: words, marks and white space of two languages, decomposed Hangul, emoji, nothing.
const PIECES: &[&str] = &[
    "",
    " ",
    "\n",
    "\u{3000}",
    "the",
    "The",
    "capitals",
    "running",
    "Paris.",
    "It's",
    "1,000.5",
    ". ",
    "\"",
    "'",
    "“",
    "”",
    "「",
    "」",
    "the sky is blue",
    "서울은",
    "수도이다.",
    "한국의",
    "하루가 걸린다",
    "\u{1109}\u{1165}\u{110b}\u{116e}\u{11af}",
    "\u{1112}\u{1161}",
    "e\u{301}",
    "é",
    "🙂",
    "👩\u{200d}🔬",
    "İ",
];

/// Numbers that are the same in each run: the linear congruential generator of Knuth's MMIX.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn text(&mut self) -> String {
        let separator = ["", " "][self.below(2)];
        let n_pieces = self.below(12);
        let pieces: Vec<&str> = (0..n_pieces).map(|_| PIECES[self.below(PIECES.len())]).collect();
        pieces.join(separator)
    }

    /// One of the texts as it is, with something after it, or another.
    fn like(&mut self, texts: &[String]) -> String {
        let known = texts[self.below(texts.len())].clone();
        match self.below(3) {
            0 => known,
            1 => known + &self.text(),
            _ => self.text(),
        }
    }

    fn list(&mut self, texts: &[String]) -> Vec<String> {
        (0..self.below(4)).map(|_| self.like(texts)).collect()
    }
}

/// Samples with all columns, whose texts are alike now and then.
fn samples(n: usize) -> Vec<Sample> {
    let mut draws = Draws(7);
    let mut sample = |idx| {
        let texts = [draws.text(), draws.text()];
        let response = draws.like(&texts);
        Sample {
            id: format!("s{idx}"),
            user_input: Some(texts[0].clone()),
            response: Some(response),
            reference: Some(draws.like(&texts)),
            retrieved_contexts: Some(draws.list(&texts)),
            reference_contexts: Some(draws.list(&texts)),
            retrieved_context_ids: Some(draws.list(&texts)),
            reference_context_ids: Some(draws.list(&texts)),
            ..Sample::default()
        }
    };
    (0..n).map(&mut sample).collect()
}

fn text_metrics() -> Vec<&'static dyn Metric> {
    METRICS.iter().copied().filter(|metric| metric.about().models.is_empty()).collect()
}

/// The records of a run with so many threads and samples in a wave.
fn records(samples: &[Sample], n_threads: usize, wave_samples: usize) -> Vec<Record> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("there are so many threads");
    pool.install(|| {
        let mut records = Vec::new();
        let plan = Plan { metrics: text_metrics(), wave_samples, ..Plan::default() };
        let mut sink = |record| {
            records.push(record);
            Ok(())
        };
        let rows = samples.iter().cloned().map(Ok);
        run(rows, &plan, &mut LocalModels::new(None, None), &mut sink, &mut |_| ()).expect("nothing ends the run");
        records
    })
}

/// The score, `None` if there is none; fails if the metric does, or leaves its range.
fn check(metric: &dyn Metric, sample: &Sample, settings: &Settings) -> Option<Score> {
    let (name, (least, most)) = (metric.about().name, metric.about().range);
    match metrics::compute(metric, &Case { sample, evidence: &[], settings }) {
        Outcome::Scored(found) => {
            assert!((least..=most).contains(&found.score), "`{name}` of {sample:?}: {}", found.score);
            Some(found)
        }
        Outcome::Unscored { reason } => {
            assert!(!reason.is_empty(), "`{name}` of {sample:?}");
            None
        }
        Outcome::Failed { reason } => panic!("`{name}` of {sample:?} failed: {reason}"),
    }
}

#[test]
fn scores_of_any_texts_are_within_their_range() {
    let distances = [None].into_iter().chain(Distance::ALL.map(Some));
    let settings: Vec<Settings> = [Profile::Strict, Profile::Ragas]
        .into_iter()
        .flat_map(|profile| {
            distances.clone().map(move |distance| Settings { profile, distance, ..Settings::default() })
        })
        .collect();
    let samples = samples(400);
    assert_eq!(text_metrics().len(), 11);
    for metric in text_metrics() {
        let of = |sample| settings.iter().filter_map(move |settings| check(metric, sample, settings));
        let scores: Vec<f64> = samples.iter().flat_map(of).map(|found| found.score).collect();
        // The texts are alike and unlike often enough that something was tested.
        let n_between = |least, most| scores.iter().filter(|score| (least..=most).contains(*score)).count();
        let name = metric.about().name;
        assert!(n_between(0.0, 0.01) > 100 && n_between(0.99, 1.0) > 100, "`{name}`: {} scores", scores.len());
    }
}

#[test]
fn records_do_not_depend_on_threads_or_waves() {
    let samples = samples(600);
    let expected = records(&samples, 1, 16);
    assert_eq!(expected.len(), samples.len());
    for (n_threads, wave_samples) in [(1, 1), (1, 600), (3, 1), (3, 7), (3, 16), (3, 1000)] {
        let found = records(&samples, n_threads, wave_samples);
        assert!(found == expected, "{n_threads} threads, {wave_samples} samples a wave");
    }
}

#[test]
fn duplicates_among_ids_stand_beside_the_score() {
    let ids = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect());
    let sample = Sample {
        retrieved_context_ids: ids(&["1", "1", "2", "1"]),
        reference_context_ids: ids(&["1"]),
        ..Sample::default()
    };
    let found = check(&IdBasedContextPrecision, &sample, &Settings::default()).expect("there are ids");
    // 1 of {1, 2}, two more of 1, and 3 of all 4.
    assert_eq!(found.score, 0.5);
    assert_eq!((found.figures["n_duplicates"], found.figures["with_duplicates"]), (2.0, 0.75));
}
