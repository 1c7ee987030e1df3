//! Elementary functions on rows of f32: how are exp and dot computed so that every machine gets the same bits?
//!
//! Every operation is one that IEEE 754 rounds exactly (fused multiply-add by name, never by the compiler's choice), in
//! a fixed order: the compiler may use any vector width, the result stays the same. The platform's libm is not used, its
//! results differ between versions.

/// Independent partial sums of a reduction. Element `i` goes to lane `i % LANES`, and the lanes are added pairwise.
pub const LANES: usize = 8;

/// Dot products are computed for this many rows side by side: one row alone would wait for its own additions.
const ROWS: usize = 8;

/// The dot product of two rows of equal length.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut out = [0.0];
    dots(a, [b], &mut out);
    out[0]
}

/// The dot products of `query` with each of `rows`, into `out`.
#[inline(always)]
pub fn dots_of<'a>(query: &[f32], mut rows: impl Iterator<Item = &'a [f32]>, out: &mut [f32]) {
    let mut chunks = out.chunks_exact_mut(ROWS);
    for out in &mut chunks {
        let block: [&[f32]; ROWS] = std::array::from_fn(|_| rows.next().expect("there is a row for every result"));
        dots(query, block, out);
    }
    for (out, row) in chunks.into_remainder().iter_mut().zip(rows) {
        *out = dot(query, row);
    }
}

#[inline(always)]
fn dots<const N: usize>(query: &[f32], rows: [&[f32]; N], out: &mut [f32]) {
    let mut lanes = [[0f32; LANES]; N];
    let n_whole = query.len() / LANES * LANES;
    for start in (0..n_whole).step_by(LANES) {
        let x: &[f32; LANES] = query[start..start + LANES].try_into().expect("the range is LANES long");
        for (lanes, row) in lanes.iter_mut().zip(rows) {
            let y: &[f32; LANES] = row[start..start + LANES].try_into().expect("the range is LANES long");
            for lane in 0..LANES {
                lanes[lane] = x[lane].mul_add(y[lane], lanes[lane]);
            }
        }
    }
    for ((out, lanes), row) in out.iter_mut().zip(&mut lanes).zip(rows) {
        for (lane, (x, y)) in lanes.iter_mut().zip(query[n_whole..].iter().zip(&row[n_whole..])) {
            *lane = x.mul_add(*y, *lane);
        }
        *out = sum_lanes(*lanes);
    }
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
