//! Our own arithmetic on the CPU: which operations must give the same bits in every batch and on every machine?

pub mod attention;
pub mod float;
pub mod gelu;
pub mod huge;
pub mod layer_norm;
pub mod math;
pub mod pool;
pub mod quant;
pub mod rope;
pub mod simd;
pub mod strips;
#[cfg(test)]
pub mod testing;

use self::pool::Pool;
use self::simd::Tier;

/// What kernels compute on. Neither part of it changes a result.
#[derive(Debug)]
pub struct Cpu {
    /// The threads.
    pub pool: Pool,
    /// The instruction set.
    pub tier: Tier,
}

impl Cpu {
    /// `n_threads` threads with the best instructions that this processor has.
    pub fn new(n_threads: usize) -> Self {
        Self { pool: Pool::new(n_threads), tier: Tier::best() }
    }
}
