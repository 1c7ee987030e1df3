//! ROUGE: how many words, in which order, do a response and its reference share?

use std::hash::Hash;

use super::runs::{n_runs, n_shared, runs};

/// How much two texts share, each number in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// The part of the response that is in the reference.
    pub precision: f64,
    /// The part of the reference that is in the response.
    pub recall: f64,
    /// The harmonic mean of the two, 0 if both are.
    pub fmeasure: f64,
}

impl Overlap {
    /// The overlap of sequences that share `n_shared` items; of an empty one, every part is 0.
    fn of(n_shared: usize, n_reference: usize, n_response: usize) -> Self {
        let part = |n_items: usize| n_shared as f64 / n_items.max(1) as f64;
        let (precision, recall) = (part(n_response), part(n_reference));
        let fmeasure = if n_shared == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
        Self { precision, recall, fmeasure }
    }
}

/// ROUGE-N: the overlap of the runs of `n` words, wherever they stand.
///
/// All 0 if one of the texts has no run of `n` words. Source: rouge_score 0.1.2, `_score_ngrams`.
///
/// # Panics
///
/// If `n` is 0.
pub fn rouge_n<T: Eq + Hash>(reference: &[T], response: &[T], n: usize) -> Overlap {
    let n_shared = n_shared(&runs(reference, n), &runs(response, n));
    Overlap::of(n_shared, n_runs(reference.len(), n), n_runs(response.len(), n))
}

/// ROUGE-L: the overlap by the longest common subsequence, the most words that stand in the same order in both texts.
///
/// All 0 if one of the texts has no word. Time grows with the product of the lengths. Source: rouge_score 0.1.2,
/// `_score_lcs`.
pub fn rouge_l<T: Eq>(reference: &[T], response: &[T]) -> Overlap {
    // The longest subsequence that the reference up to a word shares with the response up to each of its words.
    let mut longest = vec![0; response.len() + 1];
    for word in reference {
        let mut before_both = 0;
        for (idx, other) in response.iter().enumerate() {
            let before_word = longest[idx + 1];
            longest[idx + 1] = if word == other { before_both + 1 } else { before_word.max(longest[idx]) };
            before_both = before_word;
        }
    }
    Overlap::of(longest[response.len()], reference.len(), response.len())
}
