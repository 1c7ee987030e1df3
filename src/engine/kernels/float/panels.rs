//! Float weights as kernels read them: where does a row of a file go?

use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};

use super::super::simd::{LANES, Simd};
use super::super::strips::{STRIP, STRIP_PANELS};
use super::super::{Cpu, huge};
use super::Kind;

/// A matrix `[n_out, n_in]` of float weights. An output is a *column* here: products have a row a token.
///
/// Memory is read in order: `[strip][element][column]` with strips of 32 columns, the last one filled with zeros.
#[derive(Debug)]
pub struct Panels {
    pub(super) n_out: usize,
    pub(super) n_in: usize,
    pub(super) weights: Weights,
}

/// One element of each column of a strip.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line<T>(pub [[T; LANES]; STRIP_PANELS]);

/// `[strip][element]`
#[derive(Debug)]
pub(super) enum Weights {
    F32(Vec<Line<f32>>),
    F16(Vec<Line<u16>>),
    BF16(Vec<Line<u16>>),
}

/// A kind as a type, so that the kernel of each is compiled by itself.
pub(super) trait Float {
    /// What is stored.
    type Bits: Copy + Default + Send + Sync;

    /// The weight at the beginning of some bytes of a file.
    fn read(bytes: &[u8]) -> Self::Bits;
    /// Its value.
    fn widen(bits: Self::Bits) -> f32;
    /// The values of sixteen.
    fn load<S: Simd>(simd: S, from: &[Self::Bits; LANES]) -> S::F32;
}

macro_rules! float {
    ($name:ident, $bits:ty, $widen:expr, $load:ident) => {
        pub(super) struct $name;

        impl Float for $name {
            type Bits = $bits;

            fn read(bytes: &[u8]) -> $bits {
                <$bits>::from_le_bytes(*bytes.first_chunk().expect("the file holds whole weights"))
            }

            fn widen(bits: $bits) -> f32 {
                $widen(bits)
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[$bits; LANES]) -> S::F32 {
                simd.$load(from)
            }
        }
    };
}

float!(F32, f32, std::convert::identity, load);
float!(F16, u16, |bits| f16::from_bits(bits).to_f32(), load_f16);
float!(BF16, u16, |bits| bf16::from_bits(bits).to_f32(), load_bf16);

impl Panels {
    /// Lays out the rows of a GGUF or safetensors file, `[n_out, n_in]`, little-endian.
    ///
    /// # Errors
    /// If a weight is not a finite number: products would not be, either.
    ///
    /// # Panics
    /// If there are more or fewer bytes, or rows are empty.
    pub fn new(cpu: &Cpu, kind: Kind, bytes: &[u8], n_out: usize, n_in: usize) -> Result<Self, String> {
        assert!(n_in > 0 && bytes.len() == n_out * n_in * kind.bytes(), "there are as many weights as the shape says");
        let weights = match kind {
            Kind::F32 => Weights::F32(lay_out::<F32>(cpu, bytes, n_in)?),
            Kind::F16 => Weights::F16(lay_out::<F16>(cpu, bytes, n_in)?),
            Kind::BF16 => Weights::BF16(lay_out::<BF16>(cpu, bytes, n_in)?),
        };
        Ok(Self { n_out, n_in, weights })
    }

    /// Elements of a column.
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// Memory it takes.
    pub fn bytes(&self) -> usize {
        match &self.weights {
            Weights::F32(lines) => size_of_val(lines.as_slice()),
            Weights::F16(lines) | Weights::BF16(lines) => size_of_val(lines.as_slice()),
        }
    }

    /// Memory that a matrix takes.
    pub fn bytes_of(kind: Kind, n_out: usize, n_in: usize) -> usize {
        n_out.next_multiple_of(STRIP) * n_in * kind.bytes()
    }

    /// Writes the weights of one output to `out`, `[n_in]`: an embedding, or a row of the output head.
    ///
    /// # Panics
    /// If there is no such output, or `out` has another length.
    pub fn decode(&self, column: usize, out: &mut [f32]) {
        assert!(column < self.n_out && out.len() == self.n_in, "the output exists and has room");
        match &self.weights {
            Weights::F32(lines) => decode::<F32>(lines, column, out),
            Weights::F16(lines) => decode::<F16>(lines, column, out),
            Weights::BF16(lines) => decode::<BF16>(lines, column, out),
        }
    }
}

fn lay_out<F: Float>(cpu: &Cpu, bytes: &[u8], n_in: usize) -> Result<Vec<Line<F::Bits>>, String> {
    let weight_bytes = size_of::<F::Bits>();
    let row_bytes = n_in * weight_bytes;
    let n_strips = (bytes.len() / row_bytes).div_ceil(STRIP);
    let mut lines = huge::vec(n_strips * n_in);
    lines.resize(n_strips * n_in, Line([[F::Bits::default(); LANES]; STRIP_PANELS]));
    let is_finite = AtomicBool::new(true);
    cpu.pool.for_chunks(&mut lines, n_in, |strip, lines| {
        for (column, row) in bytes.chunks_exact(row_bytes).skip(strip * STRIP).take(STRIP).enumerate() {
            let mut row_is_finite = true;
            for (line, weight) in lines.iter_mut().zip(row.chunks_exact(weight_bytes)) {
                let bits = F::read(weight);
                row_is_finite &= F::widen(bits).is_finite();
                line.0[column / LANES][column % LANES] = bits;
            }
            if !row_is_finite {
                is_finite.store(false, Ordering::Relaxed);
            }
        }
    });
    if is_finite.into_inner() { Ok(lines) } else { Err("a weight is not a finite number".to_owned()) }
}

/// The values of weights in the bytes of a file.
pub(super) fn widen<F: Float>(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(size_of::<F::Bits>()).map(|weight| F::widen(F::read(weight))).collect()
}

fn decode<F: Float>(lines: &[Line<F::Bits>], column: usize, out: &mut [f32]) {
    let (first, column) = (column / STRIP * out.len(), column % STRIP);
    for (out, line) in out.iter_mut().zip(&lines[first..]) {
        *out = F::widen(line.0[column / LANES][column % LANES]);
    }
}
