//! Abbreviations: does the full stop after a word end a sentence?

/// What must follow an abbreviation's full stop for it to end the sentence as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsBefore {
    /// Nothing: it belongs to the word after it ("Dr. Kim").
    Nothing,
    /// Anything but a number ("No. 5" against "No. I do not.").
    NonNumber,
    /// A word that often starts a sentence ("in the U.S. It is" against "the U.S. Army").
    Starter,
    /// Any capital letter ("at 5 p.m. Visitors" against "at 5 p.m. on Monday").
    Capital,
}

use EndsBefore::{Capital, NonNumber, Nothing, Starter};

/// Abbreviations in lower case without their last full stop, and when that also ends a sentence.
///
/// The short list of those met in manuals, news and papers; a longer one would start to swallow words ("in", "art").
const ABBREVIATIONS: &[(&str, EndsBefore)] = &[
    ("mr", Nothing),
    ("mrs", Nothing),
    ("ms", Nothing),
    ("dr", Nothing),
    ("prof", Nothing),
    ("st", Nothing),
    ("mt", Nothing),
    ("gen", Nothing),
    ("col", Nothing),
    ("capt", Nothing),
    ("lt", Nothing),
    ("sgt", Nothing),
    ("rev", Nothing),
    ("hon", Nothing),
    ("gov", Nothing),
    ("sen", Nothing),
    ("rep", Nothing),
    ("vs", Nothing),
    ("cf", Nothing),
    ("viz", Nothing),
    ("e.g", Nothing),
    ("eg", Nothing),
    ("i.e", Nothing),
    ("ie", Nothing),
    ("approx", Nothing),
    ("no", NonNumber),
    ("nos", NonNumber),
    ("fig", NonNumber),
    ("figs", NonNumber),
    ("eq", NonNumber),
    ("sec", NonNumber),
    ("art", NonNumber),
    ("ch", NonNumber),
    ("vol", NonNumber),
    ("ver", NonNumber),
    ("p", NonNumber),
    ("pp", NonNumber),
    ("jan", NonNumber),
    ("feb", NonNumber),
    ("mar", NonNumber),
    ("apr", NonNumber),
    ("jun", NonNumber),
    ("jul", NonNumber),
    ("aug", NonNumber),
    ("sep", NonNumber),
    ("sept", NonNumber),
    ("oct", NonNumber),
    ("nov", NonNumber),
    ("dec", NonNumber),
    ("al", Starter),
    ("inc", Starter),
    ("ltd", Starter),
    ("co", Starter),
    ("corp", Starter),
    ("dept", Starter),
    ("jr", Starter),
    ("sr", Starter),
    ("ph.d", Starter),
    ("lb", Capital),
    ("lbs", Capital),
    ("oz", Capital),
    ("ft", Capital),
    ("etc", Capital),
    ("a.m", Capital),
    ("p.m", Capital),
];

/// Words that start a sentence far more often than they continue a name.
const STARTERS: &[&str] = &[
    "A", "After", "All", "An", "And", "As", "At", "Before", "But", "By", "Each", "Every", "For", "From", "He", "Her",
    "His", "How", "However", "I", "If", "In", "It", "Its", "No", "On", "Or", "Our", "She", "So", "Some", "That", "The",
    "Their", "Then", "There", "These", "They", "This", "Those", "To", "Under", "We", "What", "When", "Where", "While",
    "Who", "Why", "With", "You", "Your",
];

/// Whether the full stop after `word` ends a sentence, given the text that follows it.
///
/// `word` has neither that full stop nor opening quotes; `next` is trimmed. True for any word that is no abbreviation.
pub fn stop_ends_sentence(word: &str, next: &str) -> bool {
    let Some(ends_before) = abbreviation(word) else { return true };
    let next = next.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = next.chars().next();
    match ends_before {
        Nothing => false,
        NonNumber => !first.is_some_and(char::is_numeric),
        Starter => STARTERS.contains(&next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("")),
        Capital => first.is_some_and(|c| !c.is_lowercase() && !c.is_numeric()),
    }
}

/// When the word's full stop ends a sentence, if the word is an abbreviation, an initial or a dotted acronym.
fn abbreviation(word: &str) -> Option<EndsBefore> {
    let lower = word.to_lowercase();
    if let Some((_, ends_before)) = ABBREVIATIONS.iter().find(|(known, _)| *known == lower) {
        return Some(*ends_before);
    }
    let is_one_letter = |part: &str| part.len() == 1 && part.as_bytes()[0].is_ascii_alphabetic();
    let is_initials = word.split('.').all(is_one_letter) && !word.starts_with(char::is_lowercase);
    is_initials.then_some(Starter)
}
