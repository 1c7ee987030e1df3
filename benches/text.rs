//! Metrics without a model: how fast are chunks compared?

use criterion::{Criterion, Throughput};
use ragstone::metrics;
use ragstone::respond::local::LocalModels;
use ragstone::run::{self, Plan};
use ragstone::sample::Sample;

/// Chunks of a sample, retrieved and of the reference: a hundred pairs.
const N_CHUNKS: usize = 10;
/// Samples: 1,000,000 pairs.
const N_SAMPLES: usize = 10_000;
/// Characters of a chunk.
const CHUNK_CHARS: usize = 300;

const ENGLISH: &str =
    "the of and to in a is that for it was on are as with his they at be this from have or by one had not but what";
const KOREAN: &str = "나는 너는 우리는 오늘 내일 학교에 집에서 사람이 물을 마시고 책을 읽는다 서울은 한국의 수도이다 바다가 보이는 마을에";

/// `text/nonllm_context_precision/LANGUAGE` in pairs a second, on all threads; samples are made as they are needed.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("text/nonllm_context_precision");
    group.throughput(Throughput::Elements((N_SAMPLES * N_CHUNKS * N_CHUNKS) as u64));
    for (language, words) in [("en", ENGLISH), ("ko", KOREAN)] {
        let words: Vec<&str> = words.split(' ').collect();
        group.bench_function(language, |bencher| bencher.iter(|| score(&words)));
    }
}

fn score(words: &[&str]) {
    let metrics = vec![metrics::find("nonllm_context_precision").expect("it is in the table")];
    let plan = Plan { metrics, wave_samples: 256, ..Plan::default() };
    let mut n_scored = 0;
    let mut sink = |record: ragstone::record::Record| {
        n_scored += usize::from(record.cells[0].outcome.score().is_some());
        Ok(())
    };
    let rows = (0..N_SAMPLES).map(|idx| Ok(sample(words, idx as u64)));
    run::run(rows, &plan, &mut LocalModels::new(None, None), &mut sink, &mut |_| ()).expect("nothing ends it");
    assert_eq!(n_scored, N_SAMPLES);
}

fn sample(words: &[&str], seed: u64) -> Sample {
    let mut state = seed;
    let mut chunks = || Some((0..N_CHUNKS).map(|_| chunk(words, &mut state)).collect());
    Sample { id: seed.to_string(), retrieved_contexts: chunks(), reference_contexts: chunks(), ..Sample::default() }
}

/// Words drawn by a linear congruential generator (Knuth's), cut to length.
fn chunk(words: &[&str], state: &mut u64) -> String {
    let mut text = String::new();
    while text.chars().count() < CHUNK_CHARS {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += words[(*state >> 33) as usize % words.len()];
        text.push(' ');
    }
    text.chars().take(CHUNK_CHARS).collect()
}
