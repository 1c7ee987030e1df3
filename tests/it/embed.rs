//! The real embedder: are its vectors those of candle's BERT, and the same in any batch?

use std::fs;

use ndarray::{Array2, Axis};
use ragstone::engine::Device;

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

#[test]
fn minilm_vectors_are_those_of_candle() {
    let (Some(ours), Some(reference)) = (MINILM.embedder(2), MINILM.embedder_on(2, Device::CpuReference)) else {
        return;
    };
    let texts = texts(|text| ours.tokens(text).unwrap());
    let (ours, expected) = (ours.embed(&texts).unwrap(), reference.embed(&texts).unwrap());
    let mut largest = 0f32;
    for (ours, expected) in ours.rows().into_iter().zip(expected.rows()) {
        let cosine = ours.dot(&expected);
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
