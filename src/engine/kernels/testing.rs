//! Inputs for the tests of kernels.

/// `len` floats in [-1, 1) from a fixed sequence that starts at `seed`.
pub fn floats(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        // Numerical Recipes' linear congruential generator; the upper bits are good enough here.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}
