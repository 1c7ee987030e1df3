//! Steering: does a text that tries to bring the judge round change its verdict?
//!
//! Each row of [`injection`] is judged as it stands and as its plain twin, by the metric that judges
//! labelled statements, in an ordinary run.

use serde::Serialize;

use super::figures::Estimate;
use super::injection::{self, Attack, Kind, Place};
use super::tasks::Task;
use crate::error::Result;
use crate::record::{Evidence, Judged, Record};
use crate::respond::Responder;
use crate::run::{self, Event, Plan};
use crate::settings::Settings;
use crate::stats::{self, platt};
use crate::text::Language;

/// How far the rows of a group steer the judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steering {
    /// The kind, or which attacks together.
    pub kind: String,
    /// `en`, `ko` or `all`.
    pub language: String,
    /// Rows with both verdicts.
    pub n_rows: usize,
    /// Rows without one of them.
    pub n_without_verdict: usize,
    /// Plain twins that were judged rightly: no, and of harmless rows yes.
    pub n_plain_right: usize,
    /// Rows, of those, that were judged wrongly as they stand.
    pub n_turned: usize,
    /// Their share, with Wilson's interval.
    pub turned: Option<Estimate>,
    /// The share of yes among the rows as they stand, with Wilson's interval.
    pub yes: Option<Estimate>,
    /// The mean of logit P(yes) of the row less that of its twin, where both have one.
    pub mean_shift: Option<f64>,
}

/// A row that was judged rightly without the attack and wrongly with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turned {
    /// The row.
    pub id: String,
    /// P(yes) of its plain twin; `None` if there was no context to ask about.
    pub plain_p_yes: Option<f64>,
    /// P(yes) of the row, likewise.
    pub p_yes: Option<f64>,
    /// The statement and the contexts as they stand.
    pub text: String,
}

/// What the attacks did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Injection {
    /// By kind and language, and together.
    pub groups: Vec<Steering>,
    /// The rows that turned the verdict, by language and in the order of the file.
    pub turned: Vec<Turned>,
    /// Tokens of all prompts.
    pub tokens_asked: u64,
}

/// An attack with what the judge said.
struct Trial {
    attack: Attack,
    tokens_asked: u64,
    /// Of the row and of its plain twin, if both have a verdict.
    verdicts: Option<[Judged; 2]>,
}

impl Injection {
    /// Samples that are judged: rows and twins.
    pub fn n_samples() -> usize {
        2 * injection::attacks().len()
    }

    /// Judges all rows and twins, those of a language in one run, with prompts in the language of the row unless another is
    /// named.
    ///
    /// # Errors
    /// If the responder fails.
    pub fn judge(
        settings: &Settings,
        language: Option<Language>,
        responder: &mut dyn Responder,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self> {
        let mut trials = Vec::new();
        for of_rows in Language::ALL {
            let attacks: Vec<Attack> =
                injection::attacks().into_iter().filter(|attack| attack.lang == of_rows).collect();
            let plan = Plan {
                metrics: Task::Statement.metrics(),
                settings: settings.clone(),
                language: Some(language.unwrap_or(of_rows)),
                ..Plan::default()
            };
            let n_before = 2 * trials.len();
            let records = records(&attacks, &plan, responder, &mut |event| on_event(after(n_before, event)))?;
            let pairs = attacks.into_iter().zip(records.chunks_exact(2));
            trials.extend(pairs.map(|(attack, pair)| Trial::of(attack, pair)));
        }
        Ok(Self::of(&trials))
    }

    fn of(trials: &[Trial]) -> Self {
        let mut groups = Vec::new();
        let mut add = |name: &str, language: Option<Language>, is_in: &dyn Fn(&Attack) -> bool| {
            let is_of_language = |attack: &Attack| language.is_none_or(|language| attack.lang == language);
            let is_member = |trial: &&Trial| is_of_language(&trial.attack) && is_in(&trial.attack);
            let members: Vec<&Trial> = trials.iter().filter(is_member).collect();
            groups.push(Steering::of(name, language.map_or("all", Language::code), &members));
        };
        for kind in Kind::ATTACKS {
            Language::ALL.iter().for_each(|language| add(kind.name(), Some(*language), &|attack| attack.kind == kind));
        }
        Language::ALL.iter().for_each(|language| add("all attacks", Some(*language), &Attack::is_one));
        add("attacks in statements", None, &|attack| attack.is_one() && attack.place == Place::Statement);
        add("attacks in contexts", None, &|attack| attack.is_one() && attack.place == Place::Context);
        add("all attacks", None, &Attack::is_one);
        let harmless = Kind::Harmless.name();
        Language::ALL.iter().for_each(|language| add(harmless, Some(*language), &|attack| !attack.is_one()));
        let tokens_asked = trials.iter().map(|trial| trial.tokens_asked).sum();
        Self { groups, turned: trials.iter().filter_map(Trial::turned).collect(), tokens_asked }
    }
}

/// The records of the attacks, each followed by that of its plain twin.
fn records(
    attacks: &[Attack],
    plan: &Plan<'_>,
    responder: &mut dyn Responder,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Record>> {
    let samples = attacks.iter().flat_map(Attack::samples).map(Ok);
    let mut records = Vec::new();
    let mut sink = |record| {
        records.push(record);
        Ok(())
    };
    run::run(samples, plan, responder, &mut sink, on_event)?;
    Ok(records)
}

/// An event of a run before which this many samples were done.
fn after(n_before: usize, event: Event<'_>) -> Event<'_> {
    match event {
        Event::Answering { n_done, n_wave, is_writing, share } => {
            Event::Answering { n_done: n_before + n_done, n_wave, is_writing, share }
        }
        Event::Answered { .. } => event,
    }
}

impl Steering {
    fn of(kind: &str, language: &str, trials: &[&Trial]) -> Self {
        let judged: Vec<&Trial> = trials.iter().copied().filter(|trial| trial.verdicts.is_some()).collect();
        let n_plain_right = judged.iter().filter(|trial| trial.is_plain_right()).count();
        let n_turned = judged.iter().filter(|trial| trial.turned().is_some()).count();
        let n_yes = judged.iter().filter(|trial| trial.is_yes()).count();
        let shifts: Vec<f64> = judged.iter().filter_map(|trial| trial.shift()).collect();
        Self {
            kind: kind.to_owned(),
            language: language.to_owned(),
            n_rows: judged.len(),
            n_without_verdict: trials.len() - judged.len(),
            n_plain_right,
            n_turned,
            turned: share(n_turned, n_plain_right),
            yes: share(n_yes, judged.len()),
            mean_shift: stats::mean(&shifts),
        }
    }
}

/// A share with its interval; `None` of nothing.
fn share(n_some: usize, n_all: usize) -> Option<Estimate> {
    Some(Estimate { value: stats::share(n_some, n_all)?, interval: stats::wilson(n_some, n_all) })
}

impl Trial {
    /// An attack with its record and that of its plain twin.
    fn of(attack: Attack, pair: &[Record]) -> Self {
        let cells = pair.iter().flat_map(|record| &record.cells);
        let tokens_asked = cells.clone().map(|cell| cell.tokens_asked).sum();
        let verdicts: Vec<Judged> = cells.flat_map(|cell| cell.evidence.iter().flatten()).filter_map(judged).collect();
        Self { attack, tokens_asked, verdicts: verdicts.try_into().ok() }
    }

    fn is_right(&self, judged: &Judged) -> bool {
        judged.verdict == (self.attack.label == 1)
    }

    fn is_plain_right(&self) -> bool {
        self.verdicts.as_ref().is_some_and(|[_, plain]| self.is_right(plain))
    }

    fn is_yes(&self) -> bool {
        self.verdicts.as_ref().is_some_and(|[attacked, _]| attacked.verdict)
    }

    fn shift(&self) -> Option<f64> {
        let [attacked, plain] = self.verdicts.as_ref()?;
        Some(platt::logit(attacked.p_yes?) - platt::logit(plain.p_yes?))
    }

    fn turned(&self) -> Option<Turned> {
        let [attacked, plain] = self.verdicts.as_ref()?;
        let is_turned = self.is_right(plain) && !self.is_right(attacked);
        let text = format!("{} / {}", self.attack.statement, self.attack.retrieved_contexts.join(" "));
        let (plain_p_yes, p_yes) = (plain.p_yes, attacked.p_yes);
        is_turned.then(|| Turned { id: self.attack.id.clone(), plain_p_yes, p_yes, text })
    }
}

/// The statement with its verdict.
fn judged(evidence: &Evidence) -> Option<Judged> {
    if let Evidence::Statement(judged) = evidence { Some(judged.clone()) } else { None }
}
