//! chrF: how many runs of letters does the response share with the reference?

use super::{About, Case, Metric, compared_pair, is_blank};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;
use crate::text::overlap;

/// chrF = (1 + b^2) P R / (b^2 P + R) with b = 2, where P and R are means over n = 1 to 6 of the shares of runs of n
/// letters that response and reference have in common; white space does not count.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: in `strict` if the reference is empty.
/// - Edge cases: an empty response gives 0. It needs no words, and so suits Korean.
/// - Source: Popović, "chrF", 2015; sacrebleu 2.6.0, `corpus_chrf`; Ragas 0.4.3, `metrics/collections/chrf_score`.
/// - Difference from Ragas 0.4.3, strict: both in NFC.
/// - Difference from Ragas 0.4.3, strict: an empty reference is unscored; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct Chrf;

impl Metric for Chrf {
    fn about(&self) -> About<'_> {
        About {
            name: "chrf",
            aliases: &["chrf_score"],
            summary: "chrF: runs of up to six letters that the reference has as well",
            columns: &[Column::Response, Column::Reference],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let [response, reference] = compared_pair(case);
        if case.settings.profile == Profile::Strict && is_blank(&reference) {
            return Err(Stop::unscored("the reference is empty"));
        }
        Ok(Score::of(overlap::chrf(&reference, &response)))
    }
}
