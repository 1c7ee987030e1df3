//! Distance: how many characters must change for one text to become another?

mod jaro;
mod levenshtein;
mod places;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use places::Places;

/// A measure of how far two texts are apart, by code points.
///
/// Nothing is done to the texts before: `A` is not `a`, and Hangul in NFC shares nothing with the same in NFD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// The fewest insertions, deletions and replacements.
    Levenshtein,
    /// The positions at which the texts differ; those that only the longer one has do.
    Hamming,
    /// Jaro's: how many characters are in both at about the same place, and how many of them in another order.
    Jaro,
    /// Jaro's, with a bonus for up to four equal characters at the start.
    JaroWinkler,
}

impl Distance {
    /// Every distance, in the order in which help lists them.
    pub const ALL: [Self; 4] = [Self::Levenshtein, Self::Hamming, Self::Jaro, Self::JaroWinkler];

    /// The name in settings and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Levenshtein => "levenshtein",
            Self::Hamming => "hamming",
            Self::Jaro => "jaro",
            Self::JaroWinkler => "jaro-winkler",
        }
    }

    /// How similar two texts are, in [0, 1]: 1 for equal ones, two empty ones too; 0 if just one is empty.
    ///
    /// Levenshtein and Hamming: 1 - changes / length of the longer text. Jaro: (m / a + m / b + (m - t) / m) / 3 for
    /// texts of lengths a and b with m characters in common, at most max(a, b) / 2 - 1 places apart, of which t, half
    /// of those in another order, are transposed. Jaro-Winkler: j + 0.1 * prefix * (1 - j) if Jaro's j is over 0.7,
    /// else j.
    ///
    /// Source: rapidfuzz 3.14, `1 - normalized_distance` with its defaults, as Ragas 0.4.3 uses it.
    pub fn similarity(self, a: &str, b: &str) -> f64 {
        Pattern::new(self, a).similarity(b)
    }
}

/// A text prepared to be compared with many.
///
/// ```
/// use ragstone::text::distance::{Distance, Pattern};
///
/// let pattern = Pattern::new(Distance::Levenshtein, "kitten");
/// assert_eq!(pattern.similarity("sitting"), 1.0 - 3.0 / 7.0);
/// ```
pub struct Pattern {
    distance: Distance,
    text: Vec<char>,
    places: Places,
}

impl Pattern {
    /// Prepares a text, in time that grows with its length.
    pub fn new(distance: Distance, text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        Self { distance, places: Places::of(&text), text }
    }

    /// What [`Distance::similarity`] gives for the pattern's text and another, in that order.
    ///
    /// Takes time that grows with the product of the lengths, 64 characters of the pattern being one step.
    pub fn similarity(&self, other: &str) -> f64 {
        match self.distance {
            Distance::Levenshtein => {
                let (n_changes, n_other) = levenshtein::changes(&self.places, other);
                share_unchanged(n_changes, self.text.len().max(n_other))
            }
            Distance::Hamming => {
                let n_equal = self.text.iter().zip(other.chars()).filter(|(a, b)| **a == *b).count();
                let n_places = self.text.len().max(other.chars().count());
                share_unchanged(n_places - n_equal, n_places)
            }
            Distance::Jaro => jaro::jaro(&self.text, &self.places, &chars(other)),
            Distance::JaroWinkler => {
                let other = chars(other);
                jaro::with_prefix_bonus(jaro::jaro(&self.text, &self.places, &other), &self.text, &other)
            }
        }
    }
}

fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// The part of the places that did not change, 1 if there is no place.
fn share_unchanged(n_changes: usize, n_places: usize) -> f64 {
    if n_places == 0 { 1.0 } else { 1.0 - n_changes as f64 / n_places as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_ERROR: f64 = 1e-12;

    fn check(distance: Distance, a: &str, b: &str, expected: f64) {
        for (a, b) in [(a, b), (b, a)] {
            let ours = distance.similarity(a, b);
            assert!((ours - expected).abs() <= MAX_ERROR, "{distance:?} of {a:?} and {b:?}: {ours}, not {expected}");
        }
    }

    #[test]
    fn equal_texts_have_1_and_an_empty_one_has_0() {
        let long = "가나다라마바사아자차 ".repeat(455);
        for distance in Distance::ALL {
            for text in ["", " ", "a", "🙂", "서울은 수도이다.", long.as_str()] {
                check(distance, text, text, 1.0);
                check(distance, text, "", f64::from(u8::from(text.is_empty())));
            }
            check(distance, "한", "\u{1112}\u{1161}\u{11ab}", 0.0);
        }
    }

    #[test]
    fn lengths_are_code_points() {
        // A family is three people and two joiners, of which one person and one joiner are missing.
        check(Distance::Levenshtein, "👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩", 1.0 - 2.0 / 5.0);
        check(Distance::Hamming, "서울🙂", "서울🙃시", 1.0 - 2.0 / 4.0);
    }

    #[test]
    fn blocks_of_the_pattern_meet() {
        // The comparison works on 64 characters at a time.
        for n in [63, 64, 65, 128, 129, 5000] {
            let (a, b) = (format!("x{}", "ab".repeat(n)), format!("{}y", "ab".repeat(n)));
            check(Distance::Levenshtein, &a, &b, 1.0 - 2.0 / (2 * n + 1) as f64);
        }
    }

    #[test]
    fn winkler_adds_for_a_common_start_above_0_7_only() {
        // Jaro of "abcd" and "abxy" is (2/4 + 2/4 + 1) / 3 = 2/3, so that the two letters add nothing.
        check(Distance::JaroWinkler, "abcd", "abxy", 2.0 / 3.0);
        // "abcde", "abcdx": (4/5 + 4/5 + 1) / 3 = 13/15; plus 0.4 * 2/15. A fifth letter would not count.
        check(Distance::JaroWinkler, "abcde", "abcdx", 13.0 / 15.0 + 0.4 * 2.0 / 15.0);
        check(Distance::JaroWinkler, "abcdef", "abcdex", 8.0 / 9.0 + 0.4 / 9.0);
    }

    #[test]
    fn one_pattern_serves_many_texts() {
        let pattern = Pattern::new(Distance::Levenshtein, "kitten");
        assert_eq!(["kitten", "", "sitting"].map(|other| pattern.similarity(other)), [1.0, 0.0, 1.0 - 3.0 / 7.0]);
    }

    #[test]
    fn names_are_those_of_the_settings() {
        for distance in Distance::ALL {
            let json = serde_json::to_string(&distance).expect("it is plain data");
            assert_eq!(json, format!("\"{}\"", distance.name()));
        }
    }
}
