//! Ids of chunks: which were retrieved, which are right, and which occur twice?

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Case, compared_text, list_of};

/// Ids of chunks.
pub struct Ids<'a> {
    /// All, in order.
    pub all: Vec<Cow<'a, str>>,
    /// Each once.
    pub unique: BTreeSet<Cow<'a, str>>,
}

/// The retrieved ids and those of the reference.
pub fn of<'a>(case: &Case<'a>) -> (Ids<'a>, Ids<'a>) {
    let ids = |list: &'a Option<Vec<String>>| {
        let all: Vec<Cow<'a, str>> = list_of(list).iter().map(|id| compared_text(case.settings.profile, id)).collect();
        Ids { unique: all.iter().cloned().collect(), all }
    };
    (ids(&case.sample.retrieved_context_ids), ids(&case.sample.reference_context_ids))
}

impl Ids<'_> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many are there again.
    pub fn n_duplicates(&self) -> f64 {
        (self.all.len() - self.unique.len()) as f64
    }
}
