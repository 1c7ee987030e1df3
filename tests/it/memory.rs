//! Memory of the program: does it stay within its bound, and was it foreseen?

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

use crate::weights::{MINILM, SMOLLM2};

/// Resident memory may be weights as they are in the file times this, plus keys and values, plus `MORE_BYTES`.
const WEIGHT_FACTOR: f64 = 1.45;
const MORE_BYTES: f64 = 250e6;

/// How far what was foreseen may be from what it came to.
const MAX_ERROR: f64 = 0.15;

#[test]
fn memory_of_a_run_stays_within_its_bound_and_was_foreseen() {
    let (Some(gguf), Some(_)) = (SMOLLM2.gguf(), MINILM.folder()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let example = format!("{}/examples/quickstart.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::cargo_bin("ragstone").unwrap();
    command.current_dir(folder.path()).args(["eval", &example, "--out", "out", "--threads", "2"]);
    let output = command.args(["--judge", SMOLLM2.name, "--embedder", MINILM.name]).output().unwrap();
    // 3 says that cells failed: the small judge does not end all its lists.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let info: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("out/run.json")).unwrap()).unwrap();
    let number = |key: &str| info[key].as_f64().unwrap_or_else(|| panic!("run.json has no number `{key}`: {info}"));
    let (peak, predicted) = (number("peak_memory_bytes"), number("predicted_memory_bytes"));
    let bound = fs::metadata(gguf).unwrap().len() as f64 * WEIGHT_FACTOR + number("kv_peak_bytes") + MORE_BYTES;
    assert!(peak <= bound, "{peak:.0} bytes were resident, the bound is {bound:.0}");
    assert!((predicted - peak).abs() <= MAX_ERROR * peak, "{predicted:.0} bytes were foreseen, it were {peak:.0}");
}
