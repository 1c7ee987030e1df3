//! Jaro's similarity: how many characters do two texts have in common at about the same place?

use super::places::Places;

/// Jaro's similarity in [0, 1], given a text, its places, and another text.
///
/// Each character of the other text in turn is matched with the first equal one that is still free and not too far
/// away. Which is matched first matters: so rapidfuzz 3.14 has it for its first and second argument.
pub fn jaro(text: &[char], places: &Places, other: &[char]) -> f64 {
    if text.is_empty() || other.is_empty() {
        return f64::from(u8::from(text.len() == other.len()));
    }
    let reach = (text.len().max(other.len()) / 2).saturating_sub(1);
    let mut taken = vec![0_u64; text.len().div_ceil(64)];
    let mut matched = Vec::with_capacity(other.len()); // characters of the other text
    for (idx, &c) in other.iter().enumerate() {
        let within = idx.saturating_sub(reach)..(idx + reach + 1).min(text.len());
        if let Some(place) = first_free(places.get(c), &taken, within) {
            taken[place / 64] |= 1 << (place % 64);
            matched.push(c);
        }
    }
    if matched.is_empty() {
        return 0.0;
    }
    let is_taken = |idx: usize| taken[idx / 64] >> (idx % 64) & 1 == 1;
    let in_order = text.iter().enumerate().filter(|(idx, _)| is_taken(*idx)).map(|(_, c)| c);
    let n_moved = in_order.zip(&matched).filter(|(a, b)| a != b).count();
    let n_matched = matched.len() as f64;
    let n_transposed = (n_moved / 2) as f64;
    let parts = n_matched / text.len() as f64 + n_matched / other.len() as f64 + (n_matched - n_transposed) / n_matched;
    parts / 3.0
}

/// The first place of a character within a range that is not taken.
fn first_free(places: &[u64], taken: &[u64], within: std::ops::Range<usize>) -> Option<usize> {
    for word in within.start / 64..within.end.div_ceil(64) {
        let mut free = places[word] & !taken[word];
        free &= !0 << within.start.saturating_sub(64 * word).min(63);
        if free != 0 {
            let place = 64 * word + free.trailing_zeros() as usize;
            return (place < within.end).then_some(place);
        }
    }
    None
}

/// The bonus of Winkler for a common start, added to Jaro's similarity if that is over 0.7.
pub fn with_prefix_bonus(jaro: f64, text: &[char], other: &[char]) -> f64 {
    if jaro <= MIN_FOR_BONUS {
        return jaro;
    }
    let n_equal = text.iter().zip(other).take(MAX_PREFIX).take_while(|(a, b)| a == b).count();
    jaro + n_equal as f64 * PREFIX_WEIGHT * (1.0 - jaro)
}

/// At or below this similarity, a common start says nothing.
const MIN_FOR_BONUS: f64 = 0.7;

/// The most characters of a common start that count.
const MAX_PREFIX: usize = 4;

/// How much of what is missing to 1 each character of a common start adds.
const PREFIX_WEIGHT: f64 = 0.1;
