//! Sentence embeddings: where does a text point?

mod bert;
mod config;
#[cfg(test)]
mod fixture;
mod reference;
mod tensors;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::Tokenizer;

use self::bert::Bert;
use self::config::Config;
use self::reference::Reference;
use crate::engine::Device;
use crate::engine::kernels::Cpu;
#[cfg(test)]
use crate::engine::kernels::testing;
use crate::error::{Error, Result};

/// The name of a device's arithmetic in run headers: vectors are comparable bit by bit only under the same name.
pub fn arithmetic(device: Device) -> &'static str {
    match device {
        Device::Cpu => "f32 bert 1",
        Device::CpuReference => "candle 0.11.1 bert",
    }
}

/// A sentence-embedding model in memory.
///
/// Read from a folder as `sentence-transformers` writes it: `model.safetensors`, `config.json`, `tokenizer.json`,
/// `1_Pooling/config.json` and `sentence_bert_config.json`.
pub struct Embedder {
    encoder: Encoder,
    tokenizer: Tokenizer,
    pooling: Pooling,
    max_tokens: usize,
    dim: usize,
    n_vocab: usize,
}

/// An encoder on some device.
enum Encoder {
    Kernels(Bert),
    Candle(Reference),
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

/// Tokens computed at once, unless a single text has more. What a layer hands on stays in the cache; 2048 take 7 % longer
/// on one core, 256 take 3 % less but leave little for more cores to share.
const MAX_TOKENS: usize = 512;

impl Embedder {
    /// Loads the model of a folder to compute on `device`, by our kernels on `cpu`.
    ///
    /// # Errors
    /// If a file is missing or broken, or the model is of a kind that this program cannot run.
    pub fn load(folder: &Path, cpu: &Arc<Cpu>, device: Device) -> Result<Self> {
        let config_path = folder.join("config.json");
        let ModelType { model_type } = read_json(&config_path)?;
        if model_type != "bert" {
            let message = format!("the model type is `{model_type}`, expected `bert`");
            return Err(Error::model_file(&config_path, message));
        }
        let config: Config = read_json(&config_path)?;
        let SentenceConfig { max_seq_length } = read_json(&folder.join("sentence_bert_config.json"))?;
        let weights_path = folder.join("model.safetensors");
        let weights = read(&weights_path)?;
        let encoder = match device {
            Device::Cpu => Encoder::Kernels(Bert::new(&weights_path, &weights, &config, cpu.clone())?),
            Device::CpuReference => Encoder::Candle(Reference::new(&weights_path, weights, &config)?),
        };
        Ok(Self {
            encoder,
            tokenizer: load_tokenizer(&folder.join("tokenizer.json"))?,
            pooling: Pooling::read(&folder.join("1_Pooling").join("config.json"))?,
            max_tokens: max_seq_length.min(config.max_position_embeddings),
            dim: config.hidden_size,
            n_vocab: config.vocab_size,
        })
    }

    /// Memory that its weights take.
    pub fn weight_bytes(&self) -> usize {
        match &self.encoder {
            Encoder::Kernels(model) => model.weight_bytes(),
            Encoder::Candle(model) => model.weight_bytes(),
        }
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

    /// Unit vectors `[n, dim]` of texts given as [`Embedder::tokens`]. A text's vector does not depend on the others.
    ///
    /// # Errors
    /// If a text is longer than [`Embedder::max_tokens`], has no token, or one that the model does not have; or if
    /// candle fails, on that device.
    pub fn embed(&self, texts: &[Vec<u32>]) -> Result<Array2<f32>> {
        texts.iter().try_for_each(|tokens| self.check(tokens))?;
        let vectors = match &self.encoder {
            Encoder::Kernels(model) => self.embed_packs(model, texts),
            Encoder::Candle(model) => model.embed(texts, self.pooling)?,
        };
        let vectors: Vec<f32> = vectors.into_iter().flat_map(unit).collect();
        Ok(Array2::from_shape_vec((texts.len(), self.dim), vectors).expect("every vector has the model's width"))
    }

    /// The vectors of texts by our kernels, some texts at a time.
    fn embed_packs(&self, model: &Bert, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        let n_tokens: usize = texts.iter().map(Vec::len).sum();
        let mut scratch = model.scratch(n_tokens.min(MAX_TOKENS.max(longest)));
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let (pack, after) = rest.split_at(pack_len(rest));
            let mut hidden = model.forward(pack, &mut scratch);
            for tokens in pack {
                let (own, others) = hidden.split_at(tokens.len() * self.dim);
                vectors.push(self.pooling.pool(own, self.dim));
                hidden = others;
            }
            rest = after;
        }
        vectors
    }

    fn check(&self, tokens: &[u32]) -> Result<()> {
        let (n_tokens, n_vocab) = (tokens.len(), self.n_vocab);
        if n_tokens == 0 {
            return Err(Error::usage("a text has no token, expected at least one", ""));
        }
        if n_tokens > self.max_tokens {
            let message = format!("the text has {n_tokens} tokens, the embedder's window is {}", self.max_tokens);
            return Err(Error::usage(message, ""));
        }
        match tokens.iter().find(|&&token| token as usize >= n_vocab) {
            Some(token) => Err(Error::usage(format!("the text has token {token}, the embedder knows {n_vocab}"), "")),
            None => Ok(()),
        }
    }
}

/// How many of the texts, at least one, are computed next.
fn pack_len(texts: &[Vec<u32>]) -> usize {
    let mut n_tokens = 0;
    let fits = |tokens: &&Vec<u32>| {
        n_tokens += tokens.len();
        n_tokens <= MAX_TOKENS
    };
    texts.iter().take_while(fits).count().max(1)
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

    /// The vector of a text from those of its tokens, `[tokens, dim]`.
    fn pool(self, hidden: &[f32], dim: usize) -> Vec<f32> {
        let mut vector = hidden[..dim].to_vec();
        if self == Self::Mean {
            for token in hidden[dim..].chunks_exact(dim) {
                vector.iter_mut().zip(token).for_each(|(sum, x)| *sum += x);
            }
            let n_tokens = (hidden.len() / dim) as f32;
            vector.iter_mut().for_each(|sum| *sum /= n_tokens);
        }
        vector
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

/// The tokenizer without the truncation and padding that its file may ask for.
fn load_tokenizer(path: &Path) -> Result<Tokenizer> {
    let wrong = |err: tokenizers::Error| Error::model_file(path, format!("not a tokenizer: {err}"));
    let mut tokenizer = Tokenizer::from_bytes(read(path)?).map_err(wrong)?;
    tokenizer.with_truncation(None).map_err(wrong)?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
