//! One measurement of one program run, for scripts that alternate it with other programs.
//!
//! `engine speed prefill MODEL.gguf TOKENS` and `engine speed decode MODEL.gguf STREAMS TOKENS` print tokens a second as one
//! line of JSON; `engine speed shared MODEL.gguf TOKENS QUESTIONS` how many times as long as a context alone it takes with
//! that many questions of 40 tokens about it.

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
    let (name, value) = match args[0].as_str() {
        "prefill" => ("tokens_per_second", prefill(&mut engine, number(2))),
        "decode" => ("tokens_per_second", decode(&mut engine, number(2), number(3))),
        "shared" => ("times_as_long", shared(&mut engine, number(2), number(3))),
        other => panic!("`{other}` is not one of prefill, decode, shared"),
    };
    println!("{{\"{name}\": {value:.3}}}");
}

/// The median of three after one to warm up.
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

/// The time for a context with questions about it, divided by that for the context alone.
fn shared(engine: &mut Engine, n_tokens: usize, n_questions: usize) -> f64 {
    const QUESTION_TOKENS: usize = 40;
    let text: Vec<u32> =
        weights::tokens(engine, 0, 2000).into_iter().cycle().take(n_tokens + QUESTION_TOKENS).collect();
    // Every question begins with a token of its own, so that questions share nothing but the context.
    let question = |idx: usize| [&text[..n_tokens], &[1000 + idx as u32], &text[n_tokens + 1..]].concat();
    let mut secs = |prompts: Vec<Vec<u32>>| {
        let probe = |prompt| Probe { prompt, n_static: 0, candidates: vec![0] };
        let probes: Vec<Probe> = prompts.into_iter().map(probe).collect();
        let start = Instant::now();
        engine.score(&probes, &mut |_| ()).expect("the prompts fit");
        start.elapsed().as_secs_f64()
    };
    median([(); 3].map(|()| {
        let alone = secs(vec![text[..n_tokens].to_vec()]);
        secs((0..n_questions).map(question).collect()) / alone
    }))
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
