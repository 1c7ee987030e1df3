//! A small model with random weights; candle's BERT is the reference.

use safetensors::Dtype;
use serde_json::{Value, json};

use super::fixture::{Model, N_VOCAB, WIDE, WIDTH};
use super::*;
use crate::engine::kernels::pool::Pool;
use crate::engine::kernels::simd::Tier;

/// The largest difference of a component of a unit vector: two layers in f32, summed in other orders.
const BOUND: f32 = 1e-6;
const MIN_COSINE: f32 = 0.99999;

impl Model {
    fn load(&self, cpu: Cpu) -> Result<Embedder> {
        self.load_on(cpu, Device::Cpu)
    }

    fn load_on(&self, cpu: Cpu, device: Device) -> Result<Embedder> {
        Embedder::load(self.write().path(), &Arc::new(cpu), device)
    }

    fn refusal(&self) -> String {
        self.refusal_on(Device::Cpu)
    }

    fn refusal_on(&self, device: Device) -> String {
        let folder = self.write();
        let err = Embedder::load(folder.path(), &Arc::new(Cpu::new(1)), device).expect_err("the model is broken");
        err.to_string().replace(&format!("{}/", folder.path().display()), "")
    }
}

/// Texts of these many tokens.
fn texts(lengths: &[usize]) -> Vec<Vec<u32>> {
    let text = |(idx, &len): (usize, &usize)| {
        (0..len).map(|position| ((position * position + 7 * idx + 3) % N_VOCAB) as u32).collect()
    };
    lengths.iter().enumerate().map(text).collect()
}

fn check(model: &Model) {
    let texts = texts(&[1, 2, 15, 16, 17, 60, 200]);
    let ours = model.load(Cpu::new(2)).unwrap().embed(&texts).unwrap();
    let expected = model.load_on(Cpu::new(2), Device::CpuReference).unwrap().embed(&texts).unwrap();
    for (ours, expected) in ours.rows().into_iter().zip(expected.rows()) {
        let cosine = ours.dot(&expected);
        assert!(cosine >= MIN_COSINE, "cosine {cosine}");
        for (x, y) in ours.iter().zip(&expected) {
            assert!((x - y).abs() <= BOUND, "{x}, expected {y}");
        }
    }
}

#[test]
fn vectors_are_those_of_candle() {
    check(&Model::new());
    for name in ["gelu_new", "gelu_pytorch_tanh"] {
        let mut model = Model::new();
        model.config["hidden_act"] = json!(name);
        check(&model);
    }
}

#[test]
fn half_precision_weights_are_widened() {
    for dtype in [Dtype::F16, Dtype::BF16] {
        check(&Model { dtype, ..Model::new() });
    }
}

#[test]
fn vector_of_the_first_token_can_be_the_text_s() {
    let pooling = json!({ "pooling_mode_cls_token": true });
    check(&Model { pooling, ..Model::new() });
}

#[test]
fn names_of_older_files_are_known() {
    let texts = texts(&[20]);
    let expected = Model::new().load(Cpu::new(1)).unwrap().embed(&texts).unwrap();
    let old =
        |name: &str| name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
    let prefixed = |name: &str| format!("bert.{name}");
    for new_name in [&old as &dyn Fn(&str) -> String, &prefixed, &|name| prefixed(&old(name))] {
        let mut model = Model::new();
        model.rename(new_name);
        assert_eq!(model.load(Cpu::new(1)).unwrap().embed(&texts).unwrap(), expected);
        check(&model);
    }
}

#[test]
fn vector_has_the_same_bits_in_any_batch_and_on_any_machine() {
    let model = Model::new();
    // 64 texts of 1 to 230 tokens, more than are computed at once.
    let lengths: Vec<usize> = (0..64).map(|idx| idx * 37 % 230 + 1).collect();
    let texts = texts(&lengths);
    assert!(lengths.iter().sum::<usize>() > MAX_TOKENS);
    let best = model.load(Cpu::new(2)).unwrap();
    let together = best.embed(&texts).unwrap();
    for (idx, text) in texts.iter().enumerate() {
        assert!(best.embed(std::slice::from_ref(text)).unwrap().row(0) == together.row(idx), "text {idx} alone");
    }
    let reversed: Vec<Vec<u32>> = texts.iter().rev().cloned().collect();
    let mut rows = best.embed(&reversed).unwrap();
    rows.invert_axis(ndarray::Axis(0));
    assert!(rows == together, "in reverse order");
    for tier in Tier::available() {
        for n_threads in [1, 3] {
            let other = model.load(Cpu { pool: Pool::new(n_threads), tier }).unwrap();
            // The plain tier is slow: some texts show it.
            let n_texts = if tier == Tier::Scalar { 3 } else { texts.len() };
            let rows = other.embed(&texts[..n_texts]).unwrap();
            assert!(rows == together.slice(ndarray::s![..n_texts, ..]), "{tier:?}, {n_threads} threads");
        }
    }
}

#[test]
fn vector_by_candle_has_the_same_bits_in_any_batch() {
    let reference = Model::new().load_on(Cpu::new(2), Device::CpuReference).unwrap();
    let lengths: Vec<usize> = (0..64).map(|idx| idx * 37 % 20 + 1).collect();
    let texts = texts(&lengths);
    let together = reference.embed(&texts).unwrap();
    for (idx, text) in texts.iter().enumerate() {
        assert!(reference.embed(std::slice::from_ref(text)).unwrap().row(0) == together.row(idx), "text {idx} alone");
    }
}

#[test]
fn no_texts_have_no_vectors() {
    assert_eq!(Model::new().load(Cpu::new(1)).unwrap().embed(&[]).unwrap().shape(), [0, WIDTH]);
}

#[test]
fn texts_that_cannot_be_computed_are_refused() {
    let embedder = Model::new().load(Cpu::new(1)).unwrap();
    assert_eq!(embedder.max_tokens(), 256);
    let refusal = |tokens: Vec<u32>| embedder.embed(&[vec![1], tokens]).unwrap_err().to_string();
    assert_eq!(refusal(vec![1; 257]), "the text has 257 tokens, the embedder's window is 256");
    assert_eq!(refusal(vec![49, 50]), "the text has token 50, the embedder knows 50");
    assert_eq!(refusal(vec![]), "a text has no token, expected at least one");
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let name = "encoder.layer.1.output.dense.bias";
    let refused = "model file `model.safetensors`: ";
    let mut model = Model::new();
    model.tensors.get_mut(name).unwrap().1[3] = f32::NAN;
    assert_eq!(model.refusal(), format!("{refused}tensor `{name}` has a weight that is not a finite number"));
    model.tensors.insert(name.to_owned(), (vec![WIDE], vec![0.0; WIDE]));
    assert_eq!(model.refusal(), format!("{refused}tensor `{name}` has the shape [72], expected [40]"));
    model.tensors.remove(name);
    assert_eq!(model.refusal(), format!("{refused}there is no tensor `{name}`"));
    model.tensors.clear();
    assert_eq!(model.refusal(), format!("{refused}there is no tensor `embeddings.word_embeddings.weight`"));

    let mut model = Model::new();
    let name = "encoder.layer.0.intermediate.dense.weight";
    model.tensors.get_mut(name).unwrap().1[WIDE * WIDTH - 1] = f32::INFINITY;
    assert_eq!(model.refusal(), format!("{refused}tensor `{name}` has a weight that is not a finite number"));
    let name = "embeddings.position_embeddings.weight";
    let expected = format!("{refused}tensor `{name}` is of type I64, expected F32, F16 or BF16");
    assert_eq!(Model { dtype: Dtype::I64, ..Model::new() }.refusal(), expected);
}

#[test]
fn weights_that_do_not_fit_are_refused_by_candle() {
    let refused = "model file `model.safetensors`: ";
    let mut model = Model::new();
    model.config["num_attention_heads"] = json!(3);
    let message = format!("{refused}3 heads cannot share a width of 40, or there is no width");
    assert_eq!(model.refusal_on(Device::CpuReference), message);
    let mut model = Model::new();
    model.tensors.clear();
    let refusal = model.refusal_on(Device::CpuReference);
    assert!(refusal.starts_with(&format!("{refused}not weights of a BERT model: ")), "{refusal}");
}

#[test]
fn configurations_that_do_not_fit_are_refused() {
    let refusal = |key: &str, value: Value| {
        let mut model = Model::new();
        model.config[key] = value;
        model.refusal()
    };
    let message = "model file `model.safetensors`: 3 heads cannot share a width of 40, or there is no width";
    assert_eq!(refusal("num_attention_heads", json!(3)), message);
    assert_eq!(refusal("model_type", json!("t5")), "model file `config.json`: the model type is `t5`, expected `bert`");
    let message = "model file `config.json`: not the expected JSON: unknown variant `relu`, expected one of `gelu`, `gelu_new`, `gelu_pytorch_tanh` at";
    assert!(refusal("hidden_act", json!("relu")).starts_with(message), "{}", refusal("hidden_act", json!("relu")));
    let message = "model file `config.json`: not the expected JSON: unknown variant `rotary`, expected `absolute`";
    assert!(refusal("position_embedding_type", json!("rotary")).starts_with(message));
}
