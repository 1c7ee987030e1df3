//! BLEU: how many runs of up to four words of a response are in a reference?

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::runs::{n_runs, n_shared, runs};

/// The longest run of words that counts.
const MAX_ORDER: usize = 4;

/// BLEU of a response, in [0, 1]: the brevity penalty times the geometric mean of the precisions of its runs of 1 to 4
/// words.
///
/// A run is right as often as it occurs in the reference that has it most often. The first order without a right run
/// has the precision 1 / (2 * runs), the second 1 / (4 * runs), and so on ("exp" smoothing). The penalty is
/// exp(1 - r / c) for a response of c words that is shorter than r, the length of the reference closest to c, of two
/// the shorter.
///
/// 0 for a response of fewer than 4 words, even if it equals the reference (as there is no run of 4), for one that
/// shares no word, and if no reference has a character. Words are those of mteval-v13a: an apostrophe or hyphen
/// belongs to its word, `don't` being one.
///
/// Source: sacrebleu 2.6.0, `corpus_bleu` of one segment with its defaults, divided by 100. It raises an error where
/// there is no reference, and its rounding may end above 1.
pub fn bleu(references: &[&str], response: &str) -> f64 {
    // A reference of white space only has a length, 0, and an empty one has none: so sacrebleu has it.
    let references: Vec<_> = references.iter().filter(|text| !text.is_empty()).map(|text| split_13a(text)).collect();
    let response = split_13a(response);
    let n_right: Vec<usize> = (1..=MAX_ORDER).map(|n| n_right(&references, &response, n)).collect();
    // Without a right word there is no right run of words.
    if n_right[0] == 0 || response.len() < MAX_ORDER {
        return 0.0;
    }
    let mut log_sum = 0.0;
    let mut smoothing = 1.0;
    for (n, n_right) in (1..).zip(n_right) {
        if n_right == 0 {
            smoothing *= 2.0;
        }
        let credit = if n_right == 0 { 1.0 / smoothing } else { n_right as f64 };
        log_sum += (credit / n_runs(response.len(), n) as f64).ln();
    }
    brevity_penalty(&references, response.len()) * (log_sum / MAX_ORDER as f64).exp()
}

/// BLEU as Ragas 0.4.3 has it, in [0, 1]: the first sentence of the response against those of the reference, each of
/// which is an alternative to the others.
///
/// Sentences end at ". ". Ragas hands over all those of the response, but sacrebleu scores as many as the first list
/// of references is long, which is one. What follows the first sentence is not looked at.
///
/// Source: Ragas 0.4.3, `BleuScore`.
pub fn ragas_bleu(reference: &str, response: &str) -> f64 {
    let references: Vec<&str> = reference.split(". ").collect();
    let first = response.split(". ").next().expect("a split has a first part");
    bleu(&references, first)
}

/// How many of the runs of `n` words in the response are in a reference.
fn n_right(references: &[Vec<String>], response: &[String], n: usize) -> usize {
    let mut most = HashMap::new();
    for (run, count) in references.iter().flat_map(|reference| runs(reference, n)) {
        let before = most.entry(run).or_insert(0);
        *before = count.max(*before);
    }
    n_shared(&runs(response, n), &most)
}

/// The factor, in (0, 1], for a response that is shorter than the reference closest to it in length.
fn brevity_penalty(references: &[Vec<String>], n_words: usize) -> f64 {
    let lengths = references.iter().map(Vec::len);
    let closest = lengths.min_by_key(|length| (length.abs_diff(n_words), *length)).expect("a reference has a word");
    if n_words < closest { (1.0 - closest as f64 / n_words as f64).exp() } else { 1.0 }
}

/// What mteval-v13a sets apart from the words around it, rule after rule, with spaces.
static RULES: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    [
        // ASCII punctuation but for the four characters that may be inside a word or number.
        (r"[\x21-\x26\x28-\x2B/:-@\[-`{-~]", " $0 "),
        // A full stop or comma after, then one before, anything but a digit.
        (r"([^0-9])([.,])", "$1 $2 "),
        (r"([.,])([^0-9])", " $1 $2"),
        // A hyphen after a digit.
        (r"([0-9])-", "$1 - "),
    ]
    .map(|(pattern, spaced)| (Regex::new(pattern).expect("the pattern is valid"), spaced))
});

/// The words and marks of a text by the rules of mteval-v13a, which know of no mark outside ASCII.
fn split_13a(text: &str) -> Vec<String> {
    let mut text = text.trim_end().replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        text = text.replace(entity, character);
    }
    text = format!(" {text} ");
    for (pattern, spaced) in RULES.iter() {
        text = pattern.replace_all(&text, *spaced).into_owned();
    }
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected words are those of sacrebleu 2.6.0, `Tokenizer13a`.
    #[test]
    fn words_are_split_as_by_mteval() {
        for (text, expected) in [
            ("", ""),
            (" \t\n", ""),
            ("Stop! (Now, please.)", "Stop ! ( Now , please . )"),
            ("It's a well-known 1,000.5-mile walk.", "It's a well-known 1,000.5 - mile walk ."),
            ("one &amp; two &lt;3&gt; &quot;4&quot; &amp;lt;", "one & two < 3 > \" 4 \" <"),
            ("co-\nop<skipped> a\nb-\n", "coop a b-"),
            ("5. d,6 e", "5 . d , 6 e"),
            // Of two full stops, the second is set apart only if a space has been put after the first.
            ("a..5 b", "a . .5 b"),
            ("wait... what", "wait . . . what"),
            ("가 나 다。라 마.", "가 나 다。라 마 ."),
            ("🙂.🙃", "🙂 . 🙃"),
        ] {
            assert_eq!(split_13a(text).join(" "), expected, "{text:?}");
        }
    }
}
