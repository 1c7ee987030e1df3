//! ROUGE: how many words does the response share with the reference?

use super::{About, Case, Metric, text_of};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;
use crate::text::overlap::{ascii_words, rouge_l, rouge_n, words};

/// ROUGE-L = 2 P R / (P + R), where P and R are the length of the longest common subsequence of words, divided by the
/// words of the response and of the reference.
///
/// Beside it stand its precision and recall, and those of ROUGE-1, which counts words in any order. English words are
/// stemmed; Korean words lose their particles.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: in `strict` if the reference has no word.
/// - Edge cases: a response without a word gives 0.
/// - Source: Lin, "ROUGE", 2004; rouge_score 0.1.2; Ragas 0.4.3, `metrics/collections/_rouge_score.py`.
/// - Difference from Ragas 0.4.3, strict: words of any script; there, and in `ragas`, only letters from a to z and
///   digits, so that Korean texts have only their digits.
/// - Difference from Ragas 0.4.3, strict: a reference without a word is unscored; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct Rouge;

impl Metric for Rouge {
    fn about(&self) -> About<'_> {
        About {
            name: "rouge",
            aliases: &["rouge_score"],
            summary: "ROUGE-L: words in the same order as in the reference",
            columns: &[Column::Response, Column::Reference],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let profile = case.settings.profile;
        let split = match profile {
            Profile::Strict => words,
            Profile::Ragas => ascii_words,
        };
        let [response, reference] = [&case.sample.response, &case.sample.reference].map(|text| split(text_of(text)));
        if profile == Profile::Strict && reference.is_empty() {
            return Err(Stop::unscored("the reference has no word"));
        }
        let (longest, single) = (rouge_l(&reference, &response), rouge_n(&reference, &response, 1));
        let score = Score::of(longest.fmeasure).with("precision", longest.precision).with("recall", longest.recall);
        let score = score.with("rouge1", single.fmeasure).with("rouge1_precision", single.precision);
        Ok(score.with("rouge1_recall", single.recall))
    }
}
