//! Elementary functions on rows of f32: how are exp and dot computed so that every machine gets the same bits?
//!
//! Every operation is one that IEEE 754 rounds exactly (fused multiply-add by name, never by the compiler's choice), in
//! a fixed order: the compiler may use any vector width, the result stays the same. The platform's libm is not used, its
//! results differ between versions.

/// Independent partial sums of a reduction. Element `i` goes to lane `i % LANES`, and the lanes are added pairwise.
pub const LANES: usize = 8;

/// Dot products are computed for this many rows side by side: one row alone would wait for its own additions.
pub const ROWS: usize = 8;

/// The dot product of two rows of equal length.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dot_from(0, a, b, [0.0; LANES])
}

/// The dot products of `query` with each of the rows, which are as long.
#[inline(always)]
pub fn dots(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    rows.map(|row| dot(query, row))
}

/// [`dots`] with AVX2 and FMA: the same operations on the same lanes, so the same bits.
///
/// # Panics
/// If a row is shorter than the query.
///
/// # Safety
/// The processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub fn dots_avx2(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps};

    assert!(rows.iter().all(|row| row.len() >= query.len()), "a row is as long as the query");
    let n_whole = query.len() / LANES * LANES;
    let mut sums = [_mm256_setzero_ps(); ROWS];
    for start in (0..n_whole).step_by(LANES) {
        // SAFETY: start + LANES is at most the length of the query, which no row is shorter than.
        unsafe {
            let x = _mm256_loadu_ps(query.as_ptr().add(start));
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = _mm256_fmadd_ps(x, _mm256_loadu_ps(row.as_ptr().add(start)), *sum);
            }
        }
    }
    let mut out = [0.0; ROWS];
    for ((out, sum), row) in out.iter_mut().zip(sums).zip(rows) {
        let mut lanes = [0.0; LANES];
        // SAFETY: `lanes` has room for the eight floats of a register.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), sum) };
        *out = dot_from(n_whole, query, row, lanes);
    }
    out
}

/// The dot product from element `start`, a multiple of [`LANES`], on top of what the lanes hold.
#[inline(always)]
fn dot_from(start: usize, a: &[f32], b: &[f32], mut lanes: [f32; LANES]) -> f32 {
    let (mut a_chunks, mut b_chunks) = (a[start..].chunks_exact(LANES), b[start..a.len()].chunks_exact(LANES));
    for (x, y) in (&mut a_chunks).zip(&mut b_chunks) {
        for lane in 0..LANES {
            lanes[lane] = x[lane].mul_add(y[lane], lanes[lane]);
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_chunks.remainder().iter().zip(b_chunks.remainder())) {
        *lane = x.mul_add(*y, *lane);
    }
    sum_lanes(lanes)
}

/// The sum of a row.
#[inline(always)]
pub fn sum(a: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let chunks = a.chunks_exact(LANES);
    let tail = chunks.remainder();
    for x in chunks {
        for lane in 0..LANES {
            lanes[lane] += x[lane];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(tail) {
        *lane += x;
    }
    sum_lanes(lanes)
}

#[inline(always)]
fn sum_lanes(l: [f32; LANES]) -> f32 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

/// e^x with a relative error below 2e-7 for -87 <= x <= 88; smaller arguments give e^-87, larger ones e^88.
///
/// Cody and Waite's reduction x = n ln 2 + r with |r| <= ln 2 / 2, then the Taylor polynomial of degree 7 in r, whose
/// remainder (ln 2 / 2)^8 / 8! is 5e-9.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it leaves the nearest integer in the low bits of the mantissa.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the upper one has trailing zeros, so that n * LN2_HI is exact.
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let r = (x - n * LN2_HI) - n * LN2_LO;
    let mut poly = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        poly = poly * r + coefficient;
    }
    poly * f32::from_bits(((n as i32 + 127) << 23) as u32)
}

/// SiLU, x / (1 + e^-x), the gate of SwiGLU (Shazeer 2020, section 2).
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_libm_within_its_stated_error() {
        for step in -8700..=8800 {
            let x = step as f32 / 100.0;
            let (ours, reference) = (f64::from(exp(x)), libm::exp(f64::from(x)));
            assert!((ours - reference).abs() <= 2e-7 * reference, "exp({x}) is {ours}, libm says {reference}");
        }
    }

    #[test]
    fn exp_of_extremes_is_finite() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), exp(-87.0));
        assert_eq!(exp(f32::INFINITY), exp(88.0));
        assert!(exp(88.0).is_finite() && exp(-87.0) > 0.0);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn dots_with_avx2_have_the_bits_of_plain_ones() {
        use crate::engine::kernels::testing::floats;
        if !(std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")) {
            println!("this processor has no AVX2: there is nothing to compare");
            return;
        }
        for len in [0, 1, 7, 8, 9, 64, 74, 128] {
            let all = floats(7, 9 * len);
            let (query, rest) = all.split_at(len);
            let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &rest[row * len..][..len]);
            // SAFETY: the processor has AVX2 and FMA, as was just asked.
            let wide = unsafe { dots_avx2(query, rows) };
            assert_eq!(wide.map(f32::to_bits), dots(query, rows).map(f32::to_bits), "{len}");
        }
    }

    #[test]
    fn dot_and_sum_cover_every_length() {
        for len in [0, 1, LANES - 1, LANES, LANES + 1, 64, 100] {
            let a: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let ones = vec![1.0; len];
            // 0 + 1 + ... + (n - 1) = n (n - 1) / 2, exact in f32 at these sizes.
            let expected = (len * len.saturating_sub(1) / 2) as f32;
            assert_eq!(dot(&a, &ones), expected);
            assert_eq!(sum(&a), expected);
        }
    }
}
