//! Attention of packed rows over cached keys: what does each token see of its own sequence?

use super::pool::Whole;
use super::simd::{self, LANES, Simd, Task};
use super::{Cpu, math};

/// Tokens whose keys lie together, so that a register holds one number of each.
pub const BLOCK: usize = LANES;

/// Rows of one sequence that are computed together.
const RUN_ROWS: usize = 16;

/// The sizes that attention needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadShape {
    /// Query heads.
    pub n_heads: usize,
    /// Key and value heads; each serves `n_heads / n_kv_heads` query heads.
    pub n_kv_heads: usize,
    /// Floats a head.
    pub head_dim: usize,
}

impl HeadShape {
    /// Floats of a token's keys, and again of its values.
    pub fn kv_dim(&self) -> usize {
        self.n_kv_heads * self.head_dim
    }

    /// Floats of a block's keys of one head, `[head_dim][token]`.
    fn key_floats(&self) -> usize {
        self.head_dim * BLOCK
    }

    /// Floats of one value, padded to whole vectors.
    fn value_floats(&self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    /// Bytes that the keys and values of a block take in one layer.
    pub fn block_bytes(&self) -> usize {
        (self.key_floats() + BLOCK * self.value_floats()) * self.n_kv_heads * size_of::<f32>()
    }

    fn group(&self) -> usize {
        self.n_heads / self.n_kv_heads
    }
}

/// Keys and values of one layer. Slot `s` is place `s % 16` of block `s / 16`.
#[derive(Debug)]
pub struct KvLayer {
    shape: HeadShape,
    /// `[block][kv_head][head_dim][place]`
    keys: Vec<f32>,
    /// `[block][kv_head][place][value_floats]`
    values: Vec<f32>,
}

impl KvLayer {
    /// Room for some blocks; the operating system gives memory to a page when it is first written.
    pub fn new(shape: HeadShape, n_blocks: usize) -> Self {
        let keys = vec![0.0; n_blocks * shape.n_kv_heads * shape.key_floats()];
        let values = vec![0.0; n_blocks * shape.n_kv_heads * BLOCK * shape.value_floats()];
        Self { shape, keys, values }
    }

    /// Writes keys and values `[rows, n_kv_heads, head_dim]` to a slot for each row.
    ///
    /// # Panics
    /// If the cache ends before a slot.
    pub fn write(&mut self, cpu: &Cpu, slots: &[u32], keys: &[f32], values: &[f32]) {
        /// Fewer rows are not worth the asking of other threads.
        const MIN_ROWS: usize = 32;
        let HeadShape { n_kv_heads, head_dim, .. } = self.shape;
        let (key_floats, value_floats) = (self.shape.key_floats(), self.shape.value_floats());
        let (all_keys, all_values) = (Whole::of(&mut self.keys), Whole::of(&mut self.values));
        let heads_per_unit = if slots.len() < MIN_ROWS { n_kv_heads } else { 1 };
        cpu.pool.run(n_kv_heads / heads_per_unit, |units| {
            for kv_head in units.flat_map(|unit| unit * heads_per_unit..(unit + 1) * heads_per_unit) {
                for (row, &slot) in slots.iter().enumerate() {
                    let from = (row * n_kv_heads + kv_head) * head_dim;
                    let (block, place) = (slot as usize / BLOCK, slot as usize % BLOCK);
                    let head = block * n_kv_heads + kv_head;
                    // SAFETY: a head is handed out once, and those of different ones do not overlap.
                    let (block_keys, value) = unsafe {
                        (
                            all_keys.slice(head * key_floats, key_floats),
                            all_values.slice((head * BLOCK + place) * value_floats, head_dim),
                        )
                    };
                    let key = &keys[from..from + head_dim];
                    let places = block_keys[place..].iter_mut().step_by(BLOCK);
                    places.zip(key).for_each(|(to, key)| *to = *key);
                    value.copy_from_slice(&values[from..from + head_dim]);
                }
            }
        });
    }
}

/// softmax(q K^T / sqrt(head_dim)) V for each row, over the row's own slots.
///
/// `queries` is `[rows, n_heads, head_dim]`; `slots[row]` lists the slots that the row sees, by position; a slot's place
/// in its block is its position modulo 16, and a list that left a block does not come back to it. `out` has the shape
/// of `queries`. Rows that share a list and stand together are computed together.
///
/// A score is a sum over the head's floats in order, the output one over the positions in order, the softmax's total
/// that of sixteen sums over every sixteenth position. So a row's result depends on its query and the keys and values
/// in position order, and on nothing else: which other rows are in the batch, how the sequence was cut into forwards
/// and where its slots lie never shows.
///
/// # Panics
/// If the shapes do not fit.
pub fn attention(cpu: &Cpu, queries: &[f32], kv: &KvLayer, slots: &[&[u32]], out: &mut [f32]) {
    let shape = kv.shape;
    let row_floats = shape.n_heads * shape.head_dim;
    assert!(queries.len() == slots.len() * row_floats && out.len() == queries.len(), "there is a query for each row");
    let runs = runs(slots);
    let out = Whole::of(out);
    cpu.pool.run(runs.len() * shape.n_kv_heads, |units| {
        let mut scratch = Scratch::default();
        for unit in units {
            // The last rows see most: they come first, so that threads end together.
            let rows = runs[runs.len() - 1 - unit / shape.n_kv_heads].clone();
            let run = Run {
                kv,
                kv_head: unit % shape.n_kv_heads,
                queries: &queries[rows.start * row_floats..rows.end * row_floats],
                slots: &slots[rows.clone()],
                first_row: rows.start,
                out: &out,
                scratch: &mut scratch,
            };
            simd::run(cpu.tier, run);
        }
    });
}

/// Neighbouring rows of the same list of slots.
fn runs(slots: &[&[u32]]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (row, list) in slots.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.len() < RUN_ROWS && slots[run.start].as_ptr() == list.as_ptr() => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

/// Some rows that share a list of slots, and one key head.
struct Run<'a, 'b> {
    kv: &'a KvLayer,
    kv_head: usize,
    /// `[row, n_heads, head_dim]`
    queries: &'a [f32],
    slots: &'a [&'a [u32]],
    first_row: usize,
    out: &'a Whole<'b, f32>,
    scratch: &'a mut Scratch,
}

/// What a thread needs of its own.
#[derive(Default)]
struct Scratch {
    /// Where the keys of each block of positions begin: in the cache, or in `mixed` counted from its end.
    key_blocks: Vec<KeyBlock>,
    /// Keys of positions whose slots lie in different blocks, put together: `[head_dim][place]` each.
    mixed: Vec<f32>,
    /// Where the value of each position begins.
    value_starts: Vec<usize>,
    /// Queries of a tile, `[head_dim][query]`.
    queries: Vec<f32>,
    /// `[query][position]`, to whole blocks.
    scores: Vec<f32>,
    /// `[query][value_floats]`
    sums: Vec<f32>,
}

#[derive(Clone, Copy)]
enum KeyBlock {
    Cached(usize),
    Mixed(usize),
}

impl Task for Run<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        self.find_keys();
        let n_queries = self.slots.len() * self.kv.shape.group();
        // Tiles of equal size: seven queries are four and three, not six and one.
        let tile = n_queries.div_ceil(n_queries.div_ceil(S::GROUP));
        for start in (0..n_queries).step_by(tile) {
            match tile.min(n_queries - start) {
                1 => self.tile::<S, 1>(simd, start),
                2 => self.tile::<S, 2>(simd, start),
                3 => self.tile::<S, 3>(simd, start),
                4 => self.tile::<S, 4>(simd, start),
                5 => self.tile::<S, 5>(simd, start),
                _ => self.tile::<S, 6>(simd, start),
            }
        }
    }
}

impl Run<'_, '_> {
    /// Looks up where the keys and values of each position are.
    fn find_keys(&mut self) {
        let shape = self.kv.shape;
        let (key_floats, value_floats) = (shape.key_floats(), shape.value_floats());
        let longest = self.slots.iter().max_by_key(|slots| slots.len()).expect("a run has a row");
        let head = |slot: u32| slot as usize / BLOCK * shape.n_kv_heads + self.kv_head;
        let n_values = self.kv.values.len() / value_floats;
        assert!(longest.iter().all(|&slot| (head(slot) + 1) * BLOCK <= n_values), "every slot lies in the cache");
        let scratch = &mut *self.scratch;
        scratch.value_starts.clear();
        scratch
            .value_starts
            .extend(longest.iter().map(|&slot| (head(slot) * BLOCK + slot as usize % BLOCK) * value_floats));
        scratch.key_blocks.clear();
        scratch.mixed.clear();
        for slots in longest.chunks(BLOCK) {
            if head(slots[0]) == head(slots[slots.len() - 1]) {
                scratch.key_blocks.push(KeyBlock::Cached(head(slots[0]) * key_floats));
                continue;
            }
            let start = scratch.mixed.len();
            scratch.key_blocks.push(KeyBlock::Mixed(start));
            scratch.mixed.resize(start + key_floats, 0.0);
            for (place, &slot) in slots.iter().enumerate() {
                let from = self.kv.keys[head(slot) * key_floats..][..key_floats].iter().skip(place).step_by(BLOCK);
                let to = scratch.mixed[start..].iter_mut().skip(place).step_by(BLOCK);
                to.zip(from).for_each(|(to, from)| *to = *from);
            }
        }
    }

    /// Computes `R` queries from `start` on, counted over the rows and the heads of the group.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, simd: S, start: usize) {
        if R > S::GROUP {
            unreachable!("a tile has at most as many queries as the tier's kernel");
        }
        let group = self.kv.shape.group();
        let mut lens = [0; R];
        for (r, len) in lens.iter_mut().enumerate() {
            *len = self.slots[(start + r) / group].len();
        }
        let common = lens.into_iter().min().unwrap_or(0);
        let longest = lens.into_iter().max().unwrap_or(0);
        self.pack_queries::<R>(start);
        let stride = longest.next_multiple_of(BLOCK);
        self.scratch.scores.resize(R * stride, 0.0);
        self.score::<S, R>(simd, stride);
        let scale = 1.0 / (self.kv.shape.head_dim as f32).sqrt();
        let mut totals = [0.0; R];
        for (r, total) in totals.iter_mut().enumerate() {
            let (scores, _) = self.scratch.scores[r * stride..][..lens[r].next_multiple_of(BLOCK)].as_chunks_mut();
            *total = exponentials(simd, scores, lens[r] % BLOCK, scale);
        }
        let value_floats = self.kv.shape.value_floats();
        self.scratch.sums.clear();
        self.scratch.sums.resize(R * value_floats, 0.0);
        self.weigh::<S, R>(simd, stride, 0, 0..common);
        for (r, len) in lens.into_iter().enumerate() {
            self.weigh::<S, 1>(simd, stride, r, common..len);
        }
        for (r, total) in totals.into_iter().enumerate() {
            self.write(start + r, r * value_floats, total);
        }
    }

    fn pack_queries<const R: usize>(&mut self, start: usize) {
        let HeadShape { n_heads, head_dim, .. } = self.kv.shape;
        let group = self.kv.shape.group();
        self.scratch.queries.resize(R * head_dim, 0.0);
        for r in 0..R {
            let (row, head) = ((start + r) / group, self.kv_head * group + (start + r) % group);
            let from = &self.queries[(row * n_heads + head) * head_dim..][..head_dim];
            let to = self.scratch.queries.iter_mut().skip(r).step_by(R);
            to.zip(from).for_each(|(to, from)| *to = *from);
        }
    }

    /// Dot products of the tile's queries with all keys.
    #[inline(always)]
    fn score<S: Simd, const R: usize>(&mut self, simd: S, stride: usize) {
        let n_blocks = stride / BLOCK;
        let mut block = 0;
        if S::PANELS == 2 {
            while block + 2 <= n_blocks {
                self.score_blocks::<S, R, 2>(simd, stride, block);
                block += 2;
            }
        }
        for block in block..n_blocks {
            self.score_blocks::<S, R, 1>(simd, stride, block);
        }
    }

    #[inline(always)]
    fn score_blocks<S: Simd, const R: usize, const P: usize>(&mut self, simd: S, stride: usize, first: usize) {
        let head_dim = self.kv.shape.head_dim;
        let scratch = &mut *self.scratch;
        let mut keys: [&[[f32; BLOCK]]; P] = [&[]; P];
        for (p, keys) in keys.iter_mut().enumerate() {
            let from = match scratch.key_blocks[first + p] {
                KeyBlock::Cached(start) => &self.kv.keys[start..],
                KeyBlock::Mixed(start) => &scratch.mixed[start..],
            };
            *keys = &from.as_chunks().0[..head_dim];
        }
        let mut sums = [[simd.splat(0.0); P]; R];
        let (queries, _) = scratch.queries.as_chunks::<R>();
        for (i, query) in queries[..head_dim].iter().enumerate() {
            for (p, keys) in keys.iter().enumerate() {
                let key = simd.load(&keys[i]);
                for (sums, query) in sums.iter_mut().zip(query) {
                    sums[p] = simd.fma(key, simd.splat(*query), sums[p]);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            let (to, _) = scratch.scores[r * stride + first * BLOCK..].as_chunks_mut();
            sums.into_iter().zip(to).for_each(|(sum, to)| simd.store(sum, to));
        }
    }

    /// Adds the values of some positions, times their weights, to the sums of `R` queries from `first` on.
    #[inline(always)]
    fn weigh<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        stride: usize,
        first: usize,
        positions: std::ops::Range<usize>,
    ) {
        let n_vectors = self.kv.shape.value_floats() / LANES;
        let mut vector = 0;
        if S::PANELS == 2 {
            while vector + 4 <= n_vectors {
                self.weigh_vectors::<S, R, 4>(simd, stride, first, positions.clone(), vector);
                vector += 4;
            }
        }
        while vector + 2 <= n_vectors {
            self.weigh_vectors::<S, R, 2>(simd, stride, first, positions.clone(), vector);
            vector += 2;
        }
        if vector < n_vectors {
            self.weigh_vectors::<S, R, 1>(simd, stride, first, positions, vector);
        }
    }

    /// The same for `P` vectors of the head's floats.
    #[inline(always)]
    fn weigh_vectors<S: Simd, const R: usize, const P: usize>(
        &mut self,
        simd: S,
        stride: usize,
        first: usize,
        positions: std::ops::Range<usize>,
        vector: usize,
    ) {
        let value_floats = self.kv.shape.value_floats();
        let scratch = &mut *self.scratch;
        let mut weights: [&[f32]; R] = [&[]; R];
        for (r, weights) in weights.iter_mut().enumerate() {
            *weights = &scratch.scores[(first + r) * stride..][positions.clone()];
        }
        let place = |r: usize| (first + r) * value_floats + vector * LANES;
        let mut sums = [[simd.splat(0.0); P]; R];
        for (r, sums) in sums.iter_mut().enumerate() {
            let (from, _) = scratch.sums[place(r)..].as_chunks();
            sums.iter_mut().zip(from).for_each(|(sum, from)| *sum = simd.load(from));
        }
        for (i, start) in scratch.value_starts[positions].iter().enumerate() {
            // SAFETY: `find_keys` saw that a value of `value_floats` begins there, and `vector + P` vectors are no more.
            let value: &[[f32; LANES]; P] = unsafe { &*self.kv.values.as_ptr().add(start + vector * LANES).cast() };
            let mut vectors = [simd.splat(0.0); P];
            for p in 0..P {
                vectors[p] = simd.load(&value[p]);
            }
            for r in 0..R {
                // SAFETY: each query has a weight for each of the positions. With a check, which may leave the loop, the
                // compiler would keep the sums in memory, and the loop would take twice as long.
                let weight = simd.splat(unsafe { *weights[r].get_unchecked(i) });
                for p in 0..P {
                    sums[r][p] = simd.fma(vectors[p], weight, sums[r][p]);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            let (to, _) = scratch.sums[place(r)..].as_chunks_mut();
            sums.into_iter().zip(to).for_each(|(sum, to)| simd.store(sum, to));
        }
    }

    /// Divides a query's sums by the total of its weights and writes them to its place.
    fn write(&self, query: usize, from: usize, total: f32) {
        let HeadShape { n_heads, head_dim, .. } = self.kv.shape;
        let group = self.kv.shape.group();
        let (row, head) = (self.first_row + query / group, self.kv_head * group + query % group);
        // SAFETY: a row and head belong to one run and key head only, and those are handed out once.
        let out = unsafe { self.out.slice((row * n_heads + head) * head_dim, head_dim) };
        let sums = &self.scratch.sums[from..][..head_dim];
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum / total);
    }
}

/// Turns scores into `exp((score - largest) * scale)` and returns their total. Only `n_last` places of the last block
/// count, all of them if that is 0; the others become 0.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, scores: &mut [[f32; LANES]], n_last: usize, scale: f32) -> f32 {
    let clear = |block: Option<&mut [f32; LANES]>, with: f32| {
        if n_last > 0 {
            block.into_iter().for_each(|block| block[n_last..].fill(with));
        }
    };
    clear(scores.last_mut(), f32::NEG_INFINITY);
    let mut largest = simd.splat(f32::NEG_INFINITY);
    for block in scores.iter() {
        largest = simd.max(simd.load(block), largest);
    }
    let mut lanes = [0.0; LANES];
    simd.store(largest, &mut lanes);
    let largest = simd.splat(lanes.into_iter().fold(f32::NEG_INFINITY, f32::max));
    for block in scores.iter_mut() {
        let shifted = simd.mul(simd.sub(simd.load(block), largest), simd.splat(scale));
        simd.store(math::exp(simd, shifted), block);
    }
    clear(scores.last_mut(), 0.0);
    let mut total = simd.splat(0.0);
    for block in scores.iter() {
        total = simd.add(total, simd.load(block));
    }
    math::sum_lanes(simd, total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernels::pool::Pool;
    use crate::engine::kernels::simd::Tier;
    use crate::engine::kernels::testing::floats;

    /// f32 against f64: some roundings on values of size one.
    const BOUND: f64 = 5e-6;

    /// Slots whose blocks come in another order, and of every other block only the first places.
    fn scattered(n_positions: usize) -> Vec<u32> {
        let place = |position: usize| {
            let (idx, place) = (position / BLOCK, position % BLOCK);
            let block = idx * 3 % 7 + if idx % 2 == 1 && place > idx + 2 { 7 } else { 0 };
            (block * BLOCK + position % BLOCK) as u32
        };
        (0..n_positions).map(place).collect()
    }

    struct Case {
        shape: HeadShape,
        /// `[slot, n_kv_heads, head_dim]`
        keys: Vec<f32>,
        values: Vec<f32>,
        kv: KvLayer,
    }

    impl Case {
        fn new(shape: HeadShape) -> Self {
            let n_slots = 14 * BLOCK;
            let (keys, values) = (floats(1, n_slots * shape.kv_dim()), floats(2, n_slots * shape.kv_dim()));
            let mut kv = KvLayer::new(shape, 14);
            kv.write(&Cpu::new(2), &(0..n_slots as u32).collect::<Vec<_>>(), &keys, &values);
            Self { shape, keys, values, kv }
        }

        /// The textbook formula in f64.
        fn expected(&self, query: &[f32], slots: &[u32], head: usize) -> Vec<f64> {
            let dim = self.shape.head_dim;
            let kv_head = head / self.shape.group();
            let row = |cache: &[f32], slot: u32| -> Vec<f64> {
                let start = slot as usize * self.shape.kv_dim() + kv_head * dim;
                cache[start..start + dim].iter().map(|&x| f64::from(x)).collect()
            };
            let query = &query[head * dim..][..dim];
            let dot = |key: Vec<f64>| query.iter().zip(key).map(|(&q, k)| f64::from(q) * k).sum::<f64>();
            let weights: Vec<f64> =
                slots.iter().map(|&slot| (dot(row(&self.keys, slot)) / (dim as f64).sqrt()).exp()).collect();
            let total: f64 = weights.iter().sum();
            let value = |i: usize| slots.iter().zip(&weights).map(|(&s, w)| w / total * row(&self.values, s)[i]).sum();
            (0..dim).map(value).collect()
        }

        fn attend(&self, tier: Tier, n_threads: usize, queries: &[f32], slots: &[&[u32]]) -> Vec<f32> {
            let mut out = vec![0.0; queries.len()];
            attention(&Cpu { pool: Pool::new(n_threads), tier }, queries, &self.kv, slots, &mut out);
            out
        }
    }

    const SHAPES: [HeadShape; 4] = [
        HeadShape { n_heads: 6, n_kv_heads: 2, head_dim: 64 },
        HeadShape { n_heads: 14, n_kv_heads: 2, head_dim: 20 },
        HeadShape { n_heads: 2, n_kv_heads: 2, head_dim: 128 },
        HeadShape { n_heads: 1, n_kv_heads: 1, head_dim: 2 },
    ];

    #[test]
    fn equals_the_textbook_formula() {
        for shape in SHAPES {
            let case = Case::new(shape);
            let all = scattered(7 * BLOCK);
            let slots: Vec<&[u32]> = [1, 2, 15, 16, 17, 31, 32, 33, 100].map(|n| &all[..n]).to_vec();
            let queries = floats(3, slots.len() * shape.n_heads * shape.head_dim);
            for tier in Tier::available() {
                let out = case.attend(tier, 2, &queries, &slots);
                let row_floats = shape.n_heads * shape.head_dim;
                for (row, slots) in slots.iter().enumerate() {
                    for head in 0..shape.n_heads {
                        let expected = case.expected(&queries[row * row_floats..], slots, head);
                        let ours = &out[row * row_floats + head * shape.head_dim..];
                        for (ours, expected) in ours.iter().zip(expected) {
                            assert!((f64::from(*ours) - expected).abs() < BOUND, "{tier:?} {ours} against {expected}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn row_has_the_same_bits_alone_and_among_others_on_every_tier() {
        for shape in SHAPES {
            let case = Case::new(shape);
            let all = scattered(7 * BLOCK);
            let slots: Vec<&[u32]> = (1..=all.len()).map(|n| &all[..n]).collect();
            let row_floats = shape.n_heads * shape.head_dim;
            let queries = floats(4, slots.len() * row_floats);
            let together = case.attend(Tier::Scalar, 1, &queries, &slots);
            for tier in Tier::available() {
                assert!(case.attend(tier, 2, &queries, &slots) == together, "{tier:?}");
                for row in [0, 1, 15, 16, 17, 40, 111] {
                    let query = &queries[row * row_floats..][..row_floats];
                    // The same slots in a list of their own.
                    let slots = slots[row].to_vec();
                    let alone = case.attend(tier, 1, query, &[&slots]);
                    assert!(alone == together[row * row_floats..][..row_floats], "{tier:?} row {row}");
                }
            }
        }
    }
}
