//! Ids: what is a row called, and is it called so once?

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use sha2::{Digest, Sha256};

use crate::error::{Error, Place, Result};
use crate::hash;
use crate::sample::Sample;

/// The ids that have been given out, as hashes.
#[derive(Debug, Default)]
pub struct Ids {
    /// The line of each id, by the first 16 bytes of its SHA-256; a crowd of rows may have long ids.
    lines: HashMap<[u8; 16], u64>,
    /// How many rows had this content, by content id.
    copies: HashMap<[u8; 16], u64>,
}

impl Ids {
    /// Gives a sample without an id the hash of its content, and makes sure that no row before it has its id.
    ///
    /// # Errors
    ///
    /// If a row before it has the same id.
    pub fn assign(&mut self, sample: &mut Sample, place: &Place) -> Result<()> {
        let mut copy = 1;
        if sample.id.is_empty() {
            sample.id = content_id(sample);
            copy = *self.copies.entry(key(&sample.id)).and_modify(|n| *n += 1).or_insert(1);
        }
        if copy > 1 {
            sample.id = format!("{}-{copy}", sample.id);
        }
        match self.lines.entry(key(&sample.id)) {
            Entry::Vacant(entry) => {
                entry.insert(place.line.unwrap_or_default());
                Ok(())
            }
            Entry::Occupied(entry) => Err(Error::Dataset {
                place: place.clone().column("id"),
                message: format!(
                    "found `{}`, which is the id of line {} already, expected another",
                    sample.id,
                    entry.get()
                ),
                help: "make each `id` unique, or leave the column out: rows then get ids made from their content"
                    .into(),
            }),
        }
    }
}

/// The id of a row that gives none: 16 lower-case hexadecimal digits that its content determines.
///
/// They are the first eight bytes of the SHA-256 of the columns `user_input`, `response`, `retrieved_contexts`,
/// `reference`, `reference_contexts`, `retrieved_context_ids`, `reference_context_ids`, in this order, each as
///
/// - the byte 0 if it is absent, or
/// - the byte 1, its length, its UTF-8 bytes, if it is a text, or
/// - the byte 2, its number of items, and length and UTF-8 bytes of each, if it is a list.
///
/// Lengths count bytes; lengths and numbers are 8 bytes, little-endian. Texts are hashed as they are, without
/// normalization; metadata and the order of columns in the file do not matter.
pub fn content_id(sample: &Sample) -> String {
    let mut hash = Sha256::new();
    add_text(&mut hash, sample.user_input.as_deref());
    add_text(&mut hash, sample.response.as_deref());
    add_list(&mut hash, sample.retrieved_contexts.as_deref());
    add_text(&mut hash, sample.reference.as_deref());
    add_list(&mut hash, sample.reference_contexts.as_deref());
    add_list(&mut hash, sample.retrieved_context_ids.as_deref());
    add_list(&mut hash, sample.reference_context_ids.as_deref());
    hash::hex(&hash.finalize()[..8])
}

fn add_text(hash: &mut Sha256, text: Option<&str>) {
    match text {
        None => hash.update([0]),
        Some(text) => {
            hash.update([1]);
            add_bytes(hash, text);
        }
    }
}

fn add_list(hash: &mut Sha256, list: Option<&[String]>) {
    match list {
        None => hash.update([0]),
        Some(list) => {
            hash.update([2]);
            hash.update((list.len() as u64).to_le_bytes());
            list.iter().for_each(|text| add_bytes(hash, text));
        }
    }
}

fn add_bytes(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

/// A short stand-in for an id.
fn key(id: &str) -> [u8; 16] {
    let hash: [u8; 32] = Sha256::digest(id).into();
    let (key, _) = hash.split_first_chunk().expect("a SHA-256 has more than 16 bytes");
    *key
}
