//! Context recall without a judge: which reference contexts is a chunk like?

use super::{About, Case, Metric, list_of};
use crate::judge::Stop;
use crate::metrics::likeness::Likeness;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;
use crate::stats;

/// Recall = reference contexts that some retrieved chunk is similar to by at least 0.5 / reference contexts.
///
/// Similarity is 1 - Levenshtein distance / the length of the longer text, in code points; with `--distance` another
/// one. In `strict`, unless `--distance` is given, a text that lies wholly in the other is similar to it.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if there is no reference context; in `ragas` also if nothing was retrieved.
/// - Edge cases: in `strict` the score is 0 if nothing was retrieved, and an empty text is similar to nothing.
/// - Source: Ragas 0.4.3, `metrics/_context_recall.py`, `NonLLMContextRecall`.
/// - Difference from Ragas 0.4.3, strict: a similarity of 0.5 is a match, as for precision; there, and in `ragas`, it
///   must be above.
/// - Difference from Ragas 0.4.3, strict: a chunk wholly inside a reference context, or the other way round, matches
///   it.
/// - Difference from Ragas 0.4.3, strict: texts in NFC.
/// - Difference from Ragas 0.4.3, strict: an empty text is similar to nothing; there, and in `ragas`, it equals an empty
///   one.
#[derive(Debug)]
pub struct NonllmContextRecall;

impl Metric for NonllmContextRecall {
    fn about(&self) -> About<'_> {
        About {
            name: "nonllm_context_recall",
            aliases: &["non_llm_context_recall"],
            summary: "share of the reference contexts that a retrieved one is like",
            columns: &[Column::RetrievedContexts, Column::ReferenceContexts],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let retrieved = list_of(&case.sample.retrieved_contexts);
        let references = list_of(&case.sample.reference_contexts);
        if retrieved.is_empty() && case.settings.profile == Profile::Ragas {
            return Err(Stop::unscored("nothing was retrieved, for which Ragas has no score"));
        }
        let likeness = Likeness::of(case.settings, retrieved);
        let is_found = |reference: &&String| match case.settings.profile {
            Profile::Strict => likeness.best(reference) >= Likeness::MATCH,
            Profile::Ragas => likeness.best(reference) > Likeness::MATCH,
        };
        let n_found = references.iter().filter(is_found).count();
        stats::share(n_found, references.len())
            .map(Score::of)
            .ok_or_else(|| Stop::unscored("there is no reference context"))
    }
}
