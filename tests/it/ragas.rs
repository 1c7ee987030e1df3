//! Vectors computed with Ragas 0.4.3: do our metrics give its scores, but for the differences that they document?

use ragstone::judge::{Settings, Stop};
use ragstone::metrics;
use ragstone::record::Score;
use ragstone::respond::script::Script;
use ragstone::sample::Sample;
use ragstone::text::Language;
use serde_json::{Value, json};

use crate::metrics::drive;

const VECTORS: &str = include_str!("../data/ragas_golden_main.json");

/// Ragas adds 1e-10 to the denominator of average precision: a perfect ranking is 0.9999999999 there and 1 here.
const MAX_ERROR: f64 = 1e-9;

/// Ragas gives 0 where nothing was retrieved, and where no question was written; we give no score.
const UNSCORED_HERE: &[&str] = &["G003", "G120"];

/// What the metric of a vector's family says of a sample and answers that come to the vector's input.
fn check(family: &str, input: &Value) -> Result<Score, Stop> {
    let (metric, _) = family.split_once('.').expect("a family is `metric.aspect`");
    let items = |key: &str| input[key].as_array().cloned().unwrap_or_default();
    let (sample, script) = match metric {
        "context_precision" => ranked(&items("verdicts")),
        "faithfulness" => claimed(&items("verdicts")),
        "context_recall" => stated(&items("attributed")),
        _ => asked_back(input),
    };
    let questions = items("generated_vecs").len().max(items("generated_questions").len()).max(1);
    let settings = Settings { questions: questions as u32, ..Settings::default() };
    let script = toml::to_string(&script).expect("the script has no null");
    let mut script = Script::parse(&script).expect("the script is valid");
    let metric = metrics::find(metric).expect("the vectors are of our metrics");
    drive(metric, &sample, Language::English, &settings, &mut script).0
}

fn sample() -> Sample {
    let text = |text: &str| Some(text.to_owned());
    Sample { user_input: text("asked"), response: text("told"), reference: text("right"), ..Sample::default() }
}

/// A rule for each verdict, for the question in which `NAME IDX.` occurs.
fn verdicts(name: &str, verdicts: &[Value]) -> Value {
    let rule = |(idx, verdict): (usize, &Value)| json!({ "has": [format!("{name} {idx}.")], "p_yes": verdict });
    Value::Array(verdicts.iter().enumerate().map(rule).collect())
}

fn names(name: &str, n: usize) -> Vec<String> {
    (0..n).map(|idx| format!("{name} {idx}.")).collect()
}

fn ranked(is_useful: &[Value]) -> (Sample, Value) {
    let contexts = names("Context", is_useful.len());
    (Sample { retrieved_contexts: Some(contexts), ..sample() }, json!({ "verdict": verdicts("Context", is_useful) }))
}

fn claimed(is_supported: &[Value]) -> (Sample, Value) {
    let claims = names("Claim", is_supported.len()).join("\n");
    let script = json!({ "write": [{ "text": claims }], "verdict": verdicts("Claim", is_supported) });
    (Sample { retrieved_contexts: Some(vec!["shown".to_owned()]), ..sample() }, script)
}

fn stated(is_supported: &[Value]) -> (Sample, Value) {
    let reference = Some(names("Statement", is_supported.len()).join("\n\n"));
    let sample = Sample { retrieved_contexts: Some(vec!["shown".to_owned()]), reference, ..sample() };
    (sample, json!({ "verdict": verdicts("Statement", is_supported) }))
}

/// Ragas has a flag with every question and takes 0 if all are set; we ask once.
fn asked_back(input: &Value) -> (Sample, Value) {
    let flags = input["noncommittal"].as_array();
    let is_noncommittal = flags.is_some_and(|flags| flags.iter().all(|flag| flag == 1));
    let (mut write, mut embed) = (Vec::new(), Vec::new());
    for (idx, vector) in input["generated_vecs"].as_array().into_iter().flatten().enumerate() {
        write.push(json!({ "draw": idx, "text": format!("Question {idx}.") }));
        embed.push(json!({ "has": [format!("Question {idx}.")], "vector": vector }));
    }
    write.push(json!({ "text": "" }));
    let asked = if input["question_vec"].is_null() { json!([1, 0]) } else { input["question_vec"].clone() };
    embed.push(json!({ "vector": asked }));
    let p_yes = f64::from(u8::from(is_noncommittal));
    (sample(), json!({ "write": write, "embed": embed, "verdict": [{ "p_yes": p_yes }] }))
}

#[test]
fn scores_are_those_of_ragas_but_for_documented_differences() {
    let golden: Value = serde_json::from_str(VECTORS).expect("the vectors are JSON");
    for vector in golden["vectors"].as_array().expect("there is a list") {
        let id = vector["id"].as_str().expect("a vector has an id");
        // `nan` is a text there.
        let theirs = vector["expected"].as_f64().filter(|_| !UNSCORED_HERE.contains(&id));
        let ours = check(vector["family"].as_str().expect("a vector has a family"), &vector["input"]);
        match (theirs, &ours) {
            (Some(theirs), Ok(ours)) => assert!((theirs - ours.score).abs() <= MAX_ERROR, "{id}: {}", ours.score),
            (None, Err(Stop::Unscored(_) | Stop::Failed(_))) => {}
            _ => panic!("{id}: expected {theirs:?}, found {ours:?}"),
        }
    }
}
