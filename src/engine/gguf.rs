//! Reads the header of a GGUF file: which metadata and which tensors does this file hold, and is it safe to load?
//!
//! A model file is hostile until it is checked. Nothing is allocated because the file says so: every count and
//! length is first compared with the bytes that are left. A [`Gguf`] that exists has tensors that lie inside the
//! file, aligned, without overlap, of types that the engine can load.

mod dtype;
#[cfg(test)]
pub mod fixture;
#[cfg(test)]
mod hostile;
mod metadata;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

pub use dtype::GgmlType;
pub use metadata::Metadata;
use metadata::read_value;
use reader::Reader;

use crate::error::{Error, Result};

/// The header may end at most this far into the file. The largest vocabularies in use (260 000 tokens with merges)
/// need 16 MiB; the limit keeps a sparse file of terabytes from filling the memory.
const MAX_HEADER_BYTES: u64 = 64 << 20;
/// The GGUF specification's limit for a key.
const MAX_KEY_BYTES: u64 = 65_535;
/// The GGUF specification's limit for a tensor's name.
const MAX_NAME_BYTES: u64 = 64;
/// The GGUF specification's limit for the number of dimensions.
const MAX_DIMENSIONS: u32 = 4;
/// Files in use have 32; a larger alignment than this only pads.
const MAX_ALIGNMENT: usize = 1 << 20;
/// What a file without `general.alignment` has.
const DEFAULT_ALIGNMENT: usize = 32;
/// The least that one metadata entry takes: a key of one byte with its length, a type, a value of one byte.
const MIN_ENTRY_BYTES: u64 = 8 + 1 + 4 + 1;
/// The least that one tensor takes: a name of one byte with its length, a count, one dimension, a type, an offset.
const MIN_TENSOR_BYTES: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// The checked header of a GGUF file, version 2 or 3, little endian.
#[derive(Debug, Clone)]
pub struct Gguf {
    /// The file.
    pub path: PathBuf,
    /// The size of the whole file.
    pub file_bytes: u64,
    /// The keys and values.
    pub metadata: Metadata,
    /// The tensors in the order of the header.
    pub tensors: Vec<TensorInfo>,
}

/// Where a tensor lies in the file and how it is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, unique in the file.
    pub name: String,
    /// The encoding of the values.
    pub dtype: GgmlType,
    /// The dimensions, outermost first (the reverse of the file's order): `[rows, columns]` for a matrix.
    pub shape: Vec<usize>,
    /// The first byte, counted from the start of the file.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Gguf {
    /// Reads and checks the header; the tensors' data is not read.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::ModelFile`] if it is not a GGUF file of a kind that can be
    /// loaded; the message says what was found.
    pub fn open(path: &Path) -> Result<Self> {
        let status = fs::metadata(path).map_err(Error::io("open", path))?;
        if !status.is_file() {
            return Err(Error::model_file(path, "is not a regular file, expected a GGUF file"));
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        Self::read(BufReader::with_capacity(1 << 16, file), status.len(), path)
    }

    /// The tensor with this name.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if there is none.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo> {
        self.opt_tensor(name).ok_or_else(|| Error::model_file(&self.path, format!("has no tensor `{name}`")))
    }

    /// The tensor with this name, if there is one.
    pub fn opt_tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// Reads a header from a source of `file_bytes` bytes; `path` is for messages.
    fn read(mut source: impl BufRead, file_bytes: u64, path: &Path) -> Result<Self> {
        refuse_other_formats(source.fill_buf().map_err(Error::io("read", path))?, path)?;
        let mut reader = Reader::new(source, path, file_bytes, MAX_HEADER_BYTES);
        let magic = reader.u32(format_args!("the magic"))?;
        debug_assert_eq!(magic.to_le_bytes(), *b"GGUF", "another magic was refused above");
        read_version(&mut reader)?;
        let n_tensors = reader.count(MIN_TENSOR_BYTES, format_args!("the tensor count"))?;
        let n_entries = reader.count(MIN_ENTRY_BYTES, format_args!("the metadata count"))?;
        let metadata = read_metadata(&mut reader, n_entries, path)?;
        refuse_split(&metadata)?;
        let alignment = alignment(&metadata)?;
        let mut tensors = read_tensors(&mut reader, n_tensors)?;
        let data_start = reader.position().next_multiple_of(alignment);
        place_tensors(&mut tensors, data_start, alignment, &reader)?;
        Ok(Self { path: path.to_owned(), file_bytes, metadata, tensors })
    }
}

/// Names what the file is, if its first bytes are not those of a GGUF file.
fn refuse_other_formats(head: &[u8], path: &Path) -> Result<()> {
    if head.starts_with(b"GGUF") {
        return Ok(());
    }
    let found = match head {
        [] => "is empty".to_owned(),
        [b'P', b'K', ..] => {
            "is a zip archive, as PyTorch checkpoints are; they can run code and are refused".to_owned()
        }
        [0x80, 2..=5, ..] => "is a Python pickle, which can run code; pickles are refused".to_owned(),
        [_, _, _, _, _, _, 0, 0, b'{', ..] => "is a safetensors file".to_owned(),
        [b't' | b'l' | b'f', b'j' | b'm', b'g', b'g', ..] => "is a GGML file from before GGUF".to_owned(),
        _ if head.starts_with(b"version https://git-lfs") => {
            "is a Git LFS pointer and not the model it points to".to_owned()
        }
        _ if is_html(head) => "is an HTML page, as a failed download leaves it".to_owned(),
        _ => format!("starts with the bytes `{}`", hex(&head[..head.len().min(4)])),
    };
    Err(Error::model_file(path, format!("{found}; expected a GGUF file")))
}

/// Whether the text starts like an HTML page.
fn is_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    [&b"<!doctype"[..], b"<html"]
        .iter()
        .any(|start| text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)))
}

/// The bytes as pairs of hexadecimal digits, separated by spaces.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Reads the version and refuses all but 2 and 3, little endian.
fn read_version<R: io::Read>(reader: &mut Reader<'_, R>) -> Result<()> {
    let version = reader.u32(format_args!("the version"))?;
    match version {
        2 | 3 => Ok(()),
        1 => Err(reader.fault("is GGUF version 1, expected version 2 or 3")),
        _ if matches!(version.swap_bytes(), 1..=3) => {
            Err(reader.fault("is a big-endian GGUF file, expected a little-endian one"))
        }
        _ => Err(reader.fault(format!("is GGUF version {version}, expected version 2 or 3"))),
    }
}

/// Reads the keys and values, each key once.
fn read_metadata<R: io::Read>(reader: &mut Reader<'_, R>, n_entries: u64, path: &Path) -> Result<Metadata> {
    let mut metadata = Metadata::new(path);
    for entry_idx in 0..n_entries {
        let key = reader.string(MAX_KEY_BYTES, format_args!("key {entry_idx}"))?;
        if key.is_empty() {
            return Err(reader.fault(format!("key {entry_idx} is empty")));
        }
        let value = read_value(reader, &key)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(reader.fault(format!("has the key `{key}` twice")));
        }
    }
    Ok(metadata)
}

/// Refuses one part of a model that was split over several files.
fn refuse_split(metadata: &Metadata) -> Result<()> {
    match metadata.opt_usize("split.count")? {
        None | Some(0 | 1) => Ok(()),
        Some(n_parts) => {
            Err(metadata.fault(format!("is one of {n_parts} parts of a split model, expected a whole one")))
        }
    }
}

/// The alignment of the tensors' data: a power of two.
fn alignment(metadata: &Metadata) -> Result<u64> {
    let alignment = metadata.opt_usize("general.alignment")?.unwrap_or(DEFAULT_ALIGNMENT);
    if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
        return Err(metadata.fault(format!(
            "key `general.alignment` is {alignment}, expected a power of two of at most {MAX_ALIGNMENT}"
        )));
    }
    Ok(alignment as u64)
}

/// Reads the tensors' descriptions; their offsets still count from the data section.
fn read_tensors<R: io::Read>(reader: &mut Reader<'_, R>, n_tensors: u64) -> Result<Vec<TensorInfo>> {
    let mut tensors = Vec::new();
    let mut names = HashSet::new();
    for tensor_idx in 0..n_tensors {
        let tensor = read_tensor(reader, tensor_idx)?;
        if !names.insert(tensor.name.clone()) {
            return Err(reader.fault(format!("has the tensor `{}` twice", tensor.name)));
        }
        tensors.push(tensor);
    }
    Ok(tensors)
}

/// Reads one tensor's description.
fn read_tensor<R: io::Read>(reader: &mut Reader<'_, R>, tensor_idx: u64) -> Result<TensorInfo> {
    let name = reader.string(MAX_NAME_BYTES, format_args!("the name of tensor {tensor_idx}"))?;
    if name.is_empty() {
        return Err(reader.fault(format!("the name of tensor {tensor_idx} is empty")));
    }
    let n_dimensions = reader.u32(format_args!("the dimensions of `{name}`"))?;
    if n_dimensions == 0 || n_dimensions > MAX_DIMENSIONS {
        return Err(
            reader.fault(format!("tensor `{name}` has {n_dimensions} dimensions, expected 1 to {MAX_DIMENSIONS}"))
        );
    }
    let mut dimensions = Vec::new();
    for _ in 0..n_dimensions {
        dimensions.push(reader.u64(format_args!("the dimensions of `{name}`"))?);
    }
    let type_id = reader.u32(format_args!("the type of `{name}`"))?;
    let dtype = GgmlType::from_id(type_id).map_err(|found| reader.fault(format!("tensor `{name}` {found}")))?;
    let offset = reader.u64(format_args!("the offset of `{name}`"))?;
    let bytes = tensor_bytes(&dimensions, dtype).map_err(|found| reader.fault(format!("tensor `{name}` {found}")))?;
    let shape = dimensions.iter().rev().map(|&dimension| dimension as usize).collect();
    Ok(TensorInfo { name, dtype, shape, offset, bytes })
}

/// The bytes that a tensor of these dimensions (innermost first) takes, or what is wrong with them.
fn tensor_bytes(dimensions: &[u64], dtype: GgmlType) -> Result<u64, String> {
    if dimensions.contains(&0) {
        return Err(format!("has the dimensions {dimensions:?}, expected no zero"));
    }
    let items_per_block = dtype.items_per_block() as u64;
    if !dimensions[0].is_multiple_of(items_per_block) {
        let name = dtype.name();
        return Err(format!(
            "has rows of {} values, expected a multiple of {items_per_block} for {name}",
            dimensions[0]
        ));
    }
    let n_items = dimensions.iter().try_fold(1u64, |product, &dimension| product.checked_mul(dimension));
    n_items
        .and_then(|n_items| (n_items / items_per_block).checked_mul(dtype.bytes_per_block() as u64))
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| format!("has the dimensions {dimensions:?}, more values than can be addressed"))
}

/// Turns offsets in the data section into offsets in the file, and checks alignment, ends and overlaps.
fn place_tensors<R>(tensors: &mut [TensorInfo], data_start: u64, alignment: u64, reader: &Reader<'_, R>) -> Result<()> {
    for tensor in tensors.iter_mut() {
        let TensorInfo { name, offset, bytes, .. } = &*tensor;
        if !offset.is_multiple_of(alignment) {
            return Err(
                reader.fault(format!("tensor `{name}` has offset {offset}, expected a multiple of {alignment}"))
            );
        }
        let start = data_start.checked_add(*offset);
        let end = start.and_then(|start| start.checked_add(*bytes));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(
                reader.fault(format!("tensor `{name}` has offset {offset}, which wraps around to before the data"))
            );
        };
        if end > reader.file_bytes() {
            let file_bytes = reader.file_bytes();
            return Err(reader.fault(format!(
                "tensor `{name}` ends at byte {end}, but the file has {file_bytes} bytes; it may be cut off"
            )));
        }
        tensor.offset = start;
    }
    refuse_overlaps(tensors, reader)
}

/// Refuses tensors that share bytes.
fn refuse_overlaps<R>(tensors: &[TensorInfo], reader: &Reader<'_, R>) -> Result<()> {
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_by_key(|tensor| tensor.offset);
    for pair in by_offset.windows(2) {
        if pair[0].offset + pair[0].bytes > pair[1].offset {
            return Err(reader.fault(format!("tensors `{}` and `{}` overlap", pair[0].name, pair[1].name)));
        }
    }
    Ok(())
}
