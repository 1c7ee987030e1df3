//! BLEU: how many runs of words does the response share with the reference?

use super::{About, Case, Metric, compared_pair, is_blank};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;
use crate::text::overlap;

/// BLEU = brevity penalty * (p1 p2 p3 p4)^(1/4), where p_n is the share of the response's runs of n words that the
/// reference has as well.
///
/// The penalty is exp(1 - r/c) for a response of c words that is shorter than the reference of r words. Orders without
/// a right run are smoothed. Words are those of mteval-v13a.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: in `strict` if the reference is empty.
/// - Edge cases: a response of fewer than four words gives 0.
/// - Source: Papineni et al., "BLEU", 2002; sacrebleu 2.6.0, `corpus_bleu`; Ragas 0.4.3,
///   `metrics/collections/_bleu_score.py`.
/// - Difference from Ragas 0.4.3, strict: the whole response; there, and in `ragas`, in effect its first sentence alone
///   is held against all sentences of the reference.
/// - Difference from Ragas 0.4.3, strict: both in NFC.
/// - Difference from Ragas 0.4.3, strict: an empty reference is unscored; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct Bleu;

impl Metric for Bleu {
    fn about(&self) -> About<'_> {
        About {
            name: "bleu",
            aliases: &["bleu_score"],
            summary: "BLEU: runs of up to four words that the reference has as well",
            columns: &[Column::Response, Column::Reference],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let [response, reference] = compared_pair(case);
        if case.settings.profile == Profile::Strict && is_blank(&reference) {
            return Err(Stop::unscored("the reference is empty"));
        }
        let bleu = match case.settings.profile {
            Profile::Strict => overlap::bleu(&[&reference], &response),
            Profile::Ragas => overlap::ragas_bleu(&reference, &response),
        };
        // Its rounding may end above 1.
        Ok(Score::of(bleu.min(1.0)))
    }
}
