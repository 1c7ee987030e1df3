//! Punctuation: which characters end a sentence, and which open or close something?

/// Whether a character ends sentences: a full stop, a question or exclamation mark, or an ellipsis.
pub fn is_terminator(c: char) -> bool {
    is_stop(c) || is_wide(c) || matches!(c, '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉')
}

/// Whether a character is a full stop that is also used inside words and numbers.
pub fn is_stop(c: char) -> bool {
    matches!(c, '.' | '．')
}

/// Whether a character ends a sentence whatever follows, as text in its script has no spaces.
pub fn is_wide(c: char) -> bool {
    matches!(c, '。' | '｡' | '！' | '？')
}

/// Whether a run of terminators is an ellipsis, which may stand anywhere in a sentence.
pub fn is_ellipsis(marks: &str) -> bool {
    let n_stops = marks.chars().filter(|&c| is_stop(c)).count();
    (n_stops > 1 || marks.contains('…')) && marks.chars().all(|c| is_stop(c) || c == '…')
}

/// Whether a character after a full stop still belongs to its sentence: a closing quote or bracket, Markdown's
/// emphasis, or a raised footnote number.
pub fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '}' | '）' | '］' | '」' | '』' | '》' | '〉' | '】')
        || matches!(c, '*' | '_' | '`' | '¹' | '²' | '³' | '⁰' | '⁴'..='⁹')
}

/// Whether a character opens a quotation.
pub fn is_opening_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '‘' | '«' | '「' | '『')
}

/// Whether a character opens a quotation or a bracket.
pub fn is_opener(c: char) -> bool {
    is_opening_quote(c) || matches!(c, '(' | '[' | '{' | '（' | '［' | '《' | '〈' | '【')
}

/// Whether all characters are ASCII digits, and there is one.
pub fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The letters that number items in Korean documents: `가.`, `나.`, … `하.`
pub const HANGUL_LABELS: &str = "가나다라마바사아자차카타파하";
