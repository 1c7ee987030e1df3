//! The key and value cache: which tokens' keys and values lie where?

use super::kernels::attention::BLOCK;

/// Slots for the keys and values of one token each, given out in blocks of sixteen.
///
/// A sequence is a list of slots, so a prefix is shared by listing its slots again: forking copies nothing. A token's
/// place in its block is its position modulo 16, as the kernels want it. A sequence goes on in the block in which the
/// one it was forked from ends, unless another one already does; then it begins a block of its own, whose first places
/// stay empty. Blocks given back are used again first, so that memory never touched is never taken.
#[derive(Debug)]
pub struct Slots {
    /// Blocks nobody uses; the last is given out first.
    free: Vec<u32>,
    /// For each block the places in use.
    filled: Vec<u8>,
    /// The most blocks that were ever in use.
    n_used_max: usize,
}

/// The slots of one sequence of tokens, in position order.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    slots: Vec<u32>,
    /// Slots before this position belong to the sequence that this one was forked from.
    n_shared: usize,
    blocks: Vec<u32>,
}

impl Sequence {
    /// A sequence that begins with the same tokens; it must be released before `self`.
    pub fn fork(&self) -> Self {
        Self { slots: self.slots.clone(), n_shared: self.slots.len(), blocks: Vec::new() }
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

    /// Blocks that only this sequence, and those forked from it, use.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }
}

impl Slots {
    /// Slots in `n_blocks` blocks.
    pub fn new(n_blocks: usize) -> Self {
        Self { free: (0..n_blocks as u32).rev().collect(), filled: vec![0; n_blocks], n_used_max: 0 }
    }

    /// Blocks in all.
    pub fn n_blocks(&self) -> usize {
        self.filled.len()
    }

    /// Blocks that nobody uses now.
    pub fn n_free(&self) -> usize {
        self.free.len()
    }

    /// The most blocks that were ever in use.
    pub fn n_used_max(&self) -> usize {
        self.n_used_max
    }

    /// Blocks that `n_tokens` more of the sequence would take now.
    pub fn n_missing(&self, sequence: &Sequence, n_tokens: usize) -> usize {
        let n_begun = if self.goes_on(sequence) { sequence.len().div_ceil(BLOCK) } else { sequence.len() / BLOCK };
        (sequence.len() + n_tokens).div_ceil(BLOCK) - n_begun
    }

    /// The most blocks that positions `start..end` may take.
    pub fn n_most(start: usize, end: usize) -> usize {
        end.div_ceil(BLOCK) - start / BLOCK
    }

    /// Whether the sequence's last block has a free place right after its end.
    fn goes_on(&self, sequence: &Sequence) -> bool {
        let place = sequence.len() % BLOCK;
        let last = sequence.slots.last().map(|slot| *slot as usize / BLOCK);
        last.is_some_and(|block| place > 0 && usize::from(self.filled[block]) == place)
    }

    /// Appends room for `n_tokens` to the sequence.
    ///
    /// # Panics
    /// If too few blocks are free: callers ask [`Slots::n_missing`] before they admit a sequence.
    pub fn extend(&mut self, sequence: &mut Sequence, n_tokens: usize) {
        for _ in 0..n_tokens {
            let place = sequence.len() % BLOCK;
            let block = if self.goes_on(sequence) {
                sequence.slots[sequence.len() - 1] / BLOCK as u32
            } else {
                let block = self.free.pop().expect("a sequence is admitted only if it fits");
                sequence.blocks.push(block);
                block
            };
            self.filled[block as usize] = place as u8 + 1;
            sequence.slots.push(block * BLOCK as u32 + place as u32);
        }
        self.n_used_max = self.n_used_max.max(self.n_blocks() - self.free.len());
    }

    /// Gives back what the sequence does not share.
    pub fn release(&mut self, sequence: Sequence) {
        // It may have gone on in the last block of the one it was forked from.
        if let Some(&first) = sequence.slots.get(sequence.n_shared)
            && sequence.blocks.first() != Some(&(first / BLOCK as u32))
        {
            self.filled[first as usize / BLOCK] = (first as usize % BLOCK) as u8;
        }
        for &block in sequence.blocks.iter().rev() {
            self.filled[block as usize] = 0;
            self.free.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots 16 b + p.
    fn places(block: u32, places: std::ops::Range<u32>) -> Vec<u32> {
        places.map(|place| BLOCK as u32 * block + place).collect()
    }

    #[test]
    fn fork_goes_on_in_the_last_block_and_its_sibling_in_one_of_its_own() {
        let mut slots = Slots::new(8);
        let mut prefix = Sequence::default();
        slots.extend(&mut prefix, 20);
        assert_eq!(prefix.slots(), [places(0, 0..16), places(1, 0..4)].concat());
        let (mut first, mut second) = (prefix.fork(), prefix.fork());
        assert_eq!(slots.n_missing(&first, 12), 0);
        slots.extend(&mut first, 14);
        assert_eq!(first.slots()[20..], [places(1, 4..16), places(2, 0..2)].concat());
        assert_eq!(slots.n_missing(&second, 12), 1);
        slots.extend(&mut second, 12);
        // The same places of another block: positions 20 to 31.
        assert_eq!(second.slots()[20..], places(3, 4..16));
        slots.release(first);
        slots.release(second);
        assert_eq!(slots.n_free(), 6);
        // With the siblings gone the next one goes on in the shared block again.
        let mut third = prefix.fork();
        slots.extend(&mut third, 1);
        assert_eq!(third.slots()[20..], places(1, 4..5));
        slots.release(third);
        slots.release(prefix);
        assert_eq!((slots.n_free(), slots.n_used_max()), (8, 4));
    }

    #[test]
    fn fork_at_the_end_of_a_block_takes_a_new_one() {
        let mut slots = Slots::new(3);
        let mut prefix = Sequence::default();
        slots.extend(&mut prefix, 16);
        let mut branch = prefix.fork();
        assert_eq!((slots.n_missing(&branch, 16), slots.n_missing(&branch, 17)), (1, 2));
        slots.extend(&mut branch, 1);
        assert_eq!(branch.slots()[16..], places(1, 0..1));
    }

    #[test]
    fn path_of_any_number_of_nodes_fits_if_its_tokens_do() {
        let mut slots = Slots::new(2);
        let mut path = vec![Sequence::default()];
        for _ in 0..32 {
            let mut node = path[path.len() - 1].fork();
            slots.extend(&mut node, 1);
            path.push(node);
        }
        assert_eq!(slots.n_free(), 0);
        path.into_iter().rev().for_each(|node| slots.release(node));
        assert_eq!(slots.n_free(), 2);
    }

    #[test]
    fn released_blocks_are_used_again_first() {
        let mut slots = Slots::new(8);
        let (mut a, mut b) = (Sequence::default(), Sequence::default());
        slots.extend(&mut a, 2);
        slots.release(a);
        slots.extend(&mut b, 2);
        assert_eq!(b.slots(), [0, 1]);
        assert_eq!(slots.n_used_max(), 1);
    }

    #[test]
    #[should_panic(expected = "admitted only if it fits")]
    fn more_than_is_free_is_a_bug() {
        Slots::new(1).extend(&mut Sequence::default(), 17);
    }
}
