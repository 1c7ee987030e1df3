//! `arithmetic 1` as it is defined, from the blocks of a GGUF file and nothing else; only tests compute it.

use half::f16;

use super::ggml::Decoded;
use super::{Format, SUPER};

/// The product of one row of activations and one row of weights.
pub fn dot(format: Format, blocks: &[u8], x: &[f32]) -> f32 {
    let spec = format.spec();
    let per_chunk = if spec.is_super { SUPER } else { 32 };
    let mut sum = 0f32;
    for (block, x) in blocks.chunks_exact(spec.ggml_bytes).zip(x.chunks_exact(per_chunk)) {
        let weights = Decoded::read(format, block);
        let (codes, x_scale) = code(x);
        let [d, m] = weights.floats[0].map(|bits| f16::from_bits(bits).to_f32());
        let total = |range: std::ops::Range<usize>| codes[range].iter().sum::<i32>();
        let product = |idx: usize| (i32::from(weights.codes[idx]) - spec.code.offset) * codes[idx];
        if spec.is_super {
            let parts = 0..SUPER / spec.sub;
            let range = |part: usize| part * spec.sub..(part + 1) * spec.sub;
            let scaled = |part: usize| i32::from(weights.scales[part]) * range(part).map(product).sum::<i32>();
            let integers: i32 = parts.clone().map(scaled).sum();
            let mut value = integers as f32 * d;
            if spec.has_min {
                let minima: i32 = parts.map(|part| i32::from(weights.mins[part]) * total(range(part))).sum();
                value = libm::fmaf(-(minima as f32), m, value);
            }
            sum = libm::fmaf(value, x_scale, sum);
        } else {
            let integers: i32 = (0..32).map(product).sum();
            sum = libm::fmaf(integers as f32 * x_scale, d, sum);
            if spec.has_min {
                sum = libm::fmaf(m, x_scale * total(0..32) as f32, sum);
            }
        }
    }
    sum
}

/// A block of activations as integers, and their scale.
fn code(x: &[f32]) -> (Vec<i32>, f32) {
    let largest = x.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    if largest < 1e-30 {
        return (vec![0; x.len()], 0.0);
    }
    let factor = 127.0 / largest;
    (x.iter().map(|x| (x * factor).round_ties_even() as i32).collect(), largest / 127.0)
}
