//! The golden vectors, computed with Ragas 0.4.3: does the profile `ragas` give its scores?

use std::collections::BTreeSet;

use ragstone::metrics::{self, Case};
use ragstone::record::{Cell, Evidence, Judged, Outcome, Rating, Record, Score, Verdict};
use ragstone::report::Summary;
use ragstone::respond::script::Script;
use ragstone::sample::Sample;
use ragstone::settings::{Profile, Settings};
use ragstone::text::Language;
use ragstone::text::distance::Distance;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::metrics::drive;

const VECTORS: &str = include_str!("../data/ragas_golden.json");

/// How many vectors there are.
const N_VECTORS: usize = 322;

/// The rounding of a few operations.
const MAX_ERROR: f64 = 1e-12;

/// That of BLEU and chrF, which go through logarithms and means of many figures.
const MAX_N_GRAM_ERROR: f64 = 1e-9;

/// Families, or single vectors, that no metric here is held to, and why.
const NOT_APPLIED: &[(&str, &str)] = &[
    ("context_precision.collections_raw_verdict", "a verdict is yes or no here, so none is 2"),
    ("context_precision.legacy_raw_verdict", "a verdict is yes or no here, so none is 2"),
    ("faithfulness.emitted_vs_submitted", "every claim has a verdict here, so none of five can be missing"),
    ("fbeta.legacy", "the older `answer_correctness`; this profile follows `collections`"),
    ("answer_correctness.combined_legacy", "the older metric; this profile follows `collections`"),
    ("context_entity_recall.legacy", "the older metric; this profile follows `collections`"),
    ("nv.answer_accuracy.parse_legacy", "the older metric, and no rating is parsed from text here"),
    ("nv.relevance_groundedness.parse_legacy", "the older metrics, and no rating is parsed from text here"),
    ("nv.average_legacy", "the older metrics; this profile follows `collections`"),
    ("summary_score.legacy", "the older metric; this profile follows `collections`"),
    ("G225", "`summary_score` without its length penalty is not offered"),
    ("G227", "`summary_score` with another coefficient than 0.5 is not offered"),
    ("ensembler.from_discrete", "every question has one verdict here, so there is no vote"),
    ("extract_json", "nothing here reads JSON that a judge writes"),
    ("tool_call_f1", "calls of tools are not judged here"),
    ("topic_adherence", "conversations are not judged here"),
    ("testset.split_counts", "test sets are not made here"),
    ("testset.overlap_score_builder", "test sets are not made here"),
];

#[derive(Deserialize)]
struct Golden {
    vectors: Vec<Vector>,
}

/// An input of Ragas with its output.
#[derive(Deserialize)]
struct Vector {
    id: String,
    /// The metric, or the part of it.
    family: String,
    input: Value,
    /// A number, `nan` or `error:...` where there is no score, or figures by name.
    expected: Value,
}

impl Vector {
    fn is_in(&self, entry: &str) -> bool {
        entry == self.family || entry == self.id
    }

    /// The figures that the vector gives, under our names; `None` where Ragas has none.
    fn figures(&self) -> Vec<(&str, Option<f64>)> {
        let Some(figures) = self.expected.as_object() else { return vec![("score", self.expected.as_f64())] };
        let names = match self.family.as_str() {
            "rouge.rouge1" => ["rouge1_precision", "rouge1_recall", "rouge1"],
            _ => ["precision", "recall", "score"],
        };
        names.into_iter().zip(["precision", "recall", "fmeasure"].map(|key| figures[key].as_f64())).collect()
    }

    fn max_error(&self) -> f64 {
        let is_n_gram = self.family.starts_with("bleu.") || self.family == "chrf";
        if is_n_gram { MAX_N_GRAM_ERROR } else { MAX_ERROR }
    }

    /// What is wrong with the outcome; nothing, if it is that of Ragas.
    fn complaints(&self, outcome: &Outcome) -> Vec<String> {
        let is_right = |name: &str, theirs: Option<f64>| match (theirs, outcome) {
            (Some(theirs), Outcome::Scored(ours)) => {
                let ours = if name == "score" { Some(&ours.score) } else { ours.figures.get(name) };
                ours.is_some_and(|ours| (theirs - ours).abs() <= self.max_error())
            }
            (None, Outcome::Unscored { .. } | Outcome::Failed { .. }) => true,
            _ => false,
        };
        let wrong = self.figures().into_iter().filter(|(name, theirs)| !is_right(name, *theirs));
        let complaint =
            |(name, theirs)| format!("{} {}: `{name}` is {theirs:?} in Ragas, {outcome:?} here", self.id, self.family);
        wrong.map(complaint).collect()
    }
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str::<Golden>(VECTORS).expect("the vectors are JSON").vectors
}

/// What our metric makes of a vector's input; `None` if no metric takes it.
fn outcome(vector: &Vector) -> Option<Outcome> {
    let input = &vector.input;
    let found = match vector.family.as_str() {
        "context_precision.average_precision" => compute("context_precision", &contexts(&input["verdicts"])),
        "faithfulness.score" => compute("faithfulness", &claims(&input["verdicts"])),
        "context_recall.score" => compute("context_recall", &statements(&input["attributed"])),
        "answer_relevancy.score" | "answer_relevancy.no_questions" => answer_relevancy(input),
        "semantic_similarity" => semantic_similarity(input),
        "fbeta.answer_correctness_collections" => {
            answer_correctness(input, Settings { beta: number(&input["beta"]), weights: [1.0, 0.0], ..ragas() })
        }
        "answer_correctness.combined_collections" => {
            let weights = [number(&input["weights"][0]), number(&input["weights"][1])];
            answer_correctness(input, Settings { weights, ..ragas() })
        }
        "factual_correctness" => factual_correctness(input, &ragas()),
        "factual_correctness.honest_recall" => rounded(factual_correctness(input, &Settings::default())),
        "noise_sensitivity" => noise_sensitivity(input),
        "context_entity_recall.collections" => compute("context_entity_recall", &entities(input)),
        "nv.average_collections" => compute("nv_answer_accuracy", &ratings(input)),
        "summary_score.collections" => return summary_score(input),
        "aggregate.safe_nanmean" => mean(input),
        family => return without_judge(family, input),
    };
    Some(found)
}

fn ragas() -> Settings {
    Settings { profile: Profile::Ragas, ..Settings::default() }
}

/// A sample with the columns that metrics with a judge need.
fn sample() -> Sample {
    let (text, texts) = (|text: &str| Some(text.to_owned()), |text: &str| Some(vec![text.to_owned()]));
    Sample {
        user_input: text("asked"),
        response: text("told"),
        reference: text("right"),
        retrieved_contexts: texts("shown"),
        reference_contexts: texts("source"),
        ..Sample::default()
    }
}

/// The score that follows from what was judged.
fn compute(metric: &str, evidence: &[Evidence]) -> Outcome {
    compute_on(metric, &sample(), evidence, &ragas())
}

fn compute_on(metric: &str, sample: &Sample, evidence: &[Evidence], settings: &Settings) -> Outcome {
    let metric = metrics::find(metric).expect("it is a metric of ours");
    metrics::compute(metric, &Case { sample, evidence, settings })
}

/// The score that follows from a script's answers.
fn ask(metric: &str, script: &Value, settings: &Settings) -> Outcome {
    ask_about(metric, &sample(), script, settings)
}

fn ask_about(metric: &str, sample: &Sample, script: &Value, settings: &Settings) -> Outcome {
    let script = toml::to_string(script).expect("the script has no null");
    let mut script = Script::parse(&script).expect("the script is valid");
    let metric = metrics::find(metric).expect("it is a metric of ours");
    drive(metric, sample, Language::English, settings, &mut script).0.outcome
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("it is a number")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    items(value).iter().map(text).collect()
}

fn verdict(value: &Value) -> Verdict {
    Verdict { is_yes: *value == 1, p_yes: number(value), reason: None }
}

fn judged(verdicts: &Value) -> impl Iterator<Item = Judged> {
    items(verdicts).iter().map(|value| Judged::new("said", verdict(value)))
}

fn claims(verdicts: &Value) -> Vec<Evidence> {
    judged(verdicts).map(Evidence::Claim).collect()
}

fn statements(verdicts: &Value) -> Vec<Evidence> {
    judged(verdicts).map(Evidence::Statement).collect()
}

fn contexts(verdicts: &Value) -> Vec<Evidence> {
    let context = |(value, rank)| Evidence::Context { rank, verdict: verdict(value) };
    items(verdicts).iter().zip(1..).map(context).collect()
}

/// Ragas has a flag with every question and takes 0 if all are set; we ask once.
fn answer_relevancy(input: &Value) -> Outcome {
    let flags = items(&input["noncommittal"]);
    let is_noncommittal = !flags.is_empty() && flags.iter().all(|flag| *flag == 1);
    let vectors = items(&input["generated_vecs"]);
    let name = |idx: usize| format!("Question {idx}.");
    let mut write: Vec<Value> = (0..vectors.len()).map(|idx| json!({ "draw": idx, "text": name(idx) })).collect();
    write.push(json!({ "text": "" }));
    let embed = vectors.iter().enumerate().map(|(idx, vector)| json!({ "has": [name(idx)], "vector": vector }));
    let mut embed: Vec<Value> = embed.collect();
    let asked = if input["question_vec"].is_null() { json!([1, 0]) } else { input["question_vec"].clone() };
    embed.push(json!({ "vector": asked }));
    let verdict = json!([{ "p_yes": f64::from(u8::from(is_noncommittal)) }]);
    let questions = vectors.len().max(items(&input["generated_questions"]).len());
    let settings = Settings { questions: u32::try_from(questions).expect("they are few"), ..ragas() };
    ask("answer_relevancy", &json!({ "write": write, "embed": embed, "verdict": verdict }), &settings)
}

fn semantic_similarity(input: &Value) -> Outcome {
    let embed = json!([{ "has": ["told"], "vector": input["a"] }, { "has": ["right"], "vector": input["b"] }]);
    let settings = Settings { similarity_threshold: input["threshold"].as_f64(), ..ragas() };
    ask("semantic_similarity", &json!({ "embed": embed }), &settings)
}

/// Right and wrong claims of the response, and missing ones of the reference. Ragas counts a reference's claim that was
/// found as one with its claim of the response; we judge both, and so the reference has as many that were found.
fn answer_correctness(input: &Value, settings: Settings) -> Outcome {
    let n = |key: &str| usize::try_from(input[key].as_u64().expect("it is a count")).expect("it is small");
    let of_response = [vec![1; n("tp")], vec![0; n("fp")]].concat();
    // A response that is wrong altogether is compared with a reference that says something.
    let n_found = if of_response.is_empty() { 0 } else { n("tp").max(1) };
    let of_reference = [vec![1; n_found], vec![0; n("fn")]].concat();
    let mut evidence = [claims(&json!(of_response)), statements(&json!(of_reference))].concat();
    evidence.push(Evidence::Similarity { cosine: input["similarity"].as_f64().unwrap_or(0.0) });
    compute_on("answer_correctness", &sample(), &evidence, &settings)
}

fn factual_correctness(input: &Value, settings: &Settings) -> Outcome {
    let metric = match input["mode"].as_str().unwrap_or("recall") {
        "precision" => "factual_correctness_precision",
        "recall" => "factual_correctness_recall",
        _ => "factual_correctness",
    };
    let mut evidence = claims(&input["response_claim_verdicts"]);
    if metric != "factual_correctness_precision" {
        evidence.extend(statements(&input["reference_claim_verdicts"]));
    }
    compute_on(metric, &sample(), &evidence, settings)
}

/// The score to two digits, as Ragas gives those of `factual_correctness`.
fn rounded(outcome: Outcome) -> Outcome {
    outcome.score().map_or(outcome, |score| Outcome::Scored(Score::of((score * 100.0).round() / 100.0)))
}

fn noise_sensitivity(input: &Value) -> Outcome {
    let metric = if input["mode"] == "relevant" { "noise_sensitivity" } else { "noise_sensitivity_irrelevant" };
    let of_statements = items(&input["reference_statement_verdicts_per_context"]);
    let of_claims = items(&input["response_statement_verdicts_per_context"]);
    let mut evidence = claims(&input["response_statement_vs_reference"]);
    for (rank, (of_statements, of_claims)) in (1..).zip(of_statements.iter().zip(of_claims)) {
        let at = |judged: Judged| Judged { context: Some(rank), ..judged };
        evidence.extend(judged(of_statements).map(at).map(Evidence::Statement));
        evidence.extend(judged(of_claims).map(at).map(Evidence::Claim));
    }
    let contexts = Some(vec!["shown".to_owned(); of_claims.len()]);
    compute_on(metric, &Sample { retrieved_contexts: contexts, ..sample() }, &evidence, &ragas())
}

fn entities(input: &Value) -> Vec<Evidence> {
    let of_reference = texts(&input["reference_entities"]).into_iter().map(|text| Evidence::ReferenceEntity { text });
    let of_contexts = texts(&input["context_entities"]).into_iter().map(|text| Evidence::ContextEntity { text });
    of_reference.chain(of_contexts).collect()
}

/// Ratings without doubt; one that Ragas could not parse is left out.
fn ratings(input: &Value) -> Vec<Evidence> {
    let rating =
        |share: f64| Rating::new([0.0, 0.5, 1.0].map(|level| f64::from(u8::from(level == share))).to_vec(), None);
    let shares = [&input["s1"], &input["s2"]].into_iter().filter_map(Value::as_f64);
    shares.map(|share| Evidence::Rating(rating(share))).collect()
}

/// `None` where the input has options that we do not offer.
fn summary_score(input: &Value) -> Option<Outcome> {
    if input["coeff"] != 0.5 || input["length_penalty"] != true {
        return None;
    }
    let text =
        |key: &str| "x".repeat(usize::try_from(input[key].as_u64().expect("it is a count")).expect("it is small"));
    let (texts, response) = (Some(vec![text("text_chars")]), Some(text("summary_chars")));
    let verdicts: Vec<u8> = items(&input["answers"]).iter().map(|answer| u8::from(answer == "1")).collect();
    let evidence: Vec<Evidence> = judged(&json!(verdicts)).map(Evidence::Answered).collect();
    let sample = Sample { reference_contexts: texts, response, ..sample() };
    Some(compute_on("summary_score", &sample, &evidence, &ragas()))
}

/// The mean of a metric over a run, in which what is NaN there has failed.
fn mean(input: &Value) -> Outcome {
    let failed = || Outcome::Failed { reason: "nan".to_owned() };
    let mut summary = Summary::new(&[&metrics::Faithfulness]);
    for score in items(&input["scores"]) {
        let cell = Cell {
            metric: "faithfulness".to_owned(),
            outcome: score.as_f64().map_or_else(failed, |score| Outcome::Scored(Score::of(score))),
            evidence: None,
            notes: Vec::new(),
            written: Vec::new(),
            tokens_asked: 0,
        };
        summary.add(&Record { sample: sample(), language: Language::English, cells: vec![cell] });
    }
    summary.metrics()[0].1.mean.map_or_else(failed, |mean| Outcome::Scored(Score::of(mean)))
}

/// A metric that needs no judge; `None` if there is none for the family.
fn without_judge(family: &str, input: &Value) -> Option<Outcome> {
    let (metric, part) = family.split_once('.').unwrap_or((family, ""));
    let metric = match metric {
        "jaro_winkler" => "string_similarity",
        "non_llm_context_precision" => "nonllm_context_precision",
        "non_llm_context_recall" => "nonllm_context_recall",
        "id_context_precision" => "id_based_context_precision",
        "id_context_recall" => "id_based_context_recall",
        "string_similarity" | "exact_match" | "string_presence" | "bleu" | "rouge" | "chrf" => metric,
        _ => return None,
    };
    let settings = match part {
        // What a mended metric gives.
        "full_text" => Settings::default(),
        _ => Settings { distance: distance(part).or(distance(family)), ..ragas() },
    };
    let text = |keys: [&str; 2]| keys.into_iter().find_map(|key| input[key].as_str()).map(str::to_owned);
    let list = |key: &str| input[key].is_array().then(|| texts(&input[key]));
    let sample = Sample {
        reference: text(["reference", "a"]),
        response: text(["response", "b"]),
        retrieved_contexts: list("retrieved_contexts"),
        reference_contexts: list("reference_contexts"),
        retrieved_context_ids: list("retrieved_context_ids"),
        reference_context_ids: list("reference_context_ids"),
        ..Sample::default()
    };
    Some(ask_about(metric, &sample, &json!({}), &settings))
}

fn distance(name: &str) -> Option<Distance> {
    Distance::ALL.into_iter().find(|distance| distance.name().replace('-', "_") == name)
}

#[test]
fn scores_are_those_of_ragas() {
    let complaint = |vector: &Vector| outcome(vector).map(|outcome| vector.complaints(&outcome)).unwrap_or_default();
    let complaints: Vec<String> = vectors().iter().flat_map(complaint).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_vector_is_either_applied_or_listed() {
    let vectors = vectors();
    for vector in &vectors {
        let n_listed = NOT_APPLIED.iter().filter(|(entry, _)| vector.is_in(entry)).count();
        let n_applied = usize::from(outcome(vector).is_some());
        assert_eq!(
            n_applied + n_listed,
            1,
            "{} of `{}` is to be applied, or listed once with a reason",
            vector.id,
            vector.family
        );
    }
    for (entry, _) in NOT_APPLIED {
        assert!(vectors.iter().any(|vector| vector.is_in(entry)), "no vector is in `{entry}`");
    }
    let ids: BTreeSet<&str> = vectors.iter().map(|vector| vector.id.as_str()).collect();
    assert_eq!((ids.len(), vectors.len()), (N_VECTORS, N_VECTORS));
}
