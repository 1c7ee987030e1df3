//! Texts for many prompts at once: what does the model write?

use super::Engine;
use super::batch::HiddenStates;
use super::kv::{Sequence, Slots};
use super::sampler::Sampling;
use super::tokenizer::Tokenizer;
use super::tree::PrefixTree;
use crate::error::Result;

/// A text to be written.
#[derive(Debug, Clone)]
pub struct Request {
    /// At least one token; with `max_tokens` at most [`Engine::max_tokens`].
    pub prompt: Vec<u32>,
    /// So many of its first tokens hold no data; they are computed once for all calls.
    pub n_static: usize,
    /// Tokens after which the text is cut; at least one.
    pub max_tokens: usize,
    /// What ends it earlier, beside the model's end token.
    pub until: Until,
    /// How tokens are chosen.
    pub sampling: Sampling,
}

/// What ends a text, beside the model's end token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The end of its first line that is not blank.
    Line,
    /// A line that was written before: small models repeat themselves without end.
    RepeatedLine,
}

/// A written text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its tokens, without the end token.
    pub tokens: Vec<u32>,
    /// Whether it ended by itself; if not, `max_tokens` cut it.
    pub is_complete: bool,
}

impl Engine {
    /// Writes a text for each request. Finished texts leave the batch and waiting ones enter, in their order.
    /// `on_progress` hears the share of texts that are finished.
    ///
    /// # Errors
    /// If candle fails.
    ///
    /// # Panics
    /// If a request is longer than [`Engine::max_tokens`]: it would wait for room without end.
    pub fn write(&mut self, requests: &[Request], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Written>> {
        let fits = |request: &Request| request.prompt.len() + request.max_tokens <= self.max_tokens();
        assert!(requests.iter().all(fits), "a text is asked for only if it fits");
        let prompts: Vec<&[u32]> = requests.iter().map(|request| request.prompt.as_slice()).collect();
        let n_static: Vec<usize> = requests.iter().map(|request| request.n_static).collect();
        let tree = self.merge(&prompts, &n_static)?;
        let mut writer = Writer::new(self, requests, tree);
        while !writer.is_done() {
            writer.admit()?;
            writer.step()?;
            on_progress((writer.n_admitted - writer.streams.len()) as f64 / requests.len() as f64);
        }
        Ok(writer.written.into_iter().map(|text| text.expect("every text was finished")).collect())
    }
}

/// The state of one call of [`Engine::write`].
struct Writer<'a> {
    engine: &'a mut Engine,
    requests: &'a [Request],
    tree: PrefixTree,
    /// For each node its sequence while it is computed and some text still needs it.
    prefixes: Vec<Option<Sequence>>,
    /// For each node the number of texts that still need it.
    n_waiting: Vec<usize>,
    /// For each node at which a prompt ends the hidden state there, once computed.
    ends: HiddenStates,
    streams: Vec<Stream>,
    n_admitted: usize,
    written: Vec<Option<Written>>,
}

/// A text being written.
struct Stream {
    request_idx: usize,
    sequence: Sequence,
    tokens: Vec<u32>,
}

impl<'a> Writer<'a> {
    fn new(engine: &'a mut Engine, requests: &'a [Request], tree: PrefixTree) -> Self {
        let n_nodes = tree.nodes.len();
        Self {
            engine,
            requests,
            prefixes: vec![None; n_nodes],
            n_waiting: tree.nodes.iter().map(|node| node.n_prompts).collect(),
            ends: vec![None; n_nodes],
            tree,
            streams: Vec::new(),
            n_admitted: 0,
            written: vec![None; requests.len()],
        }
    }

    fn is_done(&self) -> bool {
        self.n_admitted == self.requests.len() && self.streams.is_empty()
    }

    /// Lets as many waiting texts enter as there is room for, and draws their first tokens.
    fn admit(&mut self) -> Result<()> {
        let first = self.n_admitted;
        let mut rows = Vec::new();
        let mut n_reserved: usize = self.streams.iter().map(|stream| self.n_left(stream)).sum();
        while self.n_admitted < self.requests.len() && self.n_writing(first) < self.engine.options.max_streams {
            let request = &self.requests[self.n_admitted];
            let missing = self.missing(self.n_admitted);
            let n_missing: usize = missing.iter().map(|&node| self.tree.nodes[node].tokens.len()).sum();
            let n_prompt = request.prompt.len();
            n_reserved += Slots::n_most(n_prompt, n_prompt + request.max_tokens);
            let n_blocks = if n_missing == 0 { 0 } else { Slots::n_most(n_prompt - n_missing, n_prompt) };
            if n_blocks + n_reserved > self.engine.slots.n_free() {
                if self.n_writing(first) > 0 {
                    break;
                }
                // Alone it fits: only prefixes that later texts wait for are in the way. They are computed again.
                self.forget_prefixes();
                n_reserved = 0;
                continue;
            }
            for node in missing {
                let mut sequence = self.before(node).map(Sequence::fork).unwrap_or_default();
                let wanted_at = self.tree.is_end(node).then_some(node);
                self.engine.stage(&mut sequence, &self.tree.nodes[node].tokens, wanted_at, &mut rows);
                self.prefixes[node] = Some(sequence);
            }
            self.n_admitted += 1;
        }
        self.engine.compute(&mut rows, &mut self.ends)?;
        self.enter(first..self.n_admitted)
    }

    /// Texts being written once those from `first` on have entered.
    fn n_writing(&self, first: usize) -> usize {
        self.streams.len() + self.n_admitted - first
    }

    /// The most blocks that a text may still need.
    fn n_left(&self, stream: &Stream) -> usize {
        let request = &self.requests[stream.request_idx];
        let n_prompt = request.prompt.len();
        Slots::n_most(n_prompt, n_prompt + request.max_tokens).saturating_sub(stream.sequence.n_blocks())
    }

    /// Nodes of a request's path that are not computed, in order.
    fn missing(&self, request_idx: usize) -> Vec<usize> {
        let path = self.tree.path(self.tree.ends[request_idx]);
        path.into_iter().filter(|&node| self.prefixes[node].is_none()).collect()
    }

    /// What a node goes on from.
    fn before(&self, node: usize) -> Option<&Sequence> {
        let node = &self.tree.nodes[node];
        match node.parent {
            Some(parent) => self.prefixes[parent].as_ref(),
            None => Some(&self.engine.kept[node.kept?].sequence),
        }
    }

    fn forget_prefixes(&mut self) {
        for prefix in self.prefixes.iter_mut().rev() {
            if let Some(sequence) = prefix.take() {
                self.engine.slots.release(sequence);
            }
        }
    }

    /// Turns requests whose prompts are computed into streams with one token each.
    fn enter(&mut self, request_idxs: std::ops::Range<usize>) -> Result<()> {
        let ends = request_idxs.clone().map(|idx| self.tree.ends[idx]);
        let states: Vec<Vec<f32>> =
            ends.map(|end| self.ends[end].clone().expect("the state at every end was wanted")).collect();
        let streams = request_idxs.map(|request_idx| {
            let prefix = self.prefixes[self.tree.ends[request_idx]].as_ref();
            let sequence = prefix.expect("the path of an admitted text is computed").fork();
            Stream { request_idx, sequence, tokens: Vec::new() }
        });
        let streams = streams.collect();
        self.draw(streams, &states)
    }

    /// Computes the last token of every stream and draws the next.
    fn step(&mut self) -> Result<()> {
        let mut streams = std::mem::take(&mut self.streams);
        let mut rows = Vec::new();
        for (idx, stream) in streams.iter_mut().enumerate() {
            let token = *stream.tokens.last().expect("a stream enters with its first token");
            self.engine.stage(&mut stream.sequence, &[token], Some(idx), &mut rows);
        }
        let mut states = vec![None; streams.len()];
        self.engine.compute(&mut rows, &mut states)?;
        let states: Vec<Vec<f32>> = states.into_iter().flatten().collect();
        self.draw(streams, &states)
    }

    /// Draws a token for each stream from its hidden state; streams that ended leave.
    fn draw(&mut self, streams: Vec<Stream>, states: &[Vec<f32>]) -> Result<()> {
        if streams.is_empty() {
            return Ok(());
        }
        let mut drawn = vec![0; streams.len()];
        self.engine.model.logits(states, &mut |idx, logits| {
            let stream = &streams[idx];
            let sampling = &self.requests[stream.request_idx].sampling;
            drawn[idx] = sampling.choose(logits, stream.tokens.len() as u64);
        })?;
        for (mut stream, token) in streams.into_iter().zip(drawn) {
            let request = &self.requests[stream.request_idx];
            stream.tokens.push(token);
            self.engine.counts.written += 1;
            match ending(&stream.tokens, request, &self.engine.tokenizer) {
                Some(written) => self.leave(stream, written),
                None => self.streams.push(stream),
            }
        }
        Ok(())
    }

    fn leave(&mut self, stream: Stream, written: Written) {
        self.engine.slots.release(stream.sequence);
        self.written[stream.request_idx] = Some(written);
        for node in self.tree.path(self.tree.ends[stream.request_idx]).into_iter().rev() {
            self.n_waiting[node] -= 1;
            if self.n_waiting[node] == 0
                && let Some(sequence) = self.prefixes[node].take()
            {
                self.engine.slots.release(sequence);
            }
        }
    }
}

/// The text, if its last token ended it.
fn ending(tokens: &[u32], request: &Request, tokenizer: &Tokenizer) -> Option<Written> {
    let (&last, before) = tokens.split_last()?;
    if tokenizer.is_end(last) {
        return Some(Written { tokens: before.to_vec(), is_complete: true });
    }
    let has_newline = tokenizer.token_bytes(last).contains(&b'\n');
    let is_complete = has_newline && is_ended(&tokenizer.decode(tokens), request.until);
    let is_over = is_complete || tokens.len() == request.max_tokens;
    is_over.then(|| Written { tokens: tokens.to_vec(), is_complete })
}

/// Whether a text whose last token has a line feed is ended by it.
fn is_ended(text: &str, until: Until) -> bool {
    // What stands after the last line feed has only begun.
    let lines: Vec<&str> = text.rsplit('\n').skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
    match until {
        Until::Line => !lines.is_empty(),
        Until::RepeatedLine => lines.split_first().is_some_and(|(last, before)| before.contains(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_at_its_line_feed() {
        assert!(!is_ended("\n", Until::Line));
        assert!(is_ended("\nWhat?\n", Until::Line));
        assert!(is_ended("What? \nAnd", Until::Line));
    }

    #[test]
    fn repeated_line_ends_a_list() {
        assert!(!is_ended("a\nb\n", Until::RepeatedLine));
        assert!(is_ended("a\nb\na\n", Until::RepeatedLine));
        // The repetition has not come to its own end yet: it may go on as "ab".
        assert!(!is_ended("a\nb\na", Until::RepeatedLine));
    }
}
