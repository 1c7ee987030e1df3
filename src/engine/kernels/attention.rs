//! Causal attention of packed rows over scattered keys: what does each token see of its own sequence?

use rayon::prelude::*;

use super::math;

/// Floats of a head whose weighted sums are computed side by side: eight registers of AVX2.
const WIDE: usize = 64;

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
    /// Floats a token has in the key cache, and again in the value cache, of one layer.
    pub fn kv_dim(&self) -> usize {
        self.n_kv_heads * self.head_dim
    }

    fn group(&self) -> usize {
        self.n_heads / self.n_kv_heads
    }
}

/// Keys and values of one layer, both `[slot, n_kv_heads, head_dim]`.
#[derive(Debug, Clone, Copy)]
pub struct KvSlices<'a> {
    /// Rotated keys.
    pub keys: &'a [f32],
    /// Values.
    pub values: &'a [f32],
}

/// softmax(q K^T / sqrt(head_dim)) V for each row, over the row's own slots.
///
/// `queries` is `[rows, n_heads, head_dim]`, rotated; `slots[row]` lists the cache slots that the row sees, from
/// position 0 to its own position. The result has the shape of `queries`.
///
/// A row's result depends on its query and the keys and values in position order, and on nothing else: which other
/// rows are in the batch, how the sequence was cut into forwards and where its slots lie never shows.
pub fn attention(shape: HeadShape, queries: &[f32], kv: KvSlices<'_>, slots: &[&[u32]]) -> Vec<f32> {
    let group_floats = shape.group() * shape.head_dim;
    let mut out = vec![0f32; queries.len()];
    out.par_chunks_mut(group_floats).zip(queries.par_chunks(group_floats)).enumerate().for_each_init(
        Vec::new,
        |scores, (unit, (out, queries))| {
            let (row, kv_head) = (unit / shape.n_kv_heads, unit % shape.n_kv_heads);
            let unit = Unit { shape, kv_head, queries, kv, slots: slots[row] };
            unit.compute(scores, out);
        },
    );
    out
}

/// The query heads of one row that share a key head.
struct Unit<'a> {
    shape: HeadShape,
    kv_head: usize,
    /// `[group, head_dim]`
    queries: &'a [f32],
    kv: KvSlices<'a>,
    slots: &'a [u32],
}

impl Unit<'_> {
    fn compute(&self, scores: &mut Vec<f32>, out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has AVX2 and FMA, as was just asked.
            return unsafe { self.compute_avx2(scores, out) };
        }
        self.compute_plain(scores, out);
    }

    /// The same code with wider vectors: the same operations, so the same bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn compute_avx2(&self, scores: &mut Vec<f32>, out: &mut [f32]) {
        self.compute_with(|query, rows| math::dots_avx2(query, rows), scores, out);
    }

    fn compute_plain(&self, scores: &mut Vec<f32>, out: &mut [f32]) {
        self.compute_with(math::dots, scores, out);
    }

    #[inline(always)]
    fn compute_with(
        &self,
        dots: impl Fn(&[f32], [&[f32]; math::ROWS]) -> [f32; math::ROWS],
        scores: &mut Vec<f32>,
        out: &mut [f32],
    ) {
        let head_dim = self.shape.head_dim;
        let scale = 1.0 / (head_dim as f32).sqrt();
        scores.resize(self.slots.len(), 0.0);
        for (query, out) in self.queries.chunks_exact(head_dim).zip(out.chunks_exact_mut(head_dim)) {
            self.score_keys(&dots, query, scores);
            softmax(scores, scale);
            let mut start = 0;
            while head_dim - start >= WIDE {
                self.weigh_values::<WIDE>(scores, start, out);
                start += WIDE;
            }
            for start in start..head_dim {
                self.weigh_values::<1>(scores, start, out);
            }
        }
    }

    #[inline(always)]
    fn score_keys(
        &self,
        dots: impl Fn(&[f32], [&[f32]; math::ROWS]) -> [f32; math::ROWS],
        query: &[f32],
        scores: &mut [f32],
    ) {
        let mut keys = self.rows_of(self.kv.keys);
        let mut blocks = scores.chunks_exact_mut(math::ROWS);
        for block in &mut blocks {
            let rows = std::array::from_fn(|_| keys.next().expect("there is a key for every score"));
            block.copy_from_slice(&dots(query, rows));
        }
        for (score, key) in blocks.into_remainder().iter_mut().zip(keys) {
            *score = math::dot(query, key);
        }
    }

    /// The weighted sum of the values, for floats `start..start + N` of the head: few enough to stay in registers.
    #[inline(always)]
    fn weigh_values<const N: usize>(&self, weights: &[f32], start: usize, out: &mut [f32]) {
        let mut sums = [0f32; N];
        for (weight, value) in weights.iter().zip(self.rows_of(self.kv.values)) {
            let value: &[f32; N] = value[start..start + N].try_into().expect("the range is N long");
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum = weight.mul_add(*value, *sum);
            }
        }
        out[start..start + N].copy_from_slice(&sums);
    }

    #[inline(always)]
    fn rows_of<'b>(&'b self, cache: &'b [f32]) -> impl Iterator<Item = &'b [f32]> {
        let (kv_dim, head_dim) = (self.shape.kv_dim(), self.shape.head_dim);
        let first = self.kv_head * head_dim;
        self.slots.iter().map(move |&slot| &cache[slot as usize * kv_dim + first..][..head_dim])
    }
}

/// Softmax of the scores times `scale`, in place; a row of at least one score.
#[inline(always)]
fn softmax(scores: &mut [f32], scale: f32) {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for score in scores.iter_mut() {
        *score = math::exp((*score - max) * scale);
    }
    let total = math::sum(scores);
    for score in scores.iter_mut() {
        *score /= total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernels::testing::floats;

    const SHAPE: HeadShape = HeadShape { n_heads: 4, n_kv_heads: 2, head_dim: 74 };
    /// f32 against f64: a handful of roundings on values of size one.
    const BOUND: f64 = 2e-6;

    /// The textbook formula in f64.
    fn reference(query: &[f32], keys: &[f32], values: &[f32], slots: &[u32], head: usize) -> Vec<f64> {
        let (dim, kv_dim) = (SHAPE.head_dim, SHAPE.kv_dim());
        let kv_head = head / SHAPE.group();
        let row = |cache: &[f32], slot: u32| -> Vec<f64> {
            cache[slot as usize * kv_dim + kv_head * dim..][..dim].iter().map(|&x| f64::from(x)).collect()
        };
        let query = &query[head * dim..][..dim];
        let dot = |key: Vec<f64>| query.iter().zip(key).map(|(&q, k)| f64::from(q) * k).sum::<f64>();
        let weights: Vec<f64> = slots.iter().map(|&slot| (dot(row(keys, slot)) / (dim as f64).sqrt()).exp()).collect();
        let total: f64 = weights.iter().sum();
        (0..dim).map(|i| slots.iter().zip(&weights).map(|(&s, w)| w / total * row(values, s)[i]).sum()).collect()
    }

    #[test]
    fn equals_the_textbook_formula() {
        let n_slots = 70;
        let keys = floats(1, n_slots * SHAPE.kv_dim());
        let values = floats(2, n_slots * SHAPE.kv_dim());
        // Slots are scattered: 0, 29, 58, 17, ... (29 and 70 have no common divisor).
        let all: Vec<u32> = (0..n_slots as u32).map(|i| i * 29 % n_slots as u32).collect();
        for n_keys in [1, 2, 15, 16, 17, 70] {
            let query = floats(3, SHAPE.n_heads * SHAPE.head_dim);
            let kv = KvSlices { keys: &keys, values: &values };
            let out = attention(SHAPE, &query, kv, &[&all[..n_keys]]);
            for head in 0..SHAPE.n_heads {
                let expected = reference(&query, &keys, &values, &all[..n_keys], head);
                for (ours, expected) in out[head * SHAPE.head_dim..].iter().zip(expected) {
                    assert!((f64::from(*ours) - expected).abs() < BOUND, "{ours} against {expected}");
                }
            }
        }
    }

    #[test]
    fn wide_vectors_give_the_bits_of_narrow_ones() {
        let keys = floats(4, 40 * SHAPE.kv_dim());
        let values = floats(5, 40 * SHAPE.kv_dim());
        let queries = floats(6, SHAPE.group() * SHAPE.head_dim);
        let slots: Vec<u32> = (0..37).collect();
        let kv = KvSlices { keys: &keys, values: &values };
        let unit = Unit { shape: SHAPE, kv_head: 1, queries: &queries, kv, slots: &slots };
        let (mut plain, mut wide) = (vec![0.0; queries.len()], vec![0.0; queries.len()]);
        unit.compute_plain(&mut Vec::new(), &mut plain);
        unit.compute(&mut Vec::new(), &mut wide);
        assert_eq!(plain, wide);
    }
}
