//! Products with float weights: how are they computed so that every machine and every batch gets the same bits?
//!
//! This is the other half of `arithmetic 1`. An output is one sum, `sum = fma(weight, x, sum)` from zero over the
//! elements in increasing order, to which the bias is added last. Rows and columns are computed side by side and an
//! output's elements never are, so neither the number of rows nor threads, tiles or instruction sets can be seen.
//!
//! Weights keep the size that they have in their file ([`panels`]); half-precision ones are widened, which is exact, when
//! a register is loaded (`product`).

pub mod panels;
mod product;
#[cfg(test)]
mod tests;

pub use self::panels::Panels;

/// How a weight is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `F32`.
    BF16,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::BF16];

    /// Bytes of a weight.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
        }
    }

    /// The values of weights in the bytes of a file, little-endian.
    pub fn widen(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F32 => panels::widen::<panels::F32>(bytes),
            Self::F16 => panels::widen::<panels::F16>(bytes),
            Self::BF16 => panels::widen::<panels::BF16>(bytes),
        }
    }
}
