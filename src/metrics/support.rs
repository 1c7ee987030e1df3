//! Statements against contexts: which of them are supported?

use crate::judge::asks::Supported;
use crate::judge::{Answers, Stop};
use crate::record::Judged;

/// One verdict for each statement, in order. Without contexts nothing is supported, and nobody is asked.
pub fn verify(statements: &[String], contexts: &[String], answers: &mut Answers<'_>) -> Result<Vec<Judged>, Stop> {
    if contexts.is_empty() {
        let unsupported = |text: &String| Judged { text: text.clone(), verdict: false, p_yes: None };
        return Ok(statements.iter().map(unsupported).collect());
    }
    let verdicts = answers.ask_all(statements.iter().map(|statement| Supported { contexts, statement }))?;
    let judged = statements.iter().zip(verdicts).map(|(text, verdict)| Judged {
        text: text.clone(),
        verdict: verdict.is_yes,
        p_yes: Some(verdict.p_yes),
    });
    Ok(judged.collect())
}

/// The share of supported statements, of at least one.
pub fn share(judged: &[Judged]) -> f64 {
    judged.iter().filter(|judged| judged.verdict).count() as f64 / judged.len() as f64
}
