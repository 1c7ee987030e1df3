//! Faithfulness: how much of the response is supported by the retrieved contexts?

use super::{About, Metric, list_of, support, text_of};
use crate::judge::asks::Claims;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};

/// F = |V| / |S|, where S are the claims of the response and V those that the contexts support.
///
/// Range 0 to 1, 1 is best. Unscored if the response makes no claim. Without contexts every claim is unsupported.
///
/// Source: Es et al., "RAGAS: Automated Evaluation of Retrieval Augmented Generation", 2023, section 3. The judge
/// writes the claims; each is then one question of yes or no against all contexts joined. Differences from Ragas
/// 0.4.3: S is what was submitted, there it is what the judge chose to return; a claim that the judge lists twice
/// counts once; empty contexts give 0, there they may still give 1.
#[derive(Debug)]
pub struct Faithfulness;

impl Metric for Faithfulness {
    fn about(&self) -> &About {
        &About {
            name: "faithfulness",
            summary: "share of the response's claims that the contexts support",
            columns: &[Column::UserInput, Column::Response, Column::RetrievedContexts],
            models: &[Role::Judge],
            range: (0.0, 1.0),
            depth: 2,
        }
    }

    fn score(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Score, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        if response.trim().is_empty() {
            return Err(Stop::unscored("the response is empty"));
        }
        let claims = answers.ask(&Claims { user_input, response })?;
        if claims.is_empty() {
            return Err(Stop::unscored("the response makes no claim"));
        }
        let judged = support::verify(&claims, list_of(&sample.retrieved_contexts), answers)?;
        let score = support::share(&judged);
        Ok(Score { score, evidence: judged.into_iter().map(Evidence::Claim).collect() })
    }
}
