//! Sentence embeddings: where does a text point?

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use ndarray::Array2;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::Tokenizer;

use crate::error::{Error, Result};

/// A sentence-embedding model in memory.
///
/// Read from a folder as `sentence-transformers` writes it: `model.safetensors`, `config.json`, `tokenizer.json`,
/// `1_Pooling/config.json` and `sentence_bert_config.json`.
pub struct Embedder {
    model: BertModel,
    tokenizer: Tokenizer,
    pooling: Pooling,
    max_tokens: usize,
}

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    Cls,
}

#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
}

#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: usize,
}

#[derive(Deserialize)]
struct ModelType {
    model_type: String,
}

/// Texts computed at once; a bound on memory.
const MAX_BATCH: usize = 64;

impl Embedder {
    /// Loads the model of a folder.
    ///
    /// # Errors
    /// If a file is missing or broken, or the model is of a kind that this program cannot run.
    pub fn load(folder: &Path) -> Result<Self> {
        let config_path = folder.join("config.json");
        let ModelType { model_type } = read_json(&config_path)?;
        if model_type != "bert" {
            let message = format!("the model type is `{model_type}`, expected `bert`");
            return Err(Error::model_file(&config_path, message));
        }
        let config: Config = read_json(&config_path)?;
        let SentenceConfig { max_seq_length } = read_json(&folder.join("sentence_bert_config.json"))?;
        Ok(Self {
            model: load_weights(&folder.join("model.safetensors"), &config)?,
            tokenizer: load_tokenizer(&folder.join("tokenizer.json"))?,
            pooling: Pooling::read(&folder.join("1_Pooling").join("config.json"))?,
            max_tokens: max_seq_length.min(config.max_position_embeddings),
        })
    }

    /// The longest text in tokens, with the two that mark its ends.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The tokens of a text, with the two that mark its ends. Nothing is cut.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, true);
        let wrong = |err: tokenizers::Error| Error::usage(format!("the embedder's tokenizer failed: {err}"), "");
        Ok(encoding.map_err(wrong)?.get_ids().to_vec())
    }

    /// Unit vectors `[n, dim]` of texts given as [`Embedder::tokens`].
    ///
    /// Texts of equal length are computed together, so nothing is padded: a text's vector does not depend on the
    /// others.
    ///
    /// # Errors
    /// If candle fails, or a text is longer than [`Embedder::max_tokens`].
    pub fn embed(&self, texts: &[Vec<u32>]) -> Result<Array2<f32>> {
        let too_long = texts.iter().find(|tokens| tokens.len() > self.max_tokens);
        if let Some(tokens) = too_long {
            let message = format!("the text has {} tokens, the embedder's window is {}", tokens.len(), self.max_tokens);
            return Err(Error::usage(message, ""));
        }
        let mut by_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (idx, tokens) in texts.iter().enumerate() {
            by_length.entry(tokens.len()).or_default().push(idx);
        }
        let mut vectors = vec![Vec::new(); texts.len()];
        for idxs in by_length.values().flat_map(|idxs| idxs.chunks(MAX_BATCH)) {
            let batch: Vec<&[u32]> = idxs.iter().map(|&idx| texts[idx].as_slice()).collect();
            let batch = self.embed_equal(&batch).map_err(Error::engine("embed texts"))?;
            idxs.iter().zip(batch).for_each(|(&idx, vector)| vectors[idx] = vector);
        }
        let dim = vectors.first().map_or(0, Vec::len);
        Ok(Array2::from_shape_vec((texts.len(), dim), vectors.concat()).expect("every vector has the model's width"))
    }

    /// Texts of one length.
    fn embed_equal(&self, texts: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
        // [texts, tokens]
        let ids = Tensor::from_vec(texts.concat(), (texts.len(), texts[0].len()), &Device::Cpu)?;
        // [texts, tokens, dim]
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, None)?;
        let pooled = match self.pooling {
            Pooling::Mean => hidden.mean(1)?,
            Pooling::Cls => hidden.narrow(1, 0, 1)?.squeeze(1)?,
        };
        Ok(pooled.to_vec2()?.into_iter().map(unit).collect())
    }
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedder").field("pooling", &self.pooling).field("max_tokens", &self.max_tokens).finish()
    }
}

impl Pooling {
    fn read(path: &Path) -> Result<Self> {
        let config: PoolingConfig = read_json(path)?;
        let others = config.pooling_mode_max_tokens || config.pooling_mode_mean_sqrt_len_tokens;
        match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, others) {
            (true, false, false) => Ok(Self::Mean),
            (false, true, false) => Ok(Self::Cls),
            _ => {
                Err(Error::model_file(path, "the pooling is neither the mean of the tokens nor the first token alone"))
            }
        }
    }
}

/// The vector divided by its length; a zero vector stays zero.
fn unit(vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return vector;
    }
    vector.into_iter().map(|x| (f64::from(x) / norm) as f32).collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(Error::io("read", path))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = read(path)?;
    serde_json::from_slice(&bytes).map_err(|err| Error::model_file(path, format!("not the expected JSON: {err}")))
}

fn load_weights(path: &Path, config: &Config) -> Result<BertModel> {
    let weights = VarBuilder::from_buffered_safetensors(read(path)?, DType::F32, &Device::Cpu);
    let wrong = |err: candle_core::Error| Error::model_file(path, format!("not weights of a BERT model: {err}"));
    BertModel::load(weights.map_err(wrong)?, config).map_err(wrong)
}

/// The tokenizer without the truncation and padding that its file may ask for.
fn load_tokenizer(path: &Path) -> Result<Tokenizer> {
    let wrong = |err: tokenizers::Error| Error::model_file(path, format!("not a tokenizer: {err}"));
    let mut tokenizer = Tokenizer::from_bytes(read(path)?).map_err(wrong)?;
    tokenizer.with_truncation(None).map_err(wrong)?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
