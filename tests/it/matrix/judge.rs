//! Tiny judges for tests: which file has a decoder of every family, with weights of every format?

use std::collections::HashSet;

use half::{bf16, f16};
use ragstone::engine::kernels::quant::Format;
use tokenizers::normalizers::ByteLevel;
use tokenizers::{NormalizedString, Normalizer};

use super::testing::{bytes, floats};
use crate::hostile::fixture::GgufBuilder;

/// One block of the K formats.
const HIDDEN: usize = 256;
const FEED_FORWARD: usize = 512;
const N_LAYERS: usize = 2;
const N_HEADS: usize = 4;
const N_KV_HEADS: usize = 2;
const HEAD_DIM: usize = HIDDEN / N_HEADS;

/// The longest prompt with its text, in tokens.
pub const CONTEXT: usize = 512;
/// Bytes that a token takes in the cache, keys and values in f32.
pub const SLOT_BYTES: usize = 2 * N_LAYERS * N_KV_HEADS * HEAD_DIM * 4;

/// Where the weights begin. With this one the judges of both families write texts that end and texts that do not; since the
/// words of the prompts are their vocabulary, changed prompts may want another.
const SEED: u32 = 10_000;

/// Our prompts, whose words are tokens: bytes alone would make them long.
const PACKS: [&str; 2] =
    [include_str!("../../../src/judge/prompts/en.toml"), include_str!("../../../src/judge/prompts/ko.toml")];

const CHAT: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n\
    {% endfor %}<|im_start|>assistant\n";

/// How a tensor is coded.
#[derive(Clone, Copy)]
enum Coding {
    Quantised(Format),
    F16,
    BF16,
    F32,
}

impl Coding {
    /// The number in the file.
    fn type_id(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::BF16 => 30,
            Self::Quantised(format) => match format {
                Format::Q4_0 => 2,
                Format::Q4_1 => 3,
                Format::Q5_0 => 6,
                Format::Q5_1 => 7,
                Format::Q8_0 => 8,
                Format::Q4K => 12,
                Format::Q5K => 13,
                Format::Q6K => 14,
            },
        }
    }

    /// `len` weights of about 0.05, so that activations keep their size.
    fn weights(self, seed: u32, len: usize) -> Vec<u8> {
        let floats = || floats(seed, len).into_iter().map(|x| 0.09 * x);
        match self {
            Self::F32 => floats().flat_map(f32::to_le_bytes).collect(),
            Self::F16 => floats().flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
            Self::BF16 => floats().flat_map(|x| bf16::from_f32(x).to_le_bytes()).collect(),
            Self::Quantised(format) => blocks(format, seed, len / format.spec().block()),
        }
    }
}

/// Blocks of random codes with the scales and minimums that suit them.
fn blocks(format: Format, seed: u32, n_blocks: usize) -> Vec<u8> {
    // Where in a block there is which float. A minimum takes the mean of the codes off.
    let places: &[(usize, f32)] = match format {
        Format::Q4_0 => &[(0, 0.01)],
        Format::Q4_1 => &[(0, 0.01), (2, -0.075)],
        Format::Q5_0 => &[(0, 0.005)],
        Format::Q5_1 => &[(0, 0.005), (2, -0.0775)],
        Format::Q8_0 => &[(0, 7e-4)],
        Format::Q4K => &[(0, 3.5e-4), (2, 2.6e-3)],
        Format::Q5K => &[(0, 1.8e-4), (2, 2.7e-3)],
        Format::Q6K => &[(208, 4e-5)],
    };
    let mut out = bytes(seed, n_blocks * format.spec().ggml_bytes);
    let factors = floats(seed, n_blocks).into_iter().map(|x| 1.0 + 0.2 * x);
    for (block, factor) in out.chunks_exact_mut(format.spec().ggml_bytes).zip(factors) {
        for &(at, scale) in places {
            block[at..at + 2].copy_from_slice(&f16::from_f32(factor * scale).to_le_bytes());
        }
    }
    out
}

/// A file in the making, in which the formats take turns.
struct Weights {
    gguf: GgufBuilder,
    n_matrices: usize,
    seed: u32,
}

impl Weights {
    /// A matrix `[n_out, n_in]` in the next of the formats.
    fn matrix(&mut self, name: &str, n_out: usize, n_in: usize) {
        let format = Format::ALL[self.n_matrices % Format::ALL.len()];
        self.n_matrices += 1;
        self.coded(Coding::Quantised(format), name, n_out, n_in);
    }

    fn coded(&mut self, coding: Coding, name: &str, n_out: usize, n_in: usize) {
        self.seed += 1;
        let data = coding.weights(self.seed, n_out * n_in);
        let name = format!("{name}.weight");
        self.gguf = self.gguf.clone().tensor(&name, coding.type_id(), &[n_in as u64, n_out as u64], &data);
    }

    /// A vector of floats around `centre`.
    fn vector(&mut self, name: &str, len: usize, centre: f32) {
        self.seed += 1;
        let floats = floats(self.seed, len).into_iter().map(|x| centre + 0.3 * x);
        let data: Vec<u8> = floats.flat_map(f32::to_le_bytes).collect();
        self.gguf = self.gguf.clone().tensor(name, Coding::F32.type_id(), &[len as u64], &data);
    }

    /// A layer; its key, value and output projections are of floats in the last one.
    fn layer(&mut self, idx: usize, has_biases: bool) {
        let (q_dim, kv_dim) = (N_HEADS * HEAD_DIM, N_KV_HEADS * HEAD_DIM);
        let name = |part: &str| format!("blk.{idx}.{part}");
        self.vector(&name("attn_norm.weight"), HIDDEN, 1.0);
        self.matrix(&name("attn_q"), q_dim, HIDDEN);
        if idx + 1 == N_LAYERS {
            self.coded(Coding::F16, &name("attn_k"), kv_dim, HIDDEN);
            self.coded(Coding::BF16, &name("attn_v"), kv_dim, HIDDEN);
            self.coded(Coding::F32, &name("attn_output"), HIDDEN, q_dim);
        } else {
            self.matrix(&name("attn_k"), kv_dim, HIDDEN);
            self.matrix(&name("attn_v"), kv_dim, HIDDEN);
            self.matrix(&name("attn_output"), HIDDEN, q_dim);
        }
        if has_biases {
            self.vector(&name("attn_q.bias"), q_dim, 0.0);
            self.vector(&name("attn_k.bias"), kv_dim, 0.0);
            self.vector(&name("attn_v.bias"), kv_dim, 0.0);
        }
        self.vector(&name("ffn_norm.weight"), HIDDEN, 1.0);
        self.matrix(&name("ffn_gate"), FEED_FORWARD, HIDDEN);
        self.matrix(&name("ffn_up"), FEED_FORWARD, HIDDEN);
        self.matrix(&name("ffn_down"), HIDDEN, FEED_FORWARD);
    }
}

/// A GGUF file of a judge of the family `arch`, which writes nonsense.
pub fn judge(arch: &str) -> Vec<u8> {
    judge_with_norm(arch, 1.0)
}

/// The same with a last norm whose weights are around `output_norm`.
pub fn judge_with_norm(arch: &str, output_norm: f32) -> Vec<u8> {
    let has_biases = match arch {
        "llama" => false,
        "qwen2" => true,
        other => panic!("the tiny judge of the family `{other}` is missing"),
    };
    let key = |name: &str| format!("{arch}.{name}");
    let (gguf, n_vocab) = vocabulary();
    let gguf = gguf
        .text("general.architecture", arch)
        .u32(&key("block_count"), N_LAYERS as u32)
        .u32(&key("embedding_length"), HIDDEN as u32)
        .u32(&key("feed_forward_length"), FEED_FORWARD as u32)
        .u32(&key("attention.head_count"), N_HEADS as u32)
        .u32(&key("attention.head_count_kv"), N_KV_HEADS as u32)
        .u32(&key("context_length"), CONTEXT as u32)
        .f32(&key("attention.layer_norm_rms_epsilon"), 1e-5)
        .text("tokenizer.chat_template", CHAT);
    let mut weights = Weights { gguf, n_matrices: 0, seed: SEED };
    (0..N_LAYERS).for_each(|idx| weights.layer(idx, has_biases));
    assert!(weights.n_matrices >= Format::ALL.len(), "the layers have a matrix of every format");
    weights.matrix("token_embd", n_vocab, HIDDEN);
    // One family has a head of its own, the other uses the embedding again.
    if has_biases {
        weights.matrix("output", n_vocab, HIDDEN);
    }
    weights.vector("output_norm.weight", HIDDEN, output_norm);
    weights.gguf.build()
}

/// A vocabulary of the bytes, the words of our prompts with all their beginnings, and tokens that end lines and texts;
/// and how many there are.
fn vocabulary() -> (GgufBuilder, usize) {
    let mut tokens: Vec<String> = ByteLevel::alphabet().into_iter().map(String::from).collect();
    tokens.sort();
    let mut known: HashSet<String> = tokens.iter().cloned().collect();
    let mut merges = Vec::new();
    for word in PACKS.iter().flat_map(|pack| pack.split_whitespace()) {
        let mut beginning = String::new();
        for letter in letters(&format!(" {word}")).chars() {
            let longer = format!("{beginning}{letter}");
            if known.insert(longer.clone()) {
                merges.push(format!("{beginning} {letter}"));
                tokens.push(longer.clone());
            }
            beginning = longer;
        }
    }
    // As often as random texts need them to have lines of some ten tokens.
    let lines: Vec<String> = tokens.iter().step_by(10).map(|token| format!("{token}{}", letters("\n"))).collect();
    tokens.extend(lines);
    let mut types = vec![1; tokens.len()];
    for special in ["<|im_start|>", "<|im_end|>"] {
        tokens.push(special.to_owned());
        types.push(3);
    }
    let gguf = GgufBuilder::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "gpt-2")
        .strings("tokenizer.ggml.tokens", &tokens)
        .i32s("tokenizer.ggml.token_type", &types)
        .strings("tokenizer.ggml.merges", &merges);
    (gguf, tokens.len())
}

/// The text in the letters that stand for its bytes.
fn letters(text: &str) -> String {
    let mut text = NormalizedString::from(text);
    ByteLevel::new().normalize(&mut text).expect("every byte has a letter");
    text.get().to_owned()
}
