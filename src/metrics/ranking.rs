//! Contexts in their order against an answer: do the useful ones come first?

use super::{Case, is_blank, list_of, text_of};
use crate::judge::answers::all;
use crate::judge::asks::Useful;
use crate::judge::{Answers, Stop};
use crate::record::{Evidence, Score, Verdict};
use crate::sample::Sample;
use crate::settings::Profile;
use crate::stats;

/// The verdict on each retrieved context, judged by itself: is it useful for `answer`? A blank one is not, and
/// nobody is asked.
pub fn judge(sample: &Sample, answer: &str, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
    let contexts = list_of(&sample.retrieved_contexts);
    let user_input = text_of(&sample.user_input);
    if contexts.is_empty() {
        return Err(Stop::unscored("nothing was retrieved"));
    }
    let verdict = |context: &String| {
        if is_blank(context) {
            return Ok(Verdict { is_yes: false, p_yes: 0.0, reason: None });
        }
        answers.decide(&Useful { context, user_input, answer })
    };
    let verdicts = all(contexts.iter().map(verdict).collect())?;
    Ok(verdicts.into_iter().zip(1..).map(|(verdict, rank)| Evidence::Context { rank, verdict }).collect())
}

/// Average precision of the judged contexts.
pub fn score(case: &Case<'_>) -> Score {
    let is_useful = |part: &Evidence| matches!(part, Evidence::Context { verdict, .. } if verdict.is_yes);
    let is_useful: Vec<bool> = case.evidence.iter().map(is_useful).collect();
    Score::of(average_precision(&is_useful, case.settings.profile))
}

/// Average precision of a ranking in either profile.
pub fn average_precision(is_relevant: &[bool], profile: Profile) -> f64 {
    match profile {
        Profile::Strict => stats::average_precision(is_relevant),
        Profile::Ragas => stats::ragas_average_precision(is_relevant),
    }
}
