//! Memory of a judge: how much will it take, and is there as much?

use std::fs;

use serde::Serialize;

use super::Device;
use super::arch::Blueprint;
use super::backend::{cpu, reference};
use super::gguf::Gguf;
use super::weights::WeightFormat;
use crate::error::{Error, Result};

/// Memory of an engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Weights.
    pub weight_bytes: usize,
    /// The most keys and values that were ever kept.
    pub kv_peak_bytes: usize,
}

/// What a judge will take, without keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Weights as they will lie in memory.
    pub weight_bytes: usize,
    /// The tensor that is largest in the file: while one is laid out, it is there twice.
    pub largest_tensor_bytes: usize,
    /// Activations of a forward, logits, tables.
    pub scratch_bytes: usize,
    /// The tokenizer.
    pub tokenizer_bytes: usize,
}

/// A token of the vocabulary with its merges in the tokenizer: measured as 420 bytes for Qwen2.5's 151,936 tokens, and 450
/// for SmolLM2's 49,152.
const TOKEN_BYTES: usize = 450;

/// Keys and values for less than this many tokens are no use.
const MIN_KV_TOKENS: usize = 1024;

impl Need {
    /// What the judge in a checked file will take.
    pub fn of(gguf: &Gguf, blueprint: &Blueprint, device: Device, format: WeightFormat, max_rows: usize) -> Self {
        let planned = match device {
            Device::Cpu => cpu::planned_bytes,
            Device::CpuReference => reference::planned_bytes,
        };
        let matrix = |shape: &[usize]| match shape {
            [n_out, n_in] => Some((*n_out, *n_in)),
            _ => None,
        };
        let weight_bytes = gguf.tensors.iter().filter_map(|tensor| {
            let (n_out, n_in) = matrix(&tensor.shape)?;
            Some(planned(format, tensor.dtype, n_out, n_in))
        });
        let n_vocab = gguf.opt_tensor("token_embd.weight").map_or(0, |tensor| tensor.shape[0]);
        let heads = blueprint.heads;
        let row_floats = 4 * blueprint.hidden + 2 * blueprint.feed_forward + heads.n_heads * heads.head_dim * 2;
        let rope_floats = blueprint.context_length * heads.head_dim;
        Self {
            weight_bytes: weight_bytes.sum(),
            largest_tensor_bytes: gguf.tensors.iter().map(|tensor| tensor.bytes as usize).max().unwrap_or(0),
            scratch_bytes: (max_rows * row_floats + rope_floats) * size_of::<f32>(),
            tokenizer_bytes: n_vocab * TOKEN_BYTES,
        }
    }

    /// All of it.
    pub fn bytes(self) -> usize {
        self.weight_bytes + self.scratch_bytes + self.tokenizer_bytes
    }

    /// What is left of `free_bytes` for keys and values, at most `budget_bytes`.
    ///
    /// # Errors
    /// If the judge, or what it needs while it is loaded, does not fit.
    pub fn kv_bytes(self, free_bytes: Option<usize>, budget_bytes: usize, token_bytes: usize) -> Result<usize> {
        let Some(free_bytes) = free_bytes else { return Ok(budget_bytes) };
        let least = self.largest_tensor_bytes.max(MIN_KV_TOKENS * token_bytes);
        if self.bytes() + least > free_bytes {
            let (need, free) = (gigabytes(self.bytes() + least), gigabytes(free_bytes));
            return Err(Error::usage(
                format!("the judge needs {need} of memory, and {free} are free"),
                "name a smaller judge with `--judge`, or close other programs",
            ));
        }
        Ok(budget_bytes.min(free_bytes - self.bytes()))
    }
}

/// `1.2 GB`
fn gigabytes(bytes: usize) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Memory that this process may still take, where the system tells: what the machine has available, or less if the
/// process's control group has a limit.
pub fn free_bytes() -> Option<usize> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: usize =
        meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.split_whitespace().next()?.parse().ok()?;
    Some(group_free_bytes().map_or(kib << 10, |free| free.min(kib << 10)))
}

/// What the limit of the control group (version 2) leaves; pages of files count as free.
fn group_free_bytes() -> Option<usize> {
    let group = fs::read_to_string("/proc/self/cgroup").ok()?;
    let folder = format!("/sys/fs/cgroup{}", group.lines().find_map(|line| line.strip_prefix("0::"))?);
    let number = |name: &str| fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().parse::<usize>().ok();
    let stat = fs::read_to_string(format!("{folder}/memory.stat")).ok()?;
    let files = stat.lines().find_map(|line| line.strip_prefix("file "))?.parse().ok()?;
    let used = number("memory.current")?.saturating_sub(files);
    Some(number("memory.max")?.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: Need = Need {
        weight_bytes: 1000 << 20,
        largest_tensor_bytes: 100 << 20,
        scratch_bytes: 50 << 20,
        tokenizer_bytes: 50 << 20,
    };

    #[test]
    fn keys_and_values_take_what_is_left_of_the_budget() {
        assert_eq!(NEED.kv_bytes(None, 7, 1).unwrap(), 7);
        assert_eq!(NEED.kv_bytes(Some(4000 << 20), 2000 << 20, 1).unwrap(), 2000 << 20);
        assert_eq!(NEED.kv_bytes(Some(1300 << 20), 2000 << 20, 1).unwrap(), 200 << 20);
    }

    #[test]
    fn judge_that_does_not_fit_is_refused_before_it_is_loaded() {
        let message = |free, token_bytes| NEED.kv_bytes(Some(free), 1 << 30, token_bytes).unwrap_err().to_string();
        assert_eq!(message(1199 << 20, 1), "the judge needs 1.3 GB of memory, and 1.3 GB are free");
        // 1024 tokens of 1 MiB each.
        assert_eq!(message(2000 << 20, 1 << 20), "the judge needs 2.2 GB of memory, and 2.1 GB are free");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn system_tells_how_much_is_free() {
        assert!(free_bytes().is_some_and(|free| free > 0));
    }
}
