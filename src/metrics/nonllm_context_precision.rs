//! Context precision without a judge: do the chunks that are like a reference context come first?

use super::{About, Case, Metric, list_of, ranking};
use crate::judge::Stop;
use crate::metrics::likeness::Likeness;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;

/// AP = sum over ranks k of (precision at k) * v_k, divided by the sum of v_k; v_k is 1 if the most similar reference
/// context is similar to chunk k by at least 0.5.
///
/// Similarity is 1 - Levenshtein distance / the length of the longer text, in code points; with `--distance` another
/// one. In `strict`, unless `--distance` is given, a text that lies wholly in the other is similar to it.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: in `strict` if nothing was retrieved, or there is no reference context; in `ragas` if there is none for
///   what was retrieved.
/// - Edge cases: in `strict` an empty chunk is similar to nothing.
/// - Source: Ragas 0.4.3, `metrics/_context_precision.py`, `NonLLMContextPrecisionWithReference`.
/// - Difference from Ragas 0.4.3, strict: no epsilon, so that a perfect ranking is 1.
/// - Difference from Ragas 0.4.3, strict: a chunk wholly inside a reference context, or the other way round, matches
///   it.
/// - Difference from Ragas 0.4.3, strict: texts in NFC.
/// - Difference from Ragas 0.4.3, strict: an empty chunk is similar to nothing; there, and in `ragas`, it equals an empty
///   reference context.
/// - Difference from Ragas 0.4.3, strict: if nothing was retrieved there is no score; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct NonllmContextPrecision;

impl Metric for NonllmContextPrecision {
    fn about(&self) -> About<'_> {
        About {
            name: "nonllm_context_precision",
            aliases: &["non_llm_context_precision_with_reference"],
            summary: "average precision of the contexts, compared with the reference contexts letter by letter",
            columns: &[Column::RetrievedContexts, Column::ReferenceContexts],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let retrieved = list_of(&case.sample.retrieved_contexts);
        let references = list_of(&case.sample.reference_contexts);
        let is_scored = match case.settings.profile {
            Profile::Strict => !retrieved.is_empty() && !references.is_empty(),
            // Without a chunk, nothing is looked for among the reference contexts.
            Profile::Ragas => retrieved.is_empty() || !references.is_empty(),
        };
        if !is_scored {
            return Err(Stop::unscored("nothing was retrieved, or there is no reference context"));
        }
        let likeness = Likeness::of(case.settings, references);
        let is_like: Vec<bool> = retrieved.iter().map(|chunk| likeness.best(chunk) >= Likeness::MATCH).collect();
        let n_like = is_like.iter().filter(|is_like| **is_like).count();
        Ok(Score::of(ranking::average_precision(&is_like, case.settings.profile)).with("n_matching", n_like as f64))
    }
}
