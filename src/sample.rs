//! Plain data: what is one row of a data set?

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One question with what a RAG system retrieved and answered, in the column names of Ragas >= 0.2.
///
/// Every column may be absent (`None`). An empty list is data: nothing was retrieved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// The row's own id, or a hash of its content.
    pub id: String,
    /// The user's question.
    pub user_input: Option<String>,
    /// The answer of the RAG system.
    pub response: Option<String>,
    /// The chunks that the RAG system retrieved, best first.
    pub retrieved_contexts: Option<Vec<String>>,
    /// The right answer.
    pub reference: Option<String>,
    /// The chunks that hold the right answer.
    pub reference_contexts: Option<Vec<String>>,
    /// Ids of the retrieved chunks, best first; integers are kept as their decimal text.
    pub retrieved_context_ids: Option<Vec<String>>,
    /// Ids of the chunks that hold the right answer.
    pub reference_context_ids: Option<Vec<String>>,
    /// Anything else the row holds, as it was.
    pub metadata: Map<String, Value>,
}

/// A column of a data set, in the names of Ragas >= 0.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The row's own id.
    Id,
    /// The user's question.
    UserInput,
    /// The answer of the RAG system.
    Response,
    /// The chunks that the RAG system retrieved.
    RetrievedContexts,
    /// The right answer.
    Reference,
    /// The chunks that hold the right answer.
    ReferenceContexts,
    /// Ids of the retrieved chunks.
    RetrievedContextIds,
    /// Ids of the chunks that hold the right answer.
    ReferenceContextIds,
}

impl Column {
    /// Every column, in the order of [`Sample`]'s fields.
    pub const ALL: [Self; 8] = [
        Self::Id,
        Self::UserInput,
        Self::Response,
        Self::RetrievedContexts,
        Self::Reference,
        Self::ReferenceContexts,
        Self::RetrievedContextIds,
        Self::ReferenceContextIds,
    ];

    /// The name, as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::UserInput => "user_input",
            Self::Response => "response",
            Self::RetrievedContexts => "retrieved_contexts",
            Self::Reference => "reference",
            Self::ReferenceContexts => "reference_contexts",
            Self::RetrievedContextIds => "retrieved_context_ids",
            Self::ReferenceContextIds => "reference_context_ids",
        }
    }

    /// Whether the sample has this column; an empty text or list is there.
    pub fn is_present(self, sample: &Sample) -> bool {
        match self {
            Self::Id => !sample.id.is_empty(),
            Self::UserInput => sample.user_input.is_some(),
            Self::Response => sample.response.is_some(),
            Self::RetrievedContexts => sample.retrieved_contexts.is_some(),
            Self::Reference => sample.reference.is_some(),
            Self::ReferenceContexts => sample.reference_contexts.is_some(),
            Self::RetrievedContextIds => sample.retrieved_context_ids.is_some(),
            Self::ReferenceContextIds => sample.reference_context_ids.is_some(),
        }
    }
}
