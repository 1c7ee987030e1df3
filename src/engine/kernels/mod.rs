//! Our own arithmetic on the CPU: which operations must give the same bits in every batch and on every machine?

pub mod attention;
pub mod float;
pub mod math;
pub mod matmul;
pub mod pool;
pub mod quant;
pub mod simd;
#[cfg(test)]
pub mod testing;

use rayon::prelude::*;

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

/// How a head's floats are paired for rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopeStyle {
    /// Pairs (0, 1), (2, 3), ...: GGUF files of the llama family.
    Interleaved,
    /// Pairs (0, n/2), (1, n/2 + 1), ...: the qwen family (GPT-NeoX).
    Halves,
}

/// Cosines and sines of rotary position embedding (Su et al. 2021, section 3.2.2), both `[positions, head_dim / 2]`.
#[derive(Debug)]
pub struct RopeTable {
    style: RopeStyle,
    half_dim: usize,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl RopeTable {
    /// Angles position / theta^(2 i / head_dim), computed in f64 with crate `libm`, for positions below `n_positions`.
    pub fn new(style: RopeStyle, head_dim: usize, theta: f64, n_positions: usize) -> Self {
        let half_dim = head_dim / 2;
        let frequencies: Vec<f64> =
            (0..half_dim).map(|i| 1.0 / libm::pow(theta, 2.0 * i as f64 / head_dim as f64)).collect();
        let angles = || (0..n_positions).flat_map(|p| frequencies.iter().map(move |f| p as f64 * f));
        let cos = angles().map(|angle| libm::cos(angle) as f32).collect();
        let sin = angles().map(|angle| libm::sin(angle) as f32).collect();
        Self { style, half_dim, cos, sin }
    }

    /// Rotates `x`, `[rows, heads, head_dim]`, in place; row `i` stands at `positions[i]`.
    pub fn rotate(&self, x: &mut [f32], positions: &[u32]) {
        let row_floats = x.len() / positions.len();
        x.par_chunks_mut(row_floats).zip(positions).for_each(|(row, &position)| {
            let range = position as usize * self.half_dim..(position as usize + 1) * self.half_dim;
            let (cos, sin) = (&self.cos[range.clone()], &self.sin[range]);
            for head in row.chunks_exact_mut(2 * self.half_dim) {
                self.rotate_head(head, cos, sin);
            }
        });
    }

    fn rotate_head(&self, head: &mut [f32], cos: &[f32], sin: &[f32]) {
        for (i, (cos, sin)) in cos.iter().zip(sin).enumerate() {
            let (a, b) = match self.style {
                RopeStyle::Interleaved => (2 * i, 2 * i + 1),
                RopeStyle::Halves => (i, i + self.half_dim),
            };
            let (x, y) = (head[a], head[b]);
            head[a] = x * cos - y * sin;
            head[b] = x * sin + y * cos;
        }
    }
}

/// silu(gate) * up, element by element; both `[rows, width]`.
pub fn swiglu(gate: &[f32], up: &[f32], width: usize) -> Vec<f32> {
    let mut out = vec![0f32; gate.len()];
    out.par_chunks_mut(width).zip(gate.par_chunks(width)).zip(up.par_chunks(width)).for_each(|((out, gate), up)| {
        for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
            *out = math::silu(*gate) * up;
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rope_turns_each_pair_by_its_own_angle() {
        // head_dim 4, theta 100: frequencies 1 and 1/10. At position 2 the pairs turn by 2 and 0.2 radians.
        let (c1, s1, c2, s2) = (2f32.cos(), 2f32.sin(), 0.2f32.cos(), 0.2f32.sin());
        let cases = [
            (RopeStyle::Interleaved, [1.0, 0.0, 0.0, 1.0], [c1, s1, -s2, c2]),
            (RopeStyle::Halves, [1.0, 0.0, 0.0, 1.0], [c1, -s2, s1, c2]),
        ];
        for (style, mut x, expected) in cases {
            RopeTable::new(style, 4, 100.0, 3).rotate(&mut x, &[2]);
            for (ours, expected) in x.iter().zip(expected) {
                assert!((ours - expected).abs() < 1e-6, "{style:?}: {x:?}");
            }
        }
    }

    #[test]
    fn swiglu_multiplies_silu_of_the_gate_by_up() {
        let out = swiglu(&[0.0, 1.0, -2.0], &[5.0, 3.0, 2.0], 3);
        // silu(1) = 1 / (1 + e^-1) = 0.7310586, silu(-2) = -2 / (1 + e^2) = -0.2384058
        for (ours, expected) in out.iter().zip([0.0, 2.193_175_8, -0.476_811_7]) {
            assert!((ours - expected).abs() < 1e-6);
        }
    }
}
