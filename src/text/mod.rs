//! Text as people write it: which sentences and which language is it, and how far are two texts the same?
//!
//! Pure functions for English and Korean. Nothing here reads a file, a clock or a model.

mod abbreviations;
pub mod distance;
#[cfg(test)]
mod golden;
mod language;
mod lines;
mod marks;
pub mod overlap;
mod pairs;
pub mod quotes;
mod sentences;
#[cfg(test)]
mod tests;
mod windows;

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

pub use language::{Language, detect, is_hangul};
pub use lines::list_marker;
pub use sentences::sentences;
pub use windows::{Window, windows};

/// The text in Unicode normalization form C, borrowed if it already is.
///
/// Compare texts in this form only: macOS hands out file names, and much text copied from PDFs, as separate
/// Hangul letters (form D) that look the same and have other bytes.
pub fn nfc(text: &str) -> Cow<'_, str> {
    if is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}
