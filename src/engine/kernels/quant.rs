//! Products with quantised weights: how are they computed exactly enough to be the same on every machine?
//!
//! This is `arithmetic 1`. A row of activations is cut into blocks of 256 elements for the K formats and of 32 for the
//! others; a block is coded as integers of -127..=127 and one scale ([`activations`]). For an output, sums of products
//! of codes are exact integers; they become floats once a block, in the order of the elements ([`reference`] is that
//! and nothing else). So neither the number of rows nor threads, tiles or instruction sets can be seen in the result.
//!
//! Weights are laid out anew when they are loaded ([`panels`]) and multiplied tile by tile (`product`).

pub mod activations;
mod ggml;
pub mod panels;
mod product;
#[cfg(test)]
mod reference;

pub use self::activations::Activations;
pub use self::panels::Panels;

use super::simd::Code;

/// Elements of a block of the K formats, and of a tile.
pub const SUPER: usize = 256;

/// A format of quantised weights in GGUF files that has a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 32 elements: scale, 4 bits.
    Q4_0,
    /// 32 elements: scale, minimum, 4 bits.
    Q4_1,
    /// 32 elements: scale, 5 bits.
    Q5_0,
    /// 32 elements: scale, minimum, 5 bits.
    Q5_1,
    /// 32 elements: scale, 8 bits.
    Q8_0,
    /// 256 elements: scale and minimum, of both eight parts of 6 bits; 4 bits.
    Q4K,
    /// As `Q4K` with 5 bits.
    Q5K,
    /// 256 elements: scale, sixteen parts of it of 8 bits; 6 bits.
    Q6K,
}

/// What a kernel must know of a format.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// How weights are coded.
    pub code: Code,
    /// Elements that share a scale.
    pub sub: usize,
    /// Whether 256 elements share a float scale, and parts of it are integers.
    pub is_super: bool,
    /// Whether a minimum is taken off.
    pub has_min: bool,
    /// Bytes of a block in a GGUF file.
    pub ggml_bytes: usize,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] =
        [Self::Q4_0, Self::Q4_1, Self::Q5_0, Self::Q5_1, Self::Q8_0, Self::Q4K, Self::Q5K, Self::Q6K];

    /// What a kernel must know of it.
    pub const fn spec(self) -> Spec {
        const fn simple(bits: u32, offset: i32, ggml_bytes: usize) -> Spec {
            let code = Code { bits, offset };
            Spec { code, sub: 32, is_super: false, has_min: offset == 0, ggml_bytes }
        }
        match self {
            Self::Q4_0 => simple(4, 8, 18),
            Self::Q4_1 => simple(4, 0, 20),
            Self::Q5_0 => simple(5, 16, 22),
            Self::Q5_1 => simple(5, 0, 24),
            Self::Q8_0 => simple(8, 128, 34),
            Self::Q4K => Spec { is_super: true, ..simple(4, 0, 144) },
            Self::Q5K => Spec { is_super: true, ..simple(5, 0, 176) },
            Self::Q6K => Spec { is_super: true, sub: 16, ..simple(6, 32, 210) },
        }
    }
}

impl Spec {
    /// Elements of a block in a GGUF file, and of a block of activations: they share a float scale.
    pub const fn block(self) -> usize {
        if self.is_super { SUPER } else { 32 }
    }

    /// Bits of a code beyond the four that are packed two a byte.
    const fn n_planes(self) -> usize {
        match self.code.bits {
            5 => 1,
            6 => 2,
            _ => 0,
        }
    }
}
