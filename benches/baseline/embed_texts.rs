//! Embeds the same texts again and again, each time it is asked: the half of `embed_speed.py` that is ours.
//!
//! Arguments are the embedder's folder and a number of threads. The first line of the input is a JSON list of texts; for
//! every further line all of them are embedded, and a line of JSON says how long that took and, after the first time, gives
//! the vectors.

use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ragstone::embed::Embedder;
use ragstone::engine::Device;
use ragstone::engine::kernels::Cpu;
use serde_json::json;

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("the first argument is a folder");
    let n_threads = args.next().and_then(|n| n.parse().ok()).expect("the second argument is a number of threads");
    let embedder =
        Embedder::load(Path::new(&folder), &Arc::new(Cpu::new(n_threads)), Device::Cpu).expect("it is an embedder");
    let mut lines = io::stdin().lock().lines().map(|line| line.expect("the input can be read"));
    let texts: Vec<String> =
        serde_json::from_str(&lines.next().expect("there are texts")).expect("the first line is a list of texts");
    for (round, _) in lines.enumerate() {
        let start = Instant::now();
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| cut_tokens(&embedder, text)).collect();
        let vectors = embedder.embed(&tokens).expect("the texts fit the window");
        let secs = start.elapsed().as_secs_f64();
        let n_tokens: usize = tokens.iter().map(Vec::len).sum();
        let vectors: Vec<Vec<f32>> = vectors.rows().into_iter().map(|row| row.to_vec()).collect();
        let vectors = (round == 0).then_some(vectors);
        println!("{}", json!({ "secs": secs, "n_tokens": n_tokens, "vectors": vectors }));
    }
}

/// A text's tokens, cut to the window as sentence-transformers does it: the token that marks the end stays.
fn cut_tokens(embedder: &Embedder, text: &str) -> Vec<u32> {
    let mut tokens = embedder.tokens(text).expect("the tokenizer takes any text");
    if tokens.len() > embedder.max_tokens() {
        let end = *tokens.last().expect("a text has tokens");
        tokens.truncate(embedder.max_tokens() - 1);
        tokens.push(end);
    }
    tokens
}
