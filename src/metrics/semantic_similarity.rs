//! Semantic similarity: do response and reference point the same way?

use super::{About, Case, Metric, is_blank, text_of};
use crate::judge::asks::Direction;
use crate::judge::{Answers, Stop, asks};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};

/// S = cos(e(response), e(reference)), where e is the embedder; with `--similarity-threshold` 1 from there on, else 0.
///
/// - Range: -1 to 1, 1 is best.
/// - Unscored: if the response or the reference is empty.
/// - Edge cases: none.
/// - Source: Ragas 0.4.3, `metrics/collections/_semantic_similarity.py`.
/// - Difference from Ragas 0.4.3, both profiles: an empty text is unscored; there it is embedded as a space.
/// - Difference from Ragas 0.4.3, both profiles: a threshold of 0 is one; there it is ignored.
#[derive(Debug)]
pub struct SemanticSimilarity;

impl Metric for SemanticSimilarity {
    fn about(&self) -> About<'_> {
        About {
            name: "semantic_similarity",
            aliases: &["answer_similarity"],
            summary: "cosine of the directions of response and reference",
            columns: &[Column::Response, Column::Reference],
            models: &[Role::Embedder],
            range: (-1.0, 1.0),
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (response, reference) = (text_of(&sample.response), text_of(&sample.reference));
        if is_blank(response) || is_blank(reference) {
            return Err(Stop::unscored("the response or the reference is empty"));
        }
        Ok(vec![judge(response, reference, answers)?])
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let cosine = cosine_of(case.evidence)?;
        Ok(match case.settings.similarity_threshold {
            None => Score::of(cosine),
            Some(threshold) => Score::of(if cosine >= threshold { 1.0 } else { 0.0 }).with("cosine", cosine),
        })
    }
}

/// How alike two texts are.
pub fn judge(response: &str, reference: &str, answers: &mut Answers<'_>) -> Result<Evidence, Stop> {
    let directions = answers.ask_all([response, reference].map(|text| Direction { text }))?;
    Ok(Evidence::Similarity { cosine: asks::cosine(&directions[0], &directions[1])? })
}

/// The cosine among what was judged.
///
/// # Errors
/// [`Stop::Failed`] if there is none, as in a record that was edited.
pub fn cosine_of(evidence: &[Evidence]) -> Result<f64, Stop> {
    let cosine = |part: &Evidence| if let Evidence::Similarity { cosine } = part { Some(*cosine) } else { None };
    evidence.iter().find_map(cosine).ok_or_else(|| Stop::Failed("the record holds no cosine of the texts".to_owned()))
}
