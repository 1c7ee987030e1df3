//! Logits at the end of prompts: how likely is which next token?

use super::Engine;
use super::batch::HiddenStates;
use super::kv::Sequence;
use super::tree::PrefixTree;
use crate::error::Result;

/// A prompt, and the tokens whose logits are wanted at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// At least one token, at most [`Engine::max_tokens`].
    pub prompt: Vec<u32>,
    /// So many of its first tokens hold no data; they are computed once for all calls.
    pub n_static: usize,
    /// Tokens of the vocabulary.
    pub candidates: Vec<u32>,
}

impl Engine {
    /// For each probe the logits of its candidates.
    ///
    /// Equal beginnings are computed once, and of the output head only the candidates' rows. `on_progress` hears the
    /// share of tokens that are computed.
    ///
    /// # Errors
    /// If candle fails.
    pub fn score(&mut self, probes: &[Probe], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Vec<f32>>> {
        let prompts: Vec<&[u32]> = probes.iter().map(|probe| probe.prompt.as_slice()).collect();
        let n_static: Vec<usize> = probes.iter().map(|probe| probe.n_static).collect();
        let tree = self.merge(&prompts, &n_static)?;
        let hidden = self.compute_tree(&tree, on_progress)?;
        let score = |(probe, &end): (&Probe, &usize)| {
            let state = hidden[end].as_ref().expect("the state at every end was wanted");
            self.model.logits_of(state, &probe.candidates)
        };
        probes.iter().zip(&tree.ends).map(score).collect()
    }

    /// The hidden states of the nodes at which prompts end.
    fn compute_tree(&mut self, tree: &PrefixTree, on_progress: &mut dyn FnMut(f64)) -> Result<HiddenStates> {
        let (n_before, n_tokens) = (self.counts.computed, tree.n_tokens());
        let mut hidden = vec![None; tree.nodes.len()];
        let mut rows = Vec::new();
        // The node that was added last and those above it. Nodes that left the path are given back once computed.
        let mut path: Vec<(usize, Sequence)> = Vec::new();
        let mut left = Vec::new();
        for (idx, node) in tree.nodes.iter().enumerate() {
            while let Some((_, sequence)) = path.pop_if(|(last, _)| Some(*last) != node.parent) {
                left.push(sequence);
            }
            let kept = || Some(&self.kept[node.kept?].sequence);
            let parent = path.last().map(|(_, parent)| parent).or_else(kept);
            let mut sequence = parent.map(Sequence::fork).unwrap_or_default();
            let is_full = self.slots.n_free() < self.slots.n_missing(&sequence, node.tokens.len());
            if rows.len() >= self.options.max_rows || is_full {
                self.compute(&mut rows, &mut hidden)?;
                left.drain(..).for_each(|sequence| self.slots.release(sequence));
                on_progress((self.counts.computed - n_before) as f64 / n_tokens as f64);
            }
            self.stage(&mut sequence, &node.tokens, tree.is_end(idx).then_some(idx), &mut rows);
            path.push((idx, sequence));
        }
        self.compute(&mut rows, &mut hidden)?;
        left.extend(path.into_iter().rev().map(|(_, sequence)| sequence));
        left.into_iter().for_each(|sequence| self.slots.release(sequence));
        Ok(hidden)
    }
}
