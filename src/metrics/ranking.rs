//! Contexts in their order against an answer: do the useful ones come first?

use super::{list_of, text_of};
use crate::judge::asks::Useful;
use crate::judge::{Answers, Stop};
use crate::record::{Evidence, Score};
use crate::sample::Sample;
use crate::stats;

/// Average precision of the retrieved contexts, each judged by itself as useful for `answer` or not.
pub fn score(sample: &Sample, answer: &str, answers: &mut Answers<'_>) -> Result<Score, Stop> {
    let contexts = list_of(&sample.retrieved_contexts);
    let user_input = text_of(&sample.user_input);
    if contexts.is_empty() {
        return Err(Stop::unscored("nothing was retrieved"));
    }
    let verdicts = answers.ask_all(contexts.iter().map(|context| Useful { context, user_input, answer }))?;
    let is_useful: Vec<bool> = verdicts.iter().map(|verdict| verdict.is_yes).collect();
    let evidence = verdicts.iter().zip(1..).map(|(verdict, rank)| Evidence::Context {
        rank,
        verdict: verdict.is_yes,
        p_yes: verdict.p_yes,
    });
    Ok(Score { score: stats::average_precision(&is_useful), evidence: evidence.collect() })
}
