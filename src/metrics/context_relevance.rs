//! Context relevance: how much of the retrieved contexts does the question need?

use super::{About, Case, Metric, is_blank, list_of, text_of};
use crate::judge::asks::Relevant;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Judged, Score};
use crate::sample::{Column, Sample};
use crate::stats;
use crate::text;

/// CR = sentences of the contexts that help to answer the question / sentences of the contexts.
///
/// Each sentence is one question of yes or no, with the contexts before it; so nothing is invented, as it may be where
/// a judge is asked to copy sentences out.
///
/// - Range: 0 to 1, 1 is best: nothing was retrieved that is not needed.
/// - Unscored: if the question is empty, or the contexts hold no sentence.
/// - Edge cases: a sentence that stands in two chunks counts twice.
/// - Source: Es et al., "RAGAS", 2023, section 3, "Context relevance".
/// - Difference from the paper, both profiles: there the judge extracts the sentences.
/// - Difference from Ragas 0.4.3, both profiles: it has no such metric any more; its `ContextRelevance` is
///   `nv_context_relevance` here.
#[derive(Debug)]
pub struct ContextRelevance;

impl Metric for ContextRelevance {
    fn about(&self) -> About<'_> {
        About {
            name: "context_relevance",
            summary: "share of the contexts' sentences that help to answer the question",
            columns: &[Column::UserInput, Column::RetrievedContexts],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (user_input, contexts) = (text_of(&sample.user_input), list_of(&sample.retrieved_contexts));
        if is_blank(user_input) {
            return Err(Stop::unscored("the question is empty"));
        }
        let sentences: Vec<&str> = contexts.iter().flat_map(|context| text::sentences(context)).collect();
        let asks = sentences.iter().map(|sentence| Relevant { contexts, user_input, sentence });
        let verdicts = answers.decide_all(asks)?;
        let judged = sentences.into_iter().zip(verdicts).map(|(text, verdict)| Judged::new(text, verdict));
        Ok(judged.map(Evidence::Sentence).collect())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let is_relevant = |part: &&Evidence| matches!(part, Evidence::Sentence(judged) if judged.verdict);
        let n_relevant = case.evidence.iter().filter(is_relevant).count();
        let share = stats::share(n_relevant, case.evidence.len());
        share.map(Score::of).ok_or_else(|| Stop::unscored("the contexts hold no sentence"))
    }
}
