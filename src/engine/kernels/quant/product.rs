//! x W^T with quantised weights, tile by tile.

use super::super::Cpu;
use super::super::pool::Whole;
use super::super::simd::{self, LANES, STEP_BYTES, Simd, Task, Tier};
use super::activations::Part;
use super::panels::{Places, STEP, STRIP, STRIP_PANELS};
use super::{Activations, Format, Panels, SUPER, Spec};

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

/// Rows that a tier's kernel multiplies at a time.
pub(super) fn group_rows(tier: Tier) -> usize {
    simd::run(tier, GroupRows)
}

struct GroupRows;

impl Task for GroupRows {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        S::GROUP
    }
}

/// x W^T + b for several matrices and the same activations.
///
/// # Panics
/// If shapes do not fit, or the activations are coded by blocks of another size than a matrix wants.
pub fn product(cpu: &Cpu, x: &Activations, outputs: &mut [Output<'_>]) {
    let n_ranges = x.n_rows.div_ceil(MAX_ROWS).max(1);
    let range_rows = x.n_rows.div_ceil(n_ranges).next_multiple_of(x.group);
    let mut jobs = Vec::new();
    for output in outputs {
        let panels = output.panels;
        assert!(panels.n_in == x.n_in && panels.block() == x.block, "activations fit the weights");
        assert!(output.out.len() == x.n_rows * panels.n_out, "there is room for the result");
        let n_units = panels.n_out.div_ceil(STRIP) * n_ranges;
        jobs.push(Job { panels, bias: output.bias, out: Whole::of(output.out), n_units });
    }
    let n_units = jobs.iter().map(|job| job.n_units).sum();
    cpu.pool.run(n_units, |units| {
        let mut scratch = Scratch::new(range_rows.min(x.n_rows));
        for mut unit in units {
            let mut jobs = jobs.iter();
            let job = loop {
                let job = jobs.next().expect("units are counted over all jobs");
                match unit.checked_sub(job.n_units) {
                    Some(rest) => unit = rest,
                    None => break job,
                }
            };
            let first_row = unit % n_ranges * range_rows;
            let n_rows = range_rows.min(x.n_rows.saturating_sub(first_row));
            job.compute(cpu.tier, x, unit / n_ranges, first_row, n_rows, &mut scratch);
        }
    });
}

/// An output whose parts are written by several threads.
struct Job<'a> {
    panels: &'a Panels,
    bias: Option<&'a [f32]>,
    out: Whole<'a, f32>,
    n_units: usize,
}

/// What a thread needs of its own.
struct Scratch {
    tile: Tile,
    /// `[rows][column of the strip]`
    sums: Vec<[[f32; LANES]; STRIP_PANELS]>,
}

/// The codes of a block, one a byte: `[panel][step]`.
#[repr(align(64))]
struct Tile([[[u8; STEP_BYTES]; SUPER / STEP]; STRIP_PANELS]);

impl Scratch {
    fn new(n_rows: usize) -> Self {
        let tile = Tile([[[0; STEP_BYTES]; SUPER / STEP]; STRIP_PANELS]);
        Self { tile, sums: vec![[[0.0; LANES]; STRIP_PANELS]; n_rows] }
    }
}

impl Job<'_> {
    /// Computes a strip of columns for some rows.
    fn compute(&self, tier: Tier, x: &Activations, strip: usize, first: usize, n_rows: usize, scratch: &mut Scratch) {
        let sums = &mut scratch.sums[..n_rows];
        sums.fill([[0.0; LANES]; STRIP_PANELS]);
        let strip_bytes = self.panels.strip(strip);
        let first_group = first / x.group;
        macro_rules! sum {
            ($format:ident) => {
                simd::run(
                    tier,
                    SumStrip::<$format> {
                        strip: strip_bytes,
                        x,
                        first_group,
                        tile: &mut scratch.tile,
                        sums,
                        format: std::marker::PhantomData,
                    },
                )
            };
        }
        match self.panels.format {
            Format::Q4_0 => sum!(Q4_0),
            Format::Q4_1 => sum!(Q4_1),
            Format::Q5_0 => sum!(Q5_0),
            Format::Q5_1 => sum!(Q5_1),
            Format::Q8_0 => sum!(Q8_0),
            Format::Q4K => sum!(Q4K),
            Format::Q5K => sum!(Q5K),
            Format::Q6K => sum!(Q6K),
        }
        self.write(strip, first, &scratch.sums[..n_rows]);
    }

    fn write(&self, strip: usize, first_row: usize, sums: &[[[f32; LANES]; STRIP_PANELS]]) {
        let n_out = self.panels.n_out;
        let start = strip * STRIP;
        let n = STRIP.min(n_out - start);
        for (row, sums) in sums.iter().enumerate() {
            // SAFETY: a unit is handed out once; different ones have different strips or rows.
            let out = unsafe { self.out.slice((first_row + row) * n_out + start, n) };
            out.copy_from_slice(&sums.as_flattened()[..n]);
            if let Some(bias) = self.bias {
                out.iter_mut().zip(&bias[start..]).for_each(|(out, bias)| *out += bias);
            }
        }
    }
}

/// A format as a type, so that the kernel of each is compiled by itself.
trait Coded {
    const SPEC: Spec;
}

macro_rules! coded {
    ($($name:ident)*) => {
        $(
            #[allow(non_camel_case_types, reason = "the names of the formats")]
            struct $name;
            impl Coded for $name {
                const SPEC: Spec = Format::$name.spec();
            }
        )*
    };
}

coded! { Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4K Q5K Q6K }

/// The sums of some rows over a strip.
struct SumStrip<'a, F> {
    strip: &'a [u8],
    x: &'a Activations,
    first_group: usize,
    tile: &'a mut Tile,
    sums: &'a mut [[[f32; LANES]; STRIP_PANELS]],
    format: std::marker::PhantomData<F>,
}

impl<F: Coded> Task for SumStrip<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n_in = self.x.n_in;
        let mut rest = self.strip;
        for start in (0..n_in).step_by(SUPER) {
            let end = (start + SUPER).min(n_in);
            let places = F::SPEC.places(end - start);
            let (block, after) = rest.split_at(places.whole);
            rest = after;
            unpack::<S, F>(simd, places, block, after, self.tile);
            let scales = &block[STRIP_PANELS * (places.codes + places.planes)..];
            for (idx, sums) in self.sums.chunks_mut(self.x.group).enumerate() {
                let part = self.x.part(self.first_group + idx, start, end);
                let block = Block { places, tile: self.tile, scales, part };
                match sums.len() {
                    1 => block.sum::<S, F, 1>(simd, sums),
                    2 => block.sum::<S, F, 2>(simd, sums),
                    3 => block.sum::<S, F, 3>(simd, sums),
                    4 => block.sum::<S, F, 4>(simd, sums),
                    5 => block.sum::<S, F, 5>(simd, sums),
                    _ => block.sum::<S, F, 6>(simd, sums),
                }
            }
        }
    }
}

/// Unpacks the codes of a block; asks for the next one meanwhile.
#[inline(always)]
fn unpack<S: Simd, F: Coded>(simd: S, places: Places, block: &[u8], next: &[u8], tile: &mut Tile) {
    let next = &next[..places.whole.min(next.len())];
    next.chunks(STEP_BYTES).for_each(|line| simd.prefetch(line.as_ptr()));
    let (codes, rest) = block.split_at(STRIP_PANELS * places.codes);
    let planes = &rest[..STRIP_PANELS * places.planes];
    for (panel, tile) in tile.0.iter_mut().enumerate() {
        let (packed, _) = codes[panel * places.codes..][..places.codes].as_chunks::<STEP_BYTES>();
        let tile = &mut tile[..places.n_steps];
        if F::SPEC.code.bits == 8 {
            tile.copy_from_slice(packed);
            continue;
        }
        let (pairs, _) = tile.as_chunks_mut::<2>();
        for (to, packed) in pairs.iter_mut().zip(packed) {
            simd.unpack(packed, to);
        }
        let (planes, _) = planes[panel * places.planes..][..places.planes].as_chunks::<8>();
        for (plane, bits) in planes.chunks_exact(places.n_steps).enumerate() {
            for (codes, bits) in tile.iter_mut().zip(bits) {
                simd.add_plane(codes, u64::from_le_bytes(*bits), 16 << plane);
            }
        }
    }
}

/// A block of a strip and the same elements of a group of rows.
struct Block<'a> {
    places: Places,
    tile: &'a Tile,
    /// Of both panels.
    scales: &'a [u8],
    part: Part<'a>,
}

impl Block<'_> {
    /// Adds the block's products to the sums of `R` rows.
    #[inline(always)]
    fn sum<S: Simd, F: Coded, const R: usize>(&self, simd: S, sums: &mut [[[f32; LANES]; STRIP_PANELS]]) {
        if R > S::GROUP {
            unreachable!("a group has at most as many rows as the tier's kernel");
        }
        let Some(sums) = sums.first_chunk_mut::<R>() else { unreachable!("the rows were counted") };
        match (F::SPEC.is_super, S::PANELS) {
            (true, 1) => (0..STRIP_PANELS).for_each(|panel| self.sum_super::<S, F, R, 1>(simd, panel, sums)),
            (true, _) => self.sum_super::<S, F, R, STRIP_PANELS>(simd, 0, sums),
            (false, 1) => (0..STRIP_PANELS).for_each(|panel| self.sum_simple::<S, F, R, 1>(simd, panel, sums)),
            (false, _) => self.sum_simple::<S, F, R, STRIP_PANELS>(simd, 0, sums),
        }
    }

    /// K formats: `sum += xd * (d * integers - dmin * minima)`, once for all 256 elements.
    #[inline(always)]
    fn sum_super<S: Simd, F: Coded, const R: usize, const P: usize>(
        &self,
        simd: S,
        panel: usize,
        sums: &mut [[[f32; LANES]; STRIP_PANELS]; R],
    ) {
        let spec = F::SPEC;
        let n_subs = SUPER / spec.sub;
        let n_floats = if spec.has_min { 2 } else { 1 };
        let mut integers = [[simd.splat_int(0); P]; R];
        for sub in 0..n_subs {
            let partial = self.sub_block::<S, F, R, P>(simd, panel, sub);
            for p in 0..P {
                let at = self.scales_of(panel + p) + 2 * LANES * n_floats + sub * LANES;
                let scales = simd.scales(chunk_i8(self.scales, at));
                for r in 0..R {
                    let scaled = simd.end_scaled(spec.code, partial[r][p], self.pairs::<R>(spec, sub, r), scales);
                    integers[r][p] = simd.add_int(integers[r][p], scaled);
                }
            }
        }
        for p in 0..P {
            let at = self.scales_of(panel + p);
            let d = simd.load_f16(&chunk_u16(self.scales, at));
            for r in 0..R {
                let mut value = simd.mul(simd.to_float(integers[r][p]), d);
                if spec.has_min {
                    let dmin = simd.load_f16(&chunk_u16(self.scales, at + 2 * LANES));
                    let mins = at + 4 * LANES + n_subs * LANES;
                    value = simd.fnma(simd.to_float(self.minima::<S, R>(simd, spec, mins, r)), dmin, value);
                }
                let sum = &mut sums[r][panel + p];
                let x_scale = simd.splat(self.part.scales[r]);
                simd.store(simd.fma(value, x_scale, simd.load(sum)), sum);
            }
        }
    }

    /// The sum over the parts of minimum * sum of activations.
    #[inline(always)]
    fn minima<S: Simd, const R: usize>(&self, simd: S, spec: Spec, at: usize, row: usize) -> S::I32 {
        let mut sum = simd.splat_int(0);
        for two in 0..SUPER / spec.sub / 2 {
            let totals = [2 * two, 2 * two + 1].map(|sub| {
                let [a, b] = self.pairs::<R>(spec, sub, row);
                a + b
            });
            let coded = self.scales[at + two * 2 * LANES..].first_chunk().expect("the block has all minima");
            sum = simd.add_pairs(sum, coded, totals);
        }
        sum
    }

    /// Formats of 32: `sum += xd * d * integers + xd * m * sum of activations`, once for each 32 elements.
    #[inline(always)]
    fn sum_simple<S: Simd, F: Coded, const R: usize, const P: usize>(
        &self,
        simd: S,
        panel: usize,
        sums: &mut [[[f32; LANES]; STRIP_PANELS]; R],
    ) {
        let spec = F::SPEC;
        let n_floats = if spec.has_min { 2 } else { 1 };
        let mut totals = [[simd.splat(0.0); P]; R];
        for r in 0..R {
            for p in 0..P {
                totals[r][p] = simd.load(&sums[r][panel + p]);
            }
        }
        for sub in 0..self.places.n_steps * STEP / spec.sub {
            let partial = self.sub_block::<S, F, R, P>(simd, panel, sub);
            for p in 0..P {
                let at = self.scales_of(panel + p) + sub * 2 * LANES * n_floats;
                let d = simd.load_f16(&chunk_u16(self.scales, at));
                for r in 0..R {
                    let x_scale = self.part.scales[sub * R + r];
                    let pairs = self.pairs::<R>(spec, sub, r);
                    let integers = simd.to_float(simd.end(spec.code, partial[r][p], pairs));
                    totals[r][p] = simd.fma(simd.mul(integers, simd.splat(x_scale)), d, totals[r][p]);
                    if spec.has_min {
                        let min = simd.load_f16(&chunk_u16(self.scales, at + 2 * LANES));
                        let x_sum = x_scale * f32::from(pairs[0] + pairs[1]);
                        totals[r][p] = simd.fma(min, simd.splat(x_sum), totals[r][p]);
                    }
                }
            }
        }
        for r in 0..R {
            for p in 0..P {
                simd.store(totals[r][p], &mut sums[r][panel + p]);
            }
        }
    }

    /// Sums of products over the elements that share a scale.
    #[inline(always)]
    fn sub_block<S: Simd, F: Coded, const R: usize, const P: usize>(
        &self,
        simd: S,
        panel: usize,
        sub: usize,
    ) -> [[S::Sum; P]; R] {
        let code = F::SPEC.code;
        let mut sums = [[simd.begin(code, [0; 2]); P]; R];
        for (row, sums) in sums.iter_mut().enumerate() {
            *sums = [simd.begin(code, self.pairs::<R>(F::SPEC, sub, row)); P];
        }
        let n_steps = F::SPEC.sub / STEP;
        let x = self.part.codes.as_chunks::<STEP>().0.as_chunks::<R>().0;
        for (step, x) in x[sub * n_steps..][..n_steps].iter().enumerate() {
            let mut weights = [simd.weights(code, &self.tile.0[panel][sub * n_steps + step]); P];
            for (p, weights) in weights.iter_mut().enumerate().skip(1) {
                *weights = simd.weights(code, &self.tile.0[panel + p][sub * n_steps + step]);
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = simd.step(code, *sum, weights, *x);
                }
            }
        }
        sums
    }

    /// The sums of a row's codes over the elements that share a scale.
    #[inline(always)]
    fn pairs<const R: usize>(&self, spec: Spec, sub: usize, row: usize) -> [i16; 2] {
        let mut pairs = [0; 2];
        for sixteen in 0..spec.sub / LANES {
            let [a, b] = self.part.pairs[(sub * (spec.sub / LANES) + sixteen) * R + row];
            pairs = [pairs[0] + a, pairs[1] + b];
        }
        pairs
    }

    #[inline(always)]
    fn scales_of(&self, panel: usize) -> usize {
        panel * self.places.scales
    }
}

#[inline(always)]
fn chunk_i8(bytes: &[u8], at: usize) -> &[i8; LANES] {
    let chunk: &[u8; LANES] = bytes[at..].first_chunk().expect("the block has all scales");
    // SAFETY: bytes may be read as signed ones.
    unsafe { &*chunk.as_ptr().cast() }
}

#[inline(always)]
fn chunk_u16(bytes: &[u8], at: usize) -> [u16; LANES] {
    let chunk: &[u8; 2 * LANES] = bytes[at..].first_chunk().expect("the block has all scales");
    let (pairs, _) = chunk.as_chunks::<2>();
    std::array::from_fn(|i| u16::from_le_bytes(pairs[i]))
}

#[cfg(test)]
mod tests;
