//! Embedding: how many tokens a second, for one text and for many of all lengths?

use criterion::{Criterion, Throughput};
use ragstone::embed::Embedder;

use crate::weights::{self, EMBEDDER, EXAMPLE};

/// Texts and how many tokens each has at most: a question, and claims and chunks side by side.
const TEXTS: [(usize, usize); 2] = [(1, 20), (64, 250)];

/// `embed_TEXTS`, in tokens a second.
pub fn bench(criterion: &mut Criterion) {
    let Some(folder) = weights::folder(EMBEDDER) else { return };
    let embedder = weights::embedder(&folder);
    for (n_texts, max_tokens) in TEXTS {
        let texts = texts(&embedder, n_texts, max_tokens);
        let mut group = criterion.benchmark_group(format!("embed_{n_texts}"));
        group.throughput(Throughput::Elements(texts.iter().map(Vec::len).sum::<usize>() as u64));
        group.bench_function(EMBEDDER, |bencher| bencher.iter(|| embedder.embed(&texts).unwrap()));
    }
}

/// Windows of the example's tokens, of lengths that are spread from one to the most.
fn texts(embedder: &Embedder, n_texts: usize, max_tokens: usize) -> Vec<Vec<u32>> {
    let tokens = embedder.tokens(EXAMPLE).unwrap();
    let len = |idx: usize| max_tokens - idx * 37 % max_tokens;
    (0..n_texts).map(|idx| tokens[idx..][..len(idx)].to_vec()).collect()
}
