//! Choosing the next token: which one follows, given the logits?

use sha2::{Digest, Sha256};

/// How tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// The token of the largest logit; of equal ones the lowest id.
    Greedy,
    /// Nucleus sampling (Holtzman et al. 2020, section 3.1), from a stream that depends on `seed` alone.
    Nucleus {
        /// Logits are divided by this; above 0.
        temperature: f64,
        /// The most likely tokens are kept until their probabilities reach this sum.
        top_p: f64,
        /// Keys the random stream: the same seed and step draw the same number, whatever else is computed.
        seed: [u8; 32],
    },
}

impl Sampling {
    /// The next token; `step` counts the tokens drawn so far.
    ///
    /// # Panics
    /// If there are no logits.
    pub fn choose(&self, logits: &[f32], step: u64) -> u32 {
        match *self {
            Self::Greedy => argmax(logits),
            Self::Nucleus { temperature, top_p, seed } => nucleus(logits, temperature, top_p, uniform(&seed, step)),
        }
    }
}

/// The first of the largest logits.
fn argmax(logits: &[f32]) -> u32 {
    let largest = largest(logits);
    logits.iter().position(|&logit| logit == largest).unwrap_or(0) as u32
}

/// The largest logit; sixteen side by side, so that a vocabulary takes microseconds.
fn largest(logits: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (lines, rest) = logits.as_chunks::<16>();
    let mut lanes = [f32::NEG_INFINITY; 16];
    for line in lines {
        for (lane, &logit) in lanes.iter_mut().zip(line) {
            *lane = larger(*lane, logit);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, larger)
}

/// Tokens whose probability is below that of the likeliest times e^-40, 4e-18, are as good as impossible: a vocabulary of
/// 150,000 of them adds less than rounding does, and sorting it would take longer than computing the token.
const IMPOSSIBLE: f64 = 40.0;

/// The token at `point`, in [0, 1), of the nucleus' cumulative distribution, most likely tokens first.
fn nucleus(logits: &[f32], temperature: f64, top_p: f64, point: f64) -> u32 {
    let max = largest(logits);
    let least = (f64::from(max) - IMPOSSIBLE * temperature) as f32;
    let weight = |logit: f32| libm::exp((f64::from(logit) - f64::from(max)) / temperature);
    let possible = logits.iter().zip(0..).filter(|(logit, _)| **logit >= least);
    let mut weights: Vec<(f64, u32)> = possible.map(|(&logit, id)| (weight(logit), id)).collect();
    // Stable, so tokens of equal weight stay in the order of their ids.
    weights.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total: f64 = weights.iter().map(|(weight, _)| weight).sum();
    let mut kept = 0.0;
    let n_kept = 1 + weights.iter().take_while(|(weight, _)| advance(&mut kept, weight / total) < top_p).count();
    weights.truncate(n_kept);
    let kept: f64 = weights.iter().map(|(weight, _)| weight).sum();
    let mut passed = 0.0;
    let found = weights.iter().find(|(weight, _)| advance(&mut passed, weight / kept) > point);
    // Rounding may leave the sum a hair below 1: then the point lies in the last token.
    found.unwrap_or(&weights[weights.len() - 1]).1
}

fn advance(sum: &mut f64, step: f64) -> f64 {
    *sum += step;
    *sum
}

/// A number in [0, 1): the first 53 bits of SHA-256(seed, step).
fn uniform(seed: &[u8; 32], step: u64) -> f64 {
    let hash = Sha256::new().chain_update(seed).chain_update(step.to_le_bytes()).finalize();
    let bits = hash.iter().take(8).fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_takes_the_lowest_of_equal_ids() {
        assert_eq!(Sampling::Greedy.choose(&[1.0, 3.0, 3.0, -1.0], 0), 1);
    }

    #[test]
    fn nucleus_keeps_tokens_until_their_sum_reaches_top_p() {
        // Probabilities 0.1, 0.6, 0.3; of 0.8 the first two, 0.6 and 0.3, are kept: 2/3 and 1/3 of the line.
        let logits = [0.1f32.ln(), 0.6f32.ln(), 0.3f32.ln()];
        let at = |point| nucleus(&logits, 1.0, 0.8, point);
        assert_eq!([at(0.0), at(0.66), at(0.67), at(0.999)], [1, 1, 2, 2]);
        assert_eq!(nucleus(&logits, 1.0, 0.5, 0.999), 1);
    }

    #[test]
    fn temperature_flattens_the_distribution() {
        // At temperature 2 the weights are the square roots: 0.9 and 0.1 become 0.949 : 0.316, that is 0.75 : 0.25.
        let logits = [0.9f32.ln(), 0.1f32.ln()];
        assert_eq!(nucleus(&logits, 2.0, 1.0, 0.74), 0);
        assert_eq!(nucleus(&logits, 2.0, 1.0, 0.76), 1);
    }

    #[test]
    fn uniform_follows_seed_and_step_alone() {
        // `head -c 40 /dev/zero | sha256sum` begins with 2c 34 ce 1d f2 3b 83 8c.
        let expected = (0x2c34_ce1d_f23b_838cu64 >> 11) as f64 / (1u64 << 53) as f64;
        assert_eq!(uniform(&[0; 32], 0), expected);
        assert_ne!(uniform(&[0; 32], 1), expected);
    }
}
