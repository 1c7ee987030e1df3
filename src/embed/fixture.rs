//! Builds a small BERT model with random weights for tests.

use std::collections::BTreeMap;
use std::fs;

use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::testing::floats;

/// Tokens: one that is not known, the small letters, and some that no text has.
pub const N_VOCAB: usize = 50;
/// Four heads of ten: neither is a multiple of sixteen.
pub const WIDTH: usize = 40;
/// Width of the intermediate layer.
pub const WIDE: usize = 72;
const N_LAYERS: usize = 2;
const N_POSITIONS: usize = 300;

/// A folder of a model, to be written as it is or changed first.
pub struct Model {
    /// `config.json`
    pub config: Value,
    /// `1_Pooling/config.json`
    pub pooling: Value,
    /// How floats are written.
    pub dtype: Dtype,
    /// Shapes and elements by name.
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Model {
    /// A right one of two layers, whose texts have up to 256 letters.
    pub fn new() -> Self {
        let config = json!({
            "model_type": "bert", "vocab_size": N_VOCAB, "hidden_size": WIDTH, "num_hidden_layers": N_LAYERS,
            "num_attention_heads": 4, "intermediate_size": WIDE, "hidden_act": "gelu",
            "max_position_embeddings": N_POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "hidden_dropout_prob": 0.1, "initializer_range": 0.02, "pad_token_id": 0,
        });
        let pooling = json!({ "pooling_mode_mean_tokens": true });
        let mut model = Self { config, pooling, dtype: Dtype::F32, tensors: BTreeMap::new() };
        for (name, n_rows) in [("word", N_VOCAB), ("position", N_POSITIONS), ("token_type", 2)] {
            model.add(&format!("embeddings.{name}_embeddings.weight"), &[n_rows, WIDTH], 0.0);
        }
        model.add_norm("embeddings.LayerNorm");
        for layer in 0..N_LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for part in ["query", "key", "value"] {
                model.add_linear(&name(&format!("attention.self.{part}")), WIDTH, WIDTH);
            }
            model.add_linear(&name("attention.output.dense"), WIDTH, WIDTH);
            model.add_norm(&name("attention.output.LayerNorm"));
            model.add_linear(&name("intermediate.dense"), WIDE, WIDTH);
            model.add_linear(&name("output.dense"), WIDTH, WIDE);
            model.add_norm(&name("output.LayerNorm"));
        }
        model
    }

    fn add(&mut self, name: &str, shape: &[usize], centre: f32) {
        let seed = self.tensors.len() as u32;
        let values = floats(seed, shape.iter().product()).into_iter().map(|x| centre + 0.4 * x).collect();
        self.tensors.insert(name.to_owned(), (shape.to_vec(), values));
    }

    fn add_linear(&mut self, name: &str, n_out: usize, n_in: usize) {
        self.add(&format!("{name}.weight"), &[n_out, n_in], 0.0);
        self.add(&format!("{name}.bias"), &[n_out], 0.0);
    }

    fn add_norm(&mut self, name: &str) {
        self.add(&format!("{name}.weight"), &[WIDTH], 1.0);
        self.add(&format!("{name}.bias"), &[WIDTH], 0.0);
    }

    /// Gives every tensor another name.
    pub fn rename(&mut self, new_name: impl Fn(&str) -> String) {
        let tensors = std::mem::take(&mut self.tensors);
        self.tensors = tensors.into_iter().map(|(name, tensor)| (new_name(&name), tensor)).collect();
    }

    /// Writes the folder.
    pub fn write(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        write("config.json", self.config.to_string().as_bytes());
        write("1_Pooling/config.json", self.pooling.to_string().as_bytes());
        write("sentence_bert_config.json", br#"{"max_seq_length": 256}"#);
        let tokens = std::iter::once("[UNK]".to_owned()).chain(('a'..='z').map(String::from));
        let vocab: BTreeMap<String, u32> = tokens.zip(0..).collect();
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": { "type": "Whitespace" }, "post_processor": null, "decoder": null,
            "model": { "type": "BPE", "vocab": vocab, "merges": [], "unk_token": "[UNK]" },
        });
        write("tokenizer.json", tokenizer.to_string().as_bytes());
        let bytes: Vec<Vec<u8>> = self.tensors.values().map(|(_, values)| encode(self.dtype, values)).collect();
        let views = self.tensors.iter().zip(&bytes).map(|((name, (shape, _)), bytes)| {
            (name, TensorView::new(self.dtype, shape.clone(), bytes).expect("the shape fits"))
        });
        write("model.safetensors", &safetensors::serialize(views, None).unwrap());
        folder
    }
}

fn encode(dtype: Dtype, values: &[f32]) -> Vec<u8> {
    let bytes = |x: &f32| match dtype {
        Dtype::F32 => x.to_le_bytes().to_vec(),
        Dtype::F16 => f16::from_f32(*x).to_le_bytes().to_vec(),
        Dtype::BF16 => bf16::from_f32(*x).to_le_bytes().to_vec(),
        _ => vec![0; 8],
    };
    values.iter().flat_map(bytes).collect()
}
