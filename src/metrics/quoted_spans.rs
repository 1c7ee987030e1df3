//! Quoted spans: does the response quote what is there?

use super::{About, Case, Metric, compared_text, list_of, text_of};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;
use crate::text::nfc;
use crate::text::quotes::{folded, quotations, ragas_spans};

/// Share = quotations of the response that stand in the contexts / its quotations, whatever their case and white space.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: in `strict` if the response quotes nothing.
/// - Edge cases: a quotation has at least three words, or four letters in Korean, Chinese or Japanese.
/// - Source: Ragas 0.4.3, `metrics/collections/quoted_spans`.
/// - Difference from Ragas 0.4.3, strict: marks are paired; there, and in `ragas`, an apostrophe opens and closes
///   spans.
/// - Difference from Ragas 0.4.3, strict: short quotations in Korean count, and so do 「」, 『』 and 《》.
/// - Difference from Ragas 0.4.3, strict: a quotation must stand in one context, in NFC; there, and in `ragas`, in all
///   of them joined by spaces.
/// - Difference from Ragas 0.4.3, strict: a response that quotes nothing is unscored; there, and in `ragas`, it is 1.
#[derive(Debug)]
pub struct QuotedSpans;

impl Metric for QuotedSpans {
    fn about(&self) -> About<'_> {
        About {
            name: "quoted_spans",
            aliases: &["quoted_spans_alignment"],
            summary: "share of the response's quotations that stand in the contexts",
            columns: &[Column::Response, Column::RetrievedContexts],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let response = compared_text(case.settings.profile, text_of(&case.sample.response));
        let contexts = list_of(&case.sample.retrieved_contexts);
        let (spans, sources): (Vec<&str>, Vec<String>) = match case.settings.profile {
            Profile::Strict => (quotations(&response), contexts.iter().map(|context| folded(&nfc(context))).collect()),
            Profile::Ragas => (ragas_spans(&response), vec![folded(&contexts.join(" "))]),
        };
        if spans.is_empty() {
            return match case.settings.profile {
                Profile::Strict => Err(Stop::unscored("the response quotes nothing")),
                Profile::Ragas => Ok(Score::of(1.0)),
            };
        }
        let is_there = |span: &&&str| sources.iter().any(|source| source.contains(&folded(span)));
        let n_there = spans.iter().filter(is_there).count();
        Ok(Score::of(n_there as f64 / spans.len() as f64).with("n_quotations", spans.len() as f64))
    }
}
