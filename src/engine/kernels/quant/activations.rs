//! Rows of activations as integers: what does a kernel multiply weights with?

use super::super::Cpu;
use super::super::pool::Whole;
use super::super::simd::{self, LANES, Simd, Task};
use super::SUPER;

/// Rows of activations, coded block by block: `value = scale * code`.
///
/// Rows stand in groups, as many as a kernel multiplies at a time, and what belongs to the same elements of a group's
/// rows stands side by side: a kernel gets at all of it from one place, and has no register left for more.
#[derive(Debug, Default)]
pub struct Activations {
    pub(super) n_rows: usize,
    pub(super) n_in: usize,
    /// Elements that share a scale.
    pub(super) block: usize,
    /// Rows of a group; the last may have fewer.
    group: usize,
    /// -127..=127: `[group][sixteen][row][16]`
    codes: Vec<Codes>,
    /// For each sixteen elements the sums of codes 0, 1 (mod 4) and of codes 2, 3 (mod 4): `[group][sixteen][row]`.
    pairs: Vec<[i16; 2]>,
    /// The same for each 32 elements.
    pairs_of_32: Vec<[i16; 2]>,
    /// For each 64 elements the sums of the codes of the first half and of the second; only for blocks of 256.
    halves: Vec<[i16; 2]>,
    /// For each block its scale: `[group][block][row]`.
    scales: Vec<f32>,
    /// For each block the sum of its values, scale * sum of codes.
    sums: Vec<f32>,
}

/// The codes of sixteen elements of a row.
pub(super) type Codes = [i8; LANES];

/// Some elements of the `R` rows of a group, or all.
#[derive(Clone, Copy)]
pub(super) struct Part<'a, const R: usize> {
    pub codes: &'a [[Codes; R]],
    pub pairs: &'a [[[i16; 2]; R]],
    pub pairs_of_32: &'a [[[i16; 2]; R]],
    pub halves: &'a [[[i16; 2]; R]],
    pub scales: &'a [[f32; R]],
    pub sums: &'a [[f32; R]],
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
        self.group = simd::run(cpu.tier, GroupRows);
        let n_halves = if block == SUPER { x.len() / 64 } else { 0 };
        grow(&mut self.codes, x.len() / 16);
        grow(&mut self.pairs, x.len() / 16);
        grow(&mut self.pairs_of_32, x.len() / 32);
        grow(&mut self.halves, n_halves);
        grow(&mut self.scales, x.len() / block);
        grow(&mut self.sums, x.len() / block);
        let group_len = self.group * n_in;
        let codes = Whole::of(&mut self.codes);
        let pairs = Whole::of(&mut self.pairs);
        let pairs_of_32 = Whole::of(&mut self.pairs_of_32);
        let halves = Whole::of(&mut self.halves);
        let scales = Whole::of(&mut self.scales);
        let sums = Whole::of(&mut self.sums);
        cpu.pool.run(self.n_rows.div_ceil(self.group), |units| {
            for unit in units {
                let start = unit * group_len;
                let len = group_len.min(x.len() - start);
                // SAFETY: a group is handed out once, and groups do not overlap.
                let group = unsafe {
                    CodeGroup {
                        x: &x[start..start + len],
                        n_rows: len / n_in,
                        block,
                        codes: codes.slice(start / 16, len / 16),
                        pairs: pairs.slice(start / 16, len / 16),
                        pairs_of_32: pairs_of_32.slice(start / 32, len / 32),
                        halves: if n_halves > 0 { halves.slice(start / 64, len / 64) } else { &mut [] },
                        scales: scales.slice(start / block, len / block),
                        sums: sums.slice(start / block, len / block),
                    }
                };
                simd::run(cpu.tier, group);
            }
        });
    }

    /// Elements `from..to` of the `R` rows of a group; both are multiples of a block.
    #[inline(always)]
    pub(super) fn part<const R: usize>(&self, group: usize, from: usize, to: usize) -> Part<'_, R> {
        let start = group * self.group * self.n_in;
        let range = |unit: usize| start / unit + from / unit * R..start / unit + to / unit * R;
        Part {
            codes: self.codes[range(16)].as_chunks().0,
            pairs: self.pairs[range(16)].as_chunks().0,
            pairs_of_32: self.pairs_of_32[range(32)].as_chunks().0,
            halves: if self.block == SUPER { self.halves[range(64)].as_chunks().0 } else { &[] },
            scales: self.scales[range(self.block)].as_chunks().0,
            sums: self.sums[range(self.block)].as_chunks().0,
        }
    }
}

/// Makes a vector as long as that at least; what was in it does not matter.
fn grow<T: Clone + Default>(vec: &mut Vec<T>, len: usize) {
    if vec.len() < len {
        vec.resize(len, T::default());
    }
}

/// Asks a tier how many rows its kernel multiplies at a time.
struct GroupRows;

impl Task for GroupRows {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        S::GROUP
    }
}

/// Codes the rows of a group.
struct CodeGroup<'a> {
    x: &'a [f32],
    n_rows: usize,
    block: usize,
    codes: &'a mut [Codes],
    pairs: &'a mut [[i16; 2]],
    pairs_of_32: &'a mut [[i16; 2]],
    halves: &'a mut [[i16; 2]],
    scales: &'a mut [f32],
    sums: &'a mut [f32],
}

impl Task for CodeGroup<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.n_rows {
            1 => self.code::<S, 1>(simd),
            2 => self.code::<S, 2>(simd),
            3 => self.code::<S, 3>(simd),
            4 => self.code::<S, 4>(simd),
            5 => self.code::<S, 5>(simd),
            _ => self.code::<S, 6>(simd),
        }
    }
}

impl CodeGroup<'_> {
    #[inline(always)]
    fn code<S: Simd, const R: usize>(self, simd: S) {
        if R > S::GROUP {
            unreachable!("a group has at most as many rows as the tier's kernel");
        }
        let n_lines = self.block / LANES;
        let (codes, _) = self.codes.as_chunks_mut::<R>();
        let (pairs, _) = self.pairs.as_chunks_mut::<R>();
        let (scales, _) = self.scales.as_chunks_mut::<R>();
        let (sums, _) = self.sums.as_chunks_mut::<R>();
        for (row, x) in self.x.chunks_exact(self.x.len() / R).enumerate() {
            let blocks = x.as_chunks::<LANES>().0.chunks_exact(n_lines);
            let places = codes.chunks_exact_mut(n_lines).zip(pairs.chunks_exact_mut(n_lines));
            let numbers = scales.iter_mut().zip(&mut *sums);
            for ((block, (codes, pairs)), (scale, sum)) in blocks.zip(places).zip(numbers) {
                (scale[row], sum[row]) = code_block(simd, block, row, codes, pairs);
            }
        }
        add_up::<R>(self.pairs, self.pairs_of_32, |[a, b], [c, d]| [a + c, b + d]);
        add_up::<R>(self.pairs_of_32, self.halves, |[a, b], [c, d]| [a + b, c + d]);
    }
}

/// Codes a block of one row of `R`; returns its scale and the sum of its values.
#[inline(always)]
fn code_block<S: Simd, const R: usize>(
    simd: S,
    block: &[[f32; LANES]],
    row: usize,
    codes: &mut [[Codes; R]],
    pairs: &mut [[[i16; 2]; R]],
) -> (f32, f32) {
    let mut largest = simd.splat(0.0);
    for line in block {
        let x = simd.load(line);
        let magnitude = simd.max(x, simd.sub(simd.splat(0.0), x));
        largest = simd.max(magnitude, largest);
    }
    let largest = simd.max_lanes(largest);
    let is_zero = largest < SMALLEST;
    let scale = if is_zero { 0.0 } else { largest / 127.0 };
    let factor = simd.splat(if is_zero { 0.0 } else { 127.0 / largest });
    let mut total = 0;
    for ((line, codes), pairs) in block.iter().zip(codes).zip(pairs) {
        (codes[row], pairs[row]) = simd.to_codes(simd.mul(simd.load(line), factor));
        total += i32::from(pairs[row][0]) + i32::from(pairs[row][1]);
    }
    (scale, scale * total as f32)
}

/// Puts two neighbouring sums of each of `R` rows together.
#[inline(always)]
fn add_up<const R: usize>(from: &[[i16; 2]], to: &mut [[i16; 2]], add: impl Fn([i16; 2], [i16; 2]) -> [i16; 2]) {
    let (twos, _) = from.as_chunks::<R>().0.as_chunks::<2>();
    for (to, [first, second]) in to.as_chunks_mut::<R>().0.iter_mut().zip(twos) {
        for row in 0..R {
            to[row] = add(first[row], second[row]);
        }
    }
}
