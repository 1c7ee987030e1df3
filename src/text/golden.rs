//! Vectors computed with Ragas 0.4.3 and the libraries it calls: do our functions of two texts give the same?

use serde_json::Value;

use super::distance::Distance;
use super::overlap::{Overlap, ascii_words, bleu, chrf, ragas_bleu, rouge_l, rouge_n};

/// All vectors; those of two texts are checked here, `tests/it/ragas.rs` has the others.
const VECTORS: &str = include_str!("../../tests/data/ragas_golden.json");

/// Families of two texts that are measured, by how their names begin.
const FAMILIES: &[&str] = &["bleu.", "chrf", "rouge.", "string_similarity.", "jaro_winkler"];

/// The distances are rounded in another order; sacrebleu goes by way of percentages.
const MAX_ERROR: f64 = 1e-12;

/// What our function of a family gives for a reference and a response.
fn scored(family: &str, reference: &str, response: &str) -> Value {
    match family {
        "bleu.ragas" => ragas_bleu(reference, response).into(),
        "bleu.full_text" => bleu(&[reference], response).into(),
        "chrf" => chrf(reference, response).into(),
        "rouge.rouge1" => json(rouge_n(&ascii_words(reference), &ascii_words(response), 1)),
        "rouge.rougeL" => json(rouge_l(&ascii_words(reference), &ascii_words(response))),
        _ => {
            let name = family.trim_start_matches("string_similarity.").replace('_', "-");
            let distance = Distance::ALL.into_iter().find(|distance| distance.name() == name);
            distance.expect("the family is a distance").similarity(reference, response).into()
        }
    }
}

fn json(overlap: Overlap) -> Value {
    let Overlap { precision, recall, fmeasure } = overlap;
    serde_json::json!({ "precision": precision, "recall": recall, "fmeasure": fmeasure })
}

/// The numbers of a score, which is one or has several by name.
fn numbers(score: &Value) -> Vec<f64> {
    let parts = ["precision", "recall", "fmeasure"].map(|part| score[part].as_f64());
    score.as_f64().into_iter().chain(parts.into_iter().flatten()).collect()
}

#[test]
fn text_functions_give_the_golden_values() {
    let file: Value = serde_json::from_str(VECTORS).expect("the file is JSON");
    let mut n_checked = 0;
    for vector in file["vectors"].as_array().expect("there are vectors") {
        let family = vector["family"].as_str().expect("a vector has a family");
        if !FAMILIES.iter().any(|start| family.starts_with(start)) {
            continue;
        }
        n_checked += 1;
        let input = |key: &str, or: &str| vector["input"][key].as_str().or(vector["input"][or].as_str());
        let (reference, response) = (input("reference", "a"), input("response", "b"));
        let ours = numbers(&scored(family, reference.expect("is text"), response.expect("is text")));
        let golden = numbers(&vector["expected"]);
        assert_eq!(ours.len(), golden.len(), "{vector}");
        for (ours, golden) in ours.iter().zip(golden) {
            assert!((ours - golden).abs() <= MAX_ERROR, "{ours} for {vector}");
        }
    }
    assert_eq!(n_checked, 91);
}
