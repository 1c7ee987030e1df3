//! Language: is a text Korean or English?

use serde::{Deserialize, Serialize};

/// A language that ragstone has prompts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    /// English, and what nothing else claims.
    #[serde(rename = "en")]
    English,
    /// Korean.
    #[serde(rename = "ko")]
    Korean,
}

impl Language {
    /// Every language, in the order in which help lists them.
    pub const ALL: [Self; 2] = [Self::English, Self::Korean];

    /// The ISO 639-1 code: `en` or `ko`.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Korean => "ko",
        }
    }
}

/// Of how many letters one must be Hangul for the text to be Korean.
///
/// One in four. A Hangul syllable holds two or three sounds, so at this share about half of what is said is said in
/// Hangul. Korean text full of English product names ("Kubernetes Pod를 재시작하세요") stays above it, and English
/// text that quotes a Korean name or word stays below.
const LETTERS_PER_HANGUL: usize = 4;

/// The language of a text: Korean if at least a quarter of its letters are Hangul, else English.
///
/// A text without letters is English. Composed and decomposed Hangul (NFC, NFD) give the same result.
pub fn detect(text: &str) -> Language {
    let letters = text.chars().filter(|&c| c.is_alphabetic() && !is_jamo_tail(c));
    let (mut n_letters, mut n_hangul) = (0, 0);
    for letter in letters {
        n_letters += 1;
        n_hangul += usize::from(is_hangul(letter));
    }
    if n_hangul > 0 && n_hangul * LETTERS_PER_HANGUL >= n_letters { Language::Korean } else { Language::English }
}

/// Whether a character is a Hangul syllable or a letter of one (jamo; also compatibility and half-width forms).
pub fn is_hangul(c: char) -> bool {
    matches!(c,
        '\u{AC00}'..='\u{D7A3}' // syllables
        | '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97F}' | '\u{D7B0}'..='\u{D7FF}' // conjoining jamo
        | '\u{3131}'..='\u{318E}' // compatibility jamo, as in ㅋㅋ
        | '\u{FFA0}'..='\u{FFDC}') // half-width
}

/// Whether a character is the vowel or the final consonant of a decomposed syllable.
///
/// These are not counted, so that a decomposed syllable counts once, as a composed one does.
fn is_jamo_tail(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11FF}' | '\u{D7B0}'..='\u{D7FF}')
}
