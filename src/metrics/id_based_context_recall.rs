//! Context recall by ids: which of the right chunks were retrieved?

use super::{About, Case, Metric, ids};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::stats;

/// Recall = |reference ids that were retrieved| / |reference ids|, as sets.
///
/// Ids are compared as texts: 1 is `1`, and `01` is another.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if no id is known to be right.
/// - Edge cases: if nothing was retrieved the score is 0. Order and duplicates do not count; the number of duplicates
///   among the retrieved ids stands beside the score.
/// - Source: Ragas 0.4.3, `metrics/_context_recall.py`, `IDBasedContextRecall`.
/// - Difference from Ragas 0.4.3, strict: ids in NFC.
#[derive(Debug)]
pub struct IdBasedContextRecall;

impl Metric for IdBasedContextRecall {
    fn about(&self) -> About<'_> {
        About {
            name: "id_based_context_recall",
            summary: "share of the right ids that were retrieved",
            columns: &[Column::RetrievedContextIds, Column::ReferenceContextIds],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let (retrieved, references) = ids::of(case);
        let n_found = references.unique.intersection(&retrieved.unique).count();
        let recall = stats::share(n_found, references.unique.len())
            .ok_or_else(|| Stop::unscored("no id is known to be right"))?;
        Ok(Score::of(recall).with("n_duplicates", retrieved.n_duplicates()))
    }
}
