//! Rows of activations as integers: what does a kernel multiply weights with?

use super::super::Cpu;
use super::super::pool::Whole;
use super::super::simd::{self, LANES, Simd, Task};

/// Rows of activations, coded block by block: `value = scale * code`.
///
/// Rows stand in groups, as many as a kernel multiplies at a time, and the elements of a group side by side, so that a
/// kernel reads them in order: `[group][step][row][4]`.
#[derive(Debug, Default)]
pub struct Activations {
    pub(super) n_rows: usize,
    pub(super) n_in: usize,
    /// Elements that share a scale.
    pub(super) block: usize,
    /// Rows of a group; the last may have fewer.
    pub(super) group: usize,
    /// -127..=127.
    codes: Vec<i8>,
    /// For each sixteen elements of a row the sums of codes 0, 1 (mod 4) and 2, 3 (mod 4): `[group][sixteen][row]`.
    pairs: Vec<[i16; 2]>,
    /// `[group][block][row]`
    scales: Vec<f32>,
}

/// Some elements of a group's rows.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// `[step][row][4]`
    pub codes: &'a [i8],
    /// `[sixteen][row]`
    pub pairs: &'a [[i16; 2]],
    /// `[block][row]`
    pub scales: &'a [f32],
}

/// Blocks whose largest element is smaller become zeros; 127 divided by it would not be finite.
const SMALLEST: f32 = 1e-30;

impl Activations {
    /// Codes `x`, `[rows, n_in]`, by blocks of 256 or 32 elements, in the place of what was here before.
    ///
    /// A block's scale is its largest magnitude / 127; a code is the element times the reciprocal of that, rounded to
    /// the nearest integer, ties to even. Elements that are not numbers get any code.
    ///
    /// # Panics
    /// If `n_in` is not a multiple of `block`, or `x` not one of `n_in`.
    pub fn code(&mut self, cpu: &Cpu, x: &[f32], n_in: usize, block: usize) {
        assert!(n_in.is_multiple_of(block) && x.len().is_multiple_of(n_in), "rows and blocks are whole");
        (self.n_rows, self.n_in, self.block) = (x.len() / n_in, n_in, block);
        self.group = super::product::group_rows(cpu.tier);
        self.codes.resize(x.len(), 0);
        self.pairs.resize(x.len() / LANES, [0; 2]);
        self.scales.resize(x.len() / block, 0.0);
        let (n_rows, group) = (self.n_rows, self.group);
        let codes = Whole::of(&mut self.codes);
        let pairs = Whole::of(&mut self.pairs);
        let scales = Whole::of(&mut self.scales);
        cpu.pool.run(n_rows.div_ceil(group), |units| {
            for unit in units {
                let (first, n) = (unit * group, group.min(n_rows - unit * group));
                // SAFETY: a group is handed out once, and groups do not overlap.
                let (codes, pairs, scales) = unsafe {
                    (
                        codes.slice(first * n_in, n * n_in),
                        pairs.slice(first * n_in / LANES, n * n_in / LANES),
                        scales.slice(first * n_in / block, n * n_in / block),
                    )
                };
                for row in 0..n {
                    let x = &x[(first + row) * n_in..][..n_in];
                    simd::run(cpu.tier, CodeRow { x, block, row, n_rows: n, codes, pairs, scales });
                }
            }
        });
    }

    /// Elements `from..to` of a group's rows; both are multiples of a block.
    #[inline(always)]
    pub(super) fn part(&self, group_idx: usize, from: usize, to: usize) -> Part<'_> {
        let first = group_idx * self.group;
        let n_rows = self.group.min(self.n_rows - first);
        let range = |unit: usize| {
            let start = first * self.n_in / unit;
            start + from / unit * n_rows..start + to / unit * n_rows
        };
        let codes = range(1);
        Part { codes: &self.codes[codes], pairs: &self.pairs[range(LANES)], scales: &self.scales[range(self.block)] }
    }
}

/// Codes one row into its places in the group.
struct CodeRow<'a> {
    x: &'a [f32],
    block: usize,
    row: usize,
    n_rows: usize,
    codes: &'a mut [i8],
    pairs: &'a mut [[i16; 2]],
    scales: &'a mut [f32],
}

impl Task for CodeRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (steps, _) = self.codes.as_chunks_mut::<4>();
        for (idx, block) in self.x.chunks_exact(self.block).enumerate() {
            let (lines, _) = block.as_chunks::<LANES>();
            let largest = largest_magnitude(simd, lines);
            let is_zero = largest < SMALLEST;
            self.scales[idx * self.n_rows + self.row] = if is_zero { 0.0 } else { largest / 127.0 };
            let factor = simd.splat(if is_zero { 0.0 } else { 127.0 / largest });
            for (line, values) in lines.iter().enumerate() {
                let sixteen = idx * self.block / LANES + line;
                let (codes, pairs) = simd.to_codes(simd.mul(simd.load(values), factor));
                self.pairs[sixteen * self.n_rows + self.row] = pairs;
                let (fours, _) = codes.as_chunks::<4>();
                for (step, four) in fours.iter().enumerate() {
                    steps[(4 * sixteen + step) * self.n_rows + self.row] = *four;
                }
            }
        }
    }
}

#[inline(always)]
fn largest_magnitude<S: Simd>(simd: S, lines: &[[f32; LANES]]) -> f32 {
    let mut largest = simd.splat(0.0);
    for line in lines {
        let x = simd.load(line);
        let magnitude = simd.max(x, simd.sub(simd.splat(0.0), x));
        largest = simd.max(magnitude, largest);
    }
    let mut out = [0.0; LANES];
    simd.store(largest, &mut out);
    out.into_iter().fold(0.0, f32::max)
}
