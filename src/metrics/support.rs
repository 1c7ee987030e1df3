//! Statements against contexts: which of them are supported?

use super::{Case, is_blank, list_of};
use crate::judge::asks::Supported;
use crate::judge::{Answers, Stop};
use crate::record::{Evidence, Judged, Score};
use crate::settings::Profile;

/// One verdict for each statement, in order. Without contexts, or with blank ones alone, nothing is supported,
/// and nobody is asked.
pub fn verify(statements: &[String], contexts: &[String], answers: &mut Answers<'_>) -> Result<Vec<Judged>, Stop> {
    if contexts.iter().all(|context| is_blank(context)) {
        let unsupported =
            |text: &String| Judged { text: text.clone(), context: None, verdict: false, p_yes: None, reason: None };
        return Ok(statements.iter().map(unsupported).collect());
    }
    let verdicts = answers.decide_all(statements.iter().map(|statement| Supported { contexts, statement }))?;
    Ok(statements.iter().zip(verdicts).map(|(text, verdict)| Judged::new(text, verdict)).collect())
}

/// One verdict for each statement against one text.
pub fn verify_in(statements: &[String], text: &str, answers: &mut Answers<'_>) -> Result<Vec<Judged>, Stop> {
    verify(statements, &[text.to_owned()], answers)
}

/// The verdicts on claims of the response.
pub fn claims(evidence: &[Evidence]) -> impl Iterator<Item = &Judged> + Clone {
    evidence.iter().filter_map(|part| if let Evidence::Claim(judged) = part { Some(judged) } else { None })
}

/// The verdicts on statements of the reference.
pub fn statements(evidence: &[Evidence]) -> impl Iterator<Item = &Judged> + Clone {
    evidence.iter().filter_map(|part| if let Evidence::Statement(judged) = part { Some(judged) } else { None })
}

/// How many are supported, and how many there are.
pub fn count<'a>(judged: impl Iterator<Item = &'a Judged> + Clone) -> (usize, usize) {
    (judged.clone().filter(|judged| judged.verdict).count(), judged.count())
}

/// The share of supported statements or claims. Ragas raises an error where nothing was retrieved.
pub fn share(case: &Case<'_>, if_none: &str) -> Result<Score, Stop> {
    let (n_yes, n) = count(claims(case.evidence).chain(statements(case.evidence)));
    if n == 0 {
        return Err(Stop::unscored(if_none));
    }
    if case.settings.profile == Profile::Ragas && list_of(&case.sample.retrieved_contexts).is_empty() {
        return Err(Stop::unscored("nothing was retrieved, for which Ragas has no score"));
    }
    Ok(Score::of(n_yes as f64 / n as f64))
}
