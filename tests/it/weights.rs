//! The models that tests need: where are their files on this machine?
//!
//! They lie in the default store, and a missing one is pulled once. A test whose model cannot be had fails; only
//! `RAGSTONE_TEST_OFFLINE=1` leaves such tests out, and each of them says so.

use std::env;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ragstone::embed::Embedder;
use ragstone::engine::kernels::Cpu;
use ragstone::engine::tokenizer::Tokenizer;
use ragstone::engine::{Device, Engine, Options, gguf::Gguf};
use ragstone::error::{Error, Result};
use ragstone::model::Manifest;
use ragstone::store::{self, Store};

/// The small judge of the llama family.
pub static SMOLLM2: Weights = Weights::of("smollm2-135m-instruct-q4_1");

/// The small judge of the qwen2 family; part of it stays quantised.
pub static QWEN: Weights = Weights::of("qwen2.5-coder-0.5b-instruct-q4_k_m");

/// The embedder.
pub static MINILM: Weights = Weights::of("all-minilm-l6-v2");

/// A pinned model.
pub struct Weights {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// Its folder in the store, or why it has none; found once, so that tests that run side by side pull once.
    folder: OnceLock<Result<PathBuf, String>>,
}

impl Weights {
    const fn of(name: &'static str) -> Self {
        Self { name, folder: OnceLock::new() }
    }

    /// The model's folder, every file in it verified; `None` if this test is to be left out.
    ///
    /// # Panics
    /// If the model is neither in the store nor can be pulled.
    pub fn folder(&self) -> Option<PathBuf> {
        if env::var_os("RAGSTONE_TEST_OFFLINE").is_some_and(|value| value == "1") {
            println!("left out: this test needs `{}`, and RAGSTONE_TEST_OFFLINE is 1", self.name);
            return None;
        }
        match self.folder.get_or_init(|| locate_or_pull(self.name).map_err(|err| describe(&err))) {
            Ok(folder) => Some(folder.clone()),
            Err(reason) => {
                panic!("this test needs `{}`\n{reason}\nhelp: RAGSTONE_TEST_OFFLINE=1 leaves it out", self.name)
            }
        }
    }

    /// The GGUF file of a judge.
    pub fn gguf(&self) -> Option<PathBuf> {
        Some(self.folder()?.join(format!("{}.gguf", self.name)))
    }

    /// A judge in memory.
    pub fn engine(&self, options: Options) -> Option<Engine> {
        self.engine_on(Cpu::new(2), options)
    }

    /// A judge in memory that computes on `cpu`.
    pub fn engine_on(&self, cpu: Cpu, options: Options) -> Option<Engine> {
        let engine = Engine::load(&self.gguf()?, &Arc::new(cpu), options);
        Some(engine.expect("the pinned file is one this program can run"))
    }

    /// The tokenizer of a judge.
    pub fn tokenizer(&self) -> Option<Tokenizer> {
        let gguf = Gguf::open(&self.gguf()?).expect("the pinned file is well-formed");
        Some(Tokenizer::from_gguf(&gguf).expect("the pinned file has a vocabulary that this program knows"))
    }

    /// An embedder in memory, computed by this many threads.
    pub fn embedder(&self, n_threads: usize) -> Option<Embedder> {
        self.embedder_on(n_threads, Device::Cpu)
    }

    /// An embedder in memory, computed by a device.
    pub fn embedder_on(&self, n_threads: usize, device: Device) -> Option<Embedder> {
        let embedder = Embedder::load(&self.folder()?, &Arc::new(Cpu::new(n_threads)), device);
        Some(embedder.expect("the pinned files are those of an embedder"))
    }
}

fn locate_or_pull(name: &str) -> Result<PathBuf> {
    let store = Store::open(None)?;
    let manifest = store::find(name)?;
    store.locate(&manifest).or_else(|missing| pull(&store, &manifest, missing))
}

#[cfg(feature = "pull")]
fn pull(store: &Store, manifest: &Manifest, _missing: Error) -> Result<PathBuf> {
    store.pull(manifest, &mut |_| ())
}

#[cfg(not(feature = "pull"))]
fn pull(_store: &Store, _manifest: &Manifest, missing: Error) -> Result<PathBuf> {
    Err(missing)
}

/// The error as the program prints it.
fn describe(err: &Error) -> String {
    let help = err.help().map(|help| format!("\nhelp: {help}"));
    format!("error: {err}{}", help.unwrap_or_default())
}
