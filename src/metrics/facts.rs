//! Claims of the response against the reference, and the other way round: precision and recall.

use super::support;
use crate::record::Evidence;
use crate::stats;

/// How many claims are right, wrong and missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Claims of the response that the reference supports.
    pub n_right: usize,
    /// Claims of the response that it does not.
    pub n_wrong: usize,
    /// Claims of the reference that the response supports.
    pub n_found: usize,
    /// Claims of the reference that it does not.
    pub n_missing: usize,
}

impl Facts {
    /// Counts the verdicts.
    pub fn of(evidence: &[Evidence]) -> Self {
        let (n_right, n_claims) = support::count(support::claims(evidence));
        let (n_found, n_statements) = support::count(support::statements(evidence));
        Self { n_right, n_wrong: n_claims - n_right, n_found, n_missing: n_statements - n_found }
    }

    /// Right claims of the response / its claims; `None` if it makes none.
    pub fn precision(self) -> Option<f64> {
        stats::share(self.n_right, self.n_right + self.n_wrong)
    }

    /// Found claims of the reference / its claims; `None` if it makes none.
    pub fn recall(self) -> Option<f64> {
        stats::share(self.n_found, self.n_found + self.n_missing)
    }

    /// The F-measure of both: 0 if the response makes no claim. `None` if the reference makes none.
    pub fn f_measure(self, beta: f64) -> Option<f64> {
        self.recall().map(|recall| stats::f_measure(self.precision().unwrap_or(0.0), recall, beta))
    }
}
