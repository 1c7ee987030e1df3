//! Llama and what shares its shape: SmolLM2, Mistral (Touvron et al. 2023).

use super::{Blueprint, refuse_rope_scaling};
use crate::engine::gguf::Gguf;
use crate::engine::kernels::rope::RopeStyle;
use crate::error::Result;

/// GGUF converters permute the query and key rows of this family, so that pairs stand side by side.
pub fn blueprint(gguf: &Gguf) -> Result<Blueprint> {
    refuse_rope_scaling(gguf, "llama")?;
    Blueprint::common(&gguf.metadata, "llama", RopeStyle::Interleaved)
}
