//! Words to compare: which words has a text, whatever their case, ending and particle?

use super::porter::stem;
use crate::text::nfc;

/// English words up to this length are left as they are: `was`, `his`, `bus`.
const MAX_UNSTEMMED: usize = 3;

/// Korean particles and endings of nouns, the longer ones first: `서울은`, `서울에서`, `서울입니다`.
///
/// Those that follow a noun in most sentences. Endings of verbs are no part of it, as they change the syllable before.
const PARTICLES: &[&str] = &[
    "입니다",
    "에서",
    "에게",
    "으로",
    "부터",
    "까지",
    "이다",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "로",
    "와",
    "과",
    "도",
    "만",
];

/// The words of a text as rouge_score has them: runs of the letters a to z and digits, lower case, of more than three
/// characters stemmed.
///
/// Whatever else a text holds is lost: a Korean text has no words, and `café` is `caf`. Source: rouge_score 0.1.2,
/// `tokenize` with `use_stemmer=True`.
pub fn ascii_words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(stemmed).collect()
}

/// The words of a text in any script: runs of letters and digits, lower case, in NFC, without their endings.
///
/// English words are stemmed as in [`ascii_words`], so that both give the same for ASCII. From a word that ends in a
/// Korean particle, that is taken off, and the one before it, as long as something is left: `서울에서는` and `서울`
/// are `서울`, and `Seoul은` is `seoul`. A noun that merely looks as if it ended in one is shortened too (`도로` to
/// `도`), but alike with and without a particle, which is what a comparison needs.
///
/// Chinese and Japanese, written without spaces, are not split.
pub fn words(text: &str) -> Vec<String> {
    let text = nfc(text).to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| stemmed(without_particles(word))).collect()
}

/// The word, stemmed if it is English and not short.
fn stemmed(word: &str) -> String {
    if word.len() > MAX_UNSTEMMED { stem(word) } else { word.to_owned() }
}

/// The word before its particles, or all of it if nothing else is left.
fn without_particles(word: &str) -> &str {
    let mut noun = word;
    while let Some(shorter) = PARTICLES.iter().find_map(|particle| noun.strip_suffix(particle))
        && !shorter.is_empty()
    {
        noun = shorter;
    }
    noun
}
