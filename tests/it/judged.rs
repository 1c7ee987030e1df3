//! Answers and samples as they should not be, in `tests/data/integrity` and here: is there one right outcome still?

use ragstone::judge::{Answer, Question, Reply};
use ragstone::metrics::{self, Finding, METRICS, Metric};
use ragstone::record::{Outcome, PinnedModel};
use ragstone::respond::Responder;
use ragstone::respond::script::Script;
use ragstone::sample::Sample;
use ragstone::settings::Settings;
use ragstone::text::Language;

use crate::metrics::{Case, drive, read_cases};

/// The files of `tests/data/integrity`.
const FILES: [&str; 3] = ["written", "numbers", "samples"];

/// Gives as many replies as its function does.
struct Every(fn(&[Question]) -> Vec<Answer>);

impl Responder for Every {
    fn judge(&self) -> Option<&PinnedModel> {
        None
    }

    fn embedder(&self) -> Option<&PinnedModel> {
        None
    }

    fn answer(&mut self, questions: &[Question], _: &mut dyn FnMut(f64)) -> ragstone::Result<Vec<Reply>> {
        Ok(self.0(questions).into_iter().map(|answer| Reply { answer, tokens_asked: 1 }).collect())
    }
}

/// A sample with every column that a metric may need.
fn sample() -> Sample {
    let (text, list) = (|text: &str| Some(text.to_owned()), Some(vec!["It was Ann.".to_owned()]));
    Sample {
        user_input: text("Who?"),
        response: text("Ann did."),
        reference: text("Ann did it."),
        retrieved_contexts: list.clone(),
        reference_contexts: list,
        ..Sample::default()
    }
}

/// The outcome of a metric on a sample by a script.
fn check(metric: &str, sample: &Sample, script: &str) -> Outcome {
    let metric = metrics::find(metric).expect("it is in the table");
    let mut script = Script::parse(script).expect("the script was written below");
    let (Finding { outcome, .. }, _) = drive(metric, sample, Language::English, &Settings::default(), &mut script);
    outcome
}

/// The reason for which every metric that asks a model fails, but for those of these names.
fn check_failures(answers: fn(&[Question]) -> Vec<Answer>, but: &[&str]) -> Vec<String> {
    let reason = |metric| {
        let cell = ragstone::score(&sample(), metric, &mut Every(answers)).expect("nothing ends the run");
        let Outcome::Failed { reason } = cell.outcome else { panic!("{cell:?}") };
        reason
    };
    let asks = |metric: &&&dyn Metric| !metric.about().models.is_empty() && !but.contains(&metric.about().name);
    METRICS.iter().filter(asks).map(|metric| reason(*metric)).collect()
}

#[test]
fn every_case_has_the_outcome_derived_by_hand() {
    let cases: Vec<Case> = FILES.iter().flat_map(|file| read_cases(&format!("integrity/{file}.toml"))).collect();
    let wrong: Vec<String> = cases.iter().filter_map(Case::fault).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn of_300_listed_claims_every_one_is_judged() {
    let claims: String = (1..=300).map(|n| format!("{n}. Claim {n} holds.\\n")).collect();
    // 5, 15, … 295: 30 of 300.
    let yes: String =
        (1..=30).map(|n| format!("{{ has = ['Statement: Claim {} holds.'], p_yes = 0.9 }},", 10 * n - 5)).collect();
    let script = format!("write = [{{ text = \"{claims}\" }}]\nverdict = [{yes} {{ p_yes = 0.1 }}]");
    assert_eq!(check("faithfulness", &sample(), &script).score(), Some(0.1));
}

#[test]
fn of_200_contexts_every_one_is_shown() {
    let contexts = Some((1..=200).map(|n| format!("Room {n}.")).collect());
    let sample = Sample { retrieved_contexts: contexts, ..sample() };
    // Ranks 1 and 200 are useful: (1/1 + 2/200) / 2 = 101/200.
    let script =
        "verdict = [{ has = ['Room 1.'], p_yes = 0.9 }, { has = ['Room 200.'], p_yes = 0.9 }, { p_yes = 0.1 }]";
    assert_eq!(check("context_precision", &sample, script).score(), Some(101.0 / 200.0));
    // Windows of six sentences: 1 to 6, and so on to 199 and 200.
    for shown in
        ["Room 1.\nRoom 2.\nRoom 3.\nRoom 4.\nRoom 5.\nRoom 6.\n\n", "Room 102.\n\n", "Room 199.\nRoom 200.\n\n"]
    {
        let script = format!("verdict = [{{ has = [{shown:?}], p_yes = 0.9 }}, {{ p_yes = 0.1 }}]");
        assert_eq!(check("context_recall", &sample, &script).score(), Some(1.0), "{shown}");
    }
    // Two sentences of 200.
    let script = "verdict = [
        { has = ['Sentence of the context: Room 1.'], p_yes = 0.9 },
        { has = ['Sentence of the context: Room 200.'], p_yes = 0.9 },
        { p_yes = 0.1 },
    ]";
    assert_eq!(check("context_relevance", &sample, script).score(), Some(0.01));
}

#[test]
fn verdict_in_place_of_another_answer_fails_its_cell() {
    // Metrics that ask for verdicts alone get one that is none.
    let answers = |questions: &[Question]| {
        let p_yes = |question: &Question| if matches!(question, Question::Verdict { .. }) { 2.0 } else { 0.9 };
        questions.iter().map(|question| Answer::Verdict { p_yes: p_yes(question) }).collect()
    };
    for reason in check_failures(answers, &[]) {
        let expected = ["expected a text", "expected a rating", "expected a vector", "expected a number from 0 to 1"];
        assert!(expected.iter().any(|text| reason.ends_with(text)), "{reason}");
    }
}

#[test]
fn text_in_place_of_another_answer_fails_its_cell() {
    // Closed questions end with a question mark. Names are texts.
    let answers = |questions: &[Question]| vec![Answer::Text("Yes?".to_owned()); questions.len()];
    for reason in check_failures(answers, &["context_entity_recall"]) {
        assert!(reason.starts_with("the answer is Text(\"Yes?\"), expected a "), "{reason}");
    }
}

#[test]
fn failing_answer_is_the_reason_of_its_cell() {
    let answers = |questions: &[Question]| vec![Answer::Failed("the judge is gone".to_owned()); questions.len()];
    let reasons = check_failures(answers, &[]);
    assert!(reasons.len() > 10 && reasons.iter().all(|reason| reason == "the judge is gone"), "{reasons:?}");
}

#[test]
#[should_panic(expected = "a responder gives one reply a question")]
fn missing_reply_ends_the_run_and_shifts_no_answer() {
    let metric = metrics::find("context_recall").expect("it is in the table");
    let sample = Sample { reference: Some("Ann did. Bo did.".to_owned()), ..sample() };
    let all = ragstone::score(&sample, metric, &mut Every(|questions| vec![yes(); questions.len()]));
    assert_eq!(all.expect("every question is answered").outcome.score(), Some(1.0));
    let _ = ragstone::score(&sample, metric, &mut Every(|questions| vec![yes(); questions.len() - 1]));
}

#[test]
#[should_panic(expected = "a responder gives one reply a question")]
fn spare_reply_ends_the_run() {
    let _ = ragstone::score(
        &sample(),
        metrics::find("context_recall").expect("it is in the table"),
        &mut Every(|questions| vec![yes(); questions.len() + 1]),
    );
}

fn yes() -> Answer {
    Answer::Verdict { p_yes: 0.9 }
}
