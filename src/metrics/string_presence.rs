//! String presence: does the response hold the reference?

use super::{About, Case, Metric, compared_pair, is_blank};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;

/// Presence = 1 if the reference occurs in the response, else 0.
///
/// - Range: 0 or 1, 1 is best.
/// - Unscored: in `strict` if the reference is empty.
/// - Edge cases: upper and lower case differ.
/// - Source: Ragas 0.4.3, `metrics/collections/_string.py`.
/// - Difference from Ragas 0.4.3, strict: both in NFC.
/// - Difference from Ragas 0.4.3, strict: an empty reference is unscored; there, and in `ragas`, it occurs in any text.
#[derive(Debug)]
pub struct StringPresence;

impl Metric for StringPresence {
    fn about(&self) -> About<'_> {
        About {
            name: "string_presence",
            summary: "whether the response holds the reference as it is written",
            columns: &[Column::Response, Column::Reference],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let [response, reference] = compared_pair(case);
        if case.settings.profile == Profile::Strict && is_blank(&reference) {
            return Err(Stop::unscored("the reference is empty"));
        }
        Ok(Score::of(if response.contains(reference.as_ref()) { 1.0 } else { 0.0 }))
    }
}
