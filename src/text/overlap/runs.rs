//! Runs of neighbours (n-grams): which are in two sequences, and how often?

use std::collections::HashMap;
use std::hash::Hash;

/// How often each run of `n` neighbours occurs.
pub fn runs<T: Eq + Hash>(items: &[T], n: usize) -> HashMap<&[T], usize> {
    let mut counts = HashMap::new();
    for run in items.windows(n) {
        *counts.entry(run).or_insert(0) += 1;
    }
    counts
}

/// How many runs `n_items` neighbours hold: none if they are fewer than `n`.
pub fn n_runs(n_items: usize, n: usize) -> usize {
    (n_items + 1).saturating_sub(n)
}

/// How many runs two sequences share; one that each has several times counts as often as the fewer times.
pub fn n_shared<T: Eq + Hash>(a: &HashMap<&[T], usize>, b: &HashMap<&[T], usize>) -> usize {
    a.iter().map(|(run, count)| b.get(run).map_or(0, |other| *count.min(other))).sum()
}
