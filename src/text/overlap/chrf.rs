//! chrF: how many runs of up to six characters do a response and its reference share?

use super::runs::{n_runs, n_shared, runs};

/// The longest run of characters that counts.
const MAX_ORDER: usize = 6;

/// How many times recall weighs as much as precision, squared.
const BETA_SQUARED: f64 = 4.0;

/// chrF of a response, in [0, 1]: 5PR / (4P + R), where P and R are the mean precision and recall of its runs of 1 to 6
/// characters.
///
/// White space is left out. The means are of the orders of which both texts have a run, so that a text of one word
/// can have 1. 0 if one of the texts is blank, or if they share no character. Works for any script.
///
/// Source: sacrebleu 2.6.0, `corpus_chrf` of one segment and one reference with its defaults, divided by 100.
pub fn chrf(reference: &str, response: &str) -> f64 {
    let reference: Vec<char> = reference.split_whitespace().flat_map(str::chars).collect();
    let response: Vec<char> = response.split_whitespace().flat_map(str::chars).collect();
    let n_orders = MAX_ORDER.min(reference.len()).min(response.len());
    let (mut precision, mut recall) = (0.0, 0.0);
    for n in 1..=n_orders {
        let shared = n_shared(&runs(&reference, n), &runs(&response, n)) as f64;
        precision += shared / n_runs(response.len(), n) as f64;
        recall += shared / n_runs(reference.len(), n) as f64;
    }
    if precision == 0.0 {
        return 0.0;
    }
    (precision, recall) = (precision / n_orders as f64, recall / n_orders as f64);
    (1.0 + BETA_SQUARED) * precision * recall / (BETA_SQUARED * precision + recall)
}
