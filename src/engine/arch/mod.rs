//! Model families: how do their decoders differ?

mod llama;
mod qwen2;

use super::gguf::{Gguf, Metadata};
use super::kernels::attention::HeadShape;
use super::kernels::rope::RopeStyle;
use crate::error::{Error, Result};

/// Everything that tells one decoder from another: sizes, and the few places where families differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// Layers.
    pub n_layers: usize,
    /// Width of the hidden state.
    pub hidden: usize,
    /// Width between the two halves of a feed-forward block.
    pub feed_forward: usize,
    /// Heads.
    pub heads: HeadShape,
    /// The longest sequence in tokens.
    pub context_length: usize,
    /// Added to the mean square in RMS norm.
    pub norm_eps: f64,
    /// How rotary embedding pairs floats.
    pub rope_style: RopeStyle,
    /// The base of the rotary frequencies.
    pub rope_theta: f64,
}

/// A model family by the name that GGUF files give it.
struct Architecture {
    name: &'static str,
    blueprint: fn(&Gguf) -> Result<Blueprint>,
}

/// The families this program can run. A new one is a file and a line here.
const ARCHITECTURES: &[Architecture] = &[
    Architecture { name: "llama", blueprint: llama::blueprint },
    Architecture { name: "qwen2", blueprint: qwen2::blueprint },
];

/// The families that can be run, as GGUF files name them.
pub fn names() -> Vec<&'static str> {
    ARCHITECTURES.iter().map(|architecture| architecture.name).collect()
}

impl Blueprint {
    /// Reads the blueprint from the file's metadata.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if the family is unknown, or a size is missing or impossible.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self> {
        let name = gguf.metadata.str("general.architecture")?;
        let Some(architecture) = ARCHITECTURES.iter().find(|architecture| architecture.name == name) else {
            let message = format!("architecture `{name}` is not supported, expected one of {}", names().join(", "));
            return Err(Error::model_file(&gguf.path, message));
        };
        let blueprint = (architecture.blueprint)(gguf)?;
        blueprint.check().map_err(|message| Error::model_file(&gguf.path, message))?;
        Ok(blueprint)
    }

    /// The sizes that all families name alike, under the prefix `arch`.
    fn common(metadata: &Metadata, arch: &str, rope_style: RopeStyle) -> Result<Self> {
        let key = |name: &str| format!("{arch}.{name}");
        let n_heads = metadata.usize(&key("attention.head_count"))?;
        let hidden = metadata.usize(&key("embedding_length"))?;
        let head_dim = match metadata.opt_usize(&key("attention.key_length"))? {
            Some(head_dim) => head_dim,
            None => hidden.checked_div(n_heads).unwrap_or(0),
        };
        let n_kv_heads = metadata.opt_usize(&key("attention.head_count_kv"))?.unwrap_or(n_heads);
        Ok(Self {
            n_layers: metadata.usize(&key("block_count"))?,
            hidden,
            feed_forward: metadata.usize(&key("feed_forward_length"))?,
            heads: HeadShape { n_heads, n_kv_heads, head_dim },
            context_length: metadata.usize(&key("context_length"))?,
            norm_eps: f64::from(metadata.f32(&key("attention.layer_norm_rms_epsilon"))?),
            rope_style,
            rope_theta: f64::from(metadata.opt_f32(&key("rope.freq_base"))?.unwrap_or(10_000.0)),
        })
    }

    /// Sizes that would make buffers of nothing or of everything; tensors are checked against the others.
    fn check(&self) -> Result<(), String> {
        /// Far above any model of today, far below what would exhaust memory for tables.
        const MAX_CONTEXT: usize = 1 << 20;
        let HeadShape { n_heads, n_kv_heads, head_dim } = self.heads;
        if n_kv_heads == 0 || !n_heads.is_multiple_of(n_kv_heads) {
            return Err(format!("it has {n_heads} heads and {n_kv_heads} key heads, expected a multiple"));
        }
        if head_dim == 0 || !head_dim.is_multiple_of(2) || head_dim > 1024 {
            return Err(format!("its heads have {head_dim} floats, expected an even number up to 1024"));
        }
        if self.context_length == 0 || self.context_length > MAX_CONTEXT {
            return Err(format!("its context has {} tokens, expected 1 to {MAX_CONTEXT}", self.context_length));
        }
        if self.n_layers == 0 || self.n_layers > 1024 {
            return Err(format!("it has {} layers, expected 1 to 1024", self.n_layers));
        }
        Ok(())
    }
}

/// Refuses rotary scaling that would be silently wrong: nothing here computes it yet.
fn refuse_rope_scaling(gguf: &Gguf, arch: &str) -> Result<()> {
    let kind = gguf.metadata.opt_str(&format!("{arch}.rope.scaling.type"))?.unwrap_or("none");
    if kind != "none" || gguf.tensors.iter().any(|tensor| tensor.name == "rope_freqs.weight") {
        let message = format!("it scales its rotary positions (`{kind}`), which is not supported");
        return Err(Error::model_file(&gguf.path, message));
    }
    Ok(())
}
