//! ragstone judges retrieval-augmented generation (RAG) systems without sending a byte anywhere: a judge language
//! model and a sentence-embedding model run in this process, from weights pinned by hash.
//!
//! Start with [`score`] for one sample, or [`run::run`] for many. `ARCHITECTURE.md` is the map.

pub mod calibrate;
pub mod cli;
pub mod dataset;
pub mod embed;
pub mod engine;
pub mod error;
pub mod hash;
pub mod judge;
pub mod metrics;
pub mod model;
pub mod record;
pub mod report;
pub mod respond;
pub mod run;
pub mod sample;
pub mod settings;
pub mod stats;
pub mod store;
pub mod text;

pub use error::{Error, Result};
pub use run::score;
