//! x W^T with quantised weights, tile by tile.

use std::marker::PhantomData;
use std::ops::Range;

use super::super::simd::{self, LANES, STEP_BYTES, Simd, Task, Tier};
use super::super::strips::{STRIP_PANELS, Strips, Sums};
use super::activations::Part;
use super::panels::{Places, STEP};
use super::{Activations, Format, Panels, SUPER, Spec};

impl Strips for Panels {
    type Rows = Activations;
    type Scratch = Tile;

    fn n_out(&self) -> usize {
        self.n_out
    }

    fn n_rows(&self, x: &Activations) -> usize {
        assert!(self.n_in == x.n_in && self.block() == x.block, "activations are coded as the weights want it");
        x.n_rows
    }

    fn sum(&self, tier: Tier, x: &Activations, strip: usize, rows: Range<usize>, tile: &mut Tile, sums: &mut [Sums]) {
        let strips = self.strips_from(strip);
        macro_rules! sum {
            ($format:ident) => {
                simd::run(
                    tier,
                    SumStrip::<$format> { strips, x, first_row: rows.start, tile, sums, format: PhantomData },
                )
            };
        }
        match self.format {
            Format::Q4_0 => sum!(Q4_0),
            Format::Q4_1 => sum!(Q4_1),
            Format::Q5_0 => sum!(Q5_0),
            Format::Q5_1 => sum!(Q5_1),
            Format::Q8_0 => sum!(Q8_0),
            Format::Q4K => sum!(Q4K),
            Format::Q5K => sum!(Q5K),
            Format::Q6K => sum!(Q6K),
        }
    }
}

/// The codes of a block, one a byte: `[panel][step]`.
#[repr(align(64))]
pub struct Tile([[[u8; STEP_BYTES]; SUPER / STEP]; STRIP_PANELS]);

impl Default for Tile {
    fn default() -> Self {
        Self([[[0; STEP_BYTES]; SUPER / STEP]; STRIP_PANELS])
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
    /// The strip, and those behind it: they will be read next.
    strips: &'a [u8],
    x: &'a Activations,
    /// The first row of a group.
    first_row: usize,
    tile: &'a mut Tile,
    sums: &'a mut [Sums],
    format: PhantomData<F>,
}

impl<F: Coded> Task for SumStrip<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n_in = self.x.n_in;
        let ahead_bytes = F::SPEC.places(SUPER).whole;
        let tile = self.tile;
        self.sums.fill([[0.0; LANES]; STRIP_PANELS]);
        let mut rest = self.strips;
        for start in (0..n_in).step_by(SUPER) {
            let end = (start + SUPER).min(n_in);
            let places = F::SPEC.places(end - start);
            let (block, after) = rest.split_at(places.whole);
            rest = after;
            unpack::<S, F>(simd, places, block, tile);
            let scales = &block[STRIP_PANELS * (places.codes + places.planes)..];
            for (idx, sums) in self.sums.chunks_mut(S::GROUP).enumerate() {
                let rows = Rows { x: self.x, group: self.first_row / S::GROUP + idx, start, end };
                // The first rows ask for what lies a block ahead, a little at a time: memory works while they are computed.
                let ahead = if idx == 0 { places.whole } else { 0 };
                let next = after.get(ahead_bytes - places.whole..).unwrap_or_default();
                let block = Block { places, tile, scales, next: &next[..next.len().min(ahead)] };
                match sums.len() {
                    1 => block.sum::<S, F, 1>(simd, rows, sums),
                    2 => block.sum::<S, F, 2>(simd, rows, sums),
                    3 => block.sum::<S, F, 3>(simd, rows, sums),
                    4 => block.sum::<S, F, 4>(simd, rows, sums),
                    5 => block.sum::<S, F, 5>(simd, rows, sums),
                    _ => block.sum::<S, F, 6>(simd, rows, sums),
                }
            }
        }
    }
}

/// Elements `start..end` of a group of rows.
struct Rows<'a> {
    x: &'a Activations,
    group: usize,
    start: usize,
    end: usize,
}

/// Unpacks the codes of a block.
#[inline(always)]
fn unpack<S: Simd, F: Coded>(simd: S, places: Places, block: &[u8], tile: &mut Tile) {
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
        let planes = &planes[panel * places.planes..][..places.planes];
        for (plane, bits) in planes.as_chunks::<8>().0.chunks_exact(places.n_steps).enumerate() {
            for (codes, bits) in tile.iter_mut().zip(bits) {
                simd.add_plane(codes, u64::from_le_bytes(*bits), 16 << plane);
            }
        }
    }
}

/// A block of a strip.
struct Block<'a> {
    places: Places,
    tile: &'a Tile,
    /// Of both panels.
    scales: &'a [u8],
    /// What will be read next.
    next: &'a [u8],
}

impl Block<'_> {
    /// Adds the block's products with `R` rows to their sums.
    #[inline(always)]
    fn sum<S: Simd, F: Coded, const R: usize>(&self, simd: S, rows: Rows<'_>, sums: &mut [Sums]) {
        if R > S::GROUP {
            unreachable!("a group has at most as many rows as the tier's kernel");
        }
        let Some(sums) = sums.first_chunk_mut::<R>() else { unreachable!("the rows were counted") };
        let x = rows.x.part::<R>(rows.group, rows.start, rows.end);
        match (F::SPEC.is_super, S::PANELS) {
            (true, 1) => (0..STRIP_PANELS).for_each(|panel| self.sum_super::<S, F, R, 1>(simd, panel, &x, sums)),
            (true, _) => self.sum_super::<S, F, R, STRIP_PANELS>(simd, 0, &x, sums),
            (false, 1) => (0..STRIP_PANELS).for_each(|panel| self.sum_simple::<S, F, R, 1>(simd, panel, &x, sums)),
            (false, _) => self.sum_simple::<S, F, R, STRIP_PANELS>(simd, 0, &x, sums),
        }
    }

    /// K formats: `sum += xd * (d * integers - dmin * minima)`, once for all 256 elements.
    #[inline(always)]
    fn sum_super<S: Simd, F: Coded, const R: usize, const P: usize>(
        &self,
        simd: S,
        panel: usize,
        x: &Part<'_, R>,
        sums: &mut [Sums; R],
    ) {
        let spec = F::SPEC;
        let n_subs = SUPER / spec.sub;
        let n_floats = if spec.has_min { 2 } else { 1 };
        let mut integers = [[simd.splat_int(0); P]; R];
        for sub in 0..n_subs {
            self.ask(simd, sub, n_subs);
            let pairs = if spec.sub == 32 { x.pairs_of_32[sub] } else { x.pairs[sub] };
            let partial = match spec.sub {
                16 => self.sub_block::<S, F, R, P, 4>(simd, panel, x, sub, pairs),
                _ => self.sub_block::<S, F, R, P, 8>(simd, panel, x, sub, pairs),
            };
            for p in 0..P {
                let at = self.scales_of(panel + p) + 2 * LANES * n_floats + sub * LANES;
                let scales = simd.scales(chunk_i8(self.scales, at));
                for r in 0..R {
                    let scaled = simd.end_scaled(spec.code, partial[r][p], pairs[r], scales);
                    integers[r][p] = simd.add_int(integers[r][p], scaled);
                }
            }
        }
        for p in 0..P {
            let at = self.scales_of(panel + p);
            let d = simd.load_f16(&chunk_u16(self.scales, at));
            let mut values = [d; R];
            for r in 0..R {
                values[r] = simd.mul(simd.to_float(integers[r][p]), d);
            }
            if spec.has_min {
                let dmin = simd.load_f16(&chunk_u16(self.scales, at + 2 * LANES));
                let minima = self.minima(simd, at + 4 * LANES + n_subs * LANES, x.halves);
                for r in 0..R {
                    values[r] = simd.fnma(simd.to_float(minima[r]), dmin, values[r]);
                }
            }
            for r in 0..R {
                let sum = &mut sums[r][panel + p];
                simd.store(simd.fma(values[r], simd.splat(x.scales[0][r]), simd.load(sum)), sum);
            }
        }
    }

    /// The sum over the parts of minimum * sum of activations.
    #[inline(always)]
    fn minima<S: Simd, const R: usize>(&self, simd: S, at: usize, halves: &[[[i16; 2]; R]]) -> [S::I32; R] {
        let mut sums = [simd.splat_int(0); R];
        for (coded, halves) in self.scales[at..].as_chunks().0.iter().zip(halves) {
            let mins = simd.pairs(coded);
            for r in 0..R {
                sums[r] = simd.add_pairs(sums[r], mins, halves[r]);
            }
        }
        sums
    }

    /// Formats of 32: `sum += xd * d * integers + xd * m * sum of activations`, once for each 32 elements.
    #[inline(always)]
    fn sum_simple<S: Simd, F: Coded, const R: usize, const P: usize>(
        &self,
        simd: S,
        panel: usize,
        x: &Part<'_, R>,
        sums: &mut [Sums; R],
    ) {
        let spec = F::SPEC;
        let n_floats = if spec.has_min { 2 } else { 1 };
        let mut totals = [[simd.splat(0.0); P]; R];
        for r in 0..R {
            for p in 0..P {
                totals[r][p] = simd.load(&sums[r][panel + p]);
            }
        }
        let n_subs = self.places.n_steps * STEP / spec.sub;
        for sub in 0..n_subs {
            self.ask(simd, sub, n_subs);
            let pairs = if spec.sub == 32 { x.pairs_of_32[sub] } else { x.pairs[sub] };
            let partial = self.sub_block::<S, F, R, P, 8>(simd, panel, x, sub, pairs);
            let mut floats = [[simd.splat(0.0); 2]; P];
            for (p, floats) in floats.iter_mut().enumerate() {
                let at = self.scales_of(panel + p) + sub * 2 * LANES * n_floats;
                floats[0] = simd.load_f16(&chunk_u16(self.scales, at));
                if spec.has_min {
                    floats[1] = simd.load_f16(&chunk_u16(self.scales, at + 2 * LANES));
                }
            }
            for r in 0..R {
                let (x_scale, x_sum) = (simd.splat(x.scales[sub][r]), simd.splat(x.sums[sub][r]));
                for p in 0..P {
                    let [d, min] = floats[p];
                    let integers = simd.to_float(simd.end(spec.code, partial[r][p], pairs[r]));
                    totals[r][p] = simd.fma(simd.mul(integers, x_scale), d, totals[r][p]);
                    if spec.has_min {
                        totals[r][p] = simd.fma(min, x_sum, totals[r][p]);
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

    /// Sums of products over the `N` steps that share a scale.
    #[inline(always)]
    fn sub_block<S: Simd, F: Coded, const R: usize, const P: usize, const N: usize>(
        &self,
        simd: S,
        panel: usize,
        x: &Part<'_, R>,
        sub: usize,
        pairs: [[i16; 2]; R],
    ) -> [[S::Sum; P]; R] {
        let code = F::SPEC.code;
        let mut sums = [[simd.begin(code, [0; 2]); P]; R];
        for r in 0..R {
            sums[r] = [simd.begin(code, pairs[r]); P];
        }
        let codes = &x.codes[sub * (N * STEP / LANES)..][..N * STEP / LANES];
        let mut tiles = [&[[0; STEP_BYTES]; N]; P];
        for (p, tile) in tiles.iter_mut().enumerate() {
            *tile = &self.tile.0[panel + p].as_chunks::<N>().0[sub];
        }
        for step in 0..N {
            let mut weights = [simd.weights(code, &tiles[0][step]); P];
            for p in 1..P {
                weights[p] = simd.weights(code, &tiles[p][step]);
            }
            for r in 0..R {
                let (fours, _) = codes[step * STEP / LANES][r].as_chunks::<STEP>();
                for p in 0..P {
                    sums[r][p] = simd.step(code, sums[r][p], weights[p], fours[step % (LANES / STEP)]);
                }
            }
        }
        sums
    }

    /// Asks for one of `n_subs` parts of what will be read next.
    #[inline(always)]
    fn ask<S: Simd>(&self, simd: S, sub: usize, n_subs: usize) {
        let n_lines = self.next.len() / STEP_BYTES;
        for line in sub * n_lines / n_subs..(sub + 1) * n_lines / n_subs {
            simd.prefetch(self.next.as_ptr().wrapping_add(line * STEP_BYTES));
        }
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
    // SAFETY: any bytes are numbers, and `read_unaligned` takes them from anywhere.
    unsafe { chunk.as_ptr().cast::<[u16; LANES]>().read_unaligned() }.map(u16::from_le)
}

#[cfg(test)]
mod tests;
