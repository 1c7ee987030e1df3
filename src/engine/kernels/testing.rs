//! Inputs for the tests of kernels.

/// `len` floats in [-1, 1) from a fixed sequence that starts at `seed`.
pub fn floats(seed: u32, len: usize) -> Vec<f32> {
    numbers(seed).take(len).map(|number| (number >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// `len` bytes from the same sequence.
pub fn bytes(seed: u32, len: usize) -> Vec<u8> {
    numbers(seed).take(len).map(|number| (number >> 24) as u8).collect()
}

fn numbers(seed: u32) -> impl Iterator<Item = u32> {
    // Numerical Recipes' linear congruential generator; the upper bits are good enough here.
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(next(&seed), next)
}
