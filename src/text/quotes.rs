//! Quotations: which parts of a text claim to be somebody else's words?

use super::language::is_hangul;
use super::nfc;
use super::pairs::Pairs;

/// The fewest words of a quotation; one or two are more often a title, a term or irony.
const MIN_WORDS: usize = 3;

/// The fewest letters of a quotation in Korean, Chinese or Japanese, which say more with fewer words or no spaces.
const MIN_CJK_LETTERS: usize = 4;

/// The most characters of a quotation: a page. The marks of a longer one are more likely stray.
const MAX_QUOTED: usize = 2000;

/// The quotations of a text in order, without their marks, as trimmed slices of it.
///
/// A quotation is between a mark and its partner: `"…"`, `“…”`, `‘…’`, `«…»`, `「…」`, `『…』`, `《…》`. An
/// apostrophe is no mark, and neither is `'`, which is an apostrophe more often; nor is the `"` after a number. A mark
/// without a partner quotes nothing, and a quotation within another is part of it.
///
/// What is quoted has at least 3 words (between white space), or at least 4 letters of Hangul, Han or kana, a
/// decomposed syllable being one; shorter ones are titles, terms or irony and left out.
pub fn quotations(text: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let pairs = Pairs::of(&chars, MAX_QUOTED);
    let opener = |close: usize| pairs.opener(close).filter(|open| is_opening_mark(chars[*open].1));
    let mut quoted: Vec<(usize, usize)> = (0..chars.len()).filter_map(|close| Some((opener(close)?, close))).collect();
    quoted.sort_unstable();
    let mut found = Vec::new();
    let mut end = 0; // of the last outer quotation
    for (open, close) in quoted {
        let span = text[chars[open + 1].0..chars[close].0].trim();
        if open >= end {
            end = close;
            if is_long(span) {
                found.push(span);
            }
        }
    }
    found
}

/// Whether a character opens a quotation that [`quotations`] finds.
fn is_opening_mark(c: char) -> bool {
    matches!(c, '"' | '“' | '‘' | '«' | '「' | '『' | '《')
}

/// Whether a span says enough to be a quotation.
fn is_long(span: &str) -> bool {
    span.split_whitespace().count() >= MIN_WORDS || nfc(span).chars().filter(|&c| is_cjk(c)).count() >= MIN_CJK_LETTERS
}

/// Whether a character is a letter of Korean, Chinese or Japanese.
fn is_cjk(c: char) -> bool {
    is_hangul(c)
        || matches!(c,
            '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' // kana
            | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' // Han
            | '\u{20000}'..='\u{3FFFF}')
}

/// Any of these opens and closes a span of Ragas.
const RAGAS_MARKS: &[char] = &['"', '“', '”', '„', '‟', '\'', '‘', '’', '`', '´'];

/// The quoted spans of a text as Ragas has them: what is between two marks of any kind on one line, if it has at least
/// 3 words.
///
/// The marks of a line are paired from the left, so that an apostrophe shifts all that follow: `It's "a b c"` has no
/// span, and `the dogs' food is in Tom's` has one. Korean marks (`「」`) are none.
///
/// Source: Ragas 0.4.3, `extract_quoted_spans`. The control characters U+001C to U+001F, which are white space to
/// Python, are not here.
pub fn ragas_spans(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.split('\n') {
        let parts: Vec<&str> = line.split(RAGAS_MARKS).collect();
        // Every second part is between the marks of a pair, but the last, after which there is none.
        let between = parts[..parts.len() - 1].iter().skip(1).step_by(2).map(|span| span.trim());
        found.extend(between.filter(|span| span.split_whitespace().count() >= MIN_WORDS));
    }
    found
}

/// The text in lower case with one space for each run of white space, and none around it.
///
/// Two texts that differ in neither way are the same: a span is quoted correctly if its form is in that of a source.
/// Ragas 0.4.3 (`normalize_text`) compares spans with all contexts, joined by a space.
pub fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_between_paired_marks() {
        let long = format!("«{}»", "x ".repeat(MAX_QUOTED));
        for (text, expected) in [
            ("", &[][..]),
            (" \n", &[]),
            ("No quotation here.", &[]),
            ("He said \"the sky is blue\" today.", &["the sky is blue"]),
            ("“One two three,” she said, “four five six.”", &["One two three,", "four five six."]),
            ("‘It’s the dog’s own bowl’ and Tom’s.", &["It’s the dog’s own bowl"]),
            ("It's Tom's and it isn't the dogs' bowl, is it?", &[]),
            ("'single straight marks are not quotations'", &[]),
            ("“an outer ‘with an inner one’ goes on”", &["an outer ‘with an inner one’ goes on"]),
            ("(see “a b c” and [«d e f»])", &["a b c", "d e f"]),
            ("A 5\" pipe and an 8\" pipe fit well.", &[]),
            ("An \"unmatched mark. Then \"three words here\".", &["three words here"]),
            ("\"wrapped over\ntwo lines\"", &["wrapped over\ntwo lines"]),
            ("“two words” and “ ” and “🙂 🙃 🙂”", &["🙂 🙃 🙂"]),
            (&long, &[]),
        ] {
            assert_eq!(quotations(text), expected, "{text:?}");
        }
    }

    #[test]
    fn korean_quotations_may_be_of_one_word() {
        for (text, expected) in [
            ("그는 \"서울은 수도이다\"라고 했다.", &["서울은 수도이다"][..]),
            ("그는\"대한민국\"이라고 썼다.", &["대한민국"]),
            ("「근로기준법」과 『토지』와 《자본론》, 「한글」", &["근로기준법"]),
            ("《春秋左氏傳》 “ひらがな”", &["春秋左氏傳", "ひらがな"]),
            ("“Pod를 재시작”하고 “Pod를 꺼”라.", &["Pod를 재시작"]),
            // Decomposed, 수도 has four letters and two syllables.
            ("“\u{1109}\u{116e}\u{1103}\u{1169}”", &[]),
        ] {
            assert_eq!(quotations(text), expected, "{text:?}");
        }
    }

    /// The expected spans are what `extract_quoted_spans` of Ragas 0.4.3 gave for these texts.
    #[test]
    fn ragas_spans_are_between_any_two_marks() {
        for (text, expected) in [
            ("", &[][..]),
            (" \n", &[]),
            ("no marks at all", &[]),
            ("He said \"the sky is blue\" today.", &["the sky is blue"]),
            ("“One two three,” she said, “four five six.”", &["One two three,", "four five six."]),
            ("It's Tom's and it isn't the dogs' bowl, is it?", &["t the dogs"]),
            ("the dogs' food is in Tom's", &["food is in Tom"]),
            ("It's \"a b c\"", &[]),
            ("`a b c´ „d e f‟ 'g h i\"", &["a b c", "d e f", "g h i"]),
            ("\"wrapped over\ntwo lines\" and \"three more words\"", &[]),
            ("\" a  b\tc \"", &["a  b\tc"]),
            ("\"\" \"a b c\"", &["a b c"]),
            ("그는 \"서울은 수도이다\"라고 했다.", &[]),
            ("그는 “서울은 대한민국의 수도이다”라고 했다.", &["서울은 대한민국의 수도이다"]),
            ("「서울은 대한민국의 수도이다」라고 했다.", &[]),
            ("‘가 나 다’ 그리고 '라 마 바'", &["가 나 다", "라 마 바"]),
            ("\"a b c", &[]),
            ("\"🙂 🙃 🙂\"", &["🙂 🙃 🙂"]),
        ] {
            assert_eq!(ragas_spans(text), expected, "{text:?}");
        }
    }

    #[test]
    fn folding_leaves_case_and_white_space_out() {
        assert_eq!(folded(" The\u{a0} Sky\n\tIS "), "the sky is");
        assert_eq!(folded("ÀÉ 서울  은"), "àé 서울 은");
        assert_eq!(folded(" \n"), "");
    }
}
