//! Answer correctness: is the response right, in what it claims and in what it is about?

use super::facts::Facts;
use super::{About, Case, Metric, is_blank, semantic_similarity, support, text_of};
use crate::judge::answers::all;
use crate::judge::asks::Claims;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;
use crate::stats;

/// AC = (w1 F + w2 S) / (w1 + w2), where F is the F-measure of the claims of response and reference, and S the cosine
/// of the two texts.
///
/// F = (1 + b^2) P R / (b^2 P + R): precision P is the share of the response's claims that the reference supports,
/// recall R the share of the reference's claims that the response supports. `--weights` w1 and w2 are 0.75 and 0.25
/// unless told otherwise, `--beta` b is 1. F and S stand beside the score as `factuality` and `similarity`.
///
/// - Range: -1 to 1, 1 is best; below 0 only where the directions of the texts are opposed.
/// - Unscored: if the response or the reference is empty; in `strict` also if the reference makes no claim.
/// - Edge cases: in `strict` F is 0 if the response makes no claim and the reference does.
/// - Source: Ragas 0.4.3, `metrics/collections/answer_correctness`.
/// - Difference from Ragas 0.4.3, both profiles: each claim is one question of yes or no; there one call sorts all
///   claims into TP, FP and FN, and nothing checks that it sorts every claim.
/// - Difference from Ragas 0.4.3, strict: recall is that of the reference's claims; there, and in `ragas`, it is
///   tp / (tp + fn) with tp from the response's claims.
/// - Difference from Ragas 0.4.3, strict: a response without a claim has F = 0, a reference without one is unscored;
///   there, and in `ragas`, F is 1 if either text makes none.
#[derive(Debug)]
pub struct AnswerCorrectness;

impl Metric for AnswerCorrectness {
    fn about(&self) -> About<'_> {
        About {
            name: "answer_correctness",
            summary: "F-measure of the claims, and likeness, of response and reference",
            columns: &[Column::UserInput, Column::Response, Column::Reference],
            models: &[Role::Judge, Role::Embedder],
            range: (-1.0, 1.0),
            depth: 2,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        let reference = text_of(&sample.reference);
        if is_blank(response) || is_blank(reference) {
            return Err(Stop::unscored("the response or the reference is empty"));
        }
        let similarity = semantic_similarity::judge(response, reference, answers).map(|part| vec![part]);
        let claims = answers.ask(&Claims { user_input, response });
        let claims = claims.and_then(|claims| support::verify_in(&claims, reference, answers));
        let claims = claims.map(|judged| judged.into_iter().map(Evidence::Claim).collect());
        let statements = answers.ask(&Claims { user_input, response: reference });
        let statements = statements.and_then(|statements| support::verify_in(&statements, response, answers));
        let statements = statements.map(|judged| judged.into_iter().map(Evidence::Statement).collect());
        Ok(all(vec![claims, statements, similarity])?.concat())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let facts = Facts::of(case.evidence);
        let factuality = match case.settings.profile {
            Profile::Ragas => ragas_factuality(facts, case.settings.beta),
            Profile::Strict => {
                facts.f_measure(case.settings.beta).ok_or_else(|| Stop::unscored("the reference makes no claim"))?
            }
        };
        let cosine = semantic_similarity::cosine_of(case.evidence)?;
        let [of_facts, of_likeness] = case.settings.weights;
        let score = (of_facts * factuality + of_likeness * cosine) / (of_facts + of_likeness);
        Ok(Score::of(score).with("factuality", factuality).with("similarity", cosine))
    }
}

/// The F-measure as Ragas computes it: precision and recall of nothing are 1 if there is nothing wrong either.
fn ragas_factuality(facts: Facts, beta: f64) -> f64 {
    let (tp, fp, r#fn) = (facts.n_right, facts.n_wrong, facts.n_missing);
    if tp + fp == 0 || facts.n_found + r#fn == 0 {
        return 1.0;
    }
    let precision = stats::share(tp, tp + fp).expect("the response makes a claim");
    let recall = stats::share(tp, tp + r#fn).unwrap_or(if fp == 0 { 1.0 } else { 0.0 });
    stats::f_measure(precision, recall, beta)
}
