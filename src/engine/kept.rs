//! Beginnings that stay in the cache: which part of a prompt was computed in an earlier call?

use super::Engine;
use super::kv::Sequence;
use super::tree::{PrefixTree, Root};
use crate::error::Result;

/// A beginning that many prompts of a run share, since it holds no data.
#[derive(Debug)]
pub struct Kept {
    tokens: Vec<u32>,
    /// Its keys and values.
    pub sequence: Sequence,
}

/// One in so many blocks of the cache may hold kept beginnings.
const SHARE: usize = 8;

impl Engine {
    /// Blocks that kept beginnings may take.
    pub(super) fn n_kept_blocks_max(&self) -> usize {
        self.slots.n_blocks() / SHARE
    }

    /// For each prompt the kept beginning that it goes on from; beginnings that are new are computed and kept first, as
    /// far as there is room for them.
    pub(super) fn roots(&mut self, prompts: &[&[u32]], n_static: &[usize]) -> Result<Vec<Root>> {
        // Of a prompt at least its last token is computed: somebody asks what comes after it.
        let begins = |(prompt, n): (&&[u32], &usize)| prompt[..(*n).min(prompt.len() - 1)].to_vec();
        let begins: Vec<Vec<u32>> = prompts.iter().zip(n_static).map(begins).collect();
        let mut new: Vec<&[u32]> = Vec::new();
        for tokens in begins.iter().filter(|tokens| !tokens.is_empty()) {
            if self.kept_idx(tokens).is_none() && !new.contains(&tokens.as_slice()) {
                new.push(tokens);
            }
        }
        for tokens in new {
            self.keep(tokens)?;
        }
        let root = |tokens: &Vec<u32>| match self.kept_idx(tokens) {
            Some(idx) => Root { kept: Some(idx), len: tokens.len() },
            None => Root::default(),
        };
        Ok(begins.iter().map(root).collect())
    }

    fn kept_idx(&self, tokens: &[u32]) -> Option<usize> {
        self.kept.iter().position(|kept| kept.tokens == tokens)
    }

    fn keep(&mut self, tokens: &[u32]) -> Result<()> {
        let mut sequence = Sequence::default();
        let n_blocks: usize = self.kept.iter().map(|kept| kept.sequence.n_blocks()).sum();
        let n_missing = self.slots.n_missing(&sequence, tokens.len());
        if n_blocks + n_missing > self.n_kept_blocks_max() {
            return Ok(());
        }
        let mut rows = Vec::new();
        self.stage(&mut sequence, tokens, None, &mut rows);
        self.compute(&mut rows, &mut Vec::new())?;
        self.kept.push(Kept { tokens: tokens.to_vec(), sequence });
        Ok(())
    }

    /// Counts prompts and merges their beginnings. `n_static` tells of each how many of its first tokens hold no data.
    pub(super) fn merge(&mut self, prompts: &[&[u32]], n_static: &[usize]) -> Result<PrefixTree> {
        self.counts.asked += prompts.iter().map(|prompt| prompt.len() as u64).sum::<u64>();
        if !self.options.share_prefixes {
            return Ok(PrefixTree::separate(prompts));
        }
        let roots = self.roots(prompts, n_static)?;
        Ok(PrefixTree::new(prompts, &roots))
    }
}
