//! Text to tokens and back: which numbers does this model see for this text?
//!
//! The reference is llama.cpp: equal texts give equal numbers. As there, nothing is normalised, so decomposed Hangul
//! stays decomposed; who wants NFC applies it first. Two differences are deliberate. In data, added tokens are never
//! recognised, not even those that a model calls user-defined (llama.cpp recognises `<tool_call>` everywhere). And
//! ordinary text that happens to read like another model's end, such as `</s>` in a vocabulary of program text, stays
//! text (llama.cpp takes it for a control token).

#[cfg(test)]
pub mod fixture;
mod pre;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::{HashMap, HashSet};
use std::mem;

use regex::Regex;
use tokenizers::Model;
use tokenizers::models::bpe::BPE;

use self::pre::PreTokenizer;
use self::vocabulary::{Kind, Vocabulary};
use crate::engine::gguf::Gguf;
use crate::error::Result;

/// A byte-level BPE vocabulary as a GGUF file holds it.
#[derive(Debug)]
pub struct Tokenizer {
    pre: &'static PreTokenizer,
    /// The compiled pattern of `pre`.
    words: Regex,
    bpe: BPE,
    /// For each byte its letter in the vocabulary; none if the vocabulary has no token for it.
    letters: [Option<char>; 256],
    /// The tokens that only a template may contain, longest first.
    added: Vec<(String, u32)>,
    /// For each token what it stands for.
    token_bytes: Vec<Vec<u8>>,
    /// The tokens that are structure and not text.
    special: HashSet<u32>,
    /// The tokens that end an answer.
    ends: HashSet<u32>,
    bos: Option<u32>,
    sha256: String,
}

/// A stretch of a template.
enum Piece<'a> {
    /// Text in which no more tokens are sought.
    Text(&'a str),
    /// A special or added token.
    Token(u32),
}

impl Tokenizer {
    /// Reads the vocabulary.
    ///
    /// # Errors
    /// [`Error::ModelFile`](crate::error::Error::ModelFile) if a key is missing, if the kind of vocabulary or of
    /// pre-tokenizer is not known, or if tokens and merges contradict each other.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self> {
        let vocabulary = Vocabulary::read(&gguf.metadata)?;
        let bpe = vocabulary.bpe()?;
        let letters = letters();
        let is_known = |letter: &char| bpe.token_to_id(letter.encode_utf8(&mut [0; 4])).is_some();
        Ok(Self {
            pre: vocabulary.pre,
            words: Regex::new(vocabulary.pre.words).expect("the patterns of the table are tested"),
            letters: letters.map(|letter| Some(letter).filter(is_known)),
            bpe,
            added: vocabulary.added(),
            token_bytes: token_bytes(&vocabulary, &letters),
            special: vocabulary.ids_of(|kind| kind == Kind::Special).collect(),
            ends: vocabulary.ends()?,
            bos: vocabulary.bos()?,
            sha256: vocabulary.sha256()?,
        })
    }

    /// The tokens of a text from a data set: never a special or added token, whatever the text says.
    ///
    /// Bytes that the vocabulary has no token for (in some vocabularies a few control characters and the planes
    /// of Unicode that are not assigned) have none here, as in llama.cpp. An empty text has no tokens. The time is
    /// proportional to the length, times its logarithm for words without end.
    pub fn encode_data(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.push_text(text, &mut ids);
        ids
    }

    /// The tokens of a text of ours, in which special and added tokens are recognised.
    ///
    /// Where such tokens overlap, the longer one wins, as in llama.cpp.
    pub fn encode_template(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        for piece in self.pieces(text) {
            match piece {
                Piece::Text(text) => self.push_text(text, &mut ids),
                Piece::Token(id) => ids.push(id),
            }
        }
        ids
    }

    /// The text of the tokens. Special tokens are skipped; bytes that are not UTF-8 become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let text_ids = ids.iter().filter(|id| !self.is_special(**id));
        let bytes: Vec<u8> = text_ids.flat_map(|&id| self.token_bytes(id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes that a token stands for, for a special or added token its name; empty if there is no such token.
    pub fn token_bytes(&self, id: u32) -> &[u8] {
        self.token_bytes.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether the token is structure and not text.
    pub fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// Whether the token ends an answer.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// The token that every prompt of this model starts with, if there is one.
    ///
    /// That is so if `tokenizer.ggml.add_bos_token` says so; where it is absent, the Llama 3 family has one and the
    /// others do not, as in llama.cpp. A template may write the token as well; a prompt still needs it only once.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The number of tokens.
    pub fn n_vocab(&self) -> usize {
        self.token_bytes.len()
    }

    /// The SHA-256, in hexadecimal, of everything that shapes the tokens of a text.
    ///
    /// It is taken over these parts, numbers in little endian: `tokenizer.ggml.model` and `tokenizer.ggml.pre` (each
    /// a `u64` length and UTF-8), the tokens (a `u64` count, then each like that), their types (a `u64` count, then
    /// an `i32` each; 1 where the file has none), the merges (like the tokens).
    pub fn sha256(&self) -> String {
        self.sha256.clone()
    }

    /// Cuts a template at its special and added tokens.
    fn pieces<'a>(&self, text: &'a str) -> Vec<Piece<'a>> {
        let mut pieces = vec![Piece::Text(text)];
        for (token, id) in self.added.iter().filter(|(token, _)| text.contains(token)) {
            let mut cut = Vec::new();
            for piece in pieces {
                match piece {
                    Piece::Text(text) => cut_at(text, token, *id, &mut cut),
                    Piece::Token(id) => cut.push(Piece::Token(id)),
                }
            }
            pieces = cut;
        }
        pieces
    }

    /// Encodes a text in which no added token is recognised.
    fn push_text(&self, text: &str, ids: &mut Vec<u32>) {
        self.pre.split(text, &self.words, |word| {
            let mut letters = String::new();
            for byte in word.bytes() {
                match self.letters[usize::from(byte)] {
                    Some(letter) => letters.push(letter),
                    None => self.push_letters(&mem::take(&mut letters), ids),
                }
            }
            self.push_letters(&letters, ids);
        });
    }

    /// Encodes a part of a word, written in letters that the vocabulary has.
    fn push_letters(&self, letters: &str, ids: &mut Vec<u32>) {
        let tokens = self.bpe.tokenize(letters).expect("merging can fail only where an unknown token is configured");
        ids.extend(tokens.iter().map(|token| token.id));
    }
}

/// Adds the pieces between and at the places where `token` is.
fn cut_at<'a>(text: &'a str, token: &str, id: u32, pieces: &mut Vec<Piece<'a>>) {
    for (part_idx, part) in text.split(token).enumerate() {
        if part_idx > 0 {
            pieces.push(Piece::Token(id));
        }
        pieces.push(Piece::Text(part));
    }
}

/// The letter for each byte: itself if it is printable in Latin-1, otherwise the next unused one from U+0100.
///
/// This is GPT-2's table, which lets a vocabulary of bytes be written as text.
fn letters() -> [char; 256] {
    let mut n_unprintable = 0;
    std::array::from_fn(|byte| match byte as u8 {
        printable @ (b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff) => char::from(printable),
        _ => {
            n_unprintable += 1;
            char::from_u32(0xff + n_unprintable).expect("there are 68 such bytes")
        }
    })
}

/// What each token stands for.
fn token_bytes(vocabulary: &Vocabulary<'_>, letters: &[char; 256]) -> Vec<Vec<u8>> {
    let bytes: HashMap<char, u8> = letters.iter().copied().zip(0..=u8::MAX).collect();
    let tokens = vocabulary.tokens.iter().zip(&vocabulary.kinds);
    tokens
        .map(|(token, kind)| match kind {
            Kind::Text => spell(token, &bytes),
            Kind::Added | Kind::Special => token.clone().into_bytes(),
        })
        .collect()
}

/// The bytes that the letters of a token stand for; a letter that stands for none is left as it is.
fn spell(token: &str, bytes: &HashMap<char, u8>) -> Vec<u8> {
    let mut spelled = Vec::with_capacity(token.len());
    for letter in token.chars() {
        match bytes.get(&letter) {
            Some(byte) => spelled.push(*byte),
            None => spelled.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    spelled
}
