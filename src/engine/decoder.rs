//! The decoder: tokens in, hidden states and logits out.

use super::arch::Blueprint;
use super::backend::{Backend, Linear};
use super::gguf::Gguf;
use super::kernels::rope::RopeTable;
use super::weights::{Layer, Weights};
use crate::error::Result;

/// A transformer decoder with its weights and its cache.
pub struct Decoder<B: Backend> {
    backend: B,
    blueprint: Blueprint,
    /// `[vocabulary, hidden]`
    embedding: B::Matrix,
    blocks: Vec<Block<B>>,
    /// `[hidden]`
    output_norm: B::Vector,
    head: Head<B>,
    rope: RopeTable,
    cache: B::Cache,
}

/// The output head `[vocabulary, hidden]`.
enum Head<B: Backend> {
    /// The file has none: the embedding serves again.
    Embedding,
    /// One of its own.
    Own(B::Matrix),
}

impl<B: Backend> Head<B> {
    fn matrix<'a>(&'a self, embedding: &'a B::Matrix) -> &'a B::Matrix {
        match self {
            Self::Embedding => embedding,
            Self::Own(head) => head,
        }
    }
}

/// One transformer block, in the order of its computation.
struct Block<B: Backend> {
    attn_norm: B::Vector,
    q: Layer<B>,
    k: Layer<B>,
    v: Layer<B>,
    attn_output: Layer<B>,
    ffn_norm: B::Vector,
    ffn_gate: Layer<B>,
    ffn_up: Layer<B>,
    ffn_down: Layer<B>,
}

/// Tokens of any sequences, packed without padding: one row a token.
#[derive(Debug, Default)]
pub struct Rows<'a> {
    /// The token of each row.
    pub tokens: Vec<u32>,
    /// For each row the slots of its sequence up to and including its own; its position is their number less one.
    pub slots: Vec<&'a [u32]>,
}

/// A decoder on some device.
pub trait Model {
    /// Computes the rows, writes their keys and values to their slots, and returns the normalised hidden states of the
    /// rows listed in `wanted`.
    ///
    /// Rows may attend to rows of the same call: a layer's keys are written before its attention is computed.
    ///
    /// # Errors
    /// If the device fails, as all that follow.
    fn forward(&mut self, rows: &Rows<'_>, wanted: &[u32]) -> Result<Vec<Vec<f32>>>;
    /// Hands out the logits over the whole vocabulary for each hidden state, with its number.
    fn logits(&mut self, states: &[Vec<f32>], each: &mut dyn FnMut(usize, &[f32])) -> Result<()>;
    /// Logits of some tokens for one hidden state: only those rows of the head are computed.
    fn logits_of(&self, state: &[f32], tokens: &[u32]) -> Result<Vec<f32>>;
    /// Memory that the weights take.
    fn weight_bytes(&self) -> usize;
}

impl<B: Backend> Decoder<B> {
    /// Loads the weights of a checked file, with a cache of `n_blocks` blocks of slots.
    ///
    /// # Errors
    /// If a tensor is missing or has the wrong shape.
    pub fn load(gguf: &Gguf, blueprint: Blueprint, n_vocab: usize, n_blocks: usize, mut backend: B) -> Result<Self> {
        let mut weights = Weights::open(gguf, &mut backend)?;
        let hidden = blueprint.hidden;
        let embedding = weights.matrix("token_embd.weight", n_vocab, hidden)?;
        let head = if weights.has("output.weight") {
            Head::Own(weights.matrix("output.weight", n_vocab, hidden)?)
        } else {
            Head::Embedding
        };
        let blocks =
            (0..blueprint.n_layers).map(|idx| Block::load(&mut weights, &blueprint, idx)).collect::<Result<_>>()?;
        let output_norm = weights.vector("output_norm.weight", hidden)?;
        let rope = RopeTable::new(
            blueprint.rope_style,
            blueprint.heads.head_dim,
            blueprint.rope_theta,
            blueprint.context_length,
        );
        let cache = backend.cache(blueprint.heads, blueprint.n_layers, n_blocks);
        Ok(Self { backend, blueprint, embedding, blocks, output_norm, head, rope, cache })
    }

    /// One block for the rows `x`; of the result only the `kept` ones. Every row's key and value is written.
    fn block(&mut self, idx: usize, x: B::Rows, rows: &Rows<'_>, kept: Kept<'_>) -> Result<B::Rows> {
        let (block, backend, eps) = (&self.blocks[idx], &mut self.backend, self.blueprint.norm_eps as f32);
        let normed = backend.norm(&x, &block.attn_norm, eps)?;
        let [q, k, v] = backend.products([block.q.linear(), block.k.linear(), block.v.linear()], &normed)?;
        let positions: Vec<u32> = rows.slots.iter().map(|slots| slots.len() as u32 - 1).collect();
        let own_slots: Vec<u32> = rows.slots.iter().map(|slots| slots[slots.len() - 1]).collect();
        let q = backend.rotate(&self.rope, q, &positions)?;
        let k = backend.rotate(&self.rope, k, &positions)?;
        backend.store(&mut self.cache, idx, &own_slots, k, v)?;
        let (x, q, slots) = match kept {
            Kept::All => (x, q, rows.slots.clone()),
            Kept::Some(kept) => {
                let slots = kept.iter().map(|&row| rows.slots[row as usize]).collect();
                (backend.select(&x, kept)?, backend.select(&q, kept)?, slots)
            }
        };
        let attended = backend.attend(&self.cache, idx, q, &slots)?;
        let [attended] = backend.products([block.attn_output.linear()], &attended)?;
        let x = backend.add(x, attended)?;
        // SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x)).
        let normed = backend.norm(&x, &block.ffn_norm, eps)?;
        let [gate, up] = backend.products([block.ffn_gate.linear(), block.ffn_up.linear()], &normed)?;
        let gated = backend.gate(gate, up)?;
        let [down] = backend.products([block.ffn_down.linear()], &gated)?;
        backend.add(x, down)
    }
}

/// Rows whose results are needed.
#[derive(Clone, Copy)]
enum Kept<'a> {
    All,
    Some(&'a [u32]),
}

impl<B: Backend> Model for Decoder<B> {
    fn forward(&mut self, rows: &Rows<'_>, wanted: &[u32]) -> Result<Vec<Vec<f32>>> {
        let mut x = self.backend.embed(&self.embedding, &rows.tokens)?;
        for idx in 0..self.blocks.len() {
            let is_last = idx + 1 == self.blocks.len();
            x = self.block(idx, x, rows, if is_last { Kept::Some(wanted) } else { Kept::All })?;
        }
        let hidden = self.blueprint.hidden;
        let x = self.backend.norm(&x, &self.output_norm, self.blueprint.norm_eps as f32)?;
        self.backend.read(&x, |x| x.chunks_exact(hidden).map(<[f32]>::to_vec).collect())
    }

    fn logits(&mut self, states: &[Vec<f32>], each: &mut dyn FnMut(usize, &[f32])) -> Result<()> {
        let x = self.backend.upload(&states.concat(), self.blueprint.hidden)?;
        let weight = self.head.matrix(&self.embedding);
        let [logits] = self.backend.products([Linear { weight, bias: None }], &x)?;
        self.backend.read(&logits, |logits| {
            let n_vocab = logits.len() / states.len();
            logits.chunks_exact(n_vocab).enumerate().for_each(|(idx, logits)| each(idx, logits));
        })
    }

    fn logits_of(&self, state: &[f32], tokens: &[u32]) -> Result<Vec<f32>> {
        self.backend.dots(self.head.matrix(&self.embedding), tokens, state)
    }

    fn weight_bytes(&self) -> usize {
        let head = match &self.head {
            Head::Embedding => 0,
            Head::Own(head) => B::matrix_bytes(head),
        };
        B::matrix_bytes(&self.embedding) + head + self.blocks.iter().map(Block::weight_bytes).sum::<usize>()
    }
}

impl<B: Backend> Block<B> {
    /// Names as in the checkpoint, in its order.
    fn load(weights: &mut Weights<'_, B>, blueprint: &Blueprint, idx: usize) -> Result<Self> {
        let Blueprint { hidden, feed_forward, heads, .. } = *blueprint;
        let (q_dim, kv_dim) = (heads.n_heads * heads.head_dim, heads.kv_dim());
        let name = |part: &str| format!("blk.{idx}.{part}");
        Ok(Self {
            attn_norm: weights.vector(&name("attn_norm.weight"), hidden)?,
            q: weights.layer(&name("attn_q"), q_dim, hidden)?,
            k: weights.layer(&name("attn_k"), kv_dim, hidden)?,
            v: weights.layer(&name("attn_v"), kv_dim, hidden)?,
            attn_output: weights.layer(&name("attn_output"), hidden, q_dim)?,
            ffn_norm: weights.vector(&name("ffn_norm.weight"), hidden)?,
            ffn_gate: weights.layer(&name("ffn_gate"), feed_forward, hidden)?,
            ffn_up: weights.layer(&name("ffn_up"), feed_forward, hidden)?,
            ffn_down: weights.layer(&name("ffn_down"), hidden, feed_forward)?,
        })
    }

    fn weight_bytes(&self) -> usize {
        let all = [&self.q, &self.k, &self.v, &self.attn_output, &self.ffn_gate, &self.ffn_up, &self.ffn_down];
        all.into_iter().map(|layer| B::matrix_bytes(&layer.weight)).sum()
    }
}
