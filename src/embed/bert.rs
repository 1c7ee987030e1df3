//! A BERT encoder (Devlin et al. 2019) on our kernels: which vector has each token of some texts?
//!
//! Texts are packed row after row, a row a token, without padding. All but attention treats rows one by one, and a
//! row attends to the rows of its own text; so a text's vectors have the same bits whatever it is packed with.

use std::path::Path;
use std::sync::Arc;

use super::config::{Config, HiddenAct};
use super::tensors::Tensors;
use crate::engine::kernels::Cpu;
use crate::engine::kernels::attention::{BLOCK, HeadShape, KvLayer, attention};
use crate::engine::kernels::float::Panels;
use crate::engine::kernels::gelu::Gelu;
use crate::engine::kernels::layer_norm::LayerNorm;
use crate::engine::kernels::strips::{Output, product};
use crate::error::Result;

/// An encoder in memory.
pub struct Bert {
    cpu: Arc<Cpu>,
    heads: HeadShape,
    gelu: Gelu,
    /// `[vocabulary, width]`
    words: Vec<f32>,
    /// `[positions, width]`, with what the first type of token adds: there is no other in a single text.
    places: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    intermediate: Linear,
    output: Linear,
    norm: LayerNorm,
}

struct Linear {
    weight: Panels,
    bias: Vec<f32>,
}

/// What a forward writes to, kept between forwards: fresh memory costs a page fault every four kilobytes.
pub struct Scratch {
    /// `[rows, width]`
    x: Vec<f32>,
    /// `[rows, width]` each
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    attended: Vec<f32>,
    /// Of one layer at a time.
    kv: KvLayer,
    /// What is added to `x`, `[rows, width]`.
    more: Vec<f32>,
    /// `[rows, intermediate width]`
    intermediate: Vec<f32>,
}

const WORDS: &str = "embeddings.word_embeddings.weight";

impl Bert {
    /// Takes the weights from the bytes of a safetensors file.
    ///
    /// # Errors
    /// If the file is broken, or its tensors are not those of the configuration.
    pub fn new(path: &Path, bytes: &[u8], cfg: &Config, cpu: Arc<Cpu>) -> Result<Self> {
        let heads = cfg.heads(path)?;
        let tensors = Tensors::read(path, bytes, WORDS)?;
        let width = cfg.hidden_size;
        let mut places =
            tensors.floats("embeddings.position_embeddings.weight", &[cfg.max_position_embeddings, width])?;
        let types = tensors.floats("embeddings.token_type_embeddings.weight", &[cfg.type_vocab_size, width])?;
        for place in places.chunks_exact_mut(width) {
            place.iter_mut().zip(&types).for_each(|(x, first_type)| *x += first_type);
        }
        let parts = Parts { tensors: &tensors, cfg, cpu: &cpu };
        Ok(Self {
            heads,
            gelu: match cfg.hidden_act {
                HiddenAct::Gelu => Gelu::Erf,
                HiddenAct::GeluNew => Gelu::Tanh,
            },
            words: tensors.floats(WORDS, &[cfg.vocab_size, width])?,
            places,
            norm: parts.norm("embeddings.LayerNorm")?,
            layers: (0..cfg.num_hidden_layers).map(|idx| parts.layer(idx)).collect::<Result<_>>()?,
            cpu,
        })
    }

    /// Memory that the weights take.
    pub fn weight_bytes(&self) -> usize {
        let linear = |layer: &Layer| {
            let all =
                [&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.intermediate, &layer.output];
            all.into_iter().map(|linear| linear.weight.bytes()).sum::<usize>()
        };
        size_of_val(self.words.as_slice())
            + size_of_val(self.places.as_slice())
            + self.layers.iter().map(linear).sum::<usize>()
    }

    /// Floats of a token's vector.
    fn width(&self) -> usize {
        self.norm.weight.len()
    }

    /// What forwards of up to `max_rows` tokens need.
    pub fn scratch(&self, max_rows: usize) -> Scratch {
        let rows = || vec![0.0; max_rows * self.width()];
        let n_intermediate = self.layers.first().map_or(0, |layer| layer.intermediate.bias.len());
        Scratch {
            x: rows(),
            query: rows(),
            key: rows(),
            value: rows(),
            attended: rows(),
            // A text of one token has a block of its own.
            kv: KvLayer::new(self.heads, max_rows),
            more: rows(),
            intermediate: vec![0.0; max_rows * n_intermediate],
        }
    }

    /// The last layer's vectors of all tokens of some texts, `[tokens, width]`, text after text.
    ///
    /// # Panics
    /// If the scratch is for fewer tokens, or a token or its position does not exist.
    pub fn forward<'a>(&self, texts: &[Vec<u32>], scratch: &'a mut Scratch) -> &'a [f32] {
        let n_rows: usize = texts.iter().map(Vec::len).sum();
        let n_floats = n_rows * self.width();
        let cpu = &*self.cpu;
        let x = &mut scratch.x[..n_floats];
        let query = &mut scratch.query[..n_floats];
        let key = &mut scratch.key[..n_floats];
        let value = &mut scratch.value[..n_floats];
        let attended = &mut scratch.attended[..n_floats];
        let more = &mut scratch.more[..n_floats];
        self.look_up(texts, x, more);
        self.norm.add_and_normalise(cpu, x, more);
        let slots = slots(texts);
        let seen: Vec<&[u32]> =
            texts.iter().zip(&slots).flat_map(|(text, slots)| text.iter().map(|_| &**slots)).collect();
        let slots = slots.concat();
        for layer in &self.layers {
            product(cpu, x, &mut [layer.query.to(query), layer.key.to(key), layer.value.to(value)]);
            scratch.kv.write(&self.cpu, &slots, key, value);
            attention(cpu, query, &scratch.kv, &seen, attended);
            product(cpu, attended, &mut [layer.attention_output.to(more)]);
            layer.attention_norm.add_and_normalise(cpu, x, more);
            let intermediate = &mut scratch.intermediate[..n_rows * layer.intermediate.bias.len()];
            product(cpu, x, &mut [layer.intermediate.to(intermediate)]);
            self.gelu.apply(cpu, intermediate);
            product(cpu, intermediate, &mut [layer.output.to(more)]);
            layer.norm.add_and_normalise(cpu, x, more);
        }
        x
    }

    /// Writes the vectors of tokens to `x` and those of their positions to `places`.
    fn look_up(&self, texts: &[Vec<u32>], x: &mut [f32], places: &mut [f32]) {
        let width = self.width();
        let tokens = texts.iter().flat_map(|text| text.iter().enumerate());
        let rows = x.chunks_exact_mut(width).zip(places.chunks_exact_mut(width));
        for ((position, &token), (x, place)) in tokens.zip(rows) {
            x.copy_from_slice(&self.words[token as usize * width..][..width]);
            place.copy_from_slice(&self.places[position * width..][..width]);
        }
    }
}

/// The slots of each text; a text begins with a block.
fn slots(texts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut start = 0;
    let mut slots = Vec::with_capacity(texts.len());
    for text in texts {
        let n_slots = text.len() as u32;
        slots.push((start..start + n_slots).collect());
        start += n_slots.next_multiple_of(BLOCK as u32);
    }
    slots
}

impl Linear {
    fn to<'a>(&'a self, out: &'a mut [f32]) -> Output<'a, Panels> {
        Output { weights: &self.weight, bias: Some(&self.bias), out }
    }
}

/// Reads the parts of an encoder.
struct Parts<'a> {
    tensors: &'a Tensors<'a>,
    cfg: &'a Config,
    cpu: &'a Cpu,
}

impl Parts<'_> {
    fn layer(&self, idx: usize) -> Result<Layer> {
        let (width, wide) = (self.cfg.hidden_size, self.cfg.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{idx}.{part}");
        Ok(Layer {
            query: self.linear(&name("attention.self.query"), [width, width])?,
            key: self.linear(&name("attention.self.key"), [width, width])?,
            value: self.linear(&name("attention.self.value"), [width, width])?,
            attention_output: self.linear(&name("attention.output.dense"), [width, width])?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"))?,
            intermediate: self.linear(&name("intermediate.dense"), [wide, width])?,
            output: self.linear(&name("output.dense"), [width, wide])?,
            norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    fn linear(&self, name: &str, shape: [usize; 2]) -> Result<Linear> {
        Ok(Linear {
            weight: self.tensors.panels(self.cpu, &format!("{name}.weight"), shape)?,
            bias: self.tensors.floats(&format!("{name}.bias"), &shape[..1])?,
        })
    }

    fn norm(&self, name: &str) -> Result<LayerNorm> {
        let floats = |part: &str| self.tensors.floats(&format!("{name}.{part}"), &[self.cfg.hidden_size]);
        Ok(LayerNorm { weight: floats("weight")?, bias: floats("bias")?, eps: self.cfg.layer_norm_eps })
    }
}
