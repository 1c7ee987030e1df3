//! Context precision by ids: which of the retrieved chunks are right?

use super::{About, Case, Metric, ids};
use crate::judge::Stop;
use crate::record::Score;
use crate::sample::Column;
use crate::settings::Profile;
use crate::stats;

/// Precision = |retrieved ids that are reference ids| / |retrieved ids|, as sets.
///
/// Ids are compared as texts: 1 is `1`, and `01` is another. Beside the score stand the number of duplicates, and the
/// precision with each of them counted.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if nothing was retrieved; in `strict` also if no id is known to be right.
/// - Edge cases: order does not count.
/// - Source: Ragas 0.4.3, `metrics/_context_precision.py`, `IDBasedContextPrecision`.
/// - Difference from Ragas 0.4.3, strict: duplicates are reported.
/// - Difference from Ragas 0.4.3, strict: without reference ids there is no score; there, and in `ragas`, it is 0.
/// - Difference from Ragas 0.4.3, strict: ids in NFC.
#[derive(Debug)]
pub struct IdBasedContextPrecision;

impl Metric for IdBasedContextPrecision {
    fn about(&self) -> About<'_> {
        About {
            name: "id_based_context_precision",
            summary: "share of the retrieved ids that are right",
            columns: &[Column::RetrievedContextIds, Column::ReferenceContextIds],
            ..About::COMMON
        }
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let (retrieved, references) = ids::of(case);
        if references.is_empty() && case.settings.profile == Profile::Strict {
            return Err(Stop::unscored("no id is known to be right"));
        }
        let n_right = retrieved.unique.intersection(&references.unique).count();
        let precision =
            stats::share(n_right, retrieved.unique.len()).ok_or_else(|| Stop::unscored("nothing was retrieved"))?;
        let n_right_of_all = retrieved.all.iter().filter(|id| references.unique.contains(*id)).count();
        let of_all = n_right_of_all as f64 / retrieved.all.len() as f64;
        Ok(Score::of(precision).with("n_duplicates", retrieved.n_duplicates()).with("with_duplicates", of_all))
    }
}
