//! Lines: which lines of a text belong together, and which stand alone?

use super::abbreviations::stop_ends_sentence;
use super::language::is_hangul;
use super::marks::{HANGUL_LABELS, is_closer, is_number, is_stop, is_terminator};

/// Lines of a text that are read as one, with what kind of lines they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block<'a> {
    /// Running text, possibly a list item, wrapped over one or more lines.
    Prose(&'a str),
    /// A heading or a table row, one line: never split further.
    Line(&'a str),
}

/// What a line by itself looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Item,
    Single,
    Prose,
}

/// The blocks of a text, trimmed and in order.
///
/// A blank line always ends a block. A single line break ends one if the next line is a list item, or if the line
/// before it ended a sentence; headings and table rows are blocks of their own. Otherwise the break is a wrapped line.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    // The byte range of the running text that is still open.
    let mut open: Option<(usize, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let kind = kind(line.trim());
        let continues =
            kind == Kind::Prose && open.is_some_and(|(from, to)| !ends_sentence(&text[from..to], line.trim()));
        if !continues && let Some((from, to)) = open.take() {
            blocks.push(Block::Prose(text[from..to].trim()));
        }
        match kind {
            Kind::Blank => {}
            Kind::Single => blocks.push(Block::Line(line.trim())),
            Kind::Item | Kind::Prose => open = Some((open.map_or(start, |(from, _)| from), end)),
        }
        start = end;
    }
    blocks.extend(open.map(|(from, to)| Block::Prose(text[from..to].trim())));
    blocks
}

/// The length in bytes of the list marker that a line starts with, spaces after it included.
///
/// Markers are bullets (`-`, `*`, `•`), numbers (`1.`, `1)`, `(1)`), Hangul letters (`가.`, `가)`, `(가)`),
/// Latin letters (`a)`, `(a)`) and enclosed characters (`①`).
pub fn list_marker(line: &str) -> Option<usize> {
    let after = after_bullet(line).or_else(|| after_label(line))?;
    Some(line.len() - after.trim_start().len())
}

fn kind(line: &str) -> Kind {
    if line.is_empty() {
        Kind::Blank
    } else if is_heading(line) || is_table_row(line) {
        Kind::Single
    } else if list_marker(line).is_some() {
        Kind::Item
    } else {
        Kind::Prose
    }
}

/// Whether a line is a Markdown heading: one to six `#` and a space.
fn is_heading(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - title.len())) && title.starts_with(' ')
}

/// Whether a line is a table row: it starts with a bar, or a tab parts two cells.
fn is_table_row(line: &str) -> bool {
    line.starts_with('|') || line.contains('\t') && list_marker(line).is_none()
}

/// What follows a bullet. Dashes and stars need a space, since they also start words; the others do not.
fn after_bullet(line: &str) -> Option<&str> {
    let spaced = line.strip_prefix(['-', '*', '+', '–', '—', '·', 'o']).filter(|rest| rest.starts_with([' ', '\t']));
    spaced.or_else(|| line.strip_prefix(['•', '‣', '▪', '◦', '●', '○', '■', '□', '▶', '※'])).or_else(|| {
        let is_enclosed = |c: char| matches!(c, '①'..='⑳' | '❶'..='❿' | '㉠'..='㉻');
        line.strip_prefix(is_enclosed)
    })
}

/// What follows a number or letter with its full stop or bracket.
fn after_label(line: &str) -> Option<&str> {
    let in_brackets = line.strip_prefix('(');
    let label_and_rest = in_brackets.unwrap_or(line);
    let (label, rest) = label_and_rest.split_once([')', '.'])?;
    let closed_by = label_and_rest[label.len()..].chars().next()?;
    let is_number = label.len() <= 3 && is_number(label);
    let is_hangul_label = label.chars().count() == 1 && HANGUL_LABELS.contains(label);
    let is_latin = label.len() == 1 && label.bytes().all(|b| b.is_ascii_alphabetic());
    let is_marker = match closed_by {
        ')' => is_number || is_hangul_label || is_latin,
        // "3.5 kg" is no item, and "가.나" is no item either, while "1.항목" is a common one.
        _ => in_brackets.is_none() && (is_number && starts_item(rest) || is_hangul_label && rest.starts_with(' ')),
    };
    is_marker.then_some(rest)
}

/// Whether the text after "1." makes it a list marker: a space or a Hangul letter, not a digit of "1.5".
fn starts_item(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_whitespace() || is_hangul(c))
}

/// Sentence-final endings of polite Korean, which end a sentence at a line break even without a full stop.
///
/// Plain endings (`-다`) are left out: `보다` and `마다` end in the same letter and wrap to the next line.
const POLITE_ENDINGS: &[&str] = &[
    "니다", "세요", "어요", "아요", "에요", "예요", "해요", "네요", "군요", "까요", "나요", "게요", "데요", "래요",
    "고요", "지요", "죠",
];

/// Whether text that a line break follows has ended its sentence, given the line after the break.
fn ends_sentence(text: &str, next: &str) -> bool {
    let bare = text.trim_end().trim_end_matches(is_closer);
    let Some(stopped) = bare.strip_suffix(is_terminator) else {
        return POLITE_ENDINGS.iter().any(|ending| bare.ends_with(ending));
    };
    let word = stopped.rsplit(char::is_whitespace).next().unwrap_or(stopped);
    !bare.ends_with(is_stop) || stop_ends_sentence(word.trim_start_matches(|c: char| !c.is_alphanumeric()), next)
}
