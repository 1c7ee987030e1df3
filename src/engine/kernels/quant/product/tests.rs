use super::super::super::Cpu;
use super::super::super::strips::{Output, product};
use super::super::super::testing::{bytes, floats};
use super::super::reference;
use super::*;

/// Blocks of random codes with scales that are finite and of a usual size.
fn blocks(format: Format, seed: u32, n: usize) -> Vec<u8> {
    let spec = format.spec();
    let mut out = bytes(seed, n * spec.ggml_bytes);
    for (idx, block) in out.chunks_exact_mut(spec.ggml_bytes).enumerate() {
        let scale = |which: usize| half::f16::from_f32(0.01 + 0.001 * ((idx + which) % 7) as f32).to_le_bytes();
        let places: &[usize] = match (format, spec.has_min) {
            (Format::Q6K, _) => &[208],
            (_, true) => &[0, 2],
            (_, false) => &[0],
        };
        places.iter().for_each(|&at| block[at..at + 2].copy_from_slice(&scale(at)));
    }
    out
}

/// The most extreme codes there are: all bits set, or none.
fn extremes(format: Format, n: usize) -> Vec<u8> {
    let mut out = blocks(format, 1, n);
    let scales = out.clone();
    for (idx, byte) in out.iter_mut().enumerate() {
        let in_block = idx % format.spec().ggml_bytes;
        let is_float =
            if format == Format::Q6K { in_block >= 208 } else { in_block < if format.spec().has_min { 4 } else { 2 } };
        *byte = if is_float {
            scales[idx]
        } else if idx / 300 % 2 == 0 {
            0xff
        } else {
            0
        };
    }
    out
}

fn check(tier: Tier, n_threads: usize, format: Format, weights: &[u8], x: &[f32], n_in: usize) {
    let cpu = Cpu { pool: super::super::super::pool::Pool::new(n_threads), tier };
    let row_bytes = n_in / format.spec().block() * format.spec().ggml_bytes;
    let (n_rows, n_out) = (x.len() / n_in, weights.len() / row_bytes);
    let panels = Panels::new(&cpu, format, weights, n_out, n_in).expect("scales are finite");
    let mut codes = Activations::default();
    codes.code(&cpu, x, n_in, panels.block());
    let mut out = vec![0.0; n_rows * n_out];
    product(&cpu, &codes, &mut [Output { weights: &panels, bias: None, out: &mut out }]);
    for (row, x) in x.chunks_exact(n_in).enumerate() {
        for (column, weights) in weights.chunks_exact(row_bytes).enumerate() {
            let expected = reference::dot(format, weights, x);
            let ours = out[row * n_out + column];
            assert_eq!(
                ours.to_bits(),
                expected.to_bits(),
                "{format:?} {tier:?} {n_threads} threads, {n_rows} x {n_in} x {n_out} at {row}, {column}: {ours} {expected}"
            );
        }
    }
}

#[test]
fn every_tier_gives_the_bits_of_the_definition() {
    for format in Format::ALL {
        let block = format.spec().block();
        for (n_blocks, n_out) in [(1, 1), (1, 33), (2, 16), (3, 32), (9, 47), (17, 3)] {
            let n_in = n_blocks * block;
            let weights = blocks(format, 7, n_out * n_blocks);
            for n_rows in [1, 2, 3, 5, 6, 7, 13] {
                let x = floats(n_rows as u32, n_rows * n_in);
                for tier in Tier::available() {
                    check(tier, 1 + n_rows % 2, format, &weights, &x, n_in);
                }
            }
        }
    }
}

#[test]
fn every_number_of_rows_gives_the_same_bits() {
    for format in Format::ALL {
        let n_in = format.spec().block() * 2;
        let weights = blocks(format, 3, 5 * 2);
        for n_rows in 1..=70 {
            check(Tier::best(), 2, format, &weights, &floats(9, n_rows * n_in), n_in);
        }
        check(Tier::best(), 2, format, &weights, &floats(9, 533 * n_in), n_in);
    }
}

#[test]
fn extreme_codes_do_not_overflow() {
    for format in Format::ALL {
        let n_blocks = 8;
        let n_in = format.spec().block() * n_blocks;
        let weights = extremes(format, 34 * n_blocks);
        // Magnitudes are equal, so that every code is 127 or -127.
        let x: Vec<f32> = (0..4 * n_in).map(|i| if i / n_in % 2 == 0 || i % 3 == 0 { 2.0 } else { -2.0 }).collect();
        for tier in Tier::available() {
            check(tier, 1, format, &weights, &x, n_in);
        }
    }
}

#[test]
fn zero_and_tiny_activations_give_zero() {
    for format in Format::ALL {
        let n_in = format.spec().block();
        let weights = blocks(format, 5, 2);
        for tier in Tier::available() {
            check(tier, 1, format, &weights, &vec![0.0; n_in], n_in);
            check(tier, 1, format, &weights, &vec![1e-35; n_in], n_in);
        }
    }
}

#[test]
fn product_is_near_the_exact_one_of_decoded_weights() {
    let cpu = Cpu::new(2);
    for format in Format::ALL {
        let (n_in, n_out) = (1536, 20);
        let weights = blocks(format, 11, n_out * n_in / format.spec().block());
        let panels = Panels::new(&cpu, format, &weights, n_out, n_in).expect("scales are finite");
        let x = floats(2, n_in);
        let mut out = vec![0.0; n_out];
        let mut codes = Activations::default();
        codes.code(&cpu, &x, n_in, panels.block());
        product(&cpu, &codes, &mut [Output { weights: &panels, bias: None, out: &mut out }]);
        for (column, ours) in out.iter().enumerate() {
            let mut weights = vec![0.0; n_in];
            panels.decode(column, &mut weights);
            let products = || weights.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x));
            let size = products().map(|p| p * p).sum::<f64>().sqrt();
            // A code is off by up to half a step of 1/127 of the largest element, here below 1/254 in 1; the errors of 1536
            // elements add as their root, and 0.02 is five times what that comes to.
            assert!((f64::from(*ours) - products().sum::<f64>()).abs() < 0.02 * size, "{format:?} column {column}");
        }
    }
}
