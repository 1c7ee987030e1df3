//! Quotes and brackets: which places of a text are inside a pair?

use super::marks::is_opener;

/// Pairs whose two characters differ.
const BRACKETS: &[(char, char)] = &[
    ('(', ')'),
    ('[', ']'),
    ('{', '}'),
    ('（', '）'),
    ('［', '］'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('〈', '〉'),
    ('【', '】'),
    ('“', '”'),
    ('‘', '’'),
    ('«', '»'),
];

/// The matched quotes and brackets of a text, by character index.
pub struct Pairs {
    /// For each character that closes a pair, the index of the one that opens it.
    opener: Vec<Option<usize>>,
    /// For each position before a character, and the one after the last: how many pairs it is inside of.
    depth: Vec<usize>,
}

impl Pairs {
    /// Matches quotes and brackets; an unmatched one, or one more than `max_inside` characters from its partner, counts
    /// for nothing.
    pub fn of(chars: &[(usize, char)], max_inside: usize) -> Self {
        let mut opener = vec![None; chars.len()];
        let mut open: Vec<(usize, char)> = Vec::new();
        for idx in 0..chars.len() {
            if open.first().is_some_and(|(from, _)| idx - from > max_inside) {
                open.retain(|(from, _)| idx - from <= max_inside);
            }
            match mark(chars, idx, &open) {
                Mark::Opens(closed_by) => open.push((idx, closed_by)),
                Mark::Closes => {
                    // An opener between the two is a stray one.
                    while let Some((from, closed_by)) = open.pop() {
                        if closed_by == chars[idx].1 {
                            opener[idx] = Some(from);
                            break;
                        }
                    }
                }
                Mark::Neither => {}
            }
        }
        let depth = depths(&opener);
        Self { opener, depth }
    }

    /// Whether the position before character `idx` is inside a pair.
    pub fn is_inside(&self, idx: usize) -> bool {
        self.depth[idx] > 0
    }

    /// The index of the character that opens the pair which the one at `idx` closes.
    pub fn opener(&self, idx: usize) -> Option<usize> {
        self.opener[idx]
    }
}

/// What a character does to the open pairs.
enum Mark {
    /// Opens a pair that this character will close.
    Opens(char),
    Closes,
    Neither,
}

/// What the character at `idx` does, given the open pairs (position and closing character).
fn mark(chars: &[(usize, char)], idx: usize, open: &[(usize, char)]) -> Mark {
    let c = chars[idx].1;
    let is_open = open.iter().any(|(_, closed_by)| *closed_by == c);
    if let Some((_, closed_by)) = BRACKETS.iter().find(|(opening, _)| *opening == c) {
        return Mark::Opens(*closed_by);
    }
    if !matches!(c, '"' | '\'' | '’') {
        return if is_open { Mark::Closes } else { Mark::Neither };
    }
    let before = idx.checked_sub(1).map(|idx| chars[idx].1);
    let after = chars.get(idx + 1).map(|(_, c)| *c);
    quote_mark(c, before, after, is_open)
}

/// What a straight quote or apostrophe does between its two neighbours.
fn quote_mark(c: char, before: Option<char>, after: Option<char>, is_open: bool) -> Mark {
    let is_latin = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() && (c as u32) < 0x250);
    if c != '"' && is_latin(before) && is_latin(after) {
        return Mark::Neither; // An apostrophe, as in "don't".
    }
    let starts_word =
        before.is_none_or(|c| c.is_whitespace() || is_opener(c)) && after.is_some_and(|c| !c.is_whitespace());
    // Korean needs no space before a quotation (`그는"가자"라고`); after a number the mark means inches.
    let may_open = c == '"' && !is_open && !before.is_some_and(char::is_numeric);
    if c != '’' && (starts_word || may_open) {
        Mark::Opens(c)
    } else if is_open {
        Mark::Closes
    } else {
        Mark::Neither
    }
}

/// For each position, the number of pairs around it.
fn depths(opener: &[Option<usize>]) -> Vec<usize> {
    let mut starts = vec![0; opener.len() + 1];
    let mut ends = vec![0; opener.len() + 1];
    for (close, open) in opener.iter().enumerate() {
        if let Some(open) = open {
            starts[open + 1] += 1;
            ends[close + 1] += 1;
        }
    }
    let mut depth = 0;
    starts
        .iter()
        .zip(&ends)
        .map(|(start, end)| {
            depth = depth + start - end;
            depth
        })
        .collect()
}
