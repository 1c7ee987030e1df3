//! Chunks against chunks by their letters: which is the most similar?

use std::borrow::Cow;

use super::{compared_text, is_blank};
use crate::settings::{Profile, Settings};
use crate::text::distance::{Distance, Pattern};

/// Texts that others are compared with.
pub struct Likeness<'a> {
    profile: Profile,
    /// Whether a text that lies in the other is similar to it.
    by_containment: bool,
    texts: Vec<(Cow<'a, str>, Pattern)>,
}

impl<'a> Likeness<'a> {
    /// From this similarity on two texts match, as in Ragas.
    pub const MATCH: f64 = 0.5;

    /// Prepares texts for comparison.
    pub fn of(settings: &Settings, texts: &'a [String]) -> Self {
        let distance = settings.distance.unwrap_or(Distance::Levenshtein);
        let prepare = |text: &'a String| {
            let text = compared_text(settings.profile, text);
            let pattern = Pattern::new(distance, &text);
            (text, pattern)
        };
        Self {
            profile: settings.profile,
            by_containment: settings.profile == Profile::Strict && settings.distance.is_none(),
            texts: texts.iter().filter(|text| is_compared(settings.profile, text)).map(prepare).collect(),
        }
    }

    /// The largest similarity to one of the texts, in [0, 1]; 0 if there is none.
    pub fn best(&self, text: &str) -> f64 {
        if !is_compared(self.profile, text) {
            return 0.0;
        }
        let text = compared_text(self.profile, text);
        let contains = |known: &str| known.contains(text.as_ref()) || text.contains(known);
        let mut best: f64 = 0.0;
        for (known, pattern) in &self.texts {
            let is_inside = self.by_containment && contains(known);
            best = best.max(if is_inside { 1.0 } else { pattern.similarity(&text) });
        }
        best
    }
}

/// Whether a text is compared at all: in the strict profile, white space is similar to nothing.
fn is_compared(profile: Profile, text: &str) -> bool {
    profile == Profile::Ragas || !is_blank(text)
}
