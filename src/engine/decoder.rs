//! The decoder: tokens in, hidden states and logits out.

use candle_core::{Device, Tensor};

use super::arch::Blueprint;
use super::gguf::Gguf;
use super::kernels::{self, RopeTable, attention, math};
use super::kv::Arena;
use super::weights::{Linear, Matrix, WeightFormat, Weights, with_floats};
use crate::error::{Error, Result};

/// A transformer decoder with its weights, which are constant; what changes is passed in.
#[derive(Debug)]
pub struct Decoder {
    blueprint: Blueprint,
    /// `[vocabulary, hidden]`
    embedding: Matrix,
    layers: Vec<Layer>,
    /// `[hidden]`
    output_norm: Tensor,
    head: Head,
    rope: RopeTable,
}

/// The output head `[vocabulary, hidden]`.
#[derive(Debug)]
enum Head {
    /// The file has none: the embedding serves again.
    Embedding,
    /// One of its own.
    Own(Matrix),
}

/// One transformer block, in the order of its computation.
#[derive(Debug)]
struct Layer {
    attn_norm: Tensor,
    q: Linear,
    k: Linear,
    v: Linear,
    attn_output: Linear,
    ffn_norm: Tensor,
    ffn_gate: Linear,
    ffn_up: Linear,
    ffn_down: Linear,
}

/// Tokens of any sequences, packed without padding: one row a token.
#[derive(Debug, Default)]
pub struct Rows<'a> {
    /// The token of each row.
    pub tokens: Vec<u32>,
    /// For each row the slots of its sequence up to and including its own; its position is their number less one.
    pub slots: Vec<&'a [u32]>,
}

impl Decoder {
    /// Loads the weights of a checked file.
    ///
    /// # Errors
    /// If the architecture is unknown, or a tensor is missing or has the wrong shape.
    pub fn load(gguf: &Gguf, n_vocab: usize, format: WeightFormat) -> Result<Self> {
        let blueprint = Blueprint::from_gguf(gguf)?;
        let mut weights = Weights::open(gguf, format)?;
        let hidden = blueprint.hidden;
        let embedding = weights.matrix("token_embd.weight", n_vocab, hidden)?;
        let head = if weights.has("output.weight") {
            Head::Own(weights.matrix("output.weight", n_vocab, hidden)?)
        } else {
            Head::Embedding
        };
        let layers =
            (0..blueprint.n_layers).map(|idx| Layer::load(&mut weights, &blueprint, idx)).collect::<Result<_>>()?;
        let output_norm = weights.vector("output_norm.weight", hidden)?;
        let rope = RopeTable::new(
            blueprint.rope_style,
            blueprint.heads.head_dim,
            blueprint.rope_theta,
            blueprint.context_length,
        );
        Ok(Self { blueprint, embedding, layers, output_norm, head, rope })
    }

    /// Sizes of the model.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Computes the rows, writes their keys and values to their slots, and returns the normalised hidden states of
    /// the rows listed in `wanted`: `[wanted, hidden]`.
    ///
    /// Rows may attend to rows of the same call: a layer's keys are written before its attention is computed.
    ///
    /// # Errors
    /// If candle fails.
    pub fn forward(&self, rows: &Rows<'_>, wanted: &[u32], arena: &mut Arena) -> Result<Tensor> {
        self.try_forward(rows, wanted, arena).map_err(Error::engine("run the decoder"))
    }

    fn try_forward(&self, rows: &Rows<'_>, wanted: &[u32], arena: &mut Arena) -> candle_core::Result<Tensor> {
        let mut x = self.embedding.rows(&rows.tokens)?;
        let all: Vec<u32> = (0..rows.tokens.len() as u32).collect();
        for (layer_idx, layer) in self.layers.iter().enumerate() {
            let is_last = layer_idx + 1 == self.layers.len();
            x = self.layer(layer_idx, layer, &x, rows, if is_last { wanted } else { &all }, arena)?;
        }
        self.norm(&x, &self.output_norm)
    }

    /// One block for the rows `x`; of the result only the `kept` ones. Every row's key and value is written.
    fn layer(
        &self,
        layer_idx: usize,
        layer: &Layer,
        x: &Tensor,
        rows: &Rows<'_>,
        kept: &[u32],
        arena: &mut Arena,
    ) -> candle_core::Result<Tensor> {
        let normed = self.norm(x, &layer.attn_norm)?;
        let mut q = to_vec(&layer.q.forward(&normed)?)?;
        let mut k = to_vec(&layer.k.forward(&normed)?)?;
        let v = to_vec(&layer.v.forward(&normed)?)?;
        let positions: Vec<u32> = rows.slots.iter().map(|slots| slots.len() as u32 - 1).collect();
        let own_slots: Vec<u32> = rows.slots.iter().map(|slots| slots[slots.len() - 1]).collect();
        self.rope.rotate(&mut q, &positions);
        self.rope.rotate(&mut k, &positions);
        arena.write(layer_idx, &own_slots, &k, &v);
        if kept.is_empty() {
            return x.narrow(0, 0, 0);
        }
        let heads = self.blueprint.heads;
        let q_dim = heads.n_heads * heads.head_dim;
        let q: Vec<&[f32]> = kept.iter().map(|&row| &q[row as usize * q_dim..][..q_dim]).collect();
        let slots: Vec<&[u32]> = kept.iter().map(|&row| rows.slots[row as usize]).collect();
        let attended = attention::attention(heads, &q.concat(), arena.layer(layer_idx), &slots);
        // [kept, n_heads, head_dim] -> [kept, n_heads * head_dim]
        let attended = Tensor::from_vec(attended, (kept.len(), q_dim), &Device::Cpu)?;
        let x = x.index_select(&Tensor::new(kept, &Device::Cpu)?, 0)?;
        let x = (layer.attn_output.forward(&attended)? + x)?;
        let normed = self.norm(&x, &layer.ffn_norm)?;
        layer.feed_forward(&normed, self.blueprint.feed_forward)? + x
    }

    /// RMS norm (Zhang and Sennrich 2019): x / sqrt(mean(x^2) + eps) * weight.
    fn norm(&self, x: &Tensor, weight: &Tensor) -> candle_core::Result<Tensor> {
        candle_nn::ops::rms_norm(x, weight, self.blueprint.norm_eps as f32)
    }

    /// Logits over the whole vocabulary for hidden states `[rows, hidden]`: one vector a row.
    ///
    /// # Errors
    /// If candle fails.
    pub fn logits(&self, hidden: &Tensor) -> Result<Vec<Vec<f32>>> {
        let logits = || self.head().forward(hidden)?.to_vec2();
        logits().map_err(Error::engine("compute logits"))
    }

    /// Logits of some tokens for one hidden state `[hidden]`: only those rows of the head are computed.
    ///
    /// # Errors
    /// If candle fails.
    pub fn logits_of(&self, hidden: &[f32], tokens: &[u32]) -> Result<Vec<f32>> {
        let rows = || self.head().rows(tokens)?.to_vec2::<f32>();
        let rows = rows().map_err(Error::engine("compute logits"))?;
        Ok(rows.iter().map(|row| math::dot(hidden, row)).collect())
    }

    fn head(&self) -> &Matrix {
        match &self.head {
            Head::Embedding => &self.embedding,
            Head::Own(head) => head,
        }
    }

    /// Memory that the weights take.
    pub fn weight_bytes(&self) -> usize {
        let head = match &self.head {
            Head::Embedding => 0,
            Head::Own(head) => head.bytes(),
        };
        self.embedding.bytes() + head + self.layers.iter().map(Layer::weight_bytes).sum::<usize>()
    }
}

impl Layer {
    /// Names as in the checkpoint, in its order.
    fn load(weights: &mut Weights<'_>, blueprint: &Blueprint, layer_idx: usize) -> Result<Self> {
        let Blueprint { hidden, feed_forward, heads, .. } = *blueprint;
        let (q_dim, kv_dim) = (heads.n_heads * heads.head_dim, heads.kv_dim());
        let name = |part: &str| format!("blk.{layer_idx}.{part}");
        Ok(Self {
            attn_norm: weights.vector(&name("attn_norm.weight"), hidden)?,
            q: weights.linear(&name("attn_q"), q_dim, hidden)?,
            k: weights.linear(&name("attn_k"), kv_dim, hidden)?,
            v: weights.linear(&name("attn_v"), kv_dim, hidden)?,
            attn_output: weights.linear(&name("attn_output"), hidden, q_dim)?,
            ffn_norm: weights.vector(&name("ffn_norm.weight"), hidden)?,
            ffn_gate: weights.linear(&name("ffn_gate"), feed_forward, hidden)?,
            ffn_up: weights.linear(&name("ffn_up"), feed_forward, hidden)?,
            ffn_down: weights.linear(&name("ffn_down"), hidden, feed_forward)?,
        })
    }

    fn weight_bytes(&self) -> usize {
        let all = [&self.q, &self.k, &self.v, &self.attn_output, &self.ffn_gate, &self.ffn_up, &self.ffn_down];
        all.into_iter().map(Linear::bytes).sum()
    }

    /// SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x)).
    fn feed_forward(&self, x: &Tensor, width: usize) -> candle_core::Result<Tensor> {
        let (gate, up) = (self.ffn_gate.forward(x)?, self.ffn_up.forward(x)?);
        let gated = with_floats(&gate, |gate| with_floats(&up, |up| kernels::swiglu(gate, up, width)))??;
        self.ffn_down.forward(&Tensor::from_vec(gated, (x.dim(0)?, width), &Device::Cpu)?)
    }
}

/// The floats of a tensor on the CPU, row by row.
fn to_vec(x: &Tensor) -> candle_core::Result<Vec<f32>> {
    x.flatten_all()?.to_vec1()
}
