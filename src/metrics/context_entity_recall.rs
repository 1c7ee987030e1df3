//! Context entity recall: which of the reference's names do the contexts name?

use std::collections::BTreeSet;

use super::{About, Case, Metric, is_blank, list_of, text_of};
use crate::judge::answers::all;
use crate::judge::asks::Entities;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;
use crate::stats;
use crate::text;

/// Recall = |names of the reference that the contexts name| / |names of the reference|, as sets.
///
/// The judge lists people, places, organisations, products, dates and amounts of both. In `strict` only what stands in
/// the reference counts as one of its entities, so that nothing is invented; it is found if it stands in the contexts.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the reference is empty; in `strict` also if it names nothing.
/// - Edge cases: without contexts the score is 0.
/// - Source: Ragas 0.4.3, `metrics/collections/context_entity_recall`.
/// - Difference from Ragas 0.4.3, strict: the text decides whether a name stands in reference and contexts; there, and
///   in `ragas`, the two lists of the judge are compared.
/// - Difference from Ragas 0.4.3, strict: names are compared in NFC, without regard to case and to how much white space
///   stands in them; there, and in `ragas`, by their exact letters.
/// - Difference from Ragas 0.4.3, strict: no epsilon of 1e-8.
/// - Difference from Ragas 0.4.3, strict: a reference that names nothing is unscored; there, and in `ragas`, it is 0.
#[derive(Debug)]
pub struct ContextEntityRecall;

impl Metric for ContextEntityRecall {
    fn about(&self) -> About<'_> {
        About {
            name: "context_entity_recall",
            summary: "share of the reference's names that the contexts name",
            columns: &[Column::Reference, Column::RetrievedContexts],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (reference, contexts) = (text_of(&sample.reference), list_of(&sample.retrieved_contexts));
        if is_blank(reference) {
            return Err(Stop::unscored("the reference is empty"));
        }
        let of_reference = answers.ask(&Entities { texts: &[reference.to_owned()] });
        let of_contexts = if contexts.iter().all(|context| is_blank(context)) {
            Ok(Vec::new())
        } else {
            answers.ask(&Entities { texts: contexts })
        };
        let part = |names: Vec<String>, part: fn(String) -> Evidence| names.into_iter().map(part).collect::<Vec<_>>();
        let of_reference = of_reference.map(|names| part(names, |text| Evidence::ReferenceEntity { text }));
        let of_contexts = of_contexts.map(|names| part(names, |text| Evidence::ContextEntity { text }));
        Ok(all(vec![of_reference, of_contexts])?.concat())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        const EPSILON: f64 = 1e-8;
        let (mut of_reference, mut of_contexts) = (BTreeSet::new(), BTreeSet::new());
        for part in case.evidence {
            match part {
                Evidence::ReferenceEntity { text } => of_reference.insert(text.as_str()),
                Evidence::ContextEntity { text } => of_contexts.insert(text.as_str()),
                _ => false,
            };
        }
        if case.settings.profile == Profile::Ragas {
            let n_found = of_reference.intersection(&of_contexts).count();
            return Ok(Score::of(n_found as f64 / (of_reference.len() as f64 + EPSILON)));
        }
        let reference = normal(text_of(&case.sample.reference));
        let contexts = normal(&list_of(&case.sample.retrieved_contexts).join("\n"));
        let names: BTreeSet<String> =
            of_reference.into_iter().map(normal).filter(|name| reference.contains(name)).collect();
        let n_found = names.iter().filter(|name| contexts.contains(*name)).count();
        stats::share(n_found, names.len()).map(Score::of).ok_or_else(|| Stop::unscored("the reference names nothing"))
    }
}

/// A text as names are looked for: composed, without case, with single spaces.
fn normal(text: &str) -> String {
    text::nfc(text).to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}
