//! Windows: which runs of a few sentences make up a text?

use super::sentences;

/// Some sentences of a text that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// The text from the first of them to the last, with what stands between them.
    pub text: &'a str,
    /// The numbers of the first and the last sentence, from 1.
    pub sentences: [usize; 2],
}

/// The text as windows of at most `n_max` sentences, as few as possible and as alike in length as possible; none share a
/// sentence. A text without a sentence is one window.
///
/// # Panics
/// If `n_max` is 0.
pub fn windows(text: &str, n_max: usize) -> Vec<Window<'_>> {
    assert!(n_max > 0, "a window has a sentence");
    let found = sentences(text);
    if found.len() <= n_max {
        return vec![Window { text: text.trim(), sentences: [1, found.len().max(1)] }];
    }
    let n_windows = found.len().div_ceil(n_max);
    let start_of = |idx: usize| idx * found.len() / n_windows;
    let offset_of = |sentence: &str| sentence.as_ptr().addr() - text.as_ptr().addr();
    let window = |idx: usize| {
        let (first, last) = (start_of(idx), start_of(idx + 1) - 1);
        let end = offset_of(found[last]) + found[last].len();
        Window { text: &text[offset_of(found[first])..end], sentences: [first + 1, last + 1] }
    };
    (0..n_windows).map(window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, n_max: usize, expected: &[(&str, [usize; 2])]) {
        let found: Vec<(&str, [usize; 2])> =
            windows(text, n_max).iter().map(|window| (window.text, window.sentences)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn windows_are_few_and_alike_in_length() {
        let text = " A one.  B two.\nC three. 가 넷이다. 나 다섯이다. ";
        check(text, 5, &[("A one.  B two.\nC three. 가 넷이다. 나 다섯이다.", [1, 5])]);
        // Five sentences in windows of at most four are two windows, of two and three.
        check(text, 4, &[("A one.  B two.", [1, 2]), ("C three. 가 넷이다. 나 다섯이다.", [3, 5])]);
        let each = ["A one.", "B two.", "C three.", "가 넷이다.", "나 다섯이다."];
        let each: Vec<(&str, [usize; 2])> = each.into_iter().zip(1..).map(|(text, n)| (text, [n, n])).collect();
        check(text, 1, &each);
    }

    #[test]
    fn text_without_a_sentence_is_one_window() {
        check("", 3, &[("", [1, 1])]);
        check(" !? ", 3, &[("!?", [1, 1])]);
    }
}
