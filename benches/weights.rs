//! Weights for the benches: where are the pinned models, and which tokens are computed?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ragstone::embed::Embedder;
use ragstone::engine::kernels::Cpu;
use ragstone::engine::{Device, Engine, Options};
use ragstone::store::{self, Store};

/// The judges, in the order of their sizes.
pub const JUDGES: [&str; 2] = ["smollm2-135m-instruct-q4_1", "qwen2.5-coder-0.5b-instruct-q4_k_m"];

/// The default judge, for the bench that can wait for it.
pub const LARGE_JUDGE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m";

/// The embedder.
pub const EMBEDDER: &str = "all-minilm-l6-v2";

/// The quickstart's samples; also the text whose tokens are computed.
pub const EXAMPLE: &str = include_str!("../examples/quickstart.jsonl");

/// The folder of a model in the default store; if it is not there, this says so, and its benches are left out.
pub fn folder(name: &str) -> Option<PathBuf> {
    let store = Store::open(None).expect("there is a place for the store");
    match store.locate(&store::find(name).expect("the catalogue has the model")) {
        Ok(folder) => Some(folder),
        Err(err) => {
            eprintln!("left out: {err}\nhelp: {}", err.help().unwrap_or_default());
            None
        }
    }
}

/// The GGUF file of a judge.
pub fn gguf(name: &str) -> Option<PathBuf> {
    Some(folder(name)?.join(format!("{name}.gguf")))
}

/// A judge with the options that users get.
pub fn engine(path: &Path) -> Engine {
    Engine::load(path, &Arc::new(Cpu::new(n_threads())), Options::default())
        .expect("the pinned file is one this program can run")
}

/// One thread a core.
fn n_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An embedder computed by as many threads as users get.
pub fn embedder(folder: &Path) -> Embedder {
    let cpu = Arc::new(Cpu::new(n_threads()));
    Embedder::load(folder, &cpu, Device::Cpu).expect("the pinned files are those of an embedder")
}

/// Tokens of the example's text, `n_tokens` of them from `start` on.
pub fn tokens(engine: &Engine, start: usize, n_tokens: usize) -> Vec<u32> {
    engine.tokenizer().encode_data(EXAMPLE)[start..][..n_tokens].to_vec()
}
