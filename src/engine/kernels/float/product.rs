//! x W^T with float weights, tile by tile.
//!
//! Sums of a group of rows over a strip stay in registers while elements pass: two vectors of weights are read from the
//! strip, and each row's element is read where it stands, into all lanes. Rows need not be packed first: elements of a
//! row are neighbours, and reading one is no dearer from one place than from another.

use super::super::Cpu;
use super::super::pool::Whole;
use super::super::simd::{self, LANES, Simd, Task, Tier};
use super::Panels;
use super::panels::{BF16, F16, F32, Float, Line, STRIP, STRIP_PANELS, Weights};

/// A product to be computed: a matrix, what is added to each row, and where the result goes.
#[derive(Debug)]
pub struct Output<'a> {
    /// The weights.
    pub panels: &'a Panels,
    /// `[n_out]`
    pub bias: Option<&'a [f32]>,
    /// `[rows, n_out]`
    pub out: &'a mut [f32],
}

/// Rows whose sums are kept while the weights of a strip pass: 264 are 33 kB of floats.
const MAX_ROWS: usize = 264;

/// Elements that are multiplied with all rows before the next: 192 of a strip are 24 kB, half of a first-level cache.
const BLOCK: usize = 192;

/// Weights are asked for this many elements before they are used: 12 kB, some hundred nanoseconds at eight rows.
///
/// For few rows memory is what limits; with 8 rows of 896 x 4864 in f32 this gave 102 GMAC/s where it was 61 without.
const AHEAD: usize = 96;

/// x W^T + b for several matrices and the same `x`, `[rows, n_in]`.
///
/// # Panics
/// If shapes do not fit.
pub fn product(cpu: &Cpu, x: &[f32], outputs: &mut [Output<'_>]) {
    let mut jobs = Vec::new();
    for output in outputs {
        let panels = output.panels;
        assert!(x.len().is_multiple_of(panels.n_in), "rows are whole");
        let n_rows = x.len() / panels.n_in;
        assert!(output.out.len() == n_rows * panels.n_out, "there is room for the result");
        assert!(output.bias.is_none_or(|bias| bias.len() == panels.n_out), "there is a bias for every output");
        let n_ranges = n_rows.div_ceil(MAX_ROWS);
        let n_units = panels.n_out.div_ceil(STRIP) * n_ranges;
        jobs.push(Job { panels, bias: output.bias, out: Whole::of(output.out), n_rows, n_ranges, n_units });
    }
    let n_units = jobs.iter().map(|job| job.n_units).sum();
    cpu.pool.run(n_units, |units| {
        let mut sums = [[[0.0; LANES]; STRIP_PANELS]; MAX_ROWS];
        for mut unit in units {
            let mut jobs = jobs.iter();
            let job = loop {
                let job = jobs.next().expect("units are counted over all jobs");
                match unit.checked_sub(job.n_units) {
                    Some(rest) => unit = rest,
                    None => break job,
                }
            };
            job.compute(cpu.tier, x, unit, &mut sums);
        }
    });
}

/// An output whose parts are written by several threads.
struct Job<'a> {
    panels: &'a Panels,
    bias: Option<&'a [f32]>,
    out: Whole<'a, f32>,
    n_rows: usize,
    n_ranges: usize,
    n_units: usize,
}

/// Sums of a row over a strip.
type Sums = [[f32; LANES]; STRIP_PANELS];

impl Job<'_> {
    /// Computes a strip of columns for a range of rows.
    fn compute(&self, tier: Tier, x: &[f32], unit: usize, sums: &mut [Sums; MAX_ROWS]) {
        let n_strips = self.panels.n_out.div_ceil(STRIP);
        let (range, strip) = (unit / n_strips, unit % n_strips);
        let first_row = range * self.n_rows / self.n_ranges;
        let n_rows = (range + 1) * self.n_rows / self.n_ranges - first_row;
        let n_in = self.panels.n_in;
        let sums = &mut sums[..n_rows];
        let x = &x[first_row * n_in..][..n_rows * n_in];
        match &self.panels.weights {
            Weights::F32(lines) => simd::run(tier, SumStrip::<F32> { lines: &lines[strip * n_in..][..n_in], x, sums }),
            Weights::F16(lines) => simd::run(tier, SumStrip::<F16> { lines: &lines[strip * n_in..][..n_in], x, sums }),
            Weights::BF16(lines) => {
                simd::run(tier, SumStrip::<BF16> { lines: &lines[strip * n_in..][..n_in], x, sums })
            }
        }
        self.write(strip, first_row, sums);
    }

    fn write(&self, strip: usize, first_row: usize, sums: &[Sums]) {
        let n_out = self.panels.n_out;
        let start = strip * STRIP;
        let n = STRIP.min(n_out - start);
        for (row, sums) in sums.iter().enumerate() {
            // SAFETY: a unit is handed out once; different ones have different strips or rows.
            let out = unsafe { self.out.slice((first_row + row) * n_out + start, n) };
            match self.bias {
                None => out.copy_from_slice(&sums.as_flattened()[..n]),
                Some(bias) => {
                    let sums = sums.as_flattened().iter().zip(&bias[start..]);
                    out.iter_mut().zip(sums).for_each(|(out, (sum, bias))| *out = sum + bias);
                }
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
