//! Builds small vocabularies for tests.

use super::letters;
use crate::engine::gguf::fixture::GgufBuilder;

/// A file with a vocabulary: token `b` for each byte `b`, then what the merges make, then the extra tokens.
///
/// A merge is written in letters, `Ġ a` for a space and an `a`. An extra token has a text and a type: 3 for control
/// tokens, 4 for user-defined ones.
pub fn vocabulary(pre: &str, merges: &[&str], extra: &[(&str, i32)]) -> GgufBuilder {
    let bytes = letters().into_iter().map(String::from);
    let merged = merges.iter().map(|merge| merge.replacen(' ', "", 1));
    let mut tokens: Vec<String> = bytes.chain(merged).collect();
    let mut types = vec![1; tokens.len()];
    for (text, kind) in extra {
        tokens.push((*text).to_owned());
        types.push(*kind);
    }
    GgufBuilder::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", pre)
        .strings("tokenizer.ggml.tokens", &tokens)
        .i32s("tokenizer.ggml.token_type", &types)
        .strings("tokenizer.ggml.merges", merges)
}
