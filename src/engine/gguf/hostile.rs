//! Files that must be refused, and for most of them the nearest file that must be accepted.

use super::fixture::{GgufBuilder, string};

/// A file and what the reader says of it.
pub struct Case {
    /// What is wrong with it, or nearly wrong.
    pub name: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
    /// A part of the error's message; `None` if the file is accepted.
    pub refused: Option<&'static str>,
}

/// A file that is refused with this part of a message.
fn refuse(name: &'static str, bytes: impl Into<Vec<u8>>, message: &'static str) -> Case {
    Case { name, bytes: bytes.into(), refused: Some(message) }
}

/// A file that is accepted.
fn accept(name: &'static str, bytes: impl Into<Vec<u8>>) -> Case {
    Case { name, bytes: bytes.into(), refused: None }
}

/// Every case.
pub fn cases() -> Vec<Case> {
    [formats(), versions_and_counts(), keys(), values(), arrays(), shapes(), placements()]
        .into_iter()
        .flatten()
        .collect()
}

/// A file with one F32 tensor of 8 values.
pub fn small() -> GgufBuilder {
    GgufBuilder::new().text("general.architecture", "llama").tensor("a", 0, &[8], &[0; 32])
}

/// Files that are something else.
fn formats() -> Vec<Case> {
    let safetensors =
        [&60u64.to_le_bytes(), &br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#[..]].concat();
    vec![
        accept("small", small().build()),
        refuse("empty", [], "is empty; expected a GGUF file"),
        refuse("one byte", *b"G", "starts with the bytes `47`; expected a GGUF file"),
        refuse("zip", *b"PK\x03\x04\x14\0\0\0", "is a zip archive, as PyTorch checkpoints are"),
        refuse("pickle", *b"\x80\x02}q\0.", "is a Python pickle, which can run code"),
        refuse("safetensors", safetensors, "is a safetensors file"),
        refuse(
            "lfs pointer",
            *b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
            "is a Git LFS pointer",
        ),
        refuse("html", *b"\n<!DOCTYPE html><title>404</title>", "is an HTML page"),
        refuse("html without doctype", *b"<HTML><body>", "is an HTML page"),
        refuse("ggml", *b"lmgg\x01\0\0\0", "is a GGML file from before GGUF"),
        refuse("text", *b"hello", "starts with the bytes `68 65 6c 6c`"),
    ]
}

/// Files whose first 24 bytes are wrong.
fn versions_and_counts() -> Vec<Case> {
    let small = small();
    vec![
        accept("version 2", small.build_with(2, 1, 1)),
        accept("no keys, no tensors", GgufBuilder::new().build()),
        refuse("magic only", *b"GGUF", "the version at byte 4 takes 4 bytes, but the file has 0 left"),
        refuse("version 0", small.build_with(0, 1, 1), "is GGUF version 0, expected version 2 or 3"),
        refuse("version 1", small.build_with(1, 1, 1), "is GGUF version 1, expected version 2 or 3"),
        refuse("version 4", small.build_with(4, 1, 1), "is GGUF version 4, expected version 2 or 3"),
        refuse(
            "big endian",
            small.build_with(3 << 24, 1, 1),
            "is a big-endian GGUF file, expected a little-endian one",
        ),
        refuse("no counts", *b"GGUF\x03\0\0\0", "the tensor count at byte 8 takes 8 bytes"),
        refuse("huge tensor count", small.build_with(3, u64::MAX, 1), "the tensor count is 18446744073709551615"),
        refuse("huge key count", small.build_with(3, 1, 1 << 40), "the metadata count is 1099511627776"),
        refuse("a key too many", small.build_with(3, 1, 2), "the name of tensor 0 is empty"),
    ]
}

/// Files with wrong keys.
fn keys() -> Vec<Case> {
    let twice = GgufBuilder::new().u32("k", 1).u32("k", 1).build();
    let huge_key = GgufBuilder::new().raw_entry(&u64::MAX.to_le_bytes()).zeros(64).build();
    let latin1 =
        GgufBuilder::new().raw_entry(&[&string(b"caf\xe9"), &4u32.to_le_bytes()[..], &[0; 4]].concat()).build();
    vec![
        accept("two keys", GgufBuilder::new().u32("k", 1).u32("l", 1).build()),
        accept("long key", GgufBuilder::new().u32(&"k".repeat(65_535), 1).build()),
        refuse("key too long", GgufBuilder::new().u32(&"k".repeat(65_536), 1).build(), "key 0 has 65536 bytes"),
        refuse("huge key", huge_key, "key 0 has 18446744073709551615 bytes, expected 65535 at most"),
        refuse("empty key", GgufBuilder::new().u32("", 1).build(), "key 0 is empty"),
        refuse("key twice", twice, "has the key `k` twice"),
        refuse("key not UTF-8", latin1, "key 0 at byte 32 is not UTF-8"),
    ]
}

/// Files with wrong values.
fn values() -> Vec<Case> {
    let aligned = |alignment| small().u32("general.alignment", alignment).build();
    let huge_text = GgufBuilder::new().entry("k", 8, &(1u64 << 40).to_le_bytes()).build();
    let alignment_as_text = small().text("general.alignment", "32").build();
    vec![
        accept("bool 1", GgufBuilder::new().entry("k", 7, &[1]).build()),
        refuse("bool 2", GgufBuilder::new().entry("k", 7, &[2]).build(), "key `k` has the bool 2, expected 0 or 1"),
        accept("f64", GgufBuilder::new().entry("k", 12, &[0; 8]).build()),
        refuse("type 13", GgufBuilder::new().entry("k", 13, &[0; 8]).build(), "key `k` has type 13, expected 0 to 12"),
        refuse("huge text", huge_text, "a string of key `k` at byte 45 takes 1099511627776 bytes, but the file has"),
        refuse(
            "text not UTF-8",
            GgufBuilder::new().entry("k", 8, &string(b"\xff")).build(),
            "of key `k` at byte 45 is not UTF-8",
        ),
        refuse(
            "value cut off",
            GgufBuilder::new().u32("key", 1).build()[..40].to_vec(),
            "a number of key `key` at byte 39 takes 4 bytes, but the file has 1 left",
        ),
        accept("alignment 8", aligned(8)),
        refuse("alignment 0", aligned(0), "key `general.alignment` is 0, expected a power of two"),
        refuse("alignment 24", aligned(24), "key `general.alignment` is 24, expected a power of two"),
        refuse(
            "alignment of 2 MiB",
            aligned(2 << 20),
            "key `general.alignment` is 2097152, expected a power of two of",
        ),
        refuse("alignment as text", alignment_as_text, "key `general.alignment` is a string, expected a whole number"),
        accept("one part", small().u32("split.count", 1).build()),
        refuse("part of a split model", small().u32("split.count", 3).build(), "is one of 3 parts of a split model"),
    ]
}

/// Files with wrong arrays.
fn arrays() -> Vec<Case> {
    let huge = |kind| GgufBuilder::new().array("k", kind, 1 << 33, &[0; 64]).build();
    let room = "the length of key `k` is 8589934592, but the bytes left have room for";
    vec![
        accept("empty array", GgufBuilder::new().array("k", 8, 0, &[]).build()),
        accept("array of bools", GgufBuilder::new().array("k", 7, 2, &[0, 1]).build()),
        accept("arrays 4 deep", GgufBuilder::new().entry("k", 9, &nested(3)).build()),
        refuse(
            "arrays 5 deep",
            GgufBuilder::new().entry("k", 9, &nested(4)).build(),
            "key `k` nests arrays more than 4 deep",
        ),
        refuse(
            "arrays 1000 deep",
            GgufBuilder::new().entry("k", 9, &nested(999)).build(),
            "nests arrays more than 4 deep",
        ),
        refuse("huge array of u8", huge(0), room),
        refuse("huge array of f32", huge(6), room),
        refuse("huge array of strings", huge(8), room),
        refuse("huge array of arrays", huge(9), room),
        refuse("array of type 13", GgufBuilder::new().array("k", 13, 0, &[]).build(), "key `k` has type 13"),
        refuse("array of wrong bools", GgufBuilder::new().array("k", 7, 1, &[3]).build(), "has the bool 3"),
        refuse(
            "huge string in array",
            GgufBuilder::new().array("k", 8, 1, &[0xff; 8]).build(),
            "a string of key `k` at byte",
        ),
    ]
}

/// An empty array of `u8` in `depth` arrays, after the type number of the outermost.
fn nested(depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..depth {
        bytes.extend(9u32.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
    }
    bytes.extend([0; 12]);
    bytes
}

/// Files whose tensors have wrong names, types or dimensions.
fn shapes() -> Vec<Case> {
    let one = |name: &str, type_id, dimensions: &[u64]| {
        GgufBuilder::new().tensor(name, type_id, dimensions, &[0; 2048]).build()
    };
    let huge_name = GgufBuilder::new().raw_tensor(&[0xff; 40]).build();
    let latin1 = GgufBuilder::new().raw_tensor(&[string(b"\xe9"), vec![0; 40]].concat()).build();
    let many = "more values than can be addressed";
    vec![
        accept("4 dimensions", one("a", 0, &[2, 2, 2, 2])),
        refuse("0 dimensions", one("abcdefgh", 0, &[]), "tensor `abcdefgh` has 0 dimensions, expected 1 to 4"),
        refuse("5 dimensions", one("a", 0, &[1; 5]), "tensor `a` has 5 dimensions, expected 1 to 4"),
        refuse("a zero dimension", one("a", 0, &[8, 0]), "tensor `a` has the dimensions [8, 0], expected no zero"),
        refuse("product overflows", one("a", 0, &[1 << 32, 1 << 32]), many),
        refuse("product wraps to 64", one("a", 0, &[(1 << 61) + 8, 8]), many),
        refuse("bytes overflow", one("a", 0, &[1 << 62]), many),
        accept("whole blocks", one("a", 3, &[64, 2])),
        refuse(
            "half a block",
            one("a", 3, &[48, 2]),
            "tensor `a` has rows of 48 values, expected a multiple of 32 for Q4_1",
        ),
        accept("a block of 256", one("a", 12, &[256])),
        refuse(
            "a short block of 256",
            one("a", 12, &[128, 2]),
            "rows of 128 values, expected a multiple of 256 for Q4_K",
        ),
        refuse(
            "IQ4_NL",
            one("a", 20, &[32]),
            "tensor `a` has type 20 (IQ4_NL), which is not supported; expected one of F32, F16",
        ),
        refuse("TQ1_0", one("a", 34, &[256]), "has type 34 (TQ1_0), which is not supported"),
        refuse("MXFP4", one("a", 39, &[32]), "has type 39 (MXFP4), which is not supported"),
        refuse("type 1000", one("a", 1000, &[32]), "has type 1000 (unknown), which is not supported"),
        accept("name of 64 bytes", one(&"n".repeat(64), 0, &[8])),
        refuse(
            "name of 65 bytes",
            one(&"n".repeat(65), 0, &[8]),
            "the name of tensor 0 has 65 bytes, expected 64 at most",
        ),
        refuse("huge name", huge_name, "the name of tensor 0 has 18446744073709551615 bytes"),
        refuse("name not UTF-8", latin1, "the name of tensor 0 at byte 32 is not UTF-8"),
        refuse("empty name", one("", 0, &[8]), "the name of tensor 0 is empty"),
    ]
}

/// Files whose tensors lie in wrong places.
fn placements() -> Vec<Case> {
    let at = |offsets: &[u64]| {
        let names = ["a", "b", "c"].iter().zip(offsets);
        names.fold(GgufBuilder::new().zeros(128), |file, (name, &offset)| file.tensor_at(name, 0, &[8], offset)).build()
    };
    let twice = GgufBuilder::new().tensor("a", 0, &[8], &[0; 32]).tensor("a", 0, &[8], &[0; 32]).build();
    let mut cut_off = small().build();
    cut_off.pop();
    vec![
        accept("in any order", at(&[64, 0, 96])),
        refuse("overlap", at(&[64, 0, 64]), "tensors `a` and `c` overlap"),
        refuse("tensor twice", twice, "has the tensor `a` twice"),
        refuse("not aligned", at(&[16]), "tensor `a` has offset 16, expected a multiple of 32"),
        refuse("ends after the file", at(&[128]), "tensor `a` ends at byte 224, but the file has 192 bytes"),
        refuse("cut off by a byte", cut_off, "it may be cut off"),
        refuse("starts before the data", at(&[u64::MAX - 31]), "which wraps around to before the data"),
    ]
}
