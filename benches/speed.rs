//! One measurement of one program run, for scripts that alternate it with other programs.
//!
//! `engine speed prefill MODEL.gguf TOKENS` and `engine speed decode MODEL.gguf STREAMS TOKENS` print one line of JSON.

use std::path::Path;
use std::time::Instant;

use ragstone::engine::Engine;
use ragstone::engine::sampler::Sampling;
use ragstone::engine::score::Probe;
use ragstone::engine::write::{Request, Until};

use crate::weights;

/// Measures what the arguments ask for.
pub fn run(args: &[String]) {
    let number = |idx: usize| args[idx].parse::<usize>().expect("a number");
    let mut engine = weights::engine(Path::new(&args[1]));
    let tokens_per_second = match args[0].as_str() {
        "prefill" => prefill(&mut engine, number(2)),
        "decode" => decode(&mut engine, number(2), number(3)),
        other => panic!("`{other}` is not one of prefill, decode"),
    };
    println!("{{\"tokens_per_second\": {tokens_per_second:.1}}}");
}

/// The best of three after one to warm up, as llama-bench reports a mean after one to warm up.
fn prefill(engine: &mut Engine, n_tokens: usize) -> f64 {
    let probe = Probe { prompt: weights::tokens(engine, 0, n_tokens), n_static: 0, candidates: vec![0] };
    let mut read = || {
        let start = Instant::now();
        engine.score(std::slice::from_ref(&probe), &mut |_| ()).expect("the prompt fits");
        n_tokens as f64 / start.elapsed().as_secs_f64()
    };
    read();
    median([read(), read(), read()])
}

/// Tokens written a second, prompts left out: texts of `n_tokens` against texts of one token.
fn decode(engine: &mut Engine, n_streams: usize, n_tokens: usize) -> f64 {
    let mut write = |max_tokens: usize| {
        let request = |idx| Request {
            prompt: weights::tokens(engine, 8 * idx, 16),
            n_static: 0,
            max_tokens,
            until: Until::RepeatedLine,
            sampling: Sampling::Greedy,
        };
        let requests: Vec<Request> = (0..n_streams).map(request).collect();
        let start = Instant::now();
        let written = engine.write(&requests, &mut |_| ()).expect("the texts fit");
        (written.iter().map(|text| text.tokens.len()).sum::<usize>(), start.elapsed().as_secs_f64())
    };
    write(n_tokens);
    let rates = [(); 3].map(|()| {
        let (few, short) = write(1);
        let (many, long) = write(n_tokens + 1);
        (many - few) as f64 / (long - short)
    });
    median(rates)
}

fn median(mut rates: [f64; 3]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[1]
}
