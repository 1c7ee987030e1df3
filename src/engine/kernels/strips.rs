//! Products in strips of columns: how is x W^T dealt out to threads, whatever the weights are?

use std::ops::Range;

use super::Cpu;
use super::pool::Whole;
use super::simd::{LANES, Tier};

/// Panels of sixteen columns that are multiplied together.
pub const STRIP_PANELS: usize = 2;
/// Columns of a strip.
pub const STRIP: usize = STRIP_PANELS * LANES;

/// Sums of a row over a strip.
pub type Sums = [[f32; LANES]; STRIP_PANELS];

/// Rows whose sums are kept while the weights of a strip pass: 264 are 33 kB of floats.
const MAX_ROWS: usize = 264;

/// Rows of a range come in multiples of this, so that only the last range has a group that is not full: what tiers
/// multiply at a time divides it.
const RANGE_UNIT: usize = 6;

/// Pieces of work for each thread: few enough to read on in memory, many enough that threads end together.
const CHUNKS: usize = 8;

/// With so few rows memory is all that counts, and a thread does best to read on to its end: one piece each.
const FEW_ROWS: usize = 8;

/// A matrix `[n_out, n_in]` laid out in strips. An output is a *column* here: products have a row a token.
pub trait Strips: Sync {
    /// Rows that it is multiplied with.
    type Rows: Sync + ?Sized;
    /// What a thread needs of its own.
    type Scratch: Default;

    /// Columns.
    fn n_out(&self) -> usize;
    /// How many rows there are.
    ///
    /// # Panics
    /// If the rows do not fit the matrix.
    fn n_rows(&self, x: &Self::Rows) -> usize;
    /// Writes the sums of the products of some rows over a strip.
    fn sum(
        &self,
        tier: Tier,
        x: &Self::Rows,
        strip: usize,
        rows: Range<usize>,
        scratch: &mut Self::Scratch,
        sums: &mut [Sums],
    );
}

/// A product to be computed: a matrix, what is added to each row, and where the result goes.
#[derive(Debug)]
pub struct Output<'a, W> {
    /// The weights.
    pub weights: &'a W,
    /// `[n_out]`
    pub bias: Option<&'a [f32]>,
    /// `[rows, n_out]`
    pub out: &'a mut [f32],
}

/// x W^T + b for several matrices and the same rows.
///
/// # Panics
/// If shapes do not fit.
pub fn product<W: Strips>(cpu: &Cpu, x: &W::Rows, outputs: &mut [Output<'_, W>]) {
    let mut jobs = Vec::new();
    for output in outputs {
        let (n_rows, n_out) = (output.weights.n_rows(x), output.weights.n_out());
        assert!(output.out.len() == n_rows * n_out, "there is room for the result");
        assert!(output.bias.is_none_or(|bias| bias.len() == n_out), "there is a bias for every output");
        jobs.push(Job { weights: output.weights, bias: output.bias, out: Whole::of(output.out), n_rows });
    }
    let n_units: usize = jobs.iter().map(Job::n_units).sum();
    let chunks = if jobs.iter().all(|job| job.n_rows <= FEW_ROWS) { 1 } else { CHUNKS };
    // A thread takes neighbouring strips, so that it reads on where it stands in memory.
    let chunk = n_units.div_ceil(chunks * cpu.pool.n_threads()).max(1);
    cpu.pool.run(n_units.div_ceil(chunk), |chunks| {
        let mut scratch = W::Scratch::default();
        let mut sums = vec![[[0.0; LANES]; STRIP_PANELS]; jobs.iter().map(Job::range_rows).max().unwrap_or(0)];
        for unit in chunks.flat_map(|idx| idx * chunk..((idx + 1) * chunk).min(n_units)) {
            let (job, unit) = find(&jobs, unit);
            job.compute(cpu.tier, x, unit, &mut scratch, &mut sums);
        }
    });
}

/// The job of a unit, and its number there.
fn find<'a, 'b, W: Strips>(jobs: &'a [Job<'b, W>], mut unit: usize) -> (&'a Job<'b, W>, usize) {
    for job in jobs {
        match unit.checked_sub(job.n_units()) {
            Some(rest) => unit = rest,
            None => return (job, unit),
        }
    }
    unreachable!("units are counted over all jobs")
}

/// An output whose parts are written by several threads; a unit of work is a strip for a range of rows.
struct Job<'a, W> {
    weights: &'a W,
    bias: Option<&'a [f32]>,
    out: Whole<'a, f32>,
    n_rows: usize,
}

impl<W: Strips> Job<'_, W> {
    fn n_ranges(&self) -> usize {
        self.n_rows.div_ceil(MAX_ROWS)
    }

    fn n_units(&self) -> usize {
        self.weights.n_out().div_ceil(STRIP) * self.n_ranges()
    }

    /// Rows of a range; the last may have fewer.
    fn range_rows(&self) -> usize {
        self.n_rows.div_ceil(self.n_ranges().max(1)).next_multiple_of(RANGE_UNIT)
    }

    fn compute(&self, tier: Tier, x: &W::Rows, unit: usize, scratch: &mut W::Scratch, sums: &mut [Sums]) {
        let n_strips = self.weights.n_out().div_ceil(STRIP);
        let (range, strip) = (unit / n_strips, unit % n_strips);
        let range_rows = self.range_rows();
        let rows = (range * range_rows).min(self.n_rows)..((range + 1) * range_rows).min(self.n_rows);
        let sums = &mut sums[..rows.len()];
        self.weights.sum(tier, x, strip, rows.clone(), scratch, sums);
        let (start, n_out) = (strip * STRIP, self.weights.n_out());
        let n = STRIP.min(n_out - start);
        for (row, sums) in rows.zip(sums) {
            // SAFETY: a unit is handed out once; different ones have different strips or rows.
            let out = unsafe { self.out.slice(row * n_out + start, n) };
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
