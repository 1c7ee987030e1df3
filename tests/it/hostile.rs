//! Hostile model files: what does reading one allocate?

use std::fs;

use ragstone::engine::gguf::Gguf;

use crate::peak_bytes;

#[allow(dead_code, reason = "shared with the unit tests, which use the rest")]
#[path = "../../src/engine/gguf/hostile.rs"]
mod files;
#[allow(dead_code, reason = "shared with the unit tests, which use the rest")]
#[path = "../../src/engine/gguf/fixture.rs"]
pub mod fixture;

/// Hostile files of this test have at most 70 KB; a reader that believes their counts would ask for gigabytes.
const MAX_PEAK_BYTES: usize = 1 << 20;

#[test]
fn no_hostile_file_makes_the_reader_allocate_a_megabyte() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("model.gguf");
    for case in files::cases() {
        fs::write(&path, &case.bytes).expect("the folder is ours");
        let peak = peak_bytes(|| drop(Gguf::open(&path)));
        assert!(peak < MAX_PEAK_BYTES, "`{}` made the reader allocate {peak} bytes", case.name);
    }
}

#[test]
fn the_peak_of_this_thread_is_what_is_measured() {
    let peak = peak_bytes(|| drop(std::hint::black_box(vec![0u8; 3 * MAX_PEAK_BYTES])));
    assert!((3 * MAX_PEAK_BYTES..4 * MAX_PEAK_BYTES).contains(&peak), "{peak}");
}
