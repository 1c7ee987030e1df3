//! What a labelled row measures: which metric speaks of what people said?

use serde_json::Value;

use crate::judge::asks::Answering;
use crate::judge::{Answers, Stop};
use crate::metrics::{
    About, AnswerRelevancy, Case, ContextRelevance, Faithfulness, Metric, NvAnswerAccuracy, NvContextRelevance,
    SemanticSimilarity, support,
};
use crate::model::Role;
use crate::record::{Evidence, Judged, Score};
use crate::sample::{Column, Sample};

/// What a row measures, by its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// `statement` with contexts: is it supported?
    Statement,
    /// `statement` with `reference` and no contexts: how alike are the two sentences?
    Sentences,
    /// `response_a` and `response_b`: which is better?
    Pair,
    /// `response` with contexts: how faithful is it?
    Response,
    /// `user_input`, `response` and `reference`: is the response right?
    Correctness,
    /// `user_input` with contexts: do the contexts help?
    Contexts,
    /// `user_input` with `response`: does it answer?
    Answer,
}

impl Task {
    /// Every task.
    pub const ALL: [Self; 7] =
        [Self::Statement, Self::Sentences, Self::Pair, Self::Response, Self::Correctness, Self::Contexts, Self::Answer];

    /// The task that the columns of a row call for.
    pub fn of(sample: &Sample) -> Option<Self> {
        let has_contexts = sample.retrieved_contexts.as_ref().is_some_and(|contexts| !contexts.is_empty());
        let (has_input, has_response) = (sample.user_input.is_some(), sample.response.is_some());
        let has = |name: &str| sample.metadata.get(name).is_some_and(Value::is_string);
        if has("response_a") && has("response_b") {
            return Some(Self::Pair);
        }
        match (has("statement"), has_contexts, has_response) {
            (true, true, _) => Some(Self::Statement),
            (true, false, _) => sample.reference.is_some().then_some(Self::Sentences),
            (false, true, true) => Some(Self::Response),
            (false, true, false) => has_input.then_some(Self::Contexts),
            (false, false, true) if has_input && sample.reference.is_some() => Some(Self::Correctness),
            (false, false, true) => has_input.then_some(Self::Answer),
            (false, false, false) => None,
        }
    }

    /// The metrics that speak of it.
    pub fn metrics(self) -> Vec<&'static dyn Metric> {
        match self {
            Self::Statement => vec![&StatementSupport],
            Self::Sentences => vec![&SemanticSimilarity],
            Self::Pair | Self::Correctness => vec![&NvAnswerAccuracy],
            Self::Response => vec![&Faithfulness],
            Self::Contexts => vec![&ContextRelevance, &NvContextRelevance],
            Self::Answer => vec![&AnswerRelevancy, &DirectRelevance],
        }
    }

    /// The samples of a row: two for a pair of responses, A first; a statement stands as the response.
    pub fn samples(self, sample: &Sample) -> Vec<Sample> {
        let text = |name: &str| sample.metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        match self {
            Self::Pair => ["a", "b"]
                .map(|side| {
                    let response = text(&format!("response_{side}"));
                    Sample { id: format!("{}.{side}", sample.id), response, ..sample.clone() }
                })
                .to_vec(),
            Self::Statement | Self::Sentences => vec![Sample { response: text("statement"), ..sample.clone() }],
            Self::Response | Self::Correctness | Self::Contexts | Self::Answer => {
                vec![sample.clone()]
            }
        }
    }
}

/// P(yes) of the verdict on the row's `statement` against the contexts, as faithfulness and context recall ask for it of each
/// claim.
#[derive(Debug)]
pub struct StatementSupport;

impl Metric for StatementSupport {
    fn about(&self) -> About<'_> {
        About {
            name: "supported",
            summary: "P(yes) that the contexts support the statement",
            columns: &[Column::Response, Column::RetrievedContexts],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (Some(statement), Some(contexts)) = (&sample.response, &sample.retrieved_contexts) else {
            return Err(Stop::unscored("the row has no statement or no contexts"));
        };
        let judged = support::verify(std::slice::from_ref(statement), contexts, answers)?;
        Ok(judged.into_iter().map(Evidence::Statement).collect())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        p_yes(case)
    }
}

/// P(yes) of the direct question whether the response answers the user's, beside `answer_relevancy`.
#[derive(Debug)]
pub struct DirectRelevance;

impl Metric for DirectRelevance {
    fn about(&self) -> About<'_> {
        About {
            name: "answering",
            summary: "P(yes) that the response answers the question",
            columns: &[Column::UserInput, Column::Response],
            models: &[Role::Judge],
            depth: 1,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (Some(user_input), Some(response)) = (&sample.user_input, &sample.response) else {
            return Err(Stop::unscored("the row has no question or no response"));
        };
        let verdict = answers.decide(&Answering { user_input, response })?;
        Ok(vec![Evidence::Answered(Judged::new(response, verdict))])
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        p_yes(case)
    }
}

/// P(yes) of the one verdict; 0 where nobody had to be asked, since there was nothing to support.
fn p_yes(case: &Case<'_>) -> Result<Score, Stop> {
    let judged = case.evidence.iter().find_map(|part| match part {
        Evidence::Statement(judged) | Evidence::Answered(judged) => Some(judged.p_yes.unwrap_or(0.0)),
        _ => None,
    });
    judged.map(Score::of).ok_or_else(|| Stop::Failed("there is no verdict".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(row: Value) -> Option<Task> {
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        let sample = Sample {
            user_input: text("user_input"),
            response: text("response"),
            reference: text("reference"),
            retrieved_contexts: row.get("contexts").map(|_| vec!["C".to_owned()]),
            metadata: row.as_object().cloned().unwrap_or_default(),
            ..Sample::default()
        };
        Task::of(&sample)
    }

    #[test]
    fn task_follows_from_the_columns() {
        for (row, task) in [
            (json!({ "statement": "S", "contexts": 1, "user_input": "Q" }), Some(Task::Statement)),
            (json!({ "statement": "S", "reference": "R" }), Some(Task::Sentences)),
            (json!({ "response_a": "A", "response_b": "B", "reference": "R", "user_input": "Q" }), Some(Task::Pair)),
            (json!({ "user_input": "Q", "response": "A", "contexts": 1, "reference": "R" }), Some(Task::Response)),
            (json!({ "user_input": "Q", "response": "A", "reference": "R" }), Some(Task::Correctness)),
            (json!({ "user_input": "Q", "contexts": 1, "reference": "R" }), Some(Task::Contexts)),
            (json!({ "user_input": "Q", "response": "A" }), Some(Task::Answer)),
            (json!({ "statement": "S" }), None),
            (json!({ "contexts": 1 }), None),
            (json!({ "user_input": "Q" }), None),
        ] {
            assert_eq!(check(row.clone()), task, "{row}");
        }
    }
}
