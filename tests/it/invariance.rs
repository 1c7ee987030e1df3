//! Results do not depend on how they are computed: are the bits equal, whatever is computed beside them?

use ragstone::engine::kernels::Cpu;
use ragstone::engine::kernels::pool::Pool;
use ragstone::engine::kernels::simd::Tier;
use ragstone::engine::sampler::Sampling;
use ragstone::engine::score::Probe;
use ragstone::engine::write::{Request, Until, Written};
use ragstone::engine::{Engine, Options};

use crate::golden::long_text_tokens;
use crate::weights::{QWEN, SMOLLM2, Weights};

/// Bytes that a token takes in SmolLM2's cache, keys and values in f32: 30 layers of 3 heads of 64.
pub const SMOLLM2_SLOT_BYTES: usize = 2 * 30 * 3 * 64 * 4;
/// The same for Qwen2.5: 24 layers of 2 heads of 64.
const QWEN_SLOT_BYTES: usize = 2 * 24 * 2 * 64 * 4;

/// Tokens of a block of the cache.
pub const BLOCK: usize = 16;

/// Bytes of a cache that a text of `n_tokens` fills: its blocks, one for texts that begin their own, and an eighth of all
/// for beginnings that stay.
pub fn full_cache(n_tokens: usize, slot_bytes: usize) -> usize {
    let n_blocks = n_tokens.div_ceil(BLOCK) + 1;
    (n_blocks + n_blocks / 7) * BLOCK * slot_bytes
}

/// Lengths around the sizes at which kernels change their ways: groups of 6 rows, ranges of 264, the 512 rows of a
/// forward, blocks of 16 keys. Prompts of even places begin alike.
const UP_TO_2000: &[usize] = &[1, 2, 3, 4, 5, 15, 63, 64, 65, 129, 255, 257, 511, 513, 700, 2000];
const UP_TO_400: &[usize] = &[1, 2, 65, 3, 4, 63, 66, 64, 257, 5, 130, 7, 400, 100];
const UP_TO_130: &[usize] = &[1, 2, 65, 4, 5, 64, 130, 3];

/// Tokens at the beginning of prompts that stay in the cache.
const N_STATIC: usize = 20;

/// Tokens of a text that is written.
const MAX_TOKENS: usize = 16;

/// Logits for which one is asked; every so-many-th token of the vocabulary.
const N_CANDIDATES: usize = 64;

/// Prompts from one text: those of even places from its beginning, the others from places of their own.
fn prompts(weights: &Weights, lengths: &[usize]) -> Vec<Vec<u32>> {
    let text = long_text_tokens(weights);
    let start = |idx: usize| if idx.is_multiple_of(2) { 0 } else { 53 * idx };
    lengths.iter().enumerate().map(|(idx, len)| text[start(idx)..][..*len].to_vec()).collect()
}

fn score(engine: &mut Engine, prompts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let n_vocab = engine.tokenizer().n_vocab();
    let candidates: Vec<u32> = (0..n_vocab as u32).step_by(n_vocab / N_CANDIDATES).collect();
    let probe =
        |prompt: &Vec<u32>| Probe { prompt: prompt.clone(), n_static: N_STATIC, candidates: candidates.clone() };
    let probes: Vec<Probe> = prompts.iter().map(probe).collect();
    let logits = engine.score(&probes, &mut |_| ()).unwrap();
    logits.into_iter().map(|logits| logits.into_iter().map(f32::to_bits).collect()).collect()
}

fn score_alone(engine: &mut Engine, prompts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    prompts.iter().flat_map(|prompt| score(engine, std::slice::from_ref(prompt))).collect()
}

/// Asserts that the logits of every prompt have the bits they have alone.
fn assert_equal_bits(how: &str, prompts: &[Vec<u32>], computed: &[Vec<u32>], alone: &[Vec<u32>]) {
    for ((prompt, computed), alone) in prompts.iter().zip(computed).zip(alone) {
        assert!(computed == alone, "{how}: other logits after {} tokens", prompt.len());
    }
}

/// A way to compute, which must not show, and its name.
type Variant = (&'static str, Options);

/// One change each. `kv_bytes` are those of a cache that the longest text fills.
fn variants(kv_bytes: usize) -> Vec<Variant> {
    let usual = Options::default;
    vec![
        ("nothing shared", Options { share_prefixes: false, ..usual() }),
        ("64 rows a forward", Options { max_rows: 64, ..usual() }),
        ("1024 rows a forward", Options { max_rows: 1024, ..usual() }),
        ("one text at a time", Options { max_streams: 1, ..usual() }),
        ("four texts at a time", Options { max_streams: 4, ..usual() }),
        ("a full cache", Options { kv_bytes, ..usual() }),
    ]
}

/// All changes in two, for a model that takes long to load.
fn few_variants(kv_bytes: usize) -> Vec<Variant> {
    let usual = Options::default;
    vec![
        ("nothing shared, 64 rows a forward", Options { share_prefixes: false, max_rows: 64, ..usual() }),
        ("a full cache, two texts at a time", Options { kv_bytes, max_streams: 2, ..usual() }),
    ]
}

fn check_scores(weights: &Weights, lengths: &[usize], variants: Vec<Variant>) {
    let Some(mut engine) = weights.engine(Options::default()) else { return };
    let prompts = prompts(weights, lengths);
    let alone = score_alone(&mut engine, &prompts);
    assert_equal_bits("all at once", &prompts, &score(&mut engine, &prompts), &alone);
    let reversed: Vec<Vec<u32>> = prompts.iter().rev().cloned().collect();
    let mut computed = score(&mut engine, &reversed);
    computed.reverse();
    assert_equal_bits("in reverse order", &prompts, &computed, &alone);
    drop(engine);
    for (n_threads, tier) in [(1, Tier::best()), (3, Tier::best()), (2, Tier::Avx2)] {
        if !Tier::available().contains(&tier) {
            println!("this processor has no {tier:?}: there is nothing to compare");
            continue;
        }
        let cpu = Cpu { pool: Pool::new(n_threads), tier };
        let mut engine = weights.engine_on(cpu, Options::default()).expect("it was loaded before");
        let computed = score(&mut engine, &prompts);
        assert_equal_bits(&format!("{n_threads} threads, {tier:?}"), &prompts, &computed, &alone);
    }
    for (how, options) in variants {
        let mut engine = weights.engine(options).expect("it was loaded before");
        assert_equal_bits(how, &prompts, &score(&mut engine, &prompts), &alone);
    }
}

#[test]
fn smollm2_logits_have_the_same_bits_in_any_batch() {
    let mut variants = variants(full_cache(400, SMOLLM2_SLOT_BYTES));
    variants.retain(|(_, options)| options.max_streams == Options::default().max_streams);
    check_scores(&SMOLLM2, UP_TO_400, variants);
}

#[test]
fn qwen_logits_have_the_same_bits_in_any_batch() {
    check_scores(&QWEN, UP_TO_130, few_variants(full_cache(130, QWEN_SLOT_BYTES)));
}

#[test]
fn logits_of_long_prompts_have_the_same_bits_in_a_batch() {
    let Some(mut engine) = SMOLLM2.engine(Options::default()) else { return };
    let prompts = prompts(&SMOLLM2, UP_TO_2000);
    let alone = score_alone(&mut engine, &prompts);
    assert_equal_bits("all at once", &prompts, &score(&mut engine, &prompts), &alone);
}

/// Texts to write: greedy and drawn ones, of prompts that begin alike and others.
fn requests(weights: &Weights, lengths: &[usize]) -> Vec<Request> {
    let drawn = |idx: usize| Sampling::Nucleus { temperature: 0.7, top_p: 0.9, seed: [idx as u8; 32] };
    let sampling = |idx: usize| if idx % 4 < 2 { Sampling::Greedy } else { drawn(idx) };
    let until = |idx: usize| if idx.is_multiple_of(3) { Until::Line } else { Until::RepeatedLine };
    let request = |(idx, prompt)| Request {
        prompt,
        n_static: N_STATIC,
        max_tokens: MAX_TOKENS,
        until: until(idx),
        sampling: sampling(idx),
    };
    prompts(weights, lengths).into_iter().enumerate().map(request).collect()
}

fn write(engine: &mut Engine, requests: &[Request]) -> Vec<Written> {
    engine.write(requests, &mut |_| ()).unwrap()
}

fn check_texts(weights: &Weights, lengths: &[usize], variants: Vec<Variant>) {
    let Some(mut engine) = weights.engine(Options::default()) else { return };
    let requests = requests(weights, lengths);
    let alone: Vec<Written> =
        requests.iter().flat_map(|request| write(&mut engine, std::slice::from_ref(request))).collect();
    assert_eq!(write(&mut engine, &requests), alone, "all at once");
    let reversed: Vec<Request> = requests.iter().rev().cloned().collect();
    let mut written = write(&mut engine, &reversed);
    written.reverse();
    assert_eq!(written, alone, "in reverse order");
    drop(engine);
    for (how, options) in variants {
        let mut engine = weights.engine(options).expect("it was loaded before");
        assert_eq!(write(&mut engine, &requests), alone, "{how}");
    }
}

#[test]
fn smollm2_writes_the_same_texts_in_any_batch() {
    check_texts(&SMOLLM2, UP_TO_130, variants(full_cache(130 + MAX_TOKENS, SMOLLM2_SLOT_BYTES)));
}

#[test]
fn qwen_writes_the_same_texts_in_any_batch() {
    check_texts(&QWEN, &[1, 2, 65, 4], few_variants(full_cache(65 + MAX_TOKENS, QWEN_SLOT_BYTES)));
}
