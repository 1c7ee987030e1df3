//! The tier of plain Rust: what the others must equal.

use std::array::from_fn;

use half::{bf16, f16};

use super::{Code, LANES, STEP_BYTES, Simd};

/// Plain Rust.
#[derive(Debug, Clone, Copy)]
pub struct Scalar;

impl Simd for Scalar {
    const GROUP: usize = 1;
    const PANELS: usize = 1;
    const ROWS: usize = 1;

    type F32 = [f32; LANES];
    type I32 = [i32; LANES];
    type Weights = [u8; STEP_BYTES];
    type Sum = [i32; LANES];
    type Scales = [i32; LANES];
    type Pairs = [i32; 2 * LANES];

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F32 {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::F32 {
        *from
    }

    #[inline(always)]
    fn load_f16(self, from: &[u16; LANES]) -> Self::F32 {
        from.map(|bits| f16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16; LANES]) -> Self::F32 {
        from.map(|bits| bf16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    fn store(self, x: Self::F32, to: &mut [f32; LANES]) {
        *to = x;
    }

    #[inline(always)]
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] - b[i])
    }

    #[inline(always)]
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] / b[i])
    }

    #[inline(always)]
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        from_fn(|i| libm::fmaf(a[i], b[i], c[i]))
    }

    #[inline(always)]
    fn fnma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        from_fn(|i| libm::fmaf(-a[i], b[i], c[i]))
    }

    #[inline(always)]
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn max_lanes(self, x: Self::F32) -> f32 {
        x.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }

    #[inline(always)]
    fn round(self, x: Self::F32) -> Self::I32 {
        x.map(|x| x.round_ties_even() as i32)
    }

    #[inline(always)]
    fn exp2(self, n: Self::I32) -> Self::F32 {
        n.map(|n| f32::from_bits(((n + 127) << 23) as u32))
    }

    #[inline(always)]
    fn splat_int(self, x: i32) -> Self::I32 {
        [x; LANES]
    }

    #[inline(always)]
    fn add_int(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        from_fn(|i| a[i].wrapping_add(b[i]))
    }

    #[inline(always)]
    fn mul_int(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        from_fn(|i| a[i].wrapping_mul(b[i]))
    }

    #[inline(always)]
    fn to_float(self, x: Self::I32) -> Self::F32 {
        x.map(|x| x as f32)
    }

    #[inline(always)]
    fn to_codes(self, x: Self::F32) -> ([i8; LANES], [i16; 2]) {
        let codes = self.round(x).map(|code| code as i8);
        let mut pairs = [0; 2];
        for (idx, &code) in codes.iter().enumerate() {
            pairs[idx % 4 / 2] += i16::from(code);
        }
        (codes, pairs)
    }

    #[inline(always)]
    fn unpack(self, packed: &[u8; STEP_BYTES], to: &mut [[u8; STEP_BYTES]; 2]) {
        *to = [packed.map(|byte| byte & 15), packed.map(|byte| byte >> 4)];
    }

    #[inline(always)]
    fn add_plane(self, codes: &mut [u8; STEP_BYTES], bits: u64, value: u8) {
        for (idx, code) in codes.iter_mut().enumerate() {
            *code += (bits >> idx & 1) as u8 * value;
        }
    }

    #[inline(always)]
    fn weights(self, _: Code, step: &[u8; STEP_BYTES]) -> Self::Weights {
        *step
    }

    #[inline(always)]
    fn scales(self, from: &[i8; LANES]) -> Self::Scales {
        from.map(i32::from)
    }

    #[inline(always)]
    fn begin(self, code: Code, pairs: [i16; 2]) -> Self::Sum {
        [-code.offset * (i32::from(pairs[0]) + i32::from(pairs[1])); LANES]
    }

    #[inline(always)]
    fn step(self, _: Code, sum: Self::Sum, weights: Self::Weights, activations: [i8; 4]) -> Self::Sum {
        let product = |lane: usize, j: usize| i32::from(weights[4 * lane + j]) * i32::from(activations[j]);
        from_fn(|lane| sum[lane] + (0..4).map(|j| product(lane, j)).sum::<i32>())
    }

    #[inline(always)]
    fn end(self, _: Code, sum: Self::Sum, _: [i16; 2]) -> Self::I32 {
        sum
    }

    #[inline(always)]
    fn end_scaled(self, _: Code, sum: Self::Sum, _: [i16; 2], scales: Self::Scales) -> Self::I32 {
        self.mul_int(sum, scales)
    }

    #[inline(always)]
    fn pairs(self, coded: &[u8; 2 * LANES]) -> Self::Pairs {
        coded.map(i32::from)
    }

    #[inline(always)]
    fn add_pairs(self, sum: Self::I32, ab: Self::Pairs, xy: [i16; 2]) -> Self::I32 {
        from_fn(|i| sum[i] + ab[2 * i] * i32::from(xy[0]) + ab[2 * i + 1] * i32::from(xy[1]))
    }

    #[inline(always)]
    fn prefetch(self, _: *const u8) {}
}
