//! The tier of AVX-512 with VNNI: one register a vector, four products a lane in one instruction.

use std::arch::x86_64::*;

use super::{Code, LANES, STEP_BYTES, Simd, Task};

/// Proof that the processor has AVX-512 F, BW, VL and VNNI.
#[derive(Debug, Clone, Copy)]
pub struct Avx512(());

/// Runs a task compiled for this tier.
///
/// # Panics
/// If the processor does not have it.
pub fn run<T: Task>(task: T) -> T::Output {
    assert!(super::Tier::available().contains(&super::Tier::Avx512), "this processor has no AVX-512 with VNNI");
    // SAFETY: the processor has the instructions, as just asked.
    unsafe { compiled(task) }
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512vnni")]
fn compiled<T: Task>(task: T) -> T::Output {
    task.run(Avx512(()))
}

impl Simd for Avx512 {
    const GROUP: usize = 6;
    const PANELS: usize = 2;
    const ROWS: usize = 14;

    type F32 = __m512;
    type I32 = __m512i;
    type Weights = __m512i;
    type Sum = __m512i;
    type Scales = __m512i;
    type Pairs = __m512i;

    #[inline(always)]
    fn end(self, _: Code, sum: __m512i, _: [i16; 2]) -> __m512i {
        sum
    }

    operations! {
        fn splat(self, x: f32) -> __m512 { _mm512_set1_ps(x) }
        fn load(self, from: &[f32; LANES]) -> __m512 { _mm512_loadu_ps(from.as_ptr()) }
        fn load_f16(self, from: &[u16; LANES]) -> __m512 { _mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())) }
        fn load_bf16(self, from: &[u16; LANES]) -> __m512 {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
        fn store(self, x: __m512, to: &mut [f32; LANES]) { _mm512_storeu_ps(to.as_mut_ptr(), x) }
        fn add(self, a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        fn sub(self, a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
        fn mul(self, a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fn div(self, a: __m512, b: __m512) -> __m512 { _mm512_div_ps(a, b) }
        fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
        fn fnma(self, a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fnmadd_ps(a, b, c) }
        fn min(self, a: __m512, b: __m512) -> __m512 { _mm512_min_ps(a, b) }
        fn max(self, a: __m512, b: __m512) -> __m512 { _mm512_max_ps(a, b) }
        fn max_lanes(self, x: __m512) -> f32 { _mm512_reduce_max_ps(x) }
        fn round(self, x: __m512) -> __m512i { _mm512_cvtps_epi32(x) }
        fn exp2(self, n: __m512i) -> __m512 {
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_add_epi32(n, _mm512_set1_epi32(127))))
        }
        fn splat_int(self, x: i32) -> __m512i { _mm512_set1_epi32(x) }
        fn add_int(self, a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        fn mul_int(self, a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi32(a, b) }
        fn to_float(self, x: __m512i) -> __m512 { _mm512_cvtepi32_ps(x) }
        fn to_codes(self, x: __m512) -> ([i8; LANES], [i16; 2]) {
            super::avx2::codes_and_pairs(_mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)))
        }
        fn unpack(self, packed: &[u8; STEP_BYTES], to: &mut [[u8; STEP_BYTES]; 2]) {
            let packed = _mm512_loadu_si512(packed.as_ptr().cast());
            let nibble = _mm512_set1_epi8(15);
            _mm512_storeu_si512(to[0].as_mut_ptr().cast(), _mm512_and_si512(packed, nibble));
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(packed), nibble);
            _mm512_storeu_si512(to[1].as_mut_ptr().cast(), high);
        }
        fn add_plane(self, codes: &mut [u8; STEP_BYTES], bits: u64, value: u8) {
            let old = _mm512_loadu_si512(codes.as_ptr().cast());
            let new = _mm512_mask_add_epi8(old, bits, old, _mm512_set1_epi8(value as i8));
            _mm512_storeu_si512(codes.as_mut_ptr().cast(), new);
        }
        fn weights(self, _code: Code, step: &[u8; STEP_BYTES]) -> __m512i { _mm512_loadu_si512(step.as_ptr().cast()) }
        fn scales(self, from: &[i8; LANES]) -> __m512i { _mm512_cvtepi8_epi32(_mm_loadu_si128(from.as_ptr().cast())) }
        fn begin(self, code: Code, pairs: [i16; 2]) -> __m512i {
            let pairs = _mm512_set1_epi32(super::avx2::pairs_as_int(pairs));
            _mm512_madd_epi16(pairs, _mm512_set1_epi16(-code.offset as i16))
        }
        fn step(self, _code: Code, sum: __m512i, weights: __m512i, activations: [i8; 4]) -> __m512i {
            let activations = _mm512_set1_epi32(i32::from_ne_bytes(activations.map(|x| x as u8)));
            _mm512_dpbusd_epi32(sum, weights, activations)
        }
        fn end_scaled(self, _code: Code, sum: __m512i, _pairs: [i16; 2], scales: __m512i) -> __m512i {
            _mm512_mullo_epi32(sum, scales)
        }
        fn pairs(self, coded: &[u8; 2 * LANES]) -> __m512i {
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(coded.as_ptr().cast()))
        }
        fn add_pairs(self, sum: __m512i, ab: __m512i, xy: [i16; 2]) -> __m512i {
            _mm512_dpwssd_epi32(sum, ab, _mm512_set1_epi32(super::avx2::pairs_as_int(xy)))
        }
        fn prefetch(self, at: *const u8) { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}
