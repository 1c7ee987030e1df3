//! Where does a text point?

use super::wrong_kind;
use crate::judge::answers::{Answer, Ask, Stop};
use crate::judge::question::Question;
use crate::settings::Settings;
use crate::stats;
use crate::text::{self, Language};

/// Where does this text point in the embedder's space?
#[derive(Debug, Clone, Copy)]
pub struct Direction<'a> {
    /// The text.
    pub text: &'a str,
}

impl Ask for Direction<'_> {
    /// A unit vector.
    type Reply = Vec<f32>;

    fn question(&self, _: Language, _: &Settings) -> Question {
        Question::Embed { text: text::nfc(self.text).into_owned() }
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<f32>, Stop> {
        let Answer::Vector(vector) = answer else { return Err(wrong_kind("a vector", answer)) };
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(Stop::Failed("the embedder gave a vector with infinity or NaN in it".to_owned()));
        }
        Ok(vector.clone())
    }
}

/// The cosine of the directions of two texts.
///
/// # Errors
/// [`Stop::Failed`] if one of them points nowhere, or they are not of one space.
pub fn cosine(a: &[f32], b: &[f32]) -> Result<f64, Stop> {
    if a.len() != b.len() {
        return Err(Stop::Failed(format!(
            "the embedder gave vectors of {} and {} numbers, expected one length",
            a.len(),
            b.len()
        )));
    }
    stats::cosine(a, b).ok_or_else(|| Stop::Failed("the embedder gave a zero vector".to_owned()))
}
