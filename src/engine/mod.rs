//! The language model: tokens in, tokens and logits out. It knows nothing of RAG.
//!
//! To read it, follow a prompt: [`chat`] and [`tokenizer`] make tokens of it, [`tree`] merges it with others,
//! [`mod@score`] and [`mod@write`] pack tokens into batches, and the [`decoder`] computes them over the [`kv`] cache.
//! A file gets in through [`gguf`] (checked), [`arch`] (blueprint) and [`weights`]. What differs by device is behind
//! [`backend`]; on the processor those are our own [`kernels`].

pub mod arch;
pub mod backend;
mod batch;
pub mod chat;
pub mod decoder;
pub mod gguf;
mod kept;
#[expect(unsafe_code, reason = "kernels are where vectors and matrices meet the processor")]
pub mod kernels;
pub mod kv;
pub mod memory;
pub mod sampler;
pub mod score;
pub mod tokenizer;
pub mod tree;
pub mod weights;
pub mod write;

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use self::arch::Blueprint;
use self::backend::cpu::CpuBackend;
use self::backend::reference::Reference;
use self::chat::ChatTemplate;
use self::decoder::{Decoder, Model};
use self::gguf::Gguf;
use self::kept::Kept;
use self::kernels::Cpu;
use self::kernels::attention::BLOCK;
use self::kv::Slots;
use self::memory::{Memory, Need};
use self::tokenizer::Tokenizer;
use self::weights::WeightFormat;
use crate::error::Result;

/// A judge model in memory.
pub struct Engine {
    model: Box<dyn Model>,
    blueprint: Blueprint,
    tokenizer: Tokenizer,
    chat: ChatTemplate,
    slots: Slots,
    /// Beginnings without data, which stay in the cache.
    kept: Vec<Kept>,
    options: Options,
    counts: Counts,
    need: Need,
}

/// How the engine computes. None of it changes a result, except the format of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What computes.
    pub device: Device,
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

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// Our own kernels on the processor.
    #[default]
    Cpu,
    /// The operations of candle on the processor, to compare with.
    CpuReference,
}

impl Device {
    /// Its kind in run headers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::CpuReference => "cpu-reference",
        }
    }

    /// The name of its arithmetic in run headers: results are comparable bit by bit only under the same name.
    pub fn arithmetic(self) -> &'static str {
        match self {
            Self::Cpu => "arithmetic 1",
            Self::CpuReference => "candle 0.11.1 ops, attention 1",
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device: Device::default(),
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

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("blueprint", &self.blueprint).field("options", &self.options).finish()
    }
}

impl Engine {
    /// Loads a GGUF file to compute on `cpu`.
    ///
    /// # Errors
    /// If the file is broken or hostile, or of a family, tokenizer or template that this program cannot run; or if there
    /// is not enough memory, before weights are read.
    pub fn load(path: &Path, cpu: &Arc<Cpu>, options: Options) -> Result<Self> {
        let gguf = Gguf::open(path)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let chat = ChatTemplate::from_gguf(&gguf)?;
        let blueprint = Blueprint::from_gguf(&gguf)?;
        let need = Need::of(&gguf, &blueprint, options.device, options.format, options.max_rows);
        let block_bytes = blueprint.n_layers * blueprint.heads.block_bytes();
        let kv_bytes = need.kv_bytes(memory::free_bytes(), options.kv_bytes, block_bytes / BLOCK)?;
        let n_blocks = kv_bytes / block_bytes;
        let (cpu, format, n_vocab) = (cpu.clone(), options.format, tokenizer.n_vocab());
        let model: Box<dyn Model> = match options.device {
            Device::Cpu => {
                let backend = CpuBackend::new(cpu, format);
                Box::new(Decoder::load(&gguf, blueprint.clone(), n_vocab, n_blocks, backend)?)
            }
            Device::CpuReference => {
                let backend = Reference::new(cpu, format);
                Box::new(Decoder::load(&gguf, blueprint.clone(), n_vocab, n_blocks, backend)?)
            }
        };
        let slots = Slots::new(n_blocks);
        Ok(Self {
            model,
            blueprint,
            tokenizer,
            chat,
            slots,
            kept: Vec::new(),
            options,
            counts: Counts::default(),
            need,
        })
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
        // A text may begin a block of its own, where another one goes on in that of their prompt.
        let n_blocks = (self.slots.n_blocks() - self.n_kept_blocks_max()).saturating_sub(1);
        self.blueprint.context_length.min(n_blocks * BLOCK)
    }

    /// Tokens so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What it takes without keys and values, as it was foreseen.
    pub fn need(&self) -> Need {
        self.need
    }

    /// Memory that a token's keys and values take.
    pub fn kv_token_bytes(&self) -> usize {
        self.blueprint.n_layers * self.blueprint.heads.block_bytes() / BLOCK
    }

    /// Memory that the weights take, and the most that keys and values ever took.
    pub fn memory(&self) -> Memory {
        let block_bytes = self.blueprint.n_layers * self.blueprint.heads.block_bytes();
        let kv_peak_bytes = self.slots.n_used_max() * block_bytes;
        Memory { weight_bytes: self.model.weight_bytes(), kv_peak_bytes }
    }
}
