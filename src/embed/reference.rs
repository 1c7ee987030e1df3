//! BERT by the operations of candle: which vectors must those of our own kernels be near?

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{self, BertModel};
use safetensors::SafeTensors;

use super::Pooling;
use super::config::{Config, HiddenAct, Positions};
use crate::error::{Error, Result};

/// candle's encoder in memory.
pub struct Reference {
    model: BertModel,
    weight_bytes: usize,
}

impl Reference {
    /// Takes the weights from the bytes of a safetensors file.
    ///
    /// # Errors
    /// If the file is broken, or its tensors are not those of the configuration.
    pub fn new(path: &Path, bytes: Vec<u8>, cfg: &Config) -> Result<Self> {
        cfg.heads(path)?;
        let wrong = |err: candle_core::Error| Error::model_file(path, format!("not weights of a BERT model: {err}"));
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|err| Error::model_file(path, format!("not a safetensors file: {err}")))?;
        let n_floats: usize = file.iter().map(|(_, tensor)| tensor.shape().iter().product::<usize>()).sum();
        let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).map_err(wrong)?;
        let model = BertModel::load(weights, &config(cfg)).map_err(wrong)?;
        Ok(Self { model, weight_bytes: n_floats * size_of::<f32>() })
    }

    /// Memory that the weights take.
    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }

    /// The vectors of texts, in their order. Each is computed by itself: beside others candle multiplies the rows of texts
    /// of up to six tokens in another order.
    ///
    /// # Errors
    /// If candle fails.
    pub fn embed(&self, texts: &[Vec<u32>], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        let embed = |text: &Vec<u32>| self.embed_one(text, pooling).map_err(Error::engine("embed a text"));
        texts.iter().map(embed).collect()
    }

    fn embed_one(&self, text: &[u32], pooling: Pooling) -> candle_core::Result<Vec<f32>> {
        // [1, tokens]
        let ids = Tensor::new(text, &Device::Cpu)?.unsqueeze(0)?;
        // [1, tokens, width]
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, None)?;
        let pooled = match pooling {
            Pooling::Mean => hidden.mean(1)?,
            Pooling::Cls => hidden.narrow(1, 0, 1)?.squeeze(1)?,
        };
        pooled.squeeze(0)?.to_vec1()
    }
}

/// The configuration as candle has it; what it has beside matters in training only.
fn config(cfg: &Config) -> bert::Config {
    bert::Config {
        vocab_size: cfg.vocab_size,
        hidden_size: cfg.hidden_size,
        num_hidden_layers: cfg.num_hidden_layers,
        num_attention_heads: cfg.num_attention_heads,
        intermediate_size: cfg.intermediate_size,
        hidden_act: match cfg.hidden_act {
            HiddenAct::Gelu => bert::HiddenAct::Gelu,
            HiddenAct::GeluNew => bert::HiddenAct::GeluApproximate,
        },
        max_position_embeddings: cfg.max_position_embeddings,
        type_vocab_size: cfg.type_vocab_size,
        layer_norm_eps: f64::from(cfg.layer_norm_eps),
        position_embedding_type: match cfg.position_embedding_type {
            Positions::Absolute => bert::PositionEmbeddingType::Absolute,
        },
        ..bert::Config::default()
    }
}
