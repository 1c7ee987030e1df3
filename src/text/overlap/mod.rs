//! Overlap: how much of a reference's wording is in a response?
//!
//! The scores of machine translation and summarisation (BLEU, chrF, ROUGE) with the numbers of their usual
//! implementations, and the words that they count.

mod bleu;
mod chrf;
mod porter;
mod rouge;
mod runs;
#[cfg(test)]
mod tests;
mod words;

pub use bleu::{bleu, ragas_bleu};
pub use chrf::chrf;
pub use porter::stem;
pub use rouge::{Overlap, rouge_l, rouge_n};
pub use words::{ascii_words, words};
