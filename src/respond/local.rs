//! Local models: a judge and an embedder in this process.

use rayon::prelude::*;

use super::Responder;
use super::judge::{ChoiceAsk, Judge, TextAsk};
use crate::embed::Embedder;
use crate::engine::Counts;
use crate::engine::memory::Memory;
use crate::error::{Error, Result};
use crate::judge::{Answer, Question, Reply};
use crate::record::PinnedModel;

/// Models that run in this process.
#[derive(Debug)]
pub struct LocalModels {
    judge: Option<Judge>,
    embedder: Option<(PinnedModel, Embedder)>,
}

impl LocalModels {
    /// The models that the metrics need; a question for a model that is not there is an error.
    pub fn new(judge: Option<Judge>, embedder: Option<(PinnedModel, Embedder)>) -> Self {
        Self { judge, embedder }
    }

    /// Tokens of the judge so far.
    pub fn counts(&self) -> Counts {
        self.judge.as_ref().map(Judge::counts).unwrap_or_default()
    }

    /// Memory of the judge.
    pub fn memory(&self) -> Memory {
        self.judge.as_ref().map(Judge::memory).unwrap_or_default()
    }

    /// The largest memory that this process will take, if the judge keeps keys and values of `kv_tokens` tokens.
    pub fn predicted_bytes(&self, kv_tokens: usize) -> usize {
        /// The program with its threads, and what a wave of samples and answers takes.
        const PROGRAM_BYTES: usize = 60 << 20;
        let judge = self.judge.as_ref().map_or(0, |judge| judge.predicted_bytes(kv_tokens));
        let embedder = self.embedder.as_ref().map_or(0, |(_, embedder)| embedder.weight_bytes());
        PROGRAM_BYTES + judge + embedder
    }

    fn the_judge(&mut self) -> Result<&mut Judge> {
        self.judge.as_mut().ok_or_else(|| Error::usage("a metric asks a judge, and none is loaded", ""))
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Reply>> {
        let Some((_, embedder)) = &self.embedder else {
            return Err(Error::usage("a metric asks for an embedding, and no embedder is loaded", ""));
        };
        let tokens = texts.par_iter().map(|text| embedder.tokens(text)).collect::<Result<Vec<_>>>()?;
        let window = embedder.max_tokens();
        let fitting: Vec<Vec<u32>> = tokens.iter().filter(|tokens| tokens.len() <= window).cloned().collect();
        let vectors = embedder.embed(&fitting)?;
        let mut vectors = vectors.rows().into_iter();
        let reply = |tokens: &Vec<u32>| {
            let n_tokens = tokens.len();
            let answer = if n_tokens <= window {
                Answer::Vector(vectors.next().expect("every fitting text has a vector").to_vec())
            } else {
                Answer::Failed(format!("the text has {n_tokens} tokens, the embedder's window is {window}"))
            };
            Reply { answer, tokens_asked: n_tokens as u64 }
        };
        Ok(tokens.iter().map(reply).collect())
    }
}

impl Responder for LocalModels {
    fn judge(&self) -> Option<&PinnedModel> {
        self.judge.as_ref().map(Judge::model)
    }

    fn embedder(&self) -> Option<&PinnedModel> {
        self.embedder.as_ref().map(|(model, _)| model)
    }

    fn answer(&mut self, questions: &[Question], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>> {
        let pins = self.pins();
        let (mut choices, mut texts, mut embeddings) = (Split::default(), Split::default(), Split::default());
        for (idx, question) in questions.iter().enumerate() {
            match question {
                Question::Verdict { posed, labels, anchors } => {
                    choices.push(idx, ChoiceAsk::Verdict { posed, labels, anchors });
                }
                Question::Rating { prompt, levels } => choices.push(idx, ChoiceAsk::Rating { prompt, levels }),
                Question::Write { prompt, form, draw, .. } => {
                    let key = question.key(&pins);
                    texts.push(idx, TextAsk { prompt, form: *form, draw: *draw, key });
                }
                Question::Embed { text } => embeddings.push(idx, text.as_str()),
            }
        }
        let mut replies = vec![None; questions.len()];
        if !texts.asks.is_empty() {
            texts.place(self.the_judge()?.write(&texts.asks, on_progress)?, &mut replies);
        }
        if !embeddings.asks.is_empty() {
            embeddings.place(self.embed(&embeddings.asks)?, &mut replies);
        }
        if !choices.asks.is_empty() {
            choices.place(self.the_judge()?.decide(&choices.asks, on_progress)?, &mut replies);
        }
        Ok(replies.into_iter().map(|reply| reply.expect("a question is of one of the four kinds")).collect())
    }
}

/// Questions of one kind with their places among all.
struct Split<T> {
    idxs: Vec<usize>,
    asks: Vec<T>,
}

impl<T> Default for Split<T> {
    fn default() -> Self {
        Self { idxs: Vec::new(), asks: Vec::new() }
    }
}

impl<T> Split<T> {
    fn push(&mut self, idx: usize, ask: T) {
        self.idxs.push(idx);
        self.asks.push(ask);
    }

    fn place(&self, from: Vec<Reply>, to: &mut [Option<Reply>]) {
        for (idx, reply) in self.idxs.iter().zip(from) {
            to[*idx] = Some(reply);
        }
    }
}
