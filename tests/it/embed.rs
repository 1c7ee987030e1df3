//! The real embedder: are its vectors those of candle's BERT, and the same in any batch?

use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::BertModel;
use ndarray::{Array2, Axis};

use crate::weights::MINILM;

/// The largest difference of a component of a unit vector: six layers in f32, summed in other orders.
const BOUND: f32 = 1e-6;
const MIN_COSINE: f32 = 0.99999;

/// 64 texts of 2 to 250 tokens, windows of the quickstart's samples.
fn texts(tokens: impl Fn(&str) -> Vec<u32>) -> Vec<Vec<u32>> {
    let path = format!("{}/examples/quickstart.jsonl", env!("CARGO_MANIFEST_DIR"));
    let all = tokens(&fs::read_to_string(path).expect("the example is part of the repository"));
    (0..64).map(|idx| all[7 * idx..][..2 + idx * 37 % 249].to_vec()).collect()
}

/// Unit vectors as candle computes them, each text by itself.
fn candle(folder: &Path, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
    let config = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).unwrap();
    let model = BertModel::load(weights, &config).unwrap();
    let embed = |tokens: &Vec<u32>| {
        let ids = Tensor::from_vec(tokens.clone(), (1, tokens.len()), &Device::Cpu).unwrap();
        let hidden = model.forward(&ids, &ids.zeros_like().unwrap(), None).unwrap();
        let mean: Vec<f32> = hidden.mean(1).unwrap().squeeze(0).unwrap().to_vec1().unwrap();
        let length = mean.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        mean.into_iter().map(|x| (f64::from(x) / length) as f32).collect()
    };
    texts.iter().map(embed).collect()
}

#[test]
fn minilm_vectors_are_those_of_candle() {
    let (Some(folder), Some(embedder)) = (MINILM.folder(), MINILM.embedder(2)) else { return };
    let texts = texts(|text| embedder.tokens(text).unwrap());
    let ours = embedder.embed(&texts).unwrap();
    let mut largest = 0f32;
    for (ours, expected) in ours.rows().into_iter().zip(candle(&folder, &texts)) {
        let cosine: f32 = ours.iter().zip(&expected).map(|(x, y)| x * y).sum();
        assert!(cosine >= MIN_COSINE, "cosine {cosine}");
        largest = ours.iter().zip(&expected).fold(largest, |largest, (x, y)| largest.max((x - y).abs()));
    }
    println!("largest difference of a component: {largest:.2e}");
    assert!(largest <= BOUND, "{largest:e}");
}

#[test]
fn minilm_vectors_have_the_same_bits_in_any_order_and_by_any_number_of_threads() {
    let (Some(one), Some(two)) = (MINILM.embedder(1), MINILM.embedder(2)) else { return };
    let texts = texts(|text| one.tokens(text).unwrap());
    let together: Array2<f32> = one.embed(&texts).unwrap();
    assert!(two.embed(&texts).unwrap() == together, "two threads");
    let reversed: Vec<Vec<u32>> = texts.iter().rev().cloned().collect();
    let mut rows = two.embed(&reversed).unwrap();
    rows.invert_axis(Axis(0));
    assert!(rows == together, "in reverse order");
    for (idx, text) in texts.iter().enumerate() {
        assert!(two.embed(std::slice::from_ref(text)).unwrap().row(0) == together.row(idx), "text {idx} alone");
    }
}
