//! x W^T with float weights, tile by tile.
//!
//! Sums of a group of rows over a strip stay in registers while elements pass: two vectors of weights are read from the
//! strip, and each row's element is read where it stands, into all lanes. Rows need not be packed first: elements of a
//! row are neighbours, and reading one is no dearer from one place than from another.

use std::ops::Range;

use super::super::simd::{self, LANES, Simd, Task, Tier};
use super::super::strips::{STRIP_PANELS, Strips, Sums};
use super::Panels;
use super::panels::{BF16, F16, F32, Float, Line, Weights};

/// Elements that are multiplied with all rows before the next: 192 of a strip are 24 kB, half of a first-level cache.
const BLOCK: usize = 192;

/// Weights are asked for this many elements before they are used: 12 kB, some hundred nanoseconds at eight rows.
///
/// For few rows memory is what limits; with 8 rows of 896 x 4864 in f32 this gave 102 GMAC/s where it was 61 without.
const AHEAD: usize = 96;

impl Strips for Panels {
    /// `[rows, n_in]`
    type Rows = [f32];
    type Scratch = ();

    fn n_out(&self) -> usize {
        self.n_out
    }

    fn n_rows(&self, x: &[f32]) -> usize {
        assert!(x.len().is_multiple_of(self.n_in), "rows are whole");
        x.len() / self.n_in
    }

    fn sum(&self, tier: Tier, x: &[f32], strip: usize, rows: Range<usize>, (): &mut (), sums: &mut [Sums]) {
        let n_in = self.n_in;
        let x = &x[rows.start * n_in..rows.end * n_in];
        match &self.weights {
            Weights::F32(lines) => simd::run(tier, SumStrip::<F32> { lines: &lines[strip * n_in..][..n_in], x, sums }),
            Weights::F16(lines) => simd::run(tier, SumStrip::<F16> { lines: &lines[strip * n_in..][..n_in], x, sums }),
            Weights::BF16(lines) => {
                simd::run(tier, SumStrip::<BF16> { lines: &lines[strip * n_in..][..n_in], x, sums })
            }
        }
    }
}

/// The sums of some rows over a strip.
struct SumStrip<'a, F: Float> {
    /// `[n_in]`
    lines: &'a [Line<F::Bits>],
    /// `[rows, n_in]`
    x: &'a [f32],
    /// `[rows]`
    sums: &'a mut [Sums],
}

impl<F: Float> Task for SumStrip<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n_in = self.lines.len();
        let n_rows = self.sums.len();
        // Groups of equal height, as far as there are registers.
        let height = n_rows.div_ceil(n_rows.div_ceil(S::ROWS));
        self.sums.fill([[0.0; LANES]; STRIP_PANELS]);
        for (block, lines) in self.lines.chunks(BLOCK).enumerate() {
            for (group, sums) in self.sums.chunks_mut(height).enumerate() {
                let x = &self.x[group * height * n_in + block * BLOCK..];
                let tile = Tile { lines, x, n_in };
                match sums.len() {
                    1 => tile.sum::<S, F, 1>(simd, sums),
                    2 => tile.sum::<S, F, 2>(simd, sums),
                    3 => tile.sum::<S, F, 3>(simd, sums),
                    4 => tile.sum::<S, F, 4>(simd, sums),
                    5 => tile.sum::<S, F, 5>(simd, sums),
                    6 => tile.sum::<S, F, 6>(simd, sums),
                    7 => tile.sum::<S, F, 7>(simd, sums),
                    8 => tile.sum::<S, F, 8>(simd, sums),
                    9 => tile.sum::<S, F, 9>(simd, sums),
                    10 => tile.sum::<S, F, 10>(simd, sums),
                    11 => tile.sum::<S, F, 11>(simd, sums),
                    12 => tile.sum::<S, F, 12>(simd, sums),
                    13 => tile.sum::<S, F, 13>(simd, sums),
                    _ => tile.sum::<S, F, 14>(simd, sums),
                }
            }
        }
    }
}

/// Some elements of a strip, and of a group of rows.
struct Tile<'a, T> {
    lines: &'a [Line<T>],
    /// From the first row's first element on; rows lie `n_in` apart.
    x: &'a [f32],
    n_in: usize,
}

impl<T: Copy> Tile<'_, T> {
    /// Adds the products to the sums of `R` rows, as many panels at a time as there are registers for.
    #[inline(always)]
    fn sum<S: Simd, F: Float<Bits = T>, const R: usize>(&self, simd: S, sums: &mut [Sums]) {
        if R > S::ROWS {
            return;
        }
        let sums = sums.first_chunk_mut().expect("the group has R rows");
        if S::PANELS == STRIP_PANELS {
            self.sum_panels::<S, F, R, STRIP_PANELS>(simd, 0, sums);
        } else {
            (0..STRIP_PANELS).for_each(|panel| self.sum_panels::<S, F, R, 1>(simd, panel, sums));
        }
    }

    #[inline(always)]
    fn sum_panels<S: Simd, F: Float<Bits = T>, const R: usize, const P: usize>(
        &self,
        simd: S,
        first: usize,
        sums: &mut [Sums; R],
    ) {
        let mut totals = [[simd.splat(0.0); P]; R];
        for r in 0..R {
            for p in 0..P {
                totals[r][p] = simd.load(&sums[r][first + p]);
            }
        }
        let rows: [&[f32]; R] = std::array::from_fn(|r| &self.x[r * self.n_in..][..self.lines.len()]);
        for (k, line) in self.lines.iter().enumerate() {
            let ahead = self.lines.as_ptr().wrapping_add(k + AHEAD).cast::<u8>();
            (0..size_of::<Line<T>>()).step_by(64).for_each(|at| simd.prefetch(ahead.wrapping_add(at)));
            let mut weights = [simd.splat(0.0); P];
            for (p, weights) in weights.iter_mut().enumerate() {
                *weights = F::load(simd, &line.0[first + p]);
            }
            for r in 0..R {
                // SAFETY: every row is as long as the lines are many.
                let x = simd.splat(unsafe { *rows[r].get_unchecked(k) });
                for p in 0..P {
                    totals[r][p] = simd.fma(weights[p], x, totals[r][p]);
                }
            }
        }
        for r in 0..R {
            for p in 0..P {
                simd.store(totals[r][p], &mut sums[r][first + p]);
            }
        }
    }
}
