//! One long prompt: how fast is it read, by this engine and by candle's own models of the same files?

use std::fs::File;
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};
use candle_transformers::models::{quantized_llama, quantized_qwen2};
use criterion::{Criterion, Throughput};
use ragstone::engine::score::Probe;

use crate::weights::{self, JUDGES, LARGE_JUDGE};

/// Tokens of the prompt: one full forward.
const N_TOKENS: usize = 512;

/// `prefill_512/ragstone/JUDGE` and `prefill_512/candle/JUDGE`, in tokens a second.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(format!("prefill_{N_TOKENS}"));
    group.throughput(Throughput::Elements(N_TOKENS as u64));
    for name in JUDGES.into_iter().chain([LARGE_JUDGE]) {
        let Some(path) = weights::gguf(name) else { continue };
        // Loaded once, and only if the bench is asked for.
        let mut engine = None;
        group.bench_function(format!("ragstone/{name}"), |bencher| {
            let engine = engine.get_or_insert_with(|| weights::engine(&path));
            let probe = Probe { prompt: weights::tokens(engine, 0, N_TOKENS), n_static: 0, candidates: vec![0] };
            bencher.iter(|| engine.score(std::slice::from_ref(&probe), &mut |_| ()).unwrap());
        });
        drop(engine);
        let mut stock = None;
        group.bench_function(format!("candle/{name}"), |bencher| {
            let stock = stock.get_or_insert_with(|| Stock::load(&path).unwrap());
            // Which tokens they are does not change the speed.
            let tokens = Tensor::arange(0, N_TOKENS as u32, &Device::Cpu).unwrap().unsqueeze(0).unwrap();
            bencher.iter(|| stock.read(&tokens).unwrap());
        });
    }
}

/// A model of candle-transformers.
enum Stock {
    Llama(quantized_llama::ModelWeights),
    Qwen2(quantized_qwen2::ModelWeights),
}

impl Stock {
    fn load(path: &Path) -> candle_core::Result<Self> {
        let mut file = File::open(path)?;
        let content = Content::read(&mut file)?;
        let architecture = content.metadata.get("general.architecture").map(|value| value.to_string().cloned());
        match architecture.transpose()?.as_deref() {
            Some("qwen2") => {
                Ok(Self::Qwen2(quantized_qwen2::ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?))
            }
            _ => Ok(Self::Llama(quantized_llama::ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?)),
        }
    }

    /// Logits after a prompt `[1, tokens]`; position 0 empties the cache.
    fn read(&mut self, tokens: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Self::Llama(model) => model.forward(tokens, 0),
            Self::Qwen2(model) => model.forward(tokens, 0),
        }
    }
}
