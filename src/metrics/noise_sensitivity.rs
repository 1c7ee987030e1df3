//! Noise sensitivity: how often does the response take over something wrong from the contexts?

use super::{About, Best, Case, Metric, is_blank, list_of, support, text_of};
use crate::judge::answers::all;
use crate::judge::asks::Claims;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Judged, Score};
use crate::sample::{Column, Sample};

/// Sensitivity = wrong claims of the response that a relevant (or only an irrelevant) context supports / claims of the
/// response.
///
/// A claim is wrong if the reference does not support it. A context is relevant if it supports a statement of the
/// reference. Every claim and statement is held against every context by itself. The two metrics come from the same
/// verdicts: `noise_sensitivity` counts wrong claims with support in a relevant context, `noise_sensitivity_irrelevant`
/// those whose support lies in irrelevant contexts alone.
///
/// - Range: 0 to 1, 0 is best.
/// - Unscored: if the question, the response or the reference is empty, nothing was retrieved, or the response or the
///   reference makes no claim.
/// - Edge cases: if no context is relevant, `noise_sensitivity` is 0. A blank context supports nothing.
/// - Source: Ragas 0.4.3, `metrics/collections/noise_sensitivity`.
/// - Difference from Ragas 0.4.3, both profiles: one verdict for every claim and context; there lists of unequal length
///   are an error.
/// - Difference from Ragas 0.4.3, both profiles: nobody is asked about blank contexts; there the judge is.
#[derive(Debug)]
pub struct NoiseSensitivity {
    /// Which contexts the wrong claims come from.
    pub noise: Noise,
}

/// Which contexts wrong claims come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Some relevant one.
    Relevant,
    /// Irrelevant ones alone.
    Irrelevant,
}

impl Metric for NoiseSensitivity {
    fn about(&self) -> About<'_> {
        let (name, aliases, summary): (_, &[&str], _) = match self.noise {
            Noise::Relevant => (
                "noise_sensitivity",
                &["noise_sensitivity_relevant", "noise_sensitivity(mode=relevant)"],
                "share of the response's claims that are wrong and come from relevant contexts",
            ),
            Noise::Irrelevant => (
                "noise_sensitivity_irrelevant",
                &["noise_sensitivity(mode=irrelevant)"],
                "share of the response's claims that are wrong and come from irrelevant contexts",
            ),
        };
        About {
            name,
            aliases,
            summary,
            columns: &[Column::UserInput, Column::Response, Column::Reference, Column::RetrievedContexts],
            models: &[Role::Judge],
            best: Best::Lowest,
            failed_as: 1.0,
            depth: 2,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, response) = (text_of(&sample.user_input), text_of(&sample.response));
        let (reference, contexts) = (text_of(&sample.reference), list_of(&sample.retrieved_contexts));
        if [user_input, response, reference].into_iter().any(is_blank) || contexts.is_empty() {
            return Err(Stop::unscored(
                "the question, the response or the reference is empty, or nothing was retrieved",
            ));
        }
        let claims = answers.ask(&Claims { user_input, response });
        let statements = answers.ask(&Claims { user_input, response: reference });
        let (claims, statements) = (claims?, statements?);
        let mut tries =
            vec![support::verify_in(&claims, reference, answers).map(|judged| parts(judged, Evidence::Claim))];
        for (context, rank) in contexts.iter().zip(1..) {
            let at = |judged: Vec<Judged>| {
                judged.into_iter().map(|judged| Judged { context: Some(rank), ..judged }).collect()
            };
            let of_statements = support::verify_in(&statements, context, answers);
            tries.push(of_statements.map(|judged| parts(at(judged), Evidence::Statement)));
            let of_claims = support::verify_in(&claims, context, answers);
            tries.push(of_claims.map(|judged| parts(at(judged), Evidence::Claim)));
        }
        Ok(all(tries)?.concat())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let at = |rank: Option<usize>| support::claims(case.evidence).filter(move |judged| judged.context == rank);
        let n_contexts = list_of(&case.sample.retrieved_contexts).len();
        let is_relevant: Vec<bool> = (1..=n_contexts).map(|rank| is_relevant(case, rank)).collect();
        let is_correct: Vec<bool> = at(None).map(|judged| judged.verdict).collect();
        if is_correct.is_empty() {
            return Err(Stop::unscored("the response makes no claim"));
        }
        if support::statements(case.evidence).next().is_none() {
            return Err(Stop::unscored("the reference makes no claim"));
        }
        // For each claim: whether a relevant context supports it, and whether an irrelevant one does.
        let mut support = vec![(false, false); is_correct.len()];
        for (rank, is_relevant) in (1..).zip(is_relevant) {
            for (judged, (relevant, irrelevant)) in at(Some(rank)).zip(&mut support) {
                *if is_relevant { relevant } else { irrelevant } |= judged.verdict;
            }
        }
        let counts = |(relevant, irrelevant): (bool, bool)| match self.noise {
            Noise::Relevant => relevant,
            Noise::Irrelevant => irrelevant && !relevant,
        };
        let n_noise =
            support.iter().zip(&is_correct).filter(|(from, is_correct)| counts(**from) && !**is_correct).count();
        Ok(Score::of(n_noise as f64 / is_correct.len() as f64))
    }
}

fn parts(judged: Vec<Judged>, part: fn(Judged) -> Evidence) -> Vec<Evidence> {
    judged.into_iter().map(part).collect()
}

/// Whether the context supports a statement of the reference.
fn is_relevant(case: &Case<'_>, rank: usize) -> bool {
    support::statements(case.evidence).any(|judged| judged.context == Some(rank) && judged.verdict)
}
