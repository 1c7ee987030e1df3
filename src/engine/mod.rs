//! The language model: tokens in, tokens and logits out. It knows nothing of RAG.
//!
//! To read it, follow a prompt: [`chat`] and [`tokenizer`] make tokens of it, [`tree`] merges it with others,
//! [`mod@score`] and [`mod@write`] pack tokens into batches, and the [`decoder`] computes them over the [`kv`] cache.
//! A file gets in through [`gguf`] (checked), [`arch`] (blueprint) and [`weights`].

pub mod arch;
mod batch;
pub mod chat;
pub mod decoder;
pub mod gguf;
#[expect(unsafe_code, reason = "kernels are where vectors and matrices meet the processor")]
pub mod kernels;
pub mod kv;
pub mod sampler;
pub mod score;
pub mod tokenizer;
pub mod tree;
pub mod weights;
pub mod write;

use std::path::Path;

use candle_core::{Device, Tensor};
use serde::Serialize;

use self::chat::ChatTemplate;
use self::decoder::Decoder;
use self::gguf::Gguf;
use self::kv::Arena;
use self::tokenizer::Tokenizer;
use self::tree::PrefixTree;
use self::weights::WeightFormat;
use crate::error::{Error, Result};

/// Names the arithmetic in run headers: results are comparable bit by bit only under the same name.
pub const ARITHMETIC: &str = "candle 0.11.1 ops, f32 attention 1";

/// A judge model in memory.
#[derive(Debug)]
pub struct Engine {
    decoder: Decoder,
    tokenizer: Tokenizer,
    chat: ChatTemplate,
    arena: Arena,
    options: Options,
    counts: Counts,
}

/// How the engine computes. None of it changes a result, except the format of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What becomes of quantised weights.
    pub format: WeightFormat,
    /// Rows in a forward; 512 fill the matrix kernels, more only need more memory.
    pub max_rows: usize,
    /// Texts written at a time; from 32 on the matrix kernels gain little.
    pub max_streams: usize,
    /// Whether equal beginnings of prompts are computed once.
    pub share_prefixes: bool,
    /// The largest size of the key and value cache; memory is taken as it is used.
    pub kv_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: WeightFormat::default(),
            max_rows: 512,
            max_streams: 32,
            share_prefixes: true,
            kv_bytes: 2 << 30,
        }
    }
}

/// Tokens since the engine was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// In the prompts, each counted whole.
    pub asked: u64,
    /// Put through the decoder; sharing makes them fewer.
    pub computed: u64,
    /// Drawn.
    pub written: u64,
}

/// Memory of an engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Weights, with the tiles that candle makes of quantised ones.
    pub weight_bytes: usize,
    /// The most keys and values that were ever kept.
    pub kv_peak_bytes: usize,
}

impl Engine {
    /// Loads a GGUF file.
    ///
    /// # Errors
    /// If the file is broken or hostile, or of a family, tokenizer or template that this program cannot run.
    pub fn load(path: &Path, options: Options) -> Result<Self> {
        let gguf = Gguf::open(path)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let chat = ChatTemplate::from_gguf(&gguf)?;
        let decoder = Decoder::load(&gguf, tokenizer.n_vocab(), options.format)?;
        let blueprint = decoder.blueprint();
        let arena = Arena::new(blueprint.heads, blueprint.n_layers, options.kv_bytes);
        Ok(Self { decoder, tokenizer, chat, arena, options, counts: Counts::default() })
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The chat template.
    pub fn chat(&self) -> &ChatTemplate {
        &self.chat
    }

    /// The longest prompt, with what is to be written after it, in tokens.
    pub fn max_tokens(&self) -> usize {
        self.decoder.blueprint().context_length.min(self.arena.capacity())
    }

    /// Tokens so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Memory that the weights take, and the most that keys and values ever took.
    pub fn memory(&self) -> Memory {
        Memory { weight_bytes: self.decoder.weight_bytes(), kv_peak_bytes: self.arena.peak_bytes() }
    }

    /// Counts prompts and merges their beginnings.
    fn merge(&mut self, prompts: &[&[u32]]) -> PrefixTree {
        self.counts.asked += prompts.iter().map(|prompt| prompt.len() as u64).sum::<u64>();
        if self.options.share_prefixes { PrefixTree::new(prompts) } else { PrefixTree::separate(prompts) }
    }

    /// Logits over the vocabulary for each hidden state.
    fn logits(&self, states: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        if states.is_empty() {
            return Ok(Vec::new());
        }
        let states = Tensor::from_vec(states.concat(), (states.len(), states[0].len()), &Device::Cpu);
        self.decoder.logits(&states.map_err(Error::engine("compute logits"))?)
    }
}
