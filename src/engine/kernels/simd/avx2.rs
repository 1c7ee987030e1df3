//! The tier of AVX2: two registers a vector, products summed in 16 bits as far as they are exact.

use std::arch::x86_64::*;

use super::{Code, LANES, STEP_BYTES, Simd, Task};

/// Proof that the processor has AVX2, FMA and F16C.
#[derive(Debug, Clone, Copy)]
pub struct Avx2(());

/// Runs a task compiled for this tier.
///
/// # Panics
/// If the processor does not have it.
pub fn run<T: Task>(task: T) -> T::Output {
    assert!(super::Tier::available().contains(&super::Tier::Avx2), "this processor has no AVX2 with FMA and F16C");
    // SAFETY: the processor has the instructions, as just asked.
    unsafe { compiled(task) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn compiled<T: Task>(task: T) -> T::Output {
    task.run(Avx2(()))
}

/// Sixteen codes as bytes, and the sums of bytes 0, 1 (mod 4) and of bytes 2, 3 (mod 4).
///
/// # Safety
/// The processor must have SSSE3.
#[inline(always)]
pub unsafe fn codes_and_pairs(codes: __m128i) -> ([i8; LANES], [i16; 2]) {
    // SAFETY: the caller answers for the instructions; the store fills the array exactly.
    unsafe {
        // Eight sums of two neighbours; those at even places belong together, and those at odd ones.
        let twos = _mm_maddubs_epi16(_mm_set1_epi8(1), codes);
        let fours = _mm_add_epi16(twos, _mm_bsrli_si128::<8>(twos));
        let pairs = _mm_cvtsi128_si32(_mm_add_epi16(fours, _mm_bsrli_si128::<4>(fours)));
        let mut out = [0i8; LANES];
        _mm_storeu_si128(out.as_mut_ptr().cast(), codes);
        (out, [pairs as i16, (pairs >> 16) as i16])
    }
}

/// Two i16 as one lane of 32 bits.
#[inline(always)]
pub fn pairs_as_int([a, b]: [i16; 2]) -> i32 {
    (u32::from(a as u16) | u32::from(b as u16) << 16) as i32
}

type Floats = [__m256; 2];
type Ints = [__m256i; 2];

impl Simd for Avx2 {
    const GROUP: usize = 3;
    const PANELS: usize = 1;
    const ROWS: usize = 6;

    type F32 = Floats;
    type I32 = Ints;
    type Weights = Ints;
    /// Of each four products two sums of two, in 16 bits; for codes of eight bits one sum of four in 32 bits.
    type Sum = Ints;
    /// Each scale twice, in 16 bits.
    type Scales = Ints;
    type Pairs = Ints;

    operations! {
        fn splat(self, x: f32) -> Floats { [_mm256_set1_ps(x); 2] }
        fn load(self, from: &[f32; LANES]) -> Floats {
            [_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))]
        }
        fn load_f16(self, from: &[u16; LANES]) -> Floats {
            let half = |i| _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().add(i).cast()));
            [half(0), half(8)]
        }
        fn load_bf16(self, from: &[u16; LANES]) -> Floats {
            let wide = |i| _mm256_cvtepu16_epi32(_mm_loadu_si128(from.as_ptr().add(i).cast()));
            [wide(0), wide(8)].map(|x| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(x)))
        }
        fn store(self, x: Floats, to: &mut [f32; LANES]) {
            _mm256_storeu_ps(to.as_mut_ptr(), x[0]);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), x[1]);
        }
        fn add(self, a: Floats, b: Floats) -> Floats { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
        fn sub(self, a: Floats, b: Floats) -> Floats { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
        fn mul(self, a: Floats, b: Floats) -> Floats { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
        fn div(self, a: Floats, b: Floats) -> Floats { [_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])] }
        fn fma(self, a: Floats, b: Floats, c: Floats) -> Floats {
            [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])]
        }
        fn fnma(self, a: Floats, b: Floats, c: Floats) -> Floats {
            [_mm256_fnmadd_ps(a[0], b[0], c[0]), _mm256_fnmadd_ps(a[1], b[1], c[1])]
        }
        fn min(self, a: Floats, b: Floats) -> Floats { [_mm256_min_ps(a[0], b[0]), _mm256_min_ps(a[1], b[1])] }
        fn max(self, a: Floats, b: Floats) -> Floats { [_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])] }
        fn max_lanes(self, x: Floats) -> f32 {
            let eight = _mm256_max_ps(x[0], x[1]);
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
        fn round(self, x: Floats) -> Ints { [_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1])] }
        fn exp2(self, n: Ints) -> Floats {
            let bias = _mm256_set1_epi32(127);
            n.map(|n| _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(n, bias))))
        }
        fn splat_int(self, x: i32) -> Ints { [_mm256_set1_epi32(x); 2] }
        fn add_int(self, a: Ints, b: Ints) -> Ints { [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])] }
        fn mul_int(self, a: Ints, b: Ints) -> Ints { [_mm256_mullo_epi32(a[0], b[0]), _mm256_mullo_epi32(a[1], b[1])] }
        fn to_float(self, x: Ints) -> Floats { [_mm256_cvtepi32_ps(x[0]), _mm256_cvtepi32_ps(x[1])] }
        fn to_codes(self, x: Floats) -> ([i8; LANES], [i16; 2]) {
            let [low, high] = self.round(x);
            // Packing works within halves of a register: lanes 0-3, 8-11, 4-7, 12-15.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
            let codes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            codes_and_pairs(codes)
        }
        fn unpack(self, packed: &[u8; STEP_BYTES], to: &mut [[u8; STEP_BYTES]; 2]) {
            let nibble = _mm256_set1_epi8(15);
            for half in [0, 32] {
                let packed = _mm256_loadu_si256(packed.as_ptr().add(half).cast());
                let high = _mm256_and_si256(_mm256_srli_epi16::<4>(packed), nibble);
                _mm256_storeu_si256(to[0].as_mut_ptr().add(half).cast(), _mm256_and_si256(packed, nibble));
                _mm256_storeu_si256(to[1].as_mut_ptr().add(half).cast(), high);
            }
        }
        fn add_plane(self, codes: &mut [u8; STEP_BYTES], bits: u64, value: u8) {
            // Byte i of a register looks at bit i % 8 of byte i / 8 of the bits.
            let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let place = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
            for half in 0..2 {
                let spread = _mm256_shuffle_epi8(_mm256_set1_epi32((bits >> (32 * half)) as i32), place);
                let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
                let at = codes.as_mut_ptr().add(32 * half).cast::<__m256i>();
                let add = _mm256_and_si256(is_set, _mm256_set1_epi8(value as i8));
                _mm256_storeu_si256(at, _mm256_add_epi8(_mm256_loadu_si256(at), add));
            }
        }
        fn weights(self, code: Code, step: &[u8; STEP_BYTES]) -> Ints {
            let half = |i| _mm256_loadu_si256(step.as_ptr().add(i).cast());
            let halves = [half(0), half(32)];
            if code.bits < 8 { halves } else { halves.map(|x| _mm256_xor_si256(x, _mm256_set1_epi8(i8::MIN))) }
        }
        fn scales(self, from: &[i8; LANES]) -> Ints {
            let half = |i| _mm256_cvtepi8_epi32(_mm_loadl_epi64(from.as_ptr().add(i).cast()));
            let low = _mm256_set1_epi32(0xffff);
            [half(0), half(8)].map(|x| _mm256_or_si256(_mm256_slli_epi32::<16>(x), _mm256_and_si256(x, low)))
        }
        fn begin(self, code: Code, pairs: [i16; 2]) -> Ints {
            if code.bits == 8 { return [_mm256_setzero_si256(); 2] }
            let pairs = _mm256_set1_epi32(pairs_as_int(pairs));
            [_mm256_mullo_epi16(pairs, _mm256_set1_epi16(-code.centre() as i16)); 2]
        }
        fn step(self, code: Code, sum: Ints, weights: Ints, activations: [i8; 4]) -> Ints {
            let x = _mm256_set1_epi32(i32::from_ne_bytes(activations.map(|x| x as u8)));
            if code.bits == 8 {
                // |w| (x sign(w)): at most 2 * 128 * 127 = 32512 for two neighbours.
                let twos = |w| _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
                let fours = |w| _mm256_madd_epi16(twos(w), _mm256_set1_epi16(1));
                return [_mm256_add_epi32(sum[0], fours(weights[0])), _mm256_add_epi32(sum[1], fours(weights[1]))];
            }
            // With 4 bits 16 products of at most 15 * 127 fit 16 bits. With 5 or 6 the sum may wrap on the way, but what
            // it ends at is centred and fits: 16 * 16 * 127 over 32 elements, 8 * 32 * 127 over 16.
            let add = |sum, w| _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, x));
            [add(sum[0], weights[0]), add(sum[1], weights[1])]
        }
        fn end(self, code: Code, sum: Ints, pairs: [i16; 2]) -> Ints {
            // Codes of eight bits were made signed, as if 128 had been taken from each.
            let (sum, taken) = if code.bits == 8 {
                (sum, 128)
            } else {
                (sum.map(|sum| _mm256_madd_epi16(sum, _mm256_set1_epi16(1))), code.centre())
            };
            let missing = (taken - code.offset) * (i32::from(pairs[0]) + i32::from(pairs[1]));
            if taken == code.offset { sum } else { self.add_int(sum, self.splat_int(missing)) }
        }
        fn end_scaled(self, code: Code, sum: Ints, pairs: [i16; 2], scales: Ints) -> Ints {
            let scaled = [_mm256_madd_epi16(sum[0], scales[0]), _mm256_madd_epi16(sum[1], scales[1])];
            if code.centre() == code.offset { return scaled }
            // Each lane holds its scale twice: times (missing, 0) it is the scale times what was taken too much.
            let missing = (code.centre() - code.offset) * (i32::from(pairs[0]) + i32::from(pairs[1]));
            let plain = scales.map(|x| _mm256_srai_epi32::<16>(x));
            self.add_int(scaled, self.mul_int(plain, self.splat_int(missing)))
        }
        fn pairs(self, coded: &[u8; 2 * LANES]) -> Ints {
            let half = |i| _mm256_cvtepu8_epi16(_mm_loadu_si128(coded.as_ptr().add(i).cast()));
            [half(0), half(16)]
        }
        fn add_pairs(self, sum: Ints, ab: Ints, xy: [i16; 2]) -> Ints {
            let xy = _mm256_set1_epi32(pairs_as_int(xy));
            self.add_int(sum, ab.map(|ab| _mm256_madd_epi16(ab, xy)))
        }
        fn prefetch(self, at: *const u8) { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}
