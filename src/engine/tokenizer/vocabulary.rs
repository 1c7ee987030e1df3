//! The vocabulary as it lies in a GGUF file: which tokens and merges are there, and do they fit together?

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};
use tokenizers::models::bpe::{BPE, Vocab};

use super::pre::PreTokenizer;
use crate::engine::gguf::Metadata;
use crate::error::Result;
use crate::hash;

/// The one kind of vocabulary that can be read: byte-level byte pair encoding.
const MODEL: &str = "gpt2";
/// The kind of vocabulary.
const MODEL_KEY: &str = "tokenizer.ggml.model";
/// The name of the pre-tokenizer.
const PRE_KEY: &str = "tokenizer.ggml.pre";
/// The tokens, by number.
const TOKENS_KEY: &str = "tokenizer.ggml.tokens";
/// The type of each token; may be absent.
const TYPES_KEY: &str = "tokenizer.ggml.token_type";
/// The merges, the first to be applied first.
const MERGES_KEY: &str = "tokenizer.ggml.merges";
/// Keys whose value is the number of a token that ends an answer.
const END_KEYS: [&str; 3] =
    ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];
/// Texts of tokens that end an answer, whatever the metadata says. The list is llama.cpp's.
const END_TEXTS: [&str; 21] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<｜end▁of▁sentence｜>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

/// The tokens and merges of a file, checked against each other.
pub(super) struct Vocabulary<'a> {
    metadata: &'a Metadata,
    /// How text is cut into words.
    pub pre: &'static PreTokenizer,
    /// The tokens, by number.
    pub tokens: &'a [String],
    /// For each token what it is.
    pub kinds: Vec<Kind>,
    /// For each token its type in the file.
    types: Vec<i32>,
    /// The parts of each merge, the first to be merged first.
    merges: Vec<(&'a str, &'a str)>,
    /// The number of each token that is not empty.
    ids: HashMap<&'a str, u32>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, written in the letters that stand for bytes.
    Text,
    /// Added to the vocabulary as it is written, but text all the same.
    Added,
    /// Structure and not text.
    Special,
}

impl<'a> Vocabulary<'a> {
    /// Reads and checks the vocabulary.
    pub(super) fn read(metadata: &'a Metadata) -> Result<Self> {
        let model = metadata.str(MODEL_KEY)?;
        if model != MODEL {
            let message = format!("key `{MODEL_KEY}` is `{model}`, expected `{MODEL}` (byte-level BPE)");
            return Err(metadata.fault(message));
        }
        let pre = PreTokenizer::named(metadata.str(PRE_KEY)?).map_err(|message| metadata.fault(message))?;
        let tokens = metadata.strings(TOKENS_KEY)?;
        let ids = number(tokens).map_err(|message| metadata.fault(message))?;
        let types = read_types(metadata, tokens.len())?;
        let merges = read_merges(metadata)?;
        let kinds = kinds(tokens, &types, &merges);
        Ok(Self { metadata, pre, tokens, kinds, types, merges, ids })
    }

    /// The merges over the tokens that are text. Other tokens cannot come out of it.
    pub(super) fn bpe(&self) -> Result<BPE> {
        let vocab: Vocab =
            self.ids_of(|kind| kind == Kind::Text).map(|id| (self.tokens[id as usize].clone(), id)).collect();
        let mut seen = HashSet::new();
        let mut merges = Vec::with_capacity(self.merges.len());
        for &(left, right) in &self.merges {
            for token in [left, right, &format!("{left}{right}")] {
                if !vocab.contains_key(token) {
                    let message = format!("key `{MERGES_KEY}` has `{left} {right}`, but `{token}` is no text token");
                    return Err(self.metadata.fault(message));
                }
            }
            // Of equal merges the first counts, as in llama.cpp; the builder would take the last.
            if seen.insert((left, right)) {
                merges.push((left.to_owned(), right.to_owned()));
            }
        }
        let builder = BPE::builder().vocab_and_merges(vocab, merges).ignore_merges(self.pre.prefers_whole_words);
        Ok(builder.build().expect("every part of a merge is in the vocabulary"))
    }

    /// The numbers of the tokens of some kind.
    pub(super) fn ids_of(&self, is_wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = u32> {
        (0..).zip(&self.kinds).filter(move |(_, kind)| is_wanted(**kind)).map(|(id, _)| id)
    }

    /// The texts and numbers of the tokens that only a template may contain, longest first.
    pub(super) fn added(&self) -> Vec<(String, u32)> {
        let added = self.ids_of(|kind| kind != Kind::Text).map(|id| (self.tokens[id as usize].clone(), id));
        let mut added: Vec<(String, u32)> = added.filter(|(token, _)| !token.is_empty()).collect();
        added.sort_by_key(|(token, _)| Reverse(token.len()));
        added
    }

    /// The tokens that end an answer.
    pub(super) fn ends(&self) -> Result<HashSet<u32>> {
        let mut ends: HashSet<u32> = END_TEXTS
            .iter()
            .filter_map(|text| self.ids.get(text).copied())
            .filter(|&id| self.kinds[id as usize] == Kind::Special)
            .collect();
        for key in END_KEYS {
            ends.extend(self.id_under(key)?);
        }
        Ok(ends)
    }

    /// The token that prompts start with.
    pub(super) fn bos(&self) -> Result<Option<u32>> {
        if !self.metadata.opt_bool("tokenizer.ggml.add_bos_token")?.unwrap_or(self.pre.adds_bos) {
            return Ok(None);
        }
        self.id_under("tokenizer.ggml.bos_token_id")
    }

    /// The token whose number is under `key`.
    fn id_under(&self, key: &str) -> Result<Option<u32>> {
        let Some(id) = self.metadata.opt_usize(key)? else {
            return Ok(None);
        };
        if id >= self.tokens.len() {
            let message = format!("key `{key}` is {id}, but there are only {} tokens", self.tokens.len());
            return Err(self.metadata.fault(message));
        }
        Ok(Some(id as u32))
    }

    /// The fingerprint that [`super::Tokenizer::sha256`] describes.
    pub(super) fn sha256(&self) -> Result<String> {
        let mut hasher = Sha256::new();
        let mut add = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        add(self.metadata.str(MODEL_KEY)?);
        add(self.metadata.str(PRE_KEY)?);
        add_all(&mut hasher, self.tokens);
        hasher.update((self.types.len() as u64).to_le_bytes());
        for kind in &self.types {
            hasher.update(kind.to_le_bytes());
        }
        add_all(&mut hasher, self.metadata.strings(MERGES_KEY)?);
        Ok(hash::hex(&hasher.finalize()))
    }
}

/// Adds a list of strings to a fingerprint: their count, then the length and bytes of each.
fn add_all(hasher: &mut Sha256, texts: &[String]) {
    hasher.update((texts.len() as u64).to_le_bytes());
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
}

/// The number of each token; empty ones have none.
fn number(tokens: &[String]) -> Result<HashMap<&str, u32>, String> {
    let mut ids = HashMap::with_capacity(tokens.len());
    for (id, token) in (0..).zip(tokens).filter(|(_, token)| !token.is_empty()) {
        if let Some(first) = ids.insert(token.as_str(), id) {
            return Err(format!("key `{TOKENS_KEY}` has `{token}` twice, as {first} and {id}"));
        }
    }
    Ok(ids)
}

/// The type of each token; all are ordinary if the file has none.
fn read_types(metadata: &Metadata, n_tokens: usize) -> Result<Vec<i32>> {
    let Some(types) = metadata.opt_i32s(TYPES_KEY)? else {
        return Ok(vec![1; n_tokens]);
    };
    if types.len() != n_tokens {
        let message = format!("key `{TYPES_KEY}` has {} types for {n_tokens} tokens", types.len());
        return Err(metadata.fault(message));
    }
    Ok(types.to_vec())
}

/// The two parts of each merge, which a space separates; the left one may start with a space.
fn read_merges(metadata: &Metadata) -> Result<Vec<(&str, &str)>> {
    let mut merges = Vec::new();
    for merge in metadata.strings(MERGES_KEY)? {
        let space = merge.char_indices().skip(1).find(|(_, letter)| *letter == ' ');
        let Some((space, _)) = space else {
            let message = format!("key `{MERGES_KEY}` has `{merge}`, expected two parts with a space between");
            return Err(metadata.fault(message));
        };
        merges.push((&merge[..space], &merge[space + 1..]));
    }
    Ok(merges)
}

/// What each token is. Types 2 and 3 (unknown, control) are structure, and so is what ends an answer by its text, even
/// if the file calls it ordinary, as long as no merge makes it. Type 4 (user-defined) was added. The others are text;
/// no text leads to those that no merge makes (padding, unused ones).
fn kinds(tokens: &[String], types: &[i32], merges: &[(&str, &str)]) -> Vec<Kind> {
    let merged: HashSet<String> = merges
        .iter()
        .map(|(left, right)| format!("{left}{right}"))
        .filter(|token| END_TEXTS.contains(&token.as_str()))
        .collect();
    let is_end = |token: &String| END_TEXTS.contains(&token.as_str()) && !merged.contains(token);
    let kind = |(token, kind): (&String, &i32)| match kind {
        2 | 3 => Kind::Special,
        _ if is_end(token) => Kind::Special,
        4 => Kind::Added,
        _ => Kind::Text,
    };
    tokens.iter().zip(types).map(kind).collect()
}
