//! Sentences: where does one end, in English and in Korean?

use super::abbreviations::stop_ends_sentence;
use super::language::is_hangul;
use super::lines::{Block, blocks, list_marker};
use super::marks::{
    HANGUL_LABELS, is_closer, is_ellipsis, is_number, is_opener, is_opening_quote, is_stop, is_terminator, is_wide,
};
use super::pairs::Pairs;

/// The most characters that quotes or brackets may hold and still keep their content together.
///
/// Longer quotations are split like other text, and a stray quote mark cannot swallow a page.
const MAX_INSIDE: usize = 300;

/// The sentences of a text, trimmed, in order, as slices of it.
///
/// A sentence holds at least one letter or digit. What does not (a lone emoji) joins a sentence of its paragraph, or is
/// left out if there is none. Quotes, brackets, and reference marks (`[1]`) after a full stop stay with their sentence.
/// A list item starts a sentence and keeps its marker; a heading or a table row is one sentence. A paragraph without
/// a full stop is one sentence.
///
/// The rules are our own, since UAX #29 splits after "Dr." and never within "먹었다.그리고". From it comes
/// that a full stop before a small letter ends nothing (SB8), while `!` and `?` do.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for block in blocks(text) {
        match block {
            Block::Prose(prose) => split_prose(prose, &mut found),
            Block::Line(line) if has_word(line) => found.push(line),
            Block::Line(_) => {}
        }
    }
    found
}

/// Whether a text holds a letter or digit.
fn has_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Appends the sentences of running text.
fn split_prose<'a>(prose: &'a str, found: &mut Vec<&'a str>) {
    // Without a word after it, a terminator is the last, and without one before it, it ends no sentence.
    let Some(last_word) = prose.rfind(char::is_alphanumeric) else { return };
    let scan = Scan::new(prose);
    let mut start = 0; // where the sentence starts, in bytes
    let mut idx = scan.after_marker(); // the next character to look at
    let mut holds_word = idx > 0;
    while idx < scan.chars.len() && scan.byte(idx) <= last_word {
        let c = scan.chars[idx].1;
        if !is_terminator(c) {
            holds_word |= c.is_alphanumeric();
            idx += 1;
            continue;
        }
        let stop = scan.stop_at(idx);
        idx = stop.end;
        if holds_word && scan.byte(idx) <= last_word && scan.ends_sentence(start, &stop) {
            found.push(prose[start..scan.byte(idx)].trim());
            start = scan.byte(idx);
            holds_word = false;
        }
    }
    found.push(prose[start..].trim());
}

/// Running text prepared for looking back and ahead.
struct Scan<'a> {
    text: &'a str,
    /// Byte offset and character.
    chars: Vec<(usize, char)>,
    pairs: Pairs,
}

/// A run of terminators with what belongs to it, as a half-open range of character indices.
struct Stop {
    /// The first terminator.
    start: usize,
    /// The first character after the terminators.
    marks_end: usize,
    /// The first character after the quotes, brackets and reference marks that follow them.
    end: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let pairs = Pairs::of(&chars, MAX_INSIDE);
        Self { text, chars, pairs }
    }

    /// The byte offset of a character, or the text's length for the index after the last.
    fn byte(&self, idx: usize) -> usize {
        self.chars.get(idx).map_or(self.text.len(), |(byte, _)| *byte)
    }

    /// The index of the first character after the list marker, whose full stop ends nothing.
    fn after_marker(&self) -> usize {
        let bytes = list_marker(self.text).unwrap_or(0);
        self.chars.partition_point(|(byte, _)| *byte < bytes)
    }

    /// The run of terminators that starts at `start`.
    fn stop_at(&self, start: usize) -> Stop {
        let run_end = |from: usize, is_member: fn(char) -> bool| {
            (from..self.chars.len()).find(|&idx| !is_member(self.chars[idx].1)).unwrap_or(self.chars.len())
        };
        let marks_end = run_end(start, is_terminator);
        // A quote or star that opens the next sentence closes nothing: `갔다."왜?"`.
        let closers_end = (marks_end..run_end(marks_end, is_closer))
            .find(|&idx| self.pairs.is_inside(idx + 1) && !self.pairs.is_inside(idx))
            .unwrap_or_else(|| run_end(marks_end, is_closer));
        let text = &self.text[self.byte(closers_end)..];
        let end = closers_end + text[..reference_marks_len(text)].chars().count();
        Stop { start, marks_end, end }
    }

    /// Whether a run of terminators ends the sentence that starts at byte `start`.
    fn ends_sentence(&self, start: usize, stop: &Stop) -> bool {
        let marks = &self.text[self.byte(stop.start)..self.byte(stop.marks_end)];
        let rest = &self.text[self.byte(stop.end)..];
        if self.pairs.is_inside(stop.end) || self.is_aside(start, stop) || is_ellipsis(marks) {
            return false;
        }
        if self.ends_quotation(stop) && continues_after_quote(rest) {
            return false;
        }
        if marks.contains(is_wide) {
            return true;
        }
        let before = &self.text[start..self.byte(stop.start)];
        let next = rest.trim_start();
        if next.len() == rest.len() {
            // Citations and closers need a space after them: `[1].b`, `f(x?)y`.
            return stop.end == stop.marks_end && ends_without_space(before, marks, next);
        }
        !marks.chars().all(is_stop) || full_stop_ends(before, next)
    }

    /// Whether a quotation ends after a run of terminators.
    fn ends_quotation(&self, stop: &Stop) -> bool {
        let mut openers = (stop.marks_end..stop.end).filter_map(|idx| self.pairs.opener(idx));
        openers.any(|idx| is_opening_quote(self.chars[idx].1))
    }

    /// Whether a run of terminators is the end of a bracket within the sentence: `It works (really!) and is fast.`
    fn is_aside(&self, start: usize, stop: &Stop) -> bool {
        let openers = (stop.marks_end..stop.end).filter_map(|idx| self.pairs.opener(idx));
        let mut brackets = openers.filter(|&idx| idx < stop.start && !is_opening_quote(self.chars[idx].1));
        brackets.any(|idx| has_word(&self.text[start..self.byte(idx)]))
    }
}

/// The length in bytes of the reference marks that a text starts with, such as `[1]` or ` [2, 3][4]`.
fn reference_marks_len(text: &str) -> usize {
    let mut rest = text;
    while let Some(inner) = rest.trim_start_matches(' ').strip_prefix('[') {
        let after = inner.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '–' | ' '));
        let marks = &inner[..inner.len() - after.len()];
        match after.strip_prefix(']') {
            // A Markdown link `[1](…)` starts the next sentence.
            Some(after) if marks.starts_with(|c: char| c.is_ascii_digit()) && !after.starts_with('(') => rest = after,
            _ => break,
        }
    }
    text.len() - rest.len()
}

/// Whether one full stop with a space after it ends the sentence, given the text of it before and after.
fn full_stop_ends(before: &str, next: &str) -> bool {
    let word = last_word(before);
    let before_word = before[..before.len() - word.len()].trim_end();
    if is_number(word) {
        // "Steps: 1. Open", or the next item of a list in running text.
        let is_label = before_word.is_empty() || before_word.ends_with(':');
        // "2024. 3. 15. 시행": a part of a date.
        let is_date = next.starts_with(|c: char| c.is_ascii_digit()) || ends_with_number_and_stop(before_word);
        return !is_label && !is_date;
    }
    let is_letter = word.len() == 1 || word.chars().count() == 1 && HANGUL_LABELS.contains(word);
    let is_small_letter = next.starts_with(char::is_lowercase) && !word.ends_with(is_hangul);
    let is_label = is_letter && before_word.is_empty();
    !is_label && !is_small_letter && stop_ends_sentence(word, next)
}

/// The last word of a text, without opening quotes and brackets.
fn last_word(text: &str) -> &str {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    word.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// Whether a text's last word is a number with a full stop, as in "2024. 3.".
fn ends_with_number_and_stop(text: &str) -> bool {
    text.rsplit(char::is_whitespace).next().and_then(|word| word.strip_suffix('.')).is_some_and(is_number)
}

/// Korean particles that take what was said before them into their own sentence: `"가자." 라고 했다.`
const QUOTATIVES: &[&str] =
    &["라고", "라는", "라며", "라면서", "라던", "이라고", "이라는", "이라며", "이라면서", "하고", "하며", "하면서"];

/// Whether text after a closing quote goes on with the sentence around it.
///
/// It does without a space (`"가자."라고`), with a small letter (`"Go!" he said`), or with a Korean particle.
fn continues_after_quote(rest: &str) -> bool {
    let next = rest.trim_start();
    rest.starts_with(|c: char| c.is_alphanumeric() || c == ',')
        || next.starts_with(char::is_lowercase)
        || QUOTATIVES.iter().any(|particle| next.starts_with(particle))
}

/// The last syllables of Korean sentences: plain and polite endings, and the noun endings of reports (`확인함.`).
const FINAL_SYLLABLES: &[char] = &['다', '요', '죠', '까', '함', '음', '임', '됨'];

/// Whether terminators with no space after them end a Korean sentence: `먹었다.그리고`, `왔니?아니`.
///
/// After other words they are part of a name, number or address: `3.5`, `a.pdf`, `https://…/?q=1`.
fn ends_without_space(before: &str, marks: &str, next: &str) -> bool {
    let is_full_stop = marks.chars().all(is_stop);
    let ends_korean = if is_full_stop { before.ends_with(FINAL_SYLLABLES) } else { before.ends_with(is_hangul) };
    // A small letter is a file's extension: `결과입니다.pdf`.
    let starts_sentence = next.starts_with(|c: char| !c.is_lowercase() && (c.is_alphanumeric() || is_opener(c)));
    let is_quotative = QUOTATIVES.iter().any(|particle| next.starts_with(particle));
    ends_korean && starts_sentence && !is_quotative && !last_word(before).contains("://")
}
