use half::{bf16, f16};

use super::super::Cpu;
use super::super::pool::Pool;
use super::super::simd::Tier;
use super::super::strips::{Output, Strips, product};
use super::super::testing::floats;
use super::*;

/// Weights as a file holds them, and their values.
fn weights(kind: Kind, seed: u32, len: usize) -> (Vec<u8>, Vec<f32>) {
    let values = floats(seed, len);
    let pairs = values.into_iter().map(|x| match kind {
        Kind::F32 => (x.to_le_bytes().to_vec(), x),
        Kind::F16 => (f16::from_f32(x).to_le_bytes().to_vec(), f16::from_f32(x).to_f32()),
        Kind::BF16 => (bf16::from_f32(x).to_le_bytes().to_vec(), bf16::from_f32(x).to_f32()),
    });
    let (bytes, values): (Vec<Vec<u8>>, Vec<f32>) = pairs.unzip();
    (bytes.concat(), values)
}

/// The product as it is defined, `[rows, n_out]`.
fn reference(x: &[f32], weights: &[f32], bias: &[f32], n_in: usize) -> Vec<f32> {
    let output = |x: &[f32], (weights, bias): (&[f32], &f32)| {
        x.iter().zip(weights).fold(0f32, |sum, (x, weight)| libm::fmaf(*weight, *x, sum)) + bias
    };
    x.chunks_exact(n_in)
        .flat_map(|x| weights.chunks_exact(n_in).zip(bias).map(move |column| output(x, column)))
        .collect()
}

fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|x| x.to_bits()).collect()
}

/// Compares rows of a product, of as many rows as are in each of `n_rows`, on these tiers with the definition.
fn check(kind: Kind, n_in: usize, n_out: usize, n_rows: impl IntoIterator<Item = usize>, tiers: &[Tier]) {
    let (bytes, values) = weights(kind, 5, n_out * n_in);
    let (x, bias) = (floats(6, 70 * n_in), floats(7, n_out));
    let expected = bits(&reference(&x, &values, &bias, n_in));
    let n_rows: Vec<usize> = n_rows.into_iter().collect();
    for &tier in tiers {
        for n_threads in [1, 2] {
            let cpu = Cpu { pool: Pool::new(n_threads), tier };
            let panels = Panels::new(&cpu, kind, &bytes, n_out, n_in).expect("weights are finite");
            for &n_rows in &n_rows {
                let mut out = vec![f32::NAN; n_rows * n_out];
                let output = Output { weights: &panels, bias: Some(&bias), out: &mut out };
                product(&cpu, &x[..n_rows * n_in], &mut [output]);
                let is_equal = bits(&out) == expected[..n_rows * n_out];
                assert!(is_equal, "{kind:?} {tier:?}, {n_threads} threads, {n_rows} x {n_in} x {n_out}");
            }
        }
    }
}

#[test]
fn every_tier_gives_the_bits_of_the_definition() {
    for kind in Kind::ALL {
        for n_in in [1, 15, 16, 17, 300] {
            for n_out in [1, 31, 32, 33] {
                check(kind, n_in, n_out, [0, 1, 2, 3, 7, 14, 15], &Tier::available());
            }
        }
    }
}

#[test]
fn every_number_of_rows_gives_the_same_bits() {
    let fast: Vec<Tier> = Tier::available().into_iter().filter(|tier| *tier != Tier::Scalar).collect();
    for kind in Kind::ALL {
        for (n_in, n_out) in [(1, 33), (17, 31), (300, 32), (300, 33)] {
            check(kind, n_in, n_out, 1..=70, &fast);
        }
    }
    check(Kind::F32, 17, 33, 1..=70, &[Tier::Scalar]);
}

#[test]
fn rows_of_several_ranges_are_computed_as_alone() {
    let (n_in, n_out, n_rows) = (40, 35, 600);
    let cpu = Cpu::new(2);
    let (bytes, values) = weights(Kind::F32, 1, n_out * n_in);
    let panels = Panels::new(&cpu, Kind::F32, &bytes, n_out, n_in).expect("weights are finite");
    let x = floats(2, n_rows * n_in);
    let mut out = vec![0.0; n_rows * n_out];
    product(&cpu, x.as_slice(), &mut [Output { weights: &panels, bias: None, out: &mut out }]);
    // Without a bias nothing is added, not even a zero; but adding one changes no bits of a sum that is not -0.
    assert!(bits(&out) == bits(&reference(&x, &values, &vec![0.0; n_out], n_in)));
}

#[test]
fn several_matrices_are_multiplied_at_once() {
    let (n_in, n_outs) = (50, [3, 64, 33]);
    let cpu = Cpu::new(2);
    let x = floats(3, 9 * n_in);
    let matrices = n_outs.map(|n_out| weights(Kind::BF16, n_out as u32, n_out * n_in));
    let panels: Vec<Panels> = matrices
        .iter()
        .zip(n_outs)
        .map(|((bytes, _), n_out)| Panels::new(&cpu, Kind::BF16, bytes, n_out, n_in).expect("weights are finite"))
        .collect();
    let mut outs = n_outs.map(|n_out| vec![0.0; 9 * n_out]);
    let pairs = panels.iter().zip(&mut outs);
    let mut outputs: Vec<Output<'_, Panels>> =
        pairs.map(|(weights, out)| Output { weights, bias: None, out }).collect();
    product(&cpu, x.as_slice(), &mut outputs);
    for ((out, (_, values)), n_out) in outs.iter().zip(&matrices).zip(n_outs) {
        assert!(bits(out) == bits(&reference(&x, values, &vec![0.0; n_out], n_in)), "{n_out} outputs");
    }
}

#[test]
fn columns_are_decoded_as_they_were_stored() {
    let cpu = Cpu::new(1);
    for kind in Kind::ALL {
        let (n_in, n_out) = (17, 33);
        let (bytes, values) = weights(kind, 8, n_out * n_in);
        let panels = Panels::new(&cpu, kind, &bytes, n_out, n_in).expect("weights are finite");
        assert_eq!((panels.n_out(), panels.n_in()), (n_out, n_in));
        // Two strips of 32 columns.
        assert_eq!(panels.bytes(), 64 * n_in * kind.bytes());
        assert_eq!(panels.bytes(), Panels::bytes_of(kind, n_out, n_in));
        let mut out = vec![0.0; n_in];
        for (column, values) in values.chunks_exact(n_in).enumerate() {
            panels.decode(column, &mut out);
            assert_eq!(bits(&out), bits(values));
        }
    }
}

#[test]
fn weight_that_is_not_finite_is_refused() {
    let cpu = Cpu::new(1);
    let refused = "a weight is not a finite number";
    let infinity = f16::INFINITY.to_le_bytes();
    assert_eq!(Panels::new(&cpu, Kind::F32, &f32::NAN.to_le_bytes(), 1, 1).expect_err("NaN"), refused);
    assert_eq!(Panels::new(&cpu, Kind::F16, &[[0; 2], infinity].concat(), 1, 2).expect_err("infinity"), refused);
    // 0x7f7f is the largest finite number of this kind, 0x7f80 infinity.
    assert_eq!(Panels::new(&cpu, Kind::BF16, &[0x80, 0x7f], 1, 1).expect_err("infinity"), refused);
    assert!(Panels::new(&cpu, Kind::BF16, &[0x7f, 0x7f], 1, 1).is_ok());
}
