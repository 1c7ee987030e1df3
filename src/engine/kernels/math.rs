//! Functions on rows of f32: how are they computed so that every machine gets the same bits?
//!
//! Every operation is one that IEEE 754 rounds exactly (fused multiply-add by name, never by the compiler's choice), in
//! a fixed order. The platform's libm is not used, its results differ between versions.

use super::Cpu;
use super::simd::{self, LANES, Simd, Task};

/// The sum of the lanes: those eight apart are added first, then those four, two and one apart.
#[inline(always)]
pub fn sum_lanes<S: Simd>(simd: S, x: S::F32) -> f32 {
    let mut lanes = [0.0; LANES];
    simd.store(x, &mut lanes);
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0]
}

/// e^x with a relative error below 2e-7 for -87 <= x <= 88; smaller arguments give e^-87, larger ones e^88.
///
/// Cody and Waite's reduction x = n ln 2 + r with |r| <= ln 2 / 2, then the Taylor polynomial of degree 7 in r, whose
/// remainder (ln 2 / 2)^8 / 8! is 5e-9.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::F32) -> S::F32 {
    // ln 2 in two parts; the upper one has trailing zeros, so that n * LN2_HI is exact.
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    let x = simd.min(simd.max(x, simd.splat(-87.0)), simd.splat(88.0));
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let whole = simd.to_float(n);
    let r = simd.fnma(whole, simd.splat(LN2_LO), simd.fnma(whole, simd.splat(LN2_HI), x));
    let mut poly = simd.splat(1.0 / 5040.0);
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        poly = simd.fma(poly, r, simd.splat(coefficient));
    }
    simd.mul(poly, simd.exp2(n))
}

/// Up to sixteen floats; lanes beyond them are 0.
#[inline(always)]
pub(super) fn load_part<S: Simd>(simd: S, from: &[f32]) -> S::F32 {
    match from.first_chunk() {
        Some(whole) => simd.load(whole),
        None => {
            let mut lanes = [0.0; LANES];
            lanes[..from.len()].copy_from_slice(from);
            simd.load(&lanes)
        }
    }
}

/// Writes up to sixteen lanes.
#[inline(always)]
pub(super) fn store_part<S: Simd>(simd: S, x: S::F32, to: &mut [f32]) {
    match to.first_chunk_mut() {
        Some(whole) => simd.store(x, whole),
        None => {
            let mut lanes = [0.0; LANES];
            simd.store(x, &mut lanes);
            to.copy_from_slice(&lanes[..to.len()]);
        }
    }
}

/// The dot product of two rows of equal length: sixteen sums over every sixteenth element, added as
/// [`sum_lanes`] says.
pub fn dot(cpu: &Cpu, a: &[f32], b: &[f32]) -> f32 {
    simd::run(cpu.tier, Dot { a, b })
}

struct Dot<'a> {
    a: &'a [f32],
    b: &'a [f32],
}

impl Task for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let mut sum = simd.splat(0.0);
        for (a, b) in self.a.chunks(LANES).zip(self.b.chunks(LANES)) {
            sum = simd.fma(load_part(simd, a), load_part(simd, b), sum);
        }
        sum_lanes(simd, sum)
    }
}

/// RMS norm (Zhang and Sennrich 2019) of each row: x / sqrt(mean(x^2) + eps) * weight.
///
/// `x` and `out` are `[rows, n]`, `weight` is `[n]`.
pub fn rms_norm(cpu: &Cpu, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let n = weight.len();
    cpu.pool.for_chunks(out, n * row_chunk(n), |chunk, out| {
        let x = &x[chunk * row_chunk(n) * n..][..out.len()];
        simd::run(cpu.tier, RmsNorm { x, weight, eps, out });
    });
}

/// Rows that a thread takes at a time: some ten thousand floats, since fewer are not worth the asking.
pub(super) fn row_chunk(n: usize) -> usize {
    16_384_usize.div_ceil(n.max(1))
}

struct RmsNorm<'a> {
    x: &'a [f32],
    weight: &'a [f32],
    eps: f32,
    out: &'a mut [f32],
}

impl Task for RmsNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n = self.weight.len();
        for (x, out) in self.x.chunks_exact(n).zip(self.out.chunks_exact_mut(n)) {
            let mut squares = simd.splat(0.0);
            for x in x.chunks(LANES) {
                let x = load_part(simd, x);
                squares = simd.fma(x, x, squares);
            }
            let mean = sum_lanes(simd, squares) / n as f32;
            let factor = simd.splat(1.0 / (mean + self.eps).sqrt());
            let parts = x.chunks(LANES).zip(self.weight.chunks(LANES)).zip(out.chunks_mut(LANES));
            for ((x, weight), out) in parts {
                let scaled = simd.mul(load_part(simd, x), factor);
                store_part(simd, simd.mul(scaled, load_part(simd, weight)), out);
            }
        }
    }
}

/// silu(gate) * up, element by element, in the place of `gate`; silu(x) = x / (1 + e^-x) (Shazeer 2020, section 2).
pub fn swiglu(cpu: &Cpu, gate: &mut [f32], up: &[f32]) {
    cpu.pool.for_chunks(gate, row_chunk(1), |chunk, gate| {
        let up = &up[chunk * row_chunk(1)..][..gate.len()];
        simd::run(cpu.tier, SwiGlu { gate, up });
    });
}

struct SwiGlu<'a> {
    gate: &'a mut [f32],
    up: &'a [f32],
}

impl Task for SwiGlu<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let one = simd.splat(1.0);
        for (gate, up) in self.gate.chunks_mut(LANES).zip(self.up.chunks(LANES)) {
            let x = load_part(simd, gate);
            let denominator = simd.add(one, exp(simd, simd.sub(simd.splat(0.0), x)));
            store_part(simd, simd.mul(simd.div(x, denominator), load_part(simd, up)), gate);
        }
    }
}

/// x + y, element by element, in the place of `x`.
pub fn add(cpu: &Cpu, x: &mut [f32], y: &[f32]) {
    cpu.pool.for_chunks(x, row_chunk(1), |chunk, x| {
        let y = &y[chunk * row_chunk(1)..][..x.len()];
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernels::pool::Pool;
    use crate::engine::kernels::simd::Tier;
    use crate::engine::kernels::testing::floats;

    /// Sixteen values of exp on a tier.
    struct Exp([f32; LANES]);

    impl Task for Exp {
        type Output = [f32; LANES];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [f32; LANES] {
            let mut out = [0.0; LANES];
            simd.store(exp(simd, simd.load(&self.0)), &mut out);
            out
        }
    }

    fn exps(x: f32) -> Vec<f32> {
        let exp = |tier| simd::run(tier, Exp([x; LANES]))[LANES - 1];
        Tier::available().into_iter().map(exp).collect()
    }

    fn cpus() -> Vec<Cpu> {
        Tier::available().into_iter().map(|tier| Cpu { pool: Pool::new(2), tier }).collect()
    }

    #[test]
    fn exp_agrees_with_libm_within_its_stated_error_and_on_all_tiers() {
        for step in -8700..=8800 {
            let x = step as f32 / 100.0;
            let reference = libm::exp(f64::from(x));
            let ours = exps(x);
            assert!(ours.iter().all(|y| y.to_bits() == ours[0].to_bits()), "exp({x}) differs between tiers: {ours:?}");
            let error = (f64::from(ours[0]) - reference).abs();
            assert!(error <= 2e-7 * reference, "exp({x}) is {}, libm says {reference}", ours[0]);
        }
    }

    #[test]
    fn exp_of_extremes_is_finite() {
        let exp = |x| exps(x)[0];
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), exp(-87.0));
        assert_eq!(exp(f32::INFINITY), exp(88.0));
        assert!(exp(88.0).is_finite() && exp(-87.0) > 0.0);
    }

    #[test]
    fn dot_covers_every_length() {
        for len in [0, 1, LANES - 1, LANES, LANES + 1, 64, 100] {
            let a: Vec<f32> = (0..len).map(|i| i as f32).collect();
            // 0 + 1 + ... + (n - 1) = n (n - 1) / 2, exact in f32 at these sizes.
            let expected = (len * len.saturating_sub(1) / 2) as f32;
            cpus().iter().for_each(|cpu| assert_eq!(dot(cpu, &a, &vec![1.0; len]), expected));
        }
    }

    #[test]
    fn rms_norm_divides_by_the_root_of_the_mean_square() {
        for cpu in cpus() {
            // Squares 1, 4, 9 and 16, mean 7.5, with eps 0.5 the root of 8.
            let mut out = [0.0; 8];
            rms_norm(&cpu, &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0], &[1.0, 1.0, 2.0, 1.0], 0.5, &mut out);
            let root = 8f32.sqrt();
            let expected = [1.0 / root, 2.0 / root, 6.0 / root, 4.0 / root, 0.0, 0.0, 0.0, 0.0];
            for (ours, expected) in out.iter().zip(expected) {
                assert!((ours - expected).abs() < 1e-6, "{out:?}");
            }
        }
    }

    #[test]
    fn swiglu_multiplies_silu_of_the_gate_by_up() {
        for cpu in cpus() {
            let mut gate = [0.0, 1.0, -2.0];
            swiglu(&cpu, &mut gate, &[5.0, 3.0, 2.0]);
            // silu(1) = 1 / (1 + e^-1) = 0.7310586, silu(-2) = -2 / (1 + e^2) = -0.2384058
            for (ours, expected) in gate.iter().zip([0.0, 2.193_175_8, -0.476_811_7]) {
                assert!((ours - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn every_tier_gives_the_same_bits() {
        for n in [1, 15, 16, 17, 576] {
            let (x, y) = (floats(1, 40 * n), floats(2, 40 * n));
            let all: Vec<_> = cpus()
                .iter()
                .map(|cpu| {
                    let mut normed = vec![0.0; x.len()];
                    rms_norm(cpu, &x, &y[..n], 1e-5, &mut normed);
                    let mut gate = x.clone();
                    swiglu(cpu, &mut gate, &y);
                    add(cpu, &mut gate, &y);
                    (normed, gate, dot(cpu, &x, &y).to_bits())
                })
                .collect();
            assert!(all.iter().all(|one| *one == all[0]), "{n}");
        }
    }
}
