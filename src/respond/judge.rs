//! The judge in this process: how do questions become tokens, and logits become answers?

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::labels::LabelTrie;
use crate::engine::sampler::Sampling;
use crate::engine::score::Probe;
use crate::engine::write::{Request, Until, Written};
use crate::engine::{Counts, Engine, Memory};
use crate::error::Result;
use crate::judge::{Answer, Form, Key, Labels, Prompt, Reply, Segment};
use crate::record::PinnedModel;

/// Temperature of drawn texts: varied, but not wild.
const TEMPERATURE: f64 = 0.7;
/// Nucleus of drawn texts.
const TOP_P: f64 = 0.9;
/// The longest line that is written.
const MAX_LINE_TOKENS: usize = 128;
/// A list may take this many tokens, and twice as many as the data it is about: claims repeat their subjects.
const MIN_LIST_TOKENS: usize = 64;

/// A language model that gives verdicts and writes texts.
#[derive(Debug)]
pub struct Judge {
    model: PinnedModel,
    engine: Engine,
    /// What the chat template puts around the user turn, by system turn: rendering it takes milliseconds.
    frames: HashMap<String, Frame>,
}

/// Tokens around the user turn.
#[derive(Debug)]
struct Frame {
    before: Vec<u32>,
    after: Vec<u32>,
}

/// A question of yes or no.
#[derive(Debug, Clone, Copy)]
pub struct VerdictAsk<'a> {
    /// What is shown.
    pub prompt: &'a Prompt,
    /// The words that mean yes and no.
    pub labels: &'a Labels,
}

/// A question for a text.
#[derive(Debug, Clone, Copy)]
pub struct TextAsk<'a> {
    /// What is shown.
    pub prompt: &'a Prompt,
    /// The shape of the text.
    pub form: Form,
    /// 0 for the most likely text.
    pub draw: u32,
    /// Keys the random draws.
    pub key: Key,
}

/// A prompt as tokens.
struct Encoded {
    tokens: Vec<u32>,
    /// Those of them that are data.
    n_data: usize,
}

impl Judge {
    /// A judge; `model` is what the run header says of the engine's file.
    pub fn new(model: PinnedModel, engine: Engine) -> Self {
        Self { model, engine, frames: HashMap::new() }
    }

    /// What the run header says of it.
    pub fn model(&self) -> &PinnedModel {
        &self.model
    }

    /// Tokens so far.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    /// Memory of the engine.
    pub fn memory(&self) -> Memory {
        self.engine.memory()
    }

    /// P(yes) for each question.
    ///
    /// # Errors
    /// If the chat template or the engine fails.
    pub fn decide(&mut self, asks: &[VerdictAsk<'_>], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>> {
        let mut probes = Vec::new();
        let mut plans = Vec::new();
        for ask in asks {
            let prompt = self.encode(ask.prompt)?;
            let trie = self.trie(ask.labels);
            let first = probes.len();
            if let Some(failure) = self.too_long(prompt.tokens.len(), trie.as_ref().map_or(0, LabelTrie::depth)) {
                plans.push((prompt, Err(failure), first..first));
                continue;
            }
            for (path, candidates) in trie.iter().flat_map(LabelTrie::branches) {
                probes.push(Probe { prompt: [prompt.tokens.as_slice(), &path].concat(), candidates });
            }
            plans.push((prompt, trie, first..probes.len()));
        }
        let logits = self.engine.score(&probes, on_progress)?;
        let reply = |(prompt, trie, range): (Encoded, Result<LabelTrie, String>, std::ops::Range<usize>)| {
            let answer = match trie {
                Ok(trie) => Answer::Verdict { p_yes: trie.p_yes(&logits[range]) },
                Err(reason) => Answer::Failed(reason),
            };
            Reply { answer, tokens_asked: prompt.tokens.len() as u64 }
        };
        Ok(plans.into_iter().map(reply).collect())
    }

    fn trie(&self, labels: &Labels) -> Result<LabelTrie, String> {
        let encode = |text: &String| self.engine.tokenizer().encode_data(text);
        let yes = labels.yes.iter().map(|text| (encode(text), true));
        let no = labels.no.iter().map(|text| (encode(text), false));
        LabelTrie::new(&yes.chain(no).collect::<Vec<_>>())
    }

    /// A text for each question.
    ///
    /// # Errors
    /// If the chat template or the engine fails.
    pub fn write(&mut self, asks: &[TextAsk<'_>], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>> {
        let mut requests = Vec::new();
        let mut plans = Vec::new();
        for ask in asks {
            let prompt = self.encode(ask.prompt)?;
            let max_tokens = match ask.form {
                Form::Line => MAX_LINE_TOKENS,
                Form::Items => MIN_LIST_TOKENS + 2 * prompt.n_data,
            };
            let n_prompt = prompt.tokens.len();
            let failure = self.too_long(n_prompt, max_tokens);
            if failure.is_none() {
                requests.push(request(ask, prompt.tokens, max_tokens));
            }
            plans.push((n_prompt, max_tokens, failure));
        }
        let mut written = self.engine.write(&requests, on_progress)?.into_iter();
        let reply = |(n_prompt, max_tokens, failure)| match failure {
            Some(reason) => Reply { answer: Answer::Failed(reason), tokens_asked: n_prompt as u64 },
            None => self.text_reply(n_prompt, max_tokens, written.next().expect("every request was written")),
        };
        Ok(plans.into_iter().map(reply).collect())
    }

    fn text_reply(&self, n_prompt: usize, max_tokens: usize, written: Written) -> Reply {
        let text = self.engine.tokenizer().decode(&written.tokens);
        let tokens_asked = (n_prompt + written.tokens.len()) as u64;
        let answer = if written.is_complete {
            Answer::Text(text)
        } else {
            let start: String = text.chars().take(60).collect();
            Answer::Failed(format!("the judge's text did not end within {max_tokens} tokens; it begins `{start}`"))
        };
        Reply { answer, tokens_asked }
    }

    /// Why a prompt cannot be asked, if it cannot.
    fn too_long(&self, n_prompt: usize, n_after: usize) -> Option<String> {
        let window = self.engine.max_tokens();
        (n_prompt + n_after > window).then(|| {
            format!("the prompt has {n_prompt} tokens and {n_after} may follow, the judge's window is {window}")
        })
    }

    /// The system turn is a template with our words; in the user turn our words and data are both plain text, encoded
    /// apart, so that special tokens come from the chat template alone and equal parts have equal tokens.
    fn encode(&mut self, prompt: &Prompt) -> Result<Encoded> {
        let tokenizer = self.engine.tokenizer();
        let frame = match self.frames.entry(prompt.system.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Frame::of(&self.engine, &prompt.system)?),
        };
        let mut tokens = frame.before.clone();
        let mut n_data = 0;
        for segment in &prompt.user {
            let encoded = tokenizer.encode_data(segment.text());
            n_data += if matches!(segment, Segment::Data(_)) { encoded.len() } else { 0 };
            tokens.extend(encoded);
        }
        tokens.extend(&frame.after);
        Ok(Encoded { tokens, n_data })
    }
}

impl Frame {
    fn of(engine: &Engine, system: &str) -> Result<Self> {
        let frame = engine.chat().frame(system)?;
        let tokenizer = engine.tokenizer();
        let (mut before, after) = (tokenizer.encode_template(&frame.before), tokenizer.encode_template(&frame.after));
        // Some templates write the token that begins a text themselves.
        if let Some(bos) = tokenizer.bos()
            && before.first() != Some(&bos)
        {
            before.insert(0, bos);
        }
        Ok(Self { before, after })
    }
}

fn request(ask: &TextAsk<'_>, prompt: Vec<u32>, max_tokens: usize) -> Request {
    let until = match ask.form {
        Form::Line => Until::Line,
        Form::Items => Until::RepeatedLine,
    };
    let sampling = match ask.draw {
        0 => Sampling::Greedy,
        _ => Sampling::Nucleus { temperature: TEMPERATURE, top_p: TOP_P, seed: ask.key.0 },
    };
    Request { prompt, max_tokens, until, sampling }
}
