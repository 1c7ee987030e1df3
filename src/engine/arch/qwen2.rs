//! Qwen2 and Qwen2.5: llama with biases on query, key and value (Yang et al. 2024, section 2.2).

use super::{Blueprint, refuse_rope_scaling};
use crate::engine::gguf::Gguf;
use crate::engine::kernels::rope::RopeStyle;
use crate::error::Result;

/// The biases are found by their names in the file.
pub fn blueprint(gguf: &Gguf) -> Result<Blueprint> {
    refuse_rope_scaling(gguf, "qwen2")?;
    Blueprint::common(&gguf.metadata, "qwen2", RopeStyle::Halves)
}
