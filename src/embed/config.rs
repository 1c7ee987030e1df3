//! `config.json` of a BERT model: what shapes its computation?

use std::path::Path;

use serde::Deserialize;

use crate::engine::kernels::attention::HeadShape;
use crate::error::{Error, Result};

/// The part of the file that shapes the computation, by the names that it has there.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// Tokens.
    pub vocab_size: usize,
    /// Width of the hidden state.
    pub hidden_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Heads.
    pub num_attention_heads: usize,
    /// Width between the two halves of a feed-forward block.
    pub intermediate_size: usize,
    /// What is between them.
    pub hidden_act: HiddenAct,
    /// The longest text, in tokens.
    pub max_position_embeddings: usize,
    /// Types of tokens; a text alone has the first.
    pub type_vocab_size: usize,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f32,
    /// How positions are told apart; there is one way, and others are refused when the file is read.
    #[serde(default)]
    pub position_embedding_type: Positions,
}

/// GELU (Hendrycks and Gimpel 2016), exact or by its approximation.
#[derive(Debug, Clone, Copy, Deserialize)]
pub enum HiddenAct {
    /// By the error function.
    #[serde(rename = "gelu")]
    Gelu,
    /// By the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluNew,
}

/// How positions are told apart.
#[derive(Debug, Default, Deserialize)]
pub enum Positions {
    /// Each has a vector.
    #[default]
    #[serde(rename = "absolute")]
    Absolute,
}

impl Config {
    /// The heads, checked: no tensor's shape can show that they fit.
    ///
    /// # Errors
    /// If they cannot share the width, or there is none. `path` is the file of the weights.
    pub fn heads(&self, path: &Path) -> Result<HeadShape> {
        let (width, n_heads) = (self.hidden_size, self.num_attention_heads);
        if width == 0 || n_heads == 0 || !width.is_multiple_of(n_heads) || self.intermediate_size == 0 {
            let message = format!("{n_heads} heads cannot share a width of {width}, or there is no width");
            return Err(Error::model_file(path, message));
        }
        Ok(HeadShape { n_heads, n_kv_heads: n_heads, head_dim: width / n_heads })
    }
}
