//! GELU (Hendrycks and Gimpel 2016): x times the share of a normal distribution below x, in both forms that models use.

use super::Cpu;
use super::math::{load_part, row_chunk, store_part};
use super::simd::{self, LANES, Simd, Task};

/// The form of GELU that a model was trained with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gelu {
    /// x / 2 (1 + erf(x / sqrt 2)): `gelu`.
    Erf,
    /// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): `gelu_new`, `gelu_pytorch_tanh`.
    Tanh,
}

/// An odd function that is near -1 or 1 outside of `-limit..=limit`: x P(x^2) / Q(x^2) inside, its end outside.
///
/// Coefficients are those of a fit of x P / Q to the function in f64 that makes the largest error on 6000 points small
/// (least squares, weighted anew until errors are level), rounded to f32; the constant of Q is 1.
struct Sigmoid {
    limit: f32,
    p: [f32; 7],
    q: [f32; 5],
}

/// erf with an error below 4e-7.
const ERF: Sigmoid = Sigmoid {
    limit: 3.875,
    p: [1.1283789, 2.0190133e-1, 5.084444e-2, 3.8024383e-3, 1.4565657e-4, -2.0011598e-6, 2.0377914e-8],
    q: [1.0, 5.122597e-1, 1.1582834e-1, 1.4535871e-2, 9.852425e-4],
};

/// tanh with an error below 4e-7.
const TANH: Sigmoid = Sigmoid {
    limit: 9.0,
    p: [1.0, 1.3853161e-1, 4.090756e-3, 3.2927124e-5, 4.5510493e-8, -3.1466524e-11, 2.5434043e-14],
    q: [1.0, 4.7186494e-1, 2.8045742e-2, 4.3443326e-4, 1.6641944e-6],
};

impl Gelu {
    /// Replaces each element by its GELU, with an error below 3e-7 of the element's size.
    pub fn apply(self, cpu: &Cpu, x: &mut [f32]) {
        cpu.pool.for_chunks(x, row_chunk(1), |_, x| match self {
            Self::Erf => simd::run(cpu.tier, Apply::<true> { x }),
            Self::Tanh => simd::run(cpu.tier, Apply::<false> { x }),
        });
    }
}

struct Apply<'a, const IS_ERF: bool> {
    x: &'a mut [f32],
}

impl<const IS_ERF: bool> Task for Apply<'_, IS_ERF> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for part in self.x.chunks_mut(LANES) {
            let x = load_part(simd, part);
            let half = simd.mul(x, simd.splat(0.5));
            let sigmoid = if IS_ERF { erf_of_gelu(simd, x) } else { tanh_of_gelu(simd, x) };
            store_part(simd, simd.fma(half, sigmoid, half), part);
        }
    }
}

#[inline(always)]
fn erf_of_gelu<S: Simd>(simd: S, x: S::F32) -> S::F32 {
    ERF.at(simd, simd.mul(x, simd.splat(std::f32::consts::FRAC_1_SQRT_2)))
}

#[inline(always)]
fn tanh_of_gelu<S: Simd>(simd: S, x: S::F32) -> S::F32 {
    // With y = sqrt(2 / pi) x the cubic term is 0.044715 pi / 2 y^3.
    let y = simd.mul(x, simd.splat(0.797_884_6));
    let cubic = simd.mul(simd.mul(y, y), simd.splat(0.070_238_16));
    TANH.at(simd, simd.fma(cubic, y, y))
}

impl Sigmoid {
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, x: S::F32) -> S::F32 {
        let x = simd.min(simd.max(x, simd.splat(-self.limit)), simd.splat(self.limit));
        let square = simd.mul(x, x);
        simd.div(simd.mul(x, polynomial(simd, square, &self.p)), polynomial(simd, square, &self.q))
    }
}

/// The polynomial with these coefficients, that of x^0 first.
#[inline(always)]
fn polynomial<S: Simd>(simd: S, x: S::F32, coefficients: &[f32]) -> S::F32 {
    let mut sum = simd.splat(0.0);
    for coefficient in coefficients.iter().rev() {
        sum = simd.fma(sum, x, simd.splat(*coefficient));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::pool::Pool;
    use super::super::simd::Tier;
    use super::*;

    /// As stated: of the element's size.
    const GELU_ERROR: f64 = 3e-7;
    const SIGMOID_ERROR: f64 = 4e-7;

    fn reference(gelu: Gelu, x: f64) -> f64 {
        let sigmoid = match gelu {
            Gelu::Erf => libm::erf(x / 2f64.sqrt()),
            Gelu::Tanh => libm::tanh((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))),
        };
        x / 2.0 * (1.0 + sigmoid)
    }

    struct At<'a>(&'a Sigmoid, f32);

    impl Task for At<'_> {
        type Output = f32;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> f32 {
            let mut out = [0.0; LANES];
            simd.store(self.0.at(simd, simd.splat(self.1)), &mut out);
            out[0]
        }
    }

    #[test]
    fn erf_and_tanh_agree_with_libm_within_their_stated_error() {
        for step in -12_000..=12_000 {
            let x = step as f32 / 1000.0;
            for (sigmoid, expected) in [(&ERF, libm::erf(f64::from(x))), (&TANH, libm::tanh(f64::from(x)))] {
                let ours = simd::run(Tier::best(), At(sigmoid, x));
                assert!((f64::from(ours) - expected).abs() <= SIGMOID_ERROR, "at {x}: {ours}, expected {expected}");
            }
        }
    }

    #[test]
    fn gelu_agrees_with_libm_and_has_the_same_bits_on_every_tier() {
        let x: Vec<f32> = (-20_001..=20_000).map(|step| step as f32 / 2000.0).collect();
        for gelu in [Gelu::Erf, Gelu::Tanh] {
            let compute = |tier, n_threads, len: usize| {
                let mut out = x[..len].to_vec();
                gelu.apply(&Cpu { pool: Pool::new(n_threads), tier }, &mut out);
                out
            };
            let scalar = compute(Tier::Scalar, 1, x.len());
            for (x, ours) in x.iter().zip(&scalar) {
                let (x, ours) = (f64::from(*x), f64::from(*ours));
                let expected = reference(gelu, x);
                assert!(
                    (ours - expected).abs() <= GELU_ERROR * x.abs(),
                    "{gelu:?} of {x}: {ours}, expected {expected}"
                );
            }
            for tier in Tier::available() {
                for len in [0, 1, 15, 16, 17, x.len()] {
                    assert!(compute(tier, 2, len) == scalar[..len], "{gelu:?} {tier:?}, {len} elements");
                }
            }
        }
    }

    #[test]
    fn large_elements_keep_their_size_or_vanish() {
        for gelu in [Gelu::Erf, Gelu::Tanh] {
            let mut x = [1e30, -1e30];
            gelu.apply(&Cpu::new(1), &mut x);
            assert!((x[0] / 1e30 - 1.0).abs() <= 3e-7 && (x[1] / 1e30).abs() <= 3e-7, "{gelu:?}: {x:?}");
        }
    }
}
