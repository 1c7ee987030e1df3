//! Statements against contexts: which of them are supported?

use super::{Case, is_blank, list_of};
use crate::judge::answers::all;
use crate::judge::asks::Supported;
use crate::judge::{Answers, Stop};
use crate::record::{Evidence, Judged, Score, Window};
use crate::settings::{Profile, VerdictMode};
use crate::text;

/// One verdict for each statement, in order. Without contexts, or with blank ones alone, nothing is supported, and nobody is
/// asked.
///
/// A statement is held against each window, and is supported if one of them supports it; it is recorded with the window where
/// P(yes) is largest. One without a letter or digit is supported by none, and nobody is asked. Written verdicts, and `--window whole`, are on all contexts, joined.
pub fn verify(statements: &[String], contexts: &[String], answers: &mut Answers<'_>) -> Result<Vec<Judged>, Stop> {
    if contexts.iter().all(|context| is_blank(context)) {
        return Ok(statements.iter().map(|text| Judged::unsupported(text)).collect());
    }
    match (answers.settings().verdicts, answers.settings().window) {
        (VerdictMode::Logits, Some(n_sentences)) => {
            let parts = parts(contexts, n_sentences);
            all(statements.iter().map(|statement| verify_any(statement, &parts, answers)).collect())
        }
        (VerdictMode::Logits, None) | (VerdictMode::Written, _) => {
            let contexts: Vec<&str> = contexts.iter().map(String::as_str).collect();
            let asks = statements.iter().map(|statement| Supported { contexts: &contexts, statement });
            let verdicts = answers.decide_all(asks)?;
            Ok(statements.iter().zip(verdicts).map(|(text, verdict)| Judged::new(text, verdict)).collect())
        }
    }
}

/// One verdict for each statement against one text, as [`verify`].
pub fn verify_in(statements: &[String], text: &str, answers: &mut Answers<'_>) -> Result<Vec<Judged>, Stop> {
    verify(statements, &[text.to_owned()], answers)
}

/// The verdict on a statement in the part that is likeliest to support it.
fn verify_any(statement: &str, parts: &[Part<'_>], answers: &mut Answers<'_>) -> Result<Judged, Stop> {
    if !statement.contains(char::is_alphanumeric) {
        return Ok(Judged::unsupported(statement));
    }
    let asks: Vec<Supported<'_>> = parts.iter().map(|part| Supported { contexts: &part.texts, statement }).collect();
    let (idx, verdict) = answers.decide_any(&asks)?;
    Ok(Judged { window: Some(parts[idx].window), ..Judged::new(statement, verdict) })
}

/// A window and what it shows.
struct Part<'a> {
    texts: Vec<&'a str>,
    window: Window,
}

/// Contexts in parts of at most `n_max` sentences: long ones are split, short ones that follow each other stand together, as
/// what they say may only be found in both. Blank ones are left out.
fn parts(contexts: &[String], n_max: usize) -> Vec<Part<'_>> {
    let mut found: Vec<Part<'_>> = Vec::new();
    // Sentences of the last part, as long as it is one to which whole contexts may be added.
    let mut n_open = n_max;
    for (rank, context) in (1..).zip(contexts).filter(|(_, context)| !is_blank(context)) {
        let windows = text::windows(context, n_max);
        let n_sentences = if windows.len() == 1 { windows[0].sentences[1] } else { n_max };
        if let Some(part) = found.last_mut().filter(|_| n_open + n_sentences <= n_max) {
            part.texts.push(windows[0].text);
            part.window.contexts[1] = rank;
            part.window.sentences[1] = n_sentences;
            n_open += n_sentences;
            continue;
        }
        let part = |text::Window { text, sentences }| Part {
            texts: vec![text],
            window: Window { contexts: [rank, rank], sentences },
        };
        found.extend(windows.into_iter().map(part));
        n_open = n_sentences;
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    /// For contexts of so many sentences, in windows of at most four, the contexts and sentences of each part.
    fn check(n_sentences: &[usize], expected: &[([usize; 2], [usize; 2])]) {
        let contexts: Vec<String> = n_sentences.iter().map(|n| "It is so. ".repeat(*n)).collect();
        let found = parts(&contexts, 4);
        let windows: Vec<([usize; 2], [usize; 2])> =
            found.iter().map(|part| (part.window.contexts, part.window.sentences)).collect();
        assert_eq!(windows, expected, "{n_sentences:?}");
        let n_shown: usize = found.iter().flat_map(|part| &part.texts).map(|text| text::sentences(text).len()).sum();
        assert_eq!(n_shown, n_sentences.iter().sum::<usize>(), "every sentence is shown once");
    }

    #[test]
    fn long_contexts_are_split_and_short_ones_stand_together() {
        check(&[4], &[([1, 1], [1, 4])]);
        check(&[1, 2, 1, 2], &[([1, 3], [1, 1]), ([4, 4], [1, 2])]);
        check(&[3, 2, 2], &[([1, 1], [1, 3]), ([2, 3], [1, 2])]);
        // Five are two and three; what comes before and after keeps to itself.
        check(&[1, 5, 1], &[([1, 1], [1, 1]), ([2, 2], [1, 2]), ([2, 2], [3, 5]), ([3, 3], [1, 1])]);
        check(&[0, 2, 0, 2], &[([2, 4], [1, 2])]);
    }
}
