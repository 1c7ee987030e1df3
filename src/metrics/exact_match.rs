//! Exact match: is the response the reference?

use super::{About, Case, Metric, compared_pair};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;

/// Match = 1 if the response equals the reference, else 0.
///
/// - Range: 0 or 1, 1 is best.
/// - Unscored: never.
/// - Edge cases: two empty texts are equal.
/// - Source: Ragas 0.4.3, `metrics/collections/_string.py`.
/// - Difference from Ragas 0.4.3, strict: both in NFC; there, and in `ragas`, decomposed Hangul equals nothing
///   composed.
#[derive(Debug)]
pub struct ExactMatch;

impl Metric for ExactMatch {
    fn about(&self) -> About<'_> {
        About {
            name: "exact_match",
            summary: "whether the response is the reference, letter by letter",
            columns: &[Column::Response, Column::Reference],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let [response, reference] = compared_pair(case);
        Ok(Score::of(if response == reference { 1.0 } else { 0.0 }))
    }
}
