//! Tests of the GGUF reader on files made by [`GgufBuilder`].

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use super::fixture::GgufBuilder;
use super::hostile::{Case, cases, small};
use super::*;

/// Reads a file from memory.
fn read(bytes: &[u8]) -> Result<Gguf> {
    Gguf::read(Cursor::new(bytes), bytes.len() as u64, Path::new("model.gguf"))
}

/// The message of an error.
fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("must be refused").to_string()
}

#[test]
fn every_case_is_accepted_or_refused_as_its_table_says() {
    let wrong: Vec<String> = cases().iter().filter_map(surprise).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the reader does with this file, if it is not what the table says.
fn surprise(case: &Case) -> Option<String> {
    let start = Instant::now();
    let result = read(&case.bytes).map_err(|error| error.to_string());
    let as_expected = match (case.refused, &result) {
        (None, Ok(_)) => true,
        (Some(expected), Err(found)) => found.starts_with("model file `model.gguf`: ") && found.contains(expected),
        (None, Err(_)) | (Some(_), Ok(_)) => false,
    };
    let in_time = start.elapsed() < Duration::from_secs(1);
    (!as_expected || !in_time).then(|| format!("`{}` gave {result:?} in {:?}", case.name, start.elapsed()))
}

#[test]
fn a_header_is_read_as_it_was_written() {
    let bytes = small().tensor("b", 12, &[512, 3], &[0; 6 * 144]).build();
    let gguf = read(&bytes).expect("is well formed");
    let data_start = (bytes.len() - 6 * 144 - 32) as u64;
    let a = TensorInfo { name: "a".into(), dtype: GgmlType::F32, shape: vec![8], offset: data_start, bytes: 32 };
    let b = TensorInfo {
        name: "b".into(),
        dtype: GgmlType::Q4K,
        shape: vec![3, 512],
        offset: data_start + 32,
        bytes: 6 * 144,
    };
    assert_eq!(gguf.tensors, [a, b.clone()]);
    assert_eq!(gguf.file_bytes, bytes.len() as u64);
    assert_eq!(gguf.tensor("b").expect("was added above"), &b);
    assert!(message(gguf.tensor("c")).ends_with("has no tensor `c`"));
    assert_eq!(gguf.opt_tensor("c"), None);
}

/// A file with a value of each kind.
fn values() -> Metadata {
    let file = GgufBuilder::new()
        .text("text", "가")
        .u32("u32", 7)
        .entry("i8", 1, &[0xff])
        .entry("u64", 10, &u64::MAX.to_le_bytes())
        .f32("f32", 0.5)
        .entry("f64", 12, &1e300f64.to_le_bytes())
        .bool("bool", true)
        .strings("strings", &["a", ""])
        .i32s("i32s", &[1, -1])
        .array("u8s", 0, 2, &[1, 255])
        .array("u32s", 4, 1, &[0xff; 4])
        .f32s("f32s", &[1.5]);
    read(&file.build()).expect("is well formed").metadata
}

#[test]
fn getters_return_values() {
    let metadata = values();
    assert_eq!(metadata.str("text").ok(), Some("가"));
    assert_eq!(metadata.usize("u32").ok(), Some(7));
    assert_eq!(metadata.usize("u64").ok(), usize::try_from(u64::MAX).ok());
    assert_eq!(metadata.f32("f32").ok(), Some(0.5));
    assert_eq!(metadata.bool("bool").ok(), Some(true));
    assert_eq!(metadata.strings("strings").ok(), Some(&["a".to_owned(), String::new()][..]));
    assert_eq!(metadata.i32s("i32s").ok(), Some(&[1, -1][..]));
    assert_eq!(metadata.i32s("u8s").ok(), Some(&[1, 255][..]));
    assert_eq!(metadata.f32s("f32s").ok(), Some(&[1.5][..]));
    assert_eq!(metadata.opt_str("absent").ok(), Some(None));
    assert_eq!(metadata.opt_usize("absent").ok(), Some(None));
}

#[test]
fn getters_name_missing_keys_and_wrong_types() {
    let metadata = values();
    let i32s_expected = "key `u32s` is an array of U32 items, expected an array of whole numbers of 32 bits";
    for (found, expected) in [
        (message(metadata.str("absent")), "has no key `absent`"),
        (message(metadata.opt_str("u32")), "key `u32` is the whole number 7, expected a string"),
        (message(metadata.usize("i8")), "key `i8` is the whole number -1, expected a whole number from 0"),
        (message(metadata.usize("f32")), "key `f32` is the float 0.5, expected a whole number from 0"),
        (message(metadata.f32("f64")), "expected a finite number"),
        (message(metadata.f32("u32")), "key `u32` is the whole number 7, expected a finite number"),
        (message(metadata.bool("text")), "key `text` is a string, expected a bool"),
        (message(metadata.strings("i32s")), "key `i32s` is an array of whole numbers, expected an array of strings"),
        (message(metadata.f32s("bool")), "key `bool` is the bool true, expected an array of f32"),
        (message(metadata.i32s("u32s")), i32s_expected),
    ] {
        assert!(found.ends_with(expected), "{found}");
    }
}

/// Block sizes as `ggml.h` and `ggml-common.h` define them.
#[test]
fn block_sizes_are_those_of_ggml() {
    let expected = [
        ("F32", 0, 1, 4),
        ("F16", 1, 1, 2),
        ("BF16", 30, 1, 2),
        ("Q4_0", 2, 32, 18),
        ("Q4_1", 3, 32, 20),
        ("Q5_0", 6, 32, 22),
        ("Q5_1", 7, 32, 24),
        ("Q8_0", 8, 32, 34),
        ("Q8_1", 9, 32, 36),
        ("Q2_K", 10, 256, 84),
        ("Q3_K", 11, 256, 110),
        ("Q4_K", 12, 256, 144),
        ("Q5_K", 13, 256, 176),
        ("Q6_K", 14, 256, 210),
        ("Q8_K", 15, 256, 292),
    ];
    for (name, id, items, bytes) in expected {
        let dtype = GgmlType::from_id(id).expect("is supported");
        assert_eq!((dtype.name(), dtype.items_per_block(), dtype.bytes_per_block()), (name, items, bytes));
    }
}

#[test]
fn files_are_opened_by_path() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("small.gguf");
    fs::write(&path, small().build()).expect("the folder is new");
    assert_eq!(Gguf::open(&path).expect("is well formed").path, path);
    assert!(message(Gguf::open(folder.path())).contains("is not a regular file"));
    assert!(message(Gguf::open(&folder.path().join("none"))).starts_with("cannot open `"));
}

#[test]
fn a_header_in_a_sparse_file_of_a_terabyte_ends_at_the_limit() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("sparse.gguf");
    fs::write(&path, GgufBuilder::new().entry("k", 8, &(1u64 << 39).to_le_bytes()).build()).expect("the folder is new");
    let file = fs::OpenOptions::new().append(true).open(&path).expect("was written above");
    if file.set_len(1 << 40).is_err() {
        return; // A file system without sparse files of this size has no such hostile file either.
    }
    assert!(message(Gguf::open(&path)).contains("a header may end at byte 67108864 at most"));
}

/// A file that has every type of value and two tensors.
fn varied() -> Vec<u8> {
    (0..=12)
        .filter(|kind| ![8, 9].contains(kind))
        .fold(small(), |file, kind| file.entry(&format!("kind.{kind}"), kind, &[1, 0, 0, 0, 0, 0, 0, 0][..width(kind)]))
        .strings("strings", &["one", "two"])
        .i32s("i32s", &[1, 2, 3])
        .f32s("f32s", &[1.0])
        .array("nested", 9, 1, &[0; 12])
        .tensor("b", 3, &[32, 2], &[0; 40])
        .build()
}

/// The bytes that a scalar of this type takes.
fn width(kind: u32) -> usize {
    [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][kind as usize]
}

/// A fixed sequence of numbers (splitmix64), so that a failure can be repeated.
fn scramble(step: u64) -> u64 {
    let mut x = step.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[test]
fn ten_thousand_mutations_never_panic_and_what_is_accepted_lies_inside_the_file() {
    let original = varied();
    read(&original).expect("is well formed");
    let mut n_refused = 0;
    for step in 0..10_000 {
        let bytes = mutate(&original, step);
        match read(&bytes) {
            Ok(gguf) => {
                for tensor in &gguf.tensors {
                    assert!(tensor.offset + tensor.bytes <= bytes.len() as u64, "step {step}: {tensor:?}");
                }
            }
            Err(_) => n_refused += 1,
        }
    }
    assert!(n_refused > 5_000, "only {n_refused} of 10000 mutations were refused");
}

/// The file with up to four bytes replaced; every third time also cut off.
fn mutate(original: &[u8], step: u64) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for change in 0..1 + step % 4 {
        let random = scramble(step * 8 + change);
        let place = random as usize % bytes.len();
        bytes[place] = [(random >> 32) as u8, 0, 0xff, 0x80][(random >> 40) as usize % 4];
    }
    if step.is_multiple_of(3) {
        bytes.truncate(scramble(step * 8 + 7) as usize % bytes.len());
    }
    bytes
}
