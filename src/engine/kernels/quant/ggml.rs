//! Blocks as GGUF files hold them: which code and which scale has each element?
//!
//! The layouts are those of ggml's `block_q*` structures (`ggml-common.h` and `dequantize_row_q*` of `ggml-quants.c`).

use super::{Format, SUPER};

/// Up to 256 elements of one output: one block of a K format, or eight blocks of 32.
pub(super) struct Decoded {
    /// A code for each element.
    pub codes: [u8; SUPER],
    /// Scale and minimum as f16 bits: the block's first, or those of each block of 32.
    pub floats: [[u16; 2]; 8],
    /// Integer scales of the parts of a K format.
    pub scales: [i8; 16],
    /// Integer minima of the parts of a K format.
    pub mins: [u8; 8],
}

impl Decoded {
    /// Decodes one block of a K format, or up to eight of the others.
    ///
    /// # Panics
    /// If there are more, or the last is not whole.
    pub fn read(format: Format, blocks: &[u8]) -> Self {
        let mut out = Self { codes: [0; SUPER], floats: [[0; 2]; 8], scales: [0; 16], mins: [0; 8] };
        let spec = format.spec();
        for (idx, block) in blocks.chunks(spec.ggml_bytes).enumerate() {
            match format {
                Format::Q4K => out.read_q4k(block),
                Format::Q5K => out.read_q5k(block),
                Format::Q6K => out.read_q6k(block),
                Format::Q4_0 | Format::Q4_1 | Format::Q5_0 | Format::Q5_1 | Format::Q8_0 => {
                    out.read_simple(format, block, idx);
                }
            }
        }
        out
    }

    /// f16 scale, f16 minimum (`_1`), bits 4 of all 32 codes (`Q5`), then nibbles: elements 0..16 low, 16..32 high.
    fn read_simple(&mut self, format: Format, block: &[u8], idx: usize) {
        let spec = format.spec();
        let n_floats = if spec.has_min { 2 } else { 1 };
        for (which, bytes) in block[..2 * n_floats].chunks_exact(2).enumerate() {
            self.floats[idx][which] = u16::from_le_bytes([bytes[0], bytes[1]]);
        }
        let codes = &mut self.codes[32 * idx..][..32];
        let rest = &block[2 * n_floats..];
        if spec.code.bits == 8 {
            // Signed in the file.
            codes.iter_mut().zip(rest).for_each(|(code, byte)| *code = byte ^ 0x80);
            return;
        }
        let (bits, nibbles) = rest.split_at(rest.len() - 16);
        for (i, byte) in nibbles.iter().enumerate() {
            codes[i] = byte & 15;
            codes[16 + i] = byte >> 4;
        }
        for (i, code) in codes.iter_mut().enumerate().take(8 * bits.len()) {
            *code |= (bits[i / 8] >> (i % 8) & 1) << 4;
        }
    }

    /// f16 scale, f16 minimum, 12 bytes of parts, nibbles: of 64 elements the first 32 low, the others high.
    fn read_q4k(&mut self, block: &[u8]) {
        self.read_parts(block);
        for (codes, nibbles) in self.codes.chunks_exact_mut(64).zip(block[16..].chunks_exact(32)) {
            for (i, byte) in nibbles.iter().enumerate() {
                codes[i] = byte & 15;
                codes[32 + i] = byte >> 4;
            }
        }
    }

    /// As `Q4K`, with 32 bytes of fifth bits before the nibbles: bit p of byte i belongs to element i of part p.
    fn read_q5k(&mut self, block: &[u8]) {
        self.read_parts(block);
        let (bits, nibbles) = block[16..].split_at(32);
        for (pair, (codes, nibbles)) in self.codes.chunks_exact_mut(64).zip(nibbles.chunks_exact(32)).enumerate() {
            for (i, byte) in nibbles.iter().enumerate() {
                codes[i] = byte & 15 | (bits[i] >> (2 * pair) & 1) << 4;
                codes[32 + i] = byte >> 4 | (bits[i] >> (2 * pair + 1) & 1) << 4;
            }
        }
    }

    /// 128 bytes of nibbles, 64 of upper bits, 16 signed scales, f16 scale.
    fn read_q6k(&mut self, block: &[u8]) {
        let (nibbles, rest) = block.split_at(128);
        let (bits, rest) = rest.split_at(64);
        let halves = self.codes.chunks_exact_mut(128).zip(nibbles.chunks_exact(64)).zip(bits.chunks_exact(32));
        for ((codes, nibbles), bits) in halves {
            for i in 0..32 {
                codes[i] = nibbles[i] & 15 | (bits[i] & 3) << 4;
                codes[32 + i] = nibbles[32 + i] & 15 | (bits[i] >> 2 & 3) << 4;
                codes[64 + i] = nibbles[i] >> 4 | (bits[i] >> 4 & 3) << 4;
                codes[96 + i] = nibbles[32 + i] >> 4 | (bits[i] >> 6) << 4;
            }
        }
        self.scales.iter_mut().zip(rest).for_each(|(scale, byte)| *scale = *byte as i8);
        self.floats[0][0] = u16::from_le_bytes([rest[16], rest[17]]);
    }

    /// Scale, minimum and the parts' scales and minima of six bits: those of parts 0..4 whole in bytes 0..4 and 4..8, of
    /// parts 4..8 the low four bits in bytes 8..12 and the upper two above those of parts 0..4.
    fn read_parts(&mut self, block: &[u8]) {
        self.floats[0] = [u16::from_le_bytes([block[0], block[1]]), u16::from_le_bytes([block[2], block[3]])];
        let packed = &block[4..16];
        for part in 0..4 {
            self.scales[part] = (packed[part] & 63) as i8;
            self.mins[part] = packed[4 + part] & 63;
            self.scales[4 + part] = (packed[8 + part] & 15 | packed[part] >> 6 << 4) as i8;
            self.mins[4 + part] = packed[8 + part] >> 4 | packed[4 + part] >> 6 << 4;
        }
    }
}
