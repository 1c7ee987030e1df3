//! The floor: what would counting shared words say?

use std::collections::HashSet;

use super::tasks::Task;
use crate::sample::Sample;
use crate::text::{self, Language};

/// How much of what is judged stands in what it is judged by, word by word, in [0, 1]; of a pair of responses that of B less
/// that of A. A judge that orders rows no better is not worth its time. `None` where either has no word.
pub fn shared_words(task: Task, samples: &[Sample]) -> Option<f64> {
    let shares = samples.iter().map(|sample| share_of(task, sample)).collect::<Option<Vec<f64>>>()?;
    match shares[..] {
        [share] => Some(share),
        [of_a, of_b] => Some(of_b - of_a),
        _ => None,
    }
}

fn share_of(task: Task, sample: &Sample) -> Option<f64> {
    let contexts = sample.retrieved_contexts.as_ref().map(|contexts| contexts.join("\n"));
    let (judged, by) = match task {
        Task::Statement | Task::Response => (&sample.response, &contexts),
        Task::Contexts => (&sample.user_input, &contexts),
        Task::Correctness | Task::Pair => (&sample.reference, &sample.response),
        Task::Answer => (&sample.user_input, &sample.response),
        Task::Sentences => (&sample.response, &sample.reference),
    };
    share(judged.as_deref()?, by.as_deref()?)
}

/// The share of the parts of `judged` that `by` has too.
fn share(judged: &str, by: &str) -> Option<f64> {
    let language = text::detect(judged);
    let (judged, by) = (parts(judged, language), parts(by, language));
    let n_shared = judged.iter().filter(|part| by.contains(*part)).count();
    (!judged.is_empty() && !by.is_empty()).then(|| n_shared as f64 / judged.len() as f64)
}

/// Words, or in Korean, where endings hide them, pairs of neighbouring characters; in small letters, each once.
fn parts(text: &str, language: Language) -> HashSet<String> {
    let text = text::nfc(text).to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match language {
        Language::English => words.map(str::to_owned).collect(),
        Language::Korean => {
            let characters: Vec<char> = words.flat_map(str::chars).collect();
            characters.windows(2).map(|pair| pair.iter().collect()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(task: Task, responses: &[&str], expected: Option<f64>) {
        let sample = |response: &&str| Sample {
            user_input: Some("Who was it?".to_owned()),
            response: Some((*response).to_owned()),
            reference: Some("It was Ann.".to_owned()),
            retrieved_contexts: Some(vec!["Ann did it,".to_owned(), "그는 회원이다.".to_owned()]),
            ..Sample::default()
        };
        let samples: Vec<Sample> = responses.iter().map(sample).collect();
        assert_eq!(shared_words(task, &samples), expected, "{task:?} {responses:?}");
    }

    #[test]
    fn shared_words_are_counted_once_and_in_any_case() {
        // Of `it`, `was`, `ann` two stand in the contexts.
        check(Task::Statement, &["It was Ann. ANN!"], Some(2.0 / 3.0));
        // Of `who`, `was`, `it` one stands in the contexts, two in the response.
        check(Task::Contexts, &[""], Some(1.0 / 3.0));
        check(Task::Answer, &["It was."], Some(2.0 / 3.0));
        // Of 회원, 원은, 은그 and 그다 the first stands in the context.
        check(Task::Response, &["회원은 그다"], Some(0.25));
        check(Task::Statement, &["..."], None);
    }

    #[test]
    fn of_a_pair_of_responses_it_is_the_difference() {
        check(Task::Pair, &["It was Bo.", "It was Ann."], Some(1.0 - 2.0 / 3.0));
        check(Task::Pair, &["It was Bo.", ""], None);
    }
}
