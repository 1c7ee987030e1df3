//! A run: samples go in, records come out, wave by wave.
//!
//! A wave is a handful of samples. Their metrics are tried; the questions they leave open are answered together; they
//! are tried again, until none is open. Texts and embeddings are answered first, since verdicts may depend on them;
//! then all verdicts at once, sample by sample, so that a sample's contexts are computed once for all metrics.

use std::collections::HashSet;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::judge::prompts::Pack;
use crate::judge::{Answer, AnswerStore, Answers, Key, Pins, Question, Reply};
use crate::metrics::rubric::OwnMetric;
use crate::metrics::{self, Finding, METRICS, Metric};
use crate::model::{Checked, Role};
use crate::record::{Cell, Header, Outcome, PinnedModel, Record};
use crate::respond::Responder;
use crate::sample::Sample;
use crate::settings::Settings;
use crate::text::{self, Language};

/// Rounds after which a wave must be done: a metric has at most 8, each with texts first and verdicts then.
const MAX_ROUNDS: usize = 16;

/// What is to be done with every sample.
#[derive(Clone)]
pub struct Plan<'a> {
    /// The metrics, in the order of the table.
    pub metrics: Vec<&'a dyn Metric>,
    /// Those of them that are the user's own, with the SHA-256 of their file.
    pub own: Option<(&'a [OwnMetric], &'a str)>,
    /// What shapes questions and verdicts.
    pub settings: Settings,
    /// The language of the prompts; `None` follows each sample's script.
    pub language: Option<Language>,
    /// Samples in a wave, at least one; no record depends on it.
    pub wave_samples: usize,
}

impl Default for Plan<'_> {
    /// Every metric, each sample in its language; sixteen samples a wave, enough texts to write side by side, and few
    /// enough that progress is seen.
    fn default() -> Self {
        Self { metrics: METRICS.to_vec(), own: None, settings: Settings::default(), language: None, wave_samples: 16 }
    }
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The responder is at work on a wave.
    Answering {
        /// Samples whose records were given out.
        n_done: usize,
        /// Samples in the wave.
        n_wave: usize,
        /// Whether texts are written, or verdicts given, which come after.
        is_writing: bool,
        /// The share of these questions that is answered.
        share: f64,
    },
    /// A question was answered.
    Answered {
        /// The question.
        question: &'a Question,
        /// The answer.
        answer: &'a Answer,
    },
}

impl Plan<'_> {
    /// The header of a run of this plan with this responder.
    pub fn header(&self, responder: &dyn Responder) -> Header {
        let own = self.own.map_or(&[][..], |(metrics, _)| metrics);
        Header {
            format: Header::FORMAT,
            ragstone: env!("CARGO_PKG_VERSION").to_owned(),
            metrics: self.metrics.iter().map(|metric| metric.about().name.to_owned()).collect(),
            rubrics: own.iter().map(|metric| metric.rubric().clone()).collect(),
            rubrics_sha256: self.own.map(|(_, sha256)| sha256.to_owned()),
            prompts_sha256: Pack::sha256(),
            settings: self.settings.clone(),
            language: self.language.map_or("auto", Language::code).to_owned(),
            judge: responder.judge().filter(|_| self.needs(Role::Judge)).cloned(),
            embedder: responder.embedder().filter(|_| self.needs(Role::Embedder)).cloned(),
        }
    }

    /// Whether a metric needs such a model.
    pub fn needs(&self, role: Role) -> bool {
        self.metrics.iter().any(|metric| metric.about().models.contains(&role))
    }
}

/// Scores rows and hands each record to `sink`, in order. A row that could not be read becomes a record of failed
/// cells.
///
/// # Errors
/// What ends the run: a failing responder or sink, or rows that cannot be read on.
///
/// # Panics
/// If a wave of the plan has no samples.
pub fn run(
    rows: impl Iterator<Item = Result<Sample>>,
    plan: &Plan<'_>,
    responder: &mut dyn Responder,
    sink: &mut dyn FnMut(Record) -> Result<()>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<()> {
    assert!(plan.wave_samples > 0, "a wave has a sample");
    let mut rows = rows.peekable();
    let mut n_done = 0;
    while rows.peek().is_some() {
        let wave: Vec<Result<Sample>> = rows.by_ref().take(plan.wave_samples).collect();
        let n_wave = wave.len();
        for record in run_wave(wave, n_done, plan, responder, on_event)? {
            sink(record)?;
        }
        n_done += n_wave;
    }
    Ok(())
}

/// Scores one sample by one metric.
///
/// ```
/// use ragstone::metrics::Faithfulness;
/// use ragstone::record::Outcome;
/// use ragstone::respond::script::Script;
/// use ragstone::sample::Sample;
///
/// let sample = Sample {
///     user_input: Some("Who signs off a transfer over 10,000 euro?".into()),
///     retrieved_contexts: Some(vec!["Transfers over 10,000 euro need two signatures.".into()]),
///     response: Some("The branch manager and the treasurer.".into()),
///     ..Sample::default()
/// };
/// // A script stands in for the models here; `respond::local::LocalModels` runs real ones.
/// let mut responder = Script::parse(
///     r#"
///     write = [{ text = "The branch manager signs.\nThe treasurer signs." }]
///     verdict = [{ has = ["Statement: The branch manager"], p_yes = 0.8 }, { p_yes = 0.1 }]
///     "#,
/// )?;
/// let cell = ragstone::score(&sample, &Faithfulness, &mut responder)?;
/// assert_eq!(cell.outcome.score(), Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the responder fails.
pub fn score(sample: &Sample, metric: &dyn Metric, responder: &mut dyn Responder) -> Result<Cell> {
    let plan = Plan { metrics: vec![metric], ..Plan::default() };
    let records = run_wave(vec![Ok(sample.clone())], 0, &plan, responder, &mut |_| ())?;
    let record = records.into_iter().next().expect("a sample makes a record");
    Ok(record.cells.into_iter().next().expect("a metric makes a cell"))
}

/// One sample and metric of a wave.
struct Task<'a> {
    sample: &'a Sample,
    language: Language,
    metric: &'a dyn Metric,
    cell: Option<Cell>,
}

fn run_wave(
    rows: Vec<Result<Sample>>,
    n_done: usize,
    plan: &Plan<'_>,
    responder: &mut dyn Responder,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Record>> {
    let samples: Vec<(Sample, Language)> =
        rows.iter().flatten().map(|sample| (sample.clone(), plan.language_of(sample))).collect();
    let mut tasks: Vec<Task<'_>> =
        samples.iter().flat_map(|(sample, language)| plan.tasks(sample, *language)).collect();
    let mut wave = Wave { n_done, n_samples: samples.len(), responder, on_event };
    wave.solve(&mut tasks, plan)?;
    let cells: Vec<Cell> = tasks.into_iter().map(|task| task.cell.expect("the wave was solved")).collect();
    let (mut cells, mut samples) = (cells.into_iter(), samples.into_iter());
    let record = |row: Result<Sample>| match row {
        Ok(_) => {
            let (sample, language) = samples.next().expect("every readable row is a sample");
            Ok(Record { sample, language, cells: cells.by_ref().take(plan.metrics.len()).collect() })
        }
        Err(err) => plan.unread_record(err),
    };
    rows.into_iter().map(record).collect()
}

impl Plan<'_> {
    /// The language of what is asked and said, or, where a row has neither, of its contexts.
    fn language_of(&self, sample: &Sample) -> Language {
        let texts = [&sample.user_input, &sample.response, &sample.reference];
        let said: Vec<&str> = texts.into_iter().flatten().map(String::as_str).collect();
        let contexts = || sample.retrieved_contexts.iter().flatten().map(String::as_str).collect();
        let all = if said.is_empty() { contexts() } else { said };
        self.language.unwrap_or_else(|| text::detect(&all.join(" ")))
    }

    fn tasks<'a>(&'a self, sample: &'a Sample, language: Language) -> impl Iterator<Item = Task<'a>> {
        self.metrics.iter().map(move |&metric| Task { sample, language, metric, cell: None })
    }

    /// The record of a row that could not be read; other errors end the run.
    fn unread_record(&self, err: Error) -> Result<Record> {
        let Error::Dataset { place, .. } = &err else { return Err(err) };
        let id = place.line.map_or_else(|| "unread".to_owned(), |line| format!("line {line}"));
        let cell = |metric: &&dyn Metric| Cell {
            metric: metric.about().name.to_owned(),
            outcome: Outcome::Failed { reason: format!("the row could not be read: {}", err.without_file()) },
            evidence: None,
            notes: Vec::new(),
            written: Vec::new(),
            tokens_asked: 0,
        };
        let sample = Sample { id, ..Sample::default() };
        Ok(Record { sample, language: Language::English, cells: self.metrics.iter().map(cell).collect() })
    }
}

/// A wave being answered.
struct Wave<'a> {
    n_done: usize,
    n_samples: usize,
    responder: &'a mut dyn Responder,
    on_event: &'a mut dyn FnMut(Event<'_>),
}

impl Wave<'_> {
    /// Fills every task's cell.
    fn solve(&mut self, tasks: &mut [Task<'_>], plan: &Plan<'_>) -> Result<()> {
        let pins = self.responder.pins();
        let mut store = AnswerStore::default();
        for _ in 0..MAX_ROUNDS {
            let models = (self.responder.judge().cloned(), self.responder.embedder().cloned());
            let tries = tasks.par_iter_mut().filter(|task| task.cell.is_none());
            let open: Vec<Vec<_>> = tries.map(|task| task.attempt(&store, &pins, &plan.settings, &models)).collect();
            let open = open.concat();
            if open.is_empty() {
                return Ok(());
            }
            self.answer(next_questions(open), &mut store)?;
        }
        panic!("a metric asks on after {MAX_ROUNDS} rounds");
    }

    fn answer(&mut self, open: Vec<(Key, Question)>, store: &mut AnswerStore) -> Result<()> {
        let (keys, questions): (Vec<Key>, Vec<Question>) = open.into_iter().unzip();
        let is_writing = !questions[0].is_verdict();
        let (n_done, n_wave) = (self.n_done, self.n_samples);
        let on_event = &mut *self.on_event;
        let replies = self.responder.answer(&questions, &mut |share| {
            on_event(Event::Answering { n_done, n_wave, is_writing, share });
        })?;
        assert_eq!(replies.len(), questions.len(), "a responder gives one reply a question");
        for ((key, question), reply) in keys.into_iter().zip(&questions).zip(replies) {
            on_event(Event::Answered { question, answer: &reply.answer });
            store.insert(key, reply);
        }
        Ok(())
    }
}

/// The questions to answer now, each once: texts and embeddings if there are any, else the verdicts.
fn next_questions(open: Vec<(Key, Question)>) -> Vec<(Key, Question)> {
    let only_verdicts = open.iter().all(|(_, question)| question.is_verdict());
    let mut seen = HashSet::new();
    let now = open.into_iter().filter(|(_, question)| question.is_verdict() == only_verdicts);
    now.filter(|(key, _)| seen.insert(*key)).collect()
}

impl Task<'_> {
    /// Tries the metric: fills the cell, or returns the questions that are open.
    fn attempt(
        &mut self,
        store: &AnswerStore,
        pins: &Pins,
        settings: &Settings,
        models: &(Option<PinnedModel>, Option<PinnedModel>),
    ) -> Vec<(Key, Question)> {
        let mut answers = Answers::new(store, pins, settings, self.language);
        let finding = metrics::evaluate(self.metric, self.sample, &mut answers);
        let (open, used) = answers.finish();
        match finding {
            None => open,
            Some(finding) => {
                self.fill(finding, &used, models);
                Vec::new()
            }
        }
    }

    fn fill(&mut self, finding: Finding, used: &[&Reply], models: &(Option<PinnedModel>, Option<PinnedModel>)) {
        let written = used.iter().filter_map(|reply| match &reply.answer {
            Answer::Text(text) => Some(text.clone()),
            Answer::Verdict { .. } | Answer::Rating(_) | Answer::Vector(_) | Answer::Failed(_) => None,
        });
        let about = self.metric.about();
        let models = about.models.iter().filter_map(|role| match role {
            Role::Judge => models.0.as_ref(),
            Role::Embedder => models.1.as_ref(),
        });
        self.cell = Some(Cell {
            metric: about.name.to_owned(),
            outcome: finding.outcome,
            evidence: finding.evidence,
            notes: models.flat_map(|model| notes(model, self.language)).collect(),
            written: written.collect(),
            tokens_asked: used.iter().map(|reply| reply.tokens_asked).sum(),
        });
    }
}

/// What a reader must know of a model's work in this language.
fn notes(model: &PinnedModel, language: Language) -> impl Iterator<Item = String> {
    foreign_language(model, language).into_iter().chain(hardly_better(model, language))
}

/// A note if the judge was measured, and found hardly better than counting words.
fn hardly_better(model: &PinnedModel, language: Language) -> Option<String> {
    let checked = model.checked.iter().find(|checked| checked.language == language.code())?;
    let Checked { n_rows, auc, floor, .. } = checked;
    checked.is_near_floor().then(|| {
        format!(
            "`{}` told supported statements from others hardly better than counting words does, on {n_rows} rows that people \
             labelled ({}: AUC {auc:.2}, counting words {floor:.2}): do not trust its verdicts by themselves",
            model.name,
            language.code()
        )
    })
}

/// A note if the model was not made for the language.
fn foreign_language(model: &PinnedModel, language: Language) -> Option<String> {
    let known = &model.languages;
    let is_foreign = !known.is_empty() && !known.iter().any(|code| code == language.code());
    is_foreign.then(|| format!("`{}` was made for {}, not for {}", model.name, known.join(", "), language.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge_that_hardly_beats_counting_words_is_named_in_that_language_alone() {
        let checked =
            |language: &str, auc| Checked { language: language.to_owned(), n_sets: 2, n_rows: 90, auc, floor: 0.66 };
        let model = PinnedModel {
            name: "j".to_owned(),
            pins: std::collections::BTreeMap::new(),
            languages: vec!["en".to_owned(), "ko".to_owned()],
            checked: vec![checked("en", 0.7), checked("ko", 0.9)],
        };
        let expected = "`j` told supported statements from others hardly better than counting words does, on 90 rows that \
                        people labelled (en: AUC 0.70, counting words 0.66): do not trust its verdicts by themselves";
        assert_eq!(notes(&model, Language::English).collect::<Vec<_>>(), [expected]);
        assert_eq!(notes(&model, Language::Korean).count(), 0);
    }
}
