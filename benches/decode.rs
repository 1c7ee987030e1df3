//! Writing: how many tokens a second, for one text and for many side by side?

use criterion::{Criterion, Throughput};
use ragstone::engine::Engine;
use ragstone::engine::sampler::Sampling;
use ragstone::engine::write::{Request, Until};

use crate::weights::{self, JUDGES};

/// Short prompts, so that writing is what is measured.
const PROMPT_TOKENS: usize = 8;

/// Tokens of a text at most; some end earlier, so that what is written is counted.
const MAX_TOKENS: usize = 32;

/// `decode_STREAMS/JUDGE`, in tokens written a second.
pub fn bench(criterion: &mut Criterion) {
    for name in JUDGES {
        let Some(path) = weights::gguf(name) else { continue };
        let mut engine = weights::engine(&path);
        for n_streams in [1, 16] {
            let requests: Vec<Request> = (0..n_streams).map(|idx| request(&engine, idx)).collect();
            let n_before = engine.counts().written;
            engine.write(&requests, &mut |_| ()).unwrap();
            let mut group = criterion.benchmark_group(format!("decode_{n_streams}"));
            group.throughput(Throughput::Elements(engine.counts().written - n_before));
            group.bench_function(name, |bencher| bencher.iter(|| engine.write(&requests, &mut |_| ()).unwrap()));
        }
    }
}

fn request(engine: &Engine, idx: usize) -> Request {
    let prompt = weights::tokens(engine, idx * PROMPT_TOKENS, PROMPT_TOKENS);
    Request { prompt, n_static: 0, max_tokens: MAX_TOKENS, until: Until::RepeatedLine, sampling: Sampling::Greedy }
}
