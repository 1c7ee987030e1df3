//! Responders: who answers the questions?

pub mod judge;
mod labels;
pub mod local;
pub mod script;

use crate::error::Result;
use crate::judge::{Pins, Question, Reply};
use crate::record::PinnedModel;

/// Answers questions: local models, or a script in tests.
pub trait Responder {
    /// The model that gives verdicts and writes, if there is one.
    fn judge(&self) -> Option<&PinnedModel>;

    /// The model that embeds, if there is one.
    fn embedder(&self) -> Option<&PinnedModel>;

    /// One reply for each question, in order. `on_progress` hears the share that is done, from 0 to 1.
    ///
    /// # Errors
    /// Only what ends the run, such as a failing device. A question that cannot be answered gets a reply that says so.
    fn answer(&mut self, questions: &[Question], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>>;

    /// What answers depend on: the models' pins as JSON.
    fn pins(&self) -> Pins {
        let text = |model: Option<&PinnedModel>| {
            let pins = model.map(|model| &model.pins);
            serde_json::to_string(&pins).expect("pins have only strings")
        };
        Pins { judge: text(self.judge()), embedder: text(self.embedder()) }
    }
}
