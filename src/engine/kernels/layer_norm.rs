//! Layer normalisation (Ba et al. 2016): how are mean and variance summed so that every machine gets the same bits?
//!
//! Element `i` of a row is summed in lane `i % 16`, and the lanes are added as `sum_lanes` says. A row is computed alone.

use super::Cpu;
use super::math::{load_part, row_chunk, store_part, sum_lanes};
use super::simd::{self, LANES, Simd, Task};

/// What normalised rows are scaled by and moved by.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNorm {
    /// gamma, `[width]`
    pub weight: Vec<f32>,
    /// beta, `[width]`
    pub bias: Vec<f32>,
    /// Added to the variance.
    pub eps: f32,
}

impl LayerNorm {
    /// Replaces each row of `x`, `[rows, width]`, by (y - mean(y)) / sqrt(var(y) + eps) * gamma + beta, where y is the
    /// row plus that of `more`; the variance is the mean of the squared distances to the mean.
    ///
    /// # Panics
    /// If the lengths differ or rows are not whole.
    pub fn add_and_normalise(&self, cpu: &Cpu, x: &mut [f32], more: &[f32]) {
        let width = self.weight.len();
        assert!(x.len() == more.len() && x.len().is_multiple_of(width), "both have the same whole rows");
        let chunk_floats = width * row_chunk(width);
        cpu.pool.for_chunks(x, chunk_floats, |chunk, x| {
            let more = &more[chunk * chunk_floats..][..x.len()];
            simd::run(cpu.tier, Rows { norm: self, x, more });
        });
    }
}

struct Rows<'a> {
    norm: &'a LayerNorm,
    x: &'a mut [f32],
    more: &'a [f32],
}

impl Task for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let width = self.norm.weight.len();
        for (row, more) in self.x.chunks_exact_mut(width).zip(self.more.chunks_exact(width)) {
            let mut sum = simd.splat(0.0);
            for (x, more) in row.chunks_mut(LANES).zip(more.chunks(LANES)) {
                let y = simd.add(load_part(simd, x), load_part(simd, more));
                store_part(simd, y, x);
                sum = simd.add(sum, y);
            }
            let means = [sum_lanes(simd, sum) / width as f32; LANES];
            let mut squares = simd.splat(0.0);
            for x in row.chunks(LANES) {
                let distance = distance(simd, x, &means);
                squares = simd.fma(distance, distance, squares);
            }
            let variance = sum_lanes(simd, squares) / width as f32;
            let factor = simd.splat(1.0 / (variance + self.norm.eps).sqrt());
            let parts = self.norm.weight.chunks(LANES).zip(self.norm.bias.chunks(LANES));
            for (x, (weight, bias)) in row.chunks_mut(LANES).zip(parts) {
                let unit = simd.mul(distance(simd, x, &means), factor);
                store_part(simd, simd.fma(unit, load_part(simd, weight), load_part(simd, bias)), x);
            }
        }
    }
}

/// Up to sixteen floats minus the mean; lanes beyond them are 0.
#[inline(always)]
fn distance<S: Simd>(simd: S, x: &[f32], means: &[f32; LANES]) -> S::F32 {
    simd.sub(load_part(simd, x), load_part(simd, &means[..x.len()]))
}

#[cfg(test)]
mod tests {
    use super::super::pool::Pool;
    use super::super::simd::Tier;
    use super::super::testing::floats;
    use super::*;

    /// f32 against f64, for results of up to four and widths of up to 400.
    const BOUND: f64 = 2e-6;

    fn norm(width: usize) -> LayerNorm {
        LayerNorm { weight: floats(1, width), bias: floats(2, width), eps: 1e-5 }
    }

    /// The formula in f64.
    fn reference(norm: &LayerNorm, x: &[f32], more: &[f32]) -> Vec<f64> {
        let y: Vec<f64> = x.iter().zip(more).map(|(x, more)| f64::from(*x) + f64::from(*more)).collect();
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64;
        let unit = y.iter().map(|y| (y - mean) / (variance + f64::from(norm.eps)).sqrt());
        unit.zip(&norm.weight)
            .zip(&norm.bias)
            .map(|((x, weight), bias)| x * f64::from(*weight) + f64::from(*bias))
            .collect()
    }

    #[test]
    fn rows_are_those_of_the_formula_with_the_same_bits_on_every_tier() {
        for width in [1, 15, 16, 17, 312, 384, 400] {
            let (norm, n_rows) = (norm(width), 50);
            let (x, more) = (floats(3, n_rows * width), floats(4, n_rows * width));
            let compute = |tier, n_threads, n_rows: usize| {
                let mut out = x[..n_rows * width].to_vec();
                let cpu = Cpu { pool: Pool::new(n_threads), tier };
                norm.add_and_normalise(&cpu, &mut out, &more[..n_rows * width]);
                out
            };
            let scalar = compute(Tier::Scalar, 1, n_rows);
            for (row, ours) in scalar.chunks_exact(width).enumerate() {
                let range = row * width..(row + 1) * width;
                for (ours, expected) in ours.iter().zip(reference(&norm, &x[range.clone()], &more[range])) {
                    assert!((f64::from(*ours) - expected).abs() <= BOUND, "width {width}: {ours}, expected {expected}");
                }
            }
            for tier in Tier::available() {
                assert!(compute(tier, 2, n_rows) == scalar, "{tier:?}, width {width}");
                assert!(compute(tier, 1, 1) == scalar[..width], "{tier:?}, one row of width {width}");
            }
        }
    }

    #[test]
    fn row_of_equal_elements_becomes_the_bias() {
        let norm = norm(40);
        let mut x = vec![0.25; 40];
        norm.add_and_normalise(&Cpu::new(1), &mut x, &[0.5; 40]);
        assert_eq!(x, norm.bias);
    }
}
