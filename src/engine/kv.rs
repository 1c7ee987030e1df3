//! The key and value cache: where do the keys and values of which tokens lie?

use super::kernels::attention::{HeadShape, KvSlices};

/// Keys and values of all layers, in slots of one token each.
///
/// A sequence is a list of slots, so a prefix is shared by listing its slots again: forking copies nothing. The whole
/// budget is reserved as address space; the operating system gives memory to a slot when it is first written, and
/// slots given back are used again first.
#[derive(Debug)]
pub struct Arena {
    shape: HeadShape,
    /// For each layer `[slot, n_kv_heads, head_dim]`.
    layers: Vec<Layer>,
    /// Slots nobody uses; the last is given out first.
    free: Vec<u32>,
    n_slots: usize,
    /// The most slots that were ever in use.
    n_used_max: usize,
}

#[derive(Debug)]
struct Layer {
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// The slots of one sequence of tokens, in position order.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    slots: Vec<u32>,
    /// Slots before this position belong to the sequence that this one was forked from.
    n_shared: usize,
}

impl Sequence {
    /// A sequence that begins with the same tokens; it must be released before `self`.
    pub fn fork(&self) -> Self {
        Self { slots: self.slots.clone(), n_shared: self.slots.len() }
    }

    /// The slot of every token, by position.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Tokens in the sequence.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no token yet.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

impl Arena {
    /// An arena for `n_layers` layers that may use `budget_bytes`.
    pub fn new(shape: HeadShape, n_layers: usize, budget_bytes: usize) -> Self {
        let slot_bytes = slot_bytes(shape, n_layers);
        let n_slots = budget_bytes / slot_bytes;
        // Zeroed by the operating system, page by page, when first touched.
        let cache = || vec![0f32; n_slots * shape.kv_dim()];
        let layers = (0..n_layers).map(|_| Layer { keys: cache(), values: cache() }).collect();
        Self { shape, layers, free: (0..n_slots as u32).rev().collect(), n_slots, n_used_max: 0 }
    }

    /// Tokens that fit in all.
    pub fn capacity(&self) -> usize {
        self.n_slots
    }

    /// Tokens that fit now.
    pub fn n_free(&self) -> usize {
        self.free.len()
    }

    /// Bytes of the most tokens that were ever in it: as much memory as it takes.
    pub fn peak_bytes(&self) -> usize {
        self.n_used_max * slot_bytes(self.shape, self.layers.len())
    }

    /// Appends room for `n_tokens` to the sequence.
    ///
    /// # Panics
    /// If fewer slots are free: callers ask [`Arena::n_free`] before they admit a sequence.
    pub fn extend(&mut self, sequence: &mut Sequence, n_tokens: usize) {
        let kept = self.free.len().checked_sub(n_tokens).expect("a sequence is admitted only if it fits");
        sequence.slots.extend(self.free.drain(kept..).rev());
        self.n_used_max = self.n_used_max.max(self.n_slots - self.free.len());
    }

    /// Gives the sequence's own slots back.
    pub fn release(&mut self, sequence: Sequence) {
        self.free.extend(sequence.slots[sequence.n_shared..].iter().rev());
    }

    /// Keys and values of one layer.
    pub fn layer(&self, layer_idx: usize) -> KvSlices<'_> {
        let layer = &self.layers[layer_idx];
        KvSlices { keys: &layer.keys, values: &layer.values }
    }

    /// Writes keys and values `[rows, n_kv_heads, head_dim]` of one layer to a slot for each row.
    pub fn write(&mut self, layer_idx: usize, slots: &[u32], keys: &[f32], values: &[f32]) {
        let kv_dim = self.shape.kv_dim();
        let layer = &mut self.layers[layer_idx];
        for (row, &slot) in slots.iter().enumerate() {
            let (from, to) = (row * kv_dim, slot as usize * kv_dim);
            layer.keys[to..to + kv_dim].copy_from_slice(&keys[from..from + kv_dim]);
            layer.values[to..to + kv_dim].copy_from_slice(&values[from..from + kv_dim]);
        }
    }
}

/// Keys and values of one token in all layers.
fn slot_bytes(shape: HeadShape, n_layers: usize) -> usize {
    2 * n_layers * shape.kv_dim() * size_of::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: HeadShape = HeadShape { n_heads: 2, n_kv_heads: 1, head_dim: 2 };

    /// One layer, two floats a key and two a value: 16 bytes a slot.
    fn arena(n_slots: usize) -> Arena {
        Arena::new(SHAPE, 1, 16 * n_slots)
    }

    #[test]
    fn fork_shares_the_prefix_and_owns_the_rest() {
        let mut arena = arena(8);
        let mut prefix = Sequence::default();
        arena.extend(&mut prefix, 3);
        let mut branch = prefix.fork();
        arena.extend(&mut branch, 2);
        assert_eq!(prefix.slots(), [0, 1, 2]);
        assert_eq!(branch.slots(), [0, 1, 2, 3, 4]);
        arena.release(branch);
        assert_eq!(arena.n_free(), 5);
        arena.release(prefix);
        assert_eq!(arena.n_free(), 8);
        assert_eq!(arena.peak_bytes(), 5 * 16);
    }

    #[test]
    fn released_slots_are_used_again_first() {
        let mut arena = arena(8);
        let (mut a, mut b) = (Sequence::default(), Sequence::default());
        arena.extend(&mut a, 2);
        arena.release(a);
        arena.extend(&mut b, 2);
        assert_eq!(b.slots(), [0, 1]);
    }

    #[test]
    fn rows_land_in_their_slots() {
        let mut arena = arena(4);
        arena.write(0, &[2, 0], &[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
        assert_eq!(arena.layer(0).keys, [3.0, 4.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
        assert_eq!(arena.layer(0).values, [7.0, 8.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0]);
    }

    #[test]
    #[should_panic(expected = "admitted only if it fits")]
    fn more_than_is_free_is_a_bug() {
        let mut arena = arena(2);
        arena.extend(&mut Sequence::default(), 3);
    }
}
