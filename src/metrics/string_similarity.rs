//! String similarity: how many letters must change for the response to be the reference?

use super::{About, Case, Metric, compared_pair};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::text::distance::Distance;

/// Similarity = 1 - d / the length of the longer text, where d is the Levenshtein distance of response and reference in
/// code points; with `--distance` Hamming's, or Jaro's or Jaro and Winkler's likeness.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: never.
/// - Edge cases: two empty texts are equal; one empty text gives 0.
/// - Source: Ragas 0.4.3, `metrics/collections/_string.py`, and rapidfuzz 3.14.
/// - Difference from Ragas 0.4.3, strict: both in NFC.
#[derive(Debug)]
pub struct StringSimilarity;

impl Metric for StringSimilarity {
    fn about(&self) -> About<'_> {
        About {
            name: "string_similarity",
            aliases: &["non_llm_string_similarity", "nonllm_string_similarity"],
            summary: "likeness of response and reference by their letters",
            columns: &[Column::Response, Column::Reference],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let [response, reference] = compared_pair(case);
        let distance = case.settings.distance.unwrap_or(Distance::Levenshtein);
        Ok(Score::of(distance.similarity(&reference, &response)))
    }
}
