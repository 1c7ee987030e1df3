//! The mean of two ratings, as NVIDIA's metrics take it.

use super::Case;
use crate::judge::asks::{Rate, Template};
use crate::judge::{Answers, Stop};
use crate::record::{Evidence, Score};
use crate::settings::Profile;

/// The rating in both wordings.
pub fn judge<A: Rate>(answers: &mut Answers<'_>, ask: impl Fn(Template) -> A) -> Result<Vec<Evidence>, Stop> {
    let (first, second) = (answers.rate(&ask(Template::First)), answers.rate(&ask(Template::Second)));
    Ok(vec![Evidence::Rating(first?), Evidence::Rating(second?)])
}

/// The mean of the ratings, each divided by the highest level: in `strict` of the expected levels, in `ragas` of the
/// most likely ones. The other figure stands beside it. `None` if there is none.
pub fn score(case: &Case<'_>) -> Option<Score> {
    let ratings: Vec<_> = case
        .evidence
        .iter()
        .filter_map(|part| if let Evidence::Rating(rating) = part { Some(rating) } else { None })
        .collect();
    let mean = |level: &dyn Fn(usize) -> f64| {
        let total: f64 = (0..ratings.len()).map(|idx| level(idx) / (ratings[idx].levels.len() - 1) as f64).sum();
        total / ratings.len() as f64
    };
    if ratings.is_empty() {
        return None;
    }
    let expected = mean(&|idx| ratings[idx].expected);
    let most_likely = mean(&|idx| ratings[idx].most_likely as f64);
    let score = match case.settings.profile {
        Profile::Strict => expected,
        Profile::Ragas => most_likely,
    };
    // Probabilities add up to 1 but for their rounding, and so may an expected level miss the highest one.
    Some(Score::of(score.clamp(0.0, 1.0)).with("expected", expected).with("most_likely", most_likely))
}
