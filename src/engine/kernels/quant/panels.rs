//! Weights as kernels read them: which byte of a GGUF block goes where?

use std::sync::atomic::{AtomicBool, Ordering};

use half::f16;

use super::super::simd::{LANES, STEP_BYTES};
use super::super::strips::{STRIP, STRIP_PANELS};
use super::super::{Cpu, huge};
use super::ggml::Decoded;
use super::{Format, SUPER, Spec};

/// Elements of a step: as many as are multiplied in one instruction.
pub const STEP: usize = 4;

/// A matrix `[n_out, n_in]` of quantised weights. An output is a *column* here: products have a row a token.
///
/// Memory is read in order: strips of 32 columns, of each strip blocks of 256 elements (the last may be shorter), of
/// each block for both its panels of sixteen columns
///
/// 1. codes: for every two steps of four elements 64 bytes; byte 4 c + j holds element j of column c, the first step's
///    in the low four bits and the second's in the high ones. With 8 bits 64 bytes a step;
/// 2. for each bit above four 64 bits a step; bit 4 c + j belongs to that byte;
/// 3. scales, with a number for every column of each: for K formats f16 scale, f16 minimum if there is one, then
///    integer scales part by part, then integer minima with those of two parts side by side; for the others f16
///    scale and f16 minimum of every 32 elements.
///
/// That is as many bits as in the file, but for the 6-bit parts of `Q4K` and `Q5K`, which take 8.
#[derive(Debug)]
pub struct Panels {
    pub(super) format: Format,
    pub(super) n_out: usize,
    pub(super) n_in: usize,
    lines: Vec<Line>,
}

/// A line of the processor's cache; read and written as bytes.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
#[expect(dead_code, reason = "its bytes are reached through `Panels::strip` and `bytes_mut`")]
struct Line([u8; STEP_BYTES]);

/// Where the parts of a block lie in it, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub n_steps: usize,
    pub codes: usize,
    pub planes: usize,
    pub scales: usize,
    pub whole: usize,
}

impl Spec {
    /// The places in a block of `n_in` elements.
    #[inline(always)]
    pub(super) const fn places(self, n_in: usize) -> Places {
        let n_steps = n_in / STEP;
        let code_bytes = if self.code.bits == 8 { STEP_BYTES } else { STEP_BYTES / 2 };
        let codes = n_steps * code_bytes;
        let planes = n_steps * 8 * self.n_planes();
        let floats = if self.has_min { 4 } else { 2 };
        let scales = if self.is_super {
            LANES * (floats + SUPER / self.sub * if self.has_min { 2 } else { 1 })
        } else {
            LANES * floats * n_in / self.sub
        };
        Places { n_steps, codes, planes, scales, whole: STRIP_PANELS * (codes + planes + scales) }
    }

    /// Bytes of a strip of columns with `n_in` elements.
    #[inline(always)]
    pub(super) const fn strip_bytes(self, n_in: usize) -> usize {
        let tail = n_in % SUPER;
        n_in / SUPER * self.places(SUPER).whole + if tail > 0 { self.places(tail).whole } else { 0 }
    }
}

impl Panels {
    /// Lays out the blocks of a GGUF file, `[n_out, n_in / block]`.
    ///
    /// # Errors
    /// If a scale is not a finite number: products would not be, either.
    ///
    /// # Panics
    /// If there are more or fewer blocks, or `n_in` is not a multiple of a block's elements.
    pub fn new(cpu: &Cpu, format: Format, blocks: &[u8], n_out: usize, n_in: usize) -> Result<Self, String> {
        let spec = format.spec();
        let row_bytes = n_in / spec.block() * spec.ggml_bytes;
        assert!(n_in.is_multiple_of(spec.block()) && blocks.len() == n_out * row_bytes, "blocks are whole");
        let strip_lines = spec.strip_bytes(n_in) / STEP_BYTES;
        let n_lines = n_out.div_ceil(STRIP) * strip_lines;
        let mut lines = huge::vec(n_lines);
        lines.resize(n_lines, Line([0; STEP_BYTES]));
        let is_finite = AtomicBool::new(true);
        cpu.pool.for_chunks(&mut lines, strip_lines, |strip, lines| {
            let strip_bytes = bytes_mut(lines);
            for (column, row) in blocks.chunks_exact(row_bytes).skip(strip * STRIP).take(STRIP).enumerate() {
                if !place_row(format, row, strip_bytes, column) {
                    is_finite.store(false, Ordering::Relaxed);
                }
            }
        });
        if is_finite.into_inner() { Ok(Self { format, n_out, n_in, lines }) } else { Err(NOT_FINITE.to_owned()) }
    }

    /// Elements of a column.
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// Elements of the blocks into which activations are to be coded.
    pub fn block(&self) -> usize {
        self.format.spec().block()
    }

    /// Memory it takes.
    pub fn bytes(&self) -> usize {
        self.lines.len() * STEP_BYTES
    }

    /// Memory that a matrix takes.
    pub fn bytes_of(format: Format, n_out: usize, n_in: usize) -> usize {
        n_out.div_ceil(STRIP) * format.spec().strip_bytes(n_in)
    }

    /// The bytes of a strip and of all that follow it.
    #[inline(always)]
    pub(super) fn strips_from(&self, strip: usize) -> &[u8] {
        let lines = &self.lines[strip * self.format.spec().strip_bytes(self.n_in) / STEP_BYTES..];
        // SAFETY: a line is `STEP_BYTES` bytes without padding, and bytes may lie anywhere.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * STEP_BYTES) }
    }

    /// Writes the weights of one output to `out`, `[n_in]`: an embedding, or a row of the output head.
    ///
    /// # Panics
    /// If there is no such output, or `out` has another length.
    pub fn decode(&self, column: usize, out: &mut [f32]) {
        assert!(column < self.n_out && out.len() == self.n_in, "the output exists and has room");
        let spec = self.format.spec();
        let mut rest = self.strips_from(column / STRIP);
        for out in out.chunks_mut(SUPER) {
            let places = spec.places(out.len());
            let (block, after) = rest.split_at(places.whole);
            decode_block(spec, places, block, column % STRIP, out);
            rest = after;
        }
    }
}

const NOT_FINITE: &str = "a scale is not a finite number";

fn bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: a line is `STEP_BYTES` bytes without padding, bytes may lie anywhere, and any bytes are a line.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * STEP_BYTES) }
}

/// Puts the blocks of one output into its column of a strip. Says whether all scales are finite.
fn place_row(format: Format, row: &[u8], strip: &mut [u8], column: usize) -> bool {
    let spec = format.spec();
    let mut rest = strip;
    let mut is_finite = true;
    for blocks in row.chunks(SUPER / spec.block() * spec.ggml_bytes) {
        let n_in = blocks.len() / spec.ggml_bytes * spec.block();
        let places = spec.places(n_in);
        let (to, after) = rest.split_at_mut(places.whole);
        rest = after;
        let decoded = Decoded::read(format, blocks);
        is_finite &= decoded.is_finite();
        decoded.place_codes(spec, places, &mut to[..STRIP_PANELS * (places.codes + places.planes)], column);
        let scales = &mut to[STRIP_PANELS * (places.codes + places.planes)..];
        decoded.place_scales(spec, &mut scales[column / LANES * places.scales..][..places.scales], column % LANES);
    }
    is_finite
}

impl Decoded {
    /// Puts codes and planes into the column `column` of a strip.
    fn place_codes(&self, spec: Spec, places: Places, to: &mut [u8], column: usize) {
        let (panel, lane) = (column / LANES, column % LANES);
        let (codes, planes) = to.split_at_mut(STRIP_PANELS * places.codes);
        let codes = &mut codes[panel * places.codes..][..places.codes];
        let planes = &mut planes[panel * places.planes..][..places.planes];
        for (step, four) in self.codes[..places.n_steps * STEP].chunks_exact(STEP).enumerate() {
            if spec.code.bits == 8 {
                codes[step * STEP_BYTES + STEP * lane..][..STEP].copy_from_slice(four);
                continue;
            }
            let bytes = &mut codes[step / 2 * STEP_BYTES + STEP * lane..][..STEP];
            bytes.iter_mut().zip(four).for_each(|(byte, code)| *byte |= (code & 15) << (4 * (step % 2)));
            for plane in 0..spec.n_planes() {
                let bits = four.iter().rev().fold(0, |bits, code| bits << 1 | (code >> (4 + plane) & 1));
                planes[(plane * places.n_steps + step) * 8 + lane / 2] |= bits << (STEP * (lane % 2));
            }
        }
    }

    /// Puts scales and minima into the lane `lane` of a panel.
    fn place_scales(&self, spec: Spec, to: &mut [u8], lane: usize) {
        let n_floats = if spec.has_min { 2 } else { 1 };
        let n_pairs = if spec.is_super { 1 } else { to.len() / (2 * LANES * n_floats) };
        for (idx, pair) in self.floats[..n_pairs].iter().enumerate() {
            for (which, float) in pair[..n_floats].iter().enumerate() {
                to[2 * ((idx * n_floats + which) * LANES + lane)..][..2].copy_from_slice(&float.to_le_bytes());
            }
        }
        if !spec.is_super {
            return;
        }
        let (scales, mins) = to[2 * LANES * n_floats..].split_at_mut(SUPER / spec.sub * LANES);
        scales.iter_mut().skip(lane).step_by(LANES).zip(self.scales).for_each(|(to, scale)| *to = scale as u8);
        for (part, to) in mins.chunks_exact_mut(2 * LANES).enumerate() {
            to[2 * lane..][..2].copy_from_slice(&self.mins[2 * part..][..2]);
        }
    }

    fn is_finite(&self) -> bool {
        self.floats.as_flattened().iter().all(|&bits| f16::from_bits(bits).is_finite())
    }
}

/// Weights of one column of a block, `value = scale * (code - offset)` and minimum.
fn decode_block(spec: Spec, places: Places, block: &[u8], column: usize, out: &mut [f32]) {
    let (panel, lane) = (column / LANES, column % LANES);
    let codes = &block[panel * places.codes..];
    let planes = &block[STRIP_PANELS * places.codes + panel * places.planes..];
    let scales = &block[STRIP_PANELS * (places.codes + places.planes) + panel * places.scales..][..places.scales];
    let code = |idx: usize| {
        let (step, byte) = (idx / STEP, STEP * lane + idx % STEP);
        if spec.code.bits == 8 {
            return i32::from(codes[step * STEP_BYTES + byte]);
        }
        let nibble = codes[step / 2 * STEP_BYTES + byte] >> (4 * (step % 2)) & 15;
        let bit = |plane: usize| planes[(plane * places.n_steps + step) * 8 + byte / 8] >> (byte % 8) & 1;
        i32::from((0..spec.n_planes()).fold(nibble, |code, plane| code | bit(plane) << (4 + plane)))
    };
    let n_floats = if spec.has_min { 2 } else { 1 };
    let float =
        |idx: usize| f16::from_le_bytes([scales[2 * (idx * LANES + lane)], scales[2 * (idx * LANES + lane) + 1]]);
    for (part, out) in out.chunks_exact_mut(spec.sub).enumerate() {
        let pair = if spec.is_super { 0 } else { part * n_floats };
        let (mut scale, mut min) = (float(pair).to_f32(), if spec.has_min { float(pair + 1).to_f32() } else { 0.0 });
        if spec.is_super {
            let integers = &scales[2 * LANES * n_floats..];
            scale *= f32::from(integers[part * LANES + lane] as i8);
            if spec.has_min {
                let mins = &integers[SUPER / spec.sub * LANES..];
                min *= -f32::from(mins[part / 2 * 2 * LANES + 2 * lane + part % 2]);
            }
        }
        for (idx, out) in out.iter_mut().enumerate() {
            *out = scale * (code(part * spec.sub + idx) - spec.code.offset) as f32 + min;
        }
    }
}
