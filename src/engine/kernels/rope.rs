//! Rotary position embedding: how does a head's vector turn with its position?

use super::Cpu;
use super::simd::{self, Simd, Task};

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
    pub fn rotate(&self, cpu: &Cpu, x: &mut [f32], positions: &[u32]) {
        /// Rows that a thread takes at a time.
        const ROWS: usize = 16;
        let Some(row_floats) = x.len().checked_div(positions.len()) else { return };
        cpu.pool.for_chunks(x, ROWS * row_floats, |chunk, x| {
            let positions = &positions[chunk * ROWS..];
            simd::run(cpu.tier, Rotate { table: self, x, row_floats, positions });
        });
    }
}

/// Rotates some rows. There is nothing to write by hand: the compiler makes vectors of the plain loop, of the tier's
/// width and with the same roundings.
struct Rotate<'a> {
    table: &'a RopeTable,
    x: &'a mut [f32],
    row_floats: usize,
    positions: &'a [u32],
}

impl Task for Rotate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let half = self.table.half_dim;
        for (row, &position) in self.x.chunks_exact_mut(self.row_floats).zip(self.positions) {
            let range = position as usize * half..(position as usize + 1) * half;
            let (cos, sin) = (&self.table.cos[range.clone()], &self.table.sin[range]);
            for head in row.chunks_exact_mut(2 * half) {
                match self.table.style {
                    RopeStyle::Interleaved => {
                        let (pairs, _) = head.as_chunks_mut::<2>();
                        for (([x, y], cos), sin) in pairs.iter_mut().zip(cos).zip(sin) {
                            (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
                        }
                    }
                    RopeStyle::Halves => {
                        let (first, second) = head.split_at_mut(half);
                        for (((x, y), cos), sin) in first.iter_mut().zip(second).zip(cos).zip(sin) {
                            (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
                        }
                    }
                }
            }
        }
    }
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
            RopeTable::new(style, 4, 100.0, 3).rotate(&Cpu::new(1), &mut x, &[2]);
            for (ours, expected) in x.iter().zip(expected) {
                assert!((ours - expected).abs() < 1e-6, "{style:?}: {x:?}");
            }
        }
    }
}
