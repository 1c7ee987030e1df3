//! Factual correctness: does the response say what the reference says, no more and no less?

use super::facts::Facts;
use super::{About, Case, Metric, is_blank, support, text_of};
use crate::judge::answers::all;
use crate::judge::{Answers, Stop, asks};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;
use crate::stats;

/// Precision = claims of the response that the reference supports / claims of the response; recall = claims of the
/// reference that the response supports / claims of the reference; F = (1 + b^2) P R / (b^2 P + R), b is `--beta`.
///
/// `factual_correctness` is F, `factual_correctness_precision` and `factual_correctness_recall` are the others; all
/// come from the same verdicts. `--atomicity` says how finely texts are taken apart, `--coverage` how much of them
/// counts.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the response or the reference is empty; in `strict` also if the one that is divided by makes no
///   claim.
/// - Edge cases: F is 0 if the response makes no claim and the reference does.
/// - Source: Ragas 0.4.3, `metrics/collections/factual_correctness`.
/// - Difference from Ragas 0.4.3, strict: recall is that of the reference's claims; there, and in `ragas`, it is
///   tp / (tp + fn) with tp from the response's claims and fn from the reference's.
/// - Difference from Ragas 0.4.3, strict: no epsilon of 1e-8, and nothing is rounded; there to two digits.
/// - Difference from Ragas 0.4.3, strict: no claim at all is unscored; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct FactualCorrectness {
    /// What is reported.
    pub mode: Mode,
}

/// Which figure of a comparison of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The F-measure.
    F,
    /// The share of the response's claims that are right.
    Precision,
    /// The share of the reference's claims that were found.
    Recall,
}

impl Metric for FactualCorrectness {
    fn about(&self) -> About<'_> {
        let (name, aliases, summary): (_, &[&str], _) = match self.mode {
            Mode::F => (
                "factual_correctness",
                &["factual_correctness(mode=f1)"],
                "F-measure of the response's claims against those of the reference",
            ),
            Mode::Precision => (
                "factual_correctness_precision",
                &["factual_correctness(mode=precision)"],
                "share of the response's claims that the reference supports",
            ),
            Mode::Recall => (
                "factual_correctness_recall",
                &["factual_correctness(mode=recall)"],
                "share of the reference's claims that the response supports",
            ),
        };
        About {
            name,
            aliases,
            summary,
            columns: &[Column::Response, Column::Reference],
            models: &[Role::Judge],
            depth: 2,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (response, reference) = (text_of(&sample.response), text_of(&sample.reference));
        if is_blank(response) || is_blank(reference) {
            return Err(Stop::unscored("the response or the reference is empty"));
        }
        let claims = answers.ask(&asks::Facts { text: response });
        let claims = claims.and_then(|claims| support::verify_in(&claims, reference, answers));
        let claims = claims.map(|judged| judged.into_iter().map(Evidence::Claim).collect::<Vec<_>>());
        if self.mode == Mode::Precision {
            return claims;
        }
        let statements = answers.ask(&asks::Facts { text: reference });
        let statements = statements.and_then(|statements| support::verify_in(&statements, response, answers));
        let statements = statements.map(|judged| judged.into_iter().map(Evidence::Statement).collect::<Vec<_>>());
        Ok(all(vec![claims, statements])?.concat())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let facts = Facts::of(case.evidence);
        let beta = case.settings.beta;
        if case.settings.profile == Profile::Ragas {
            return Ok(Score::of(ragas(facts, self.mode, beta)));
        }
        let score = match self.mode {
            Mode::F => facts.f_measure(beta).ok_or("the reference makes no claim"),
            Mode::Precision => facts.precision().ok_or("the response makes no claim"),
            Mode::Recall => facts.recall().ok_or("the reference makes no claim"),
        };
        let score = Score::of(score.map_err(Stop::unscored)?);
        Ok(match (self.mode, facts.precision(), facts.recall()) {
            (Mode::F, Some(precision), Some(recall)) => score.with("precision", precision).with("recall", recall),
            _ => score,
        })
    }
}

/// The figure as Ragas computes it, rounded to two digits, halves to even.
fn ragas(facts: Facts, mode: Mode, beta: f64) -> f64 {
    const EPSILON: f64 = 1e-8;
    let (tp, fp, r#fn) = (facts.n_right as f64, facts.n_wrong as f64, facts.n_missing as f64);
    let share = |rest: f64| if tp + rest > 0.0 { tp / (tp + rest) } else { 0.0 };
    let figure = match mode {
        Mode::Precision => tp / (tp + fp + EPSILON),
        Mode::Recall => tp / (tp + r#fn + EPSILON),
        Mode::F => stats::f_measure(share(fp), share(r#fn), beta),
    };
    (figure * 100.0).round_ties_even() / 100.0
}
