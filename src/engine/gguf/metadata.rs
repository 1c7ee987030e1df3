//! Keys and values of a GGUF header: what does the file say under this key, and is it of the expected type?

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::reader::Reader;
use crate::error::{Error, Result};

/// Arrays may lie in arrays this deep. No file in use nests them at all.
const MAX_ARRAY_DEPTH: usize = 4;

/// The keys and values of a header.
///
/// A getter fails if the value is of another type, and names the key, what was found and what was expected. The
/// `opt_` forms allow the key to be absent.
#[derive(Debug, Clone)]
pub struct Metadata {
    path: PathBuf,
    entries: BTreeMap<String, Value>,
}

/// A value of the header.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A truth value.
    Bool(bool),
    /// A whole number of any of the eight widths.
    Integer(i128),
    /// A float of either width.
    Float(f64),
    /// A string.
    Text(String),
    /// An array of strings.
    Strings(Vec<String>),
    /// An array of 32-bit floats.
    F32s(Vec<f32>),
    /// An array of whole numbers that all fit into 32 bits.
    I32s(Vec<i32>),
    /// An array of another kind. It was read and checked, but nothing needs its items.
    Other(Kind),
}

/// The type of a value in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

/// The types in the order of their numbers in the file.
const KINDS: [Kind; 13] = [
    Kind::U8,
    Kind::I8,
    Kind::U16,
    Kind::I16,
    Kind::U32,
    Kind::I32,
    Kind::F32,
    Kind::Bool,
    Kind::Text,
    Kind::Array,
    Kind::U64,
    Kind::I64,
    Kind::F64,
];

impl Metadata {
    /// No keys, of the file at `path`.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), entries: BTreeMap::new() }
    }

    /// Adds an entry and returns the one it replaces.
    pub(super) fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        self.entries.insert(key, value)
    }

    /// An error about this file.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Error {
        Error::model_file(&self.path, message)
    }

    /// The text under `key`.
    pub fn str(&self, key: &str) -> Result<&str> {
        self.present(key, self.opt_str(key)?)
    }

    /// The text under `key`, if there is one.
    pub fn opt_str(&self, key: &str) -> Result<Option<&str>> {
        self.get(key, "a string", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The whole number under `key`, which is not negative.
    pub fn usize(&self, key: &str) -> Result<usize> {
        self.present(key, self.opt_usize(key)?)
    }

    /// The whole number under `key`, if there is one; it is not negative.
    pub fn opt_usize(&self, key: &str) -> Result<Option<usize>> {
        self.get(key, "a whole number from 0", |value| match value {
            Value::Integer(number) => usize::try_from(*number).ok(),
            _ => None,
        })
    }

    /// The number under `key`, rounded to 32 bits.
    pub fn f32(&self, key: &str) -> Result<f32> {
        self.present(key, self.opt_f32(key)?)
    }

    /// The number under `key`, if there is one, rounded to 32 bits.
    pub fn opt_f32(&self, key: &str) -> Result<Option<f32>> {
        self.get(key, "a finite number", |value| match value {
            Value::Float(number) => Some(*number as f32).filter(|number| number.is_finite()),
            _ => None,
        })
    }

    /// The truth value under `key`.
    pub fn bool(&self, key: &str) -> Result<bool> {
        self.present(key, self.opt_bool(key)?)
    }

    /// The truth value under `key`, if there is one.
    pub fn opt_bool(&self, key: &str) -> Result<Option<bool>> {
        self.get(key, "a bool", |value| match value {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        })
    }

    /// The array of strings under `key`.
    pub fn strings(&self, key: &str) -> Result<&[String]> {
        self.present(key, self.opt_strings(key)?)
    }

    /// The array of strings under `key`, if there is one.
    pub fn opt_strings(&self, key: &str) -> Result<Option<&[String]>> {
        self.get(key, "an array of strings", |value| match value {
            Value::Strings(strings) => Some(strings.as_slice()),
            _ => None,
        })
    }

    /// The array of 32-bit floats under `key`.
    pub fn f32s(&self, key: &str) -> Result<&[f32]> {
        self.present(key, self.opt_f32s(key)?)
    }

    /// The array of 32-bit floats under `key`, if there is one.
    pub fn opt_f32s(&self, key: &str) -> Result<Option<&[f32]>> {
        self.get(key, "an array of f32", |value| match value {
            Value::F32s(numbers) => Some(numbers.as_slice()),
            _ => None,
        })
    }

    /// The array of whole numbers under `key`, of any width as long as each fits into 32 bits.
    pub fn i32s(&self, key: &str) -> Result<&[i32]> {
        self.present(key, self.opt_i32s(key)?)
    }

    /// The array of whole numbers under `key`, if there is one, of any width as long as each fits into 32 bits.
    pub fn opt_i32s(&self, key: &str) -> Result<Option<&[i32]>> {
        self.get(key, "an array of whole numbers of 32 bits", |value| match value {
            Value::I32s(numbers) => Some(numbers.as_slice()),
            _ => None,
        })
    }

    /// What `pick` takes from the value under `key`; an error if it takes nothing.
    fn get<'a, T>(&'a self, key: &str, expected: &str, pick: fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.entries.get(key) else {
            return Ok(None);
        };
        let picked = pick(value).ok_or_else(|| self.fault(format!("key `{key}` is {value}, expected {expected}")))?;
        Ok(Some(picked))
    }

    /// The value, or the error that the key is absent.
    fn present<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.fault(format!("has no key `{key}`")))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(truth) => write!(f, "the bool {truth}"),
            Self::Integer(number) => write!(f, "the whole number {number}"),
            Self::Float(number) => write!(f, "the float {number}"),
            Self::Text(_) => write!(f, "a string"),
            Self::Strings(_) => write!(f, "an array of strings"),
            Self::F32s(_) => write!(f, "an array of f32"),
            Self::I32s(_) => write!(f, "an array of whole numbers"),
            Self::Other(kind) => write!(f, "an array of {kind:?} items"),
        }
    }
}

impl Kind {
    /// The least that a value of this type takes in the file.
    fn min_bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Text => 8,
            Self::Array => 12,
        }
    }
}

/// Reads the value of `key`: its type and what follows.
pub(super) fn read_value<R: Read>(reader: &mut Reader<'_, R>, key: &str) -> Result<Value> {
    let kind = read_kind(reader, key)?;
    match kind {
        Kind::Array => read_array(reader, key, 1),
        Kind::Text => Ok(Value::Text(read_text(reader, key)?)),
        Kind::Bool => Ok(Value::Bool(read_bool(reader, key)?)),
        Kind::F32 | Kind::F64 => Ok(Value::Float(read_float(reader, kind, key)?)),
        Kind::U8 | Kind::I8 | Kind::U16 | Kind::I16 | Kind::U32 | Kind::I32 | Kind::U64 | Kind::I64 => {
            Ok(Value::Integer(read_integer(reader, kind, key)?))
        }
    }
}

/// Reads the number of a type.
fn read_kind<R: Read>(reader: &mut Reader<'_, R>, key: &str) -> Result<Kind> {
    let id = reader.u32(format_args!("the type of key `{key}`"))?;
    let kind = KINDS.get(id as usize).copied();
    kind.ok_or_else(|| reader.fault(format!("key `{key}` has type {id}, expected 0 to {}", KINDS.len() - 1)))
}

/// Reads an array that lies `depth` arrays deep, itself counted.
fn read_array<R: Read>(reader: &mut Reader<'_, R>, key: &str, depth: usize) -> Result<Value> {
    if depth > MAX_ARRAY_DEPTH {
        return Err(reader.fault(format!("key `{key}` nests arrays more than {MAX_ARRAY_DEPTH} deep")));
    }
    let kind = read_kind(reader, key)?;
    let len = reader.count(kind.min_bytes(), format_args!("the length of key `{key}`"))?;
    match kind {
        Kind::Text => Ok(Value::Strings(read_items(len, || read_text(reader, key))?)),
        Kind::F32 => Ok(Value::F32s(read_items(len, || read_float(reader, kind, key).map(|number| number as f32))?)),
        Kind::F64 => read_other(kind, len, || read_float(reader, kind, key)),
        Kind::Bool => read_other(kind, len, || read_bool(reader, key)),
        Kind::Array => read_other(kind, len, || read_array(reader, key, depth + 1)),
        Kind::U8 | Kind::I8 | Kind::U16 | Kind::I16 | Kind::U32 | Kind::I32 | Kind::U64 | Kind::I64 => {
            read_integers(reader, kind, len, key)
        }
    }
}

/// Reads items until there are `len`; memory grows with what was read, not with what was promised.
fn read_items<T>(len: u64, mut read: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
    let mut items = Vec::new();
    for _ in 0..len {
        items.push(read()?);
    }
    Ok(items)
}

/// Reads and drops the items of an array that nothing needs.
fn read_other<T>(kind: Kind, len: u64, mut read: impl FnMut() -> Result<T>) -> Result<Value> {
    for _ in 0..len {
        read()?;
    }
    Ok(Value::Other(kind))
}

/// Reads an array of whole numbers; they are kept if all fit into 32 bits.
fn read_integers<R: Read>(reader: &mut Reader<'_, R>, kind: Kind, len: u64, key: &str) -> Result<Value> {
    let mut numbers = Vec::new();
    let mut fit = true;
    for _ in 0..len {
        match i32::try_from(read_integer(reader, kind, key)?) {
            Ok(number) => numbers.push(number),
            Err(_) => fit = false,
        }
    }
    Ok(if fit { Value::I32s(numbers) } else { Value::Other(kind) })
}

/// Reads a string of any length that the header has room for.
fn read_text<R: Read>(reader: &mut Reader<'_, R>, key: &str) -> Result<String> {
    reader.string(u64::MAX, format_args!("a string of key `{key}`"))
}

/// Reads a truth value: a byte that is 0 or 1.
fn read_bool<R: Read>(reader: &mut Reader<'_, R>, key: &str) -> Result<bool> {
    match reader.array(format_args!("a bool of key `{key}`"))? {
        [0] => Ok(false),
        [1] => Ok(true),
        [byte] => Err(reader.fault(format!("key `{key}` has the bool {byte}, expected 0 or 1"))),
    }
}

/// Reads a float of one of the two widths.
fn read_float<R: Read>(reader: &mut Reader<'_, R>, kind: Kind, key: &str) -> Result<f64> {
    let what = format_args!("a float of key `{key}`");
    if kind == Kind::F64 {
        Ok(f64::from_le_bytes(reader.array(what)?))
    } else {
        Ok(f32::from_le_bytes(reader.array(what)?).into())
    }
}

/// Reads a whole number of one of the eight widths.
fn read_integer<R: Read>(reader: &mut Reader<'_, R>, kind: Kind, key: &str) -> Result<i128> {
    let what = format_args!("a number of key `{key}`");
    Ok(match kind {
        Kind::U8 => u8::from_le_bytes(reader.array(what)?).into(),
        Kind::I8 => i8::from_le_bytes(reader.array(what)?).into(),
        Kind::U16 => u16::from_le_bytes(reader.array(what)?).into(),
        Kind::I16 => i16::from_le_bytes(reader.array(what)?).into(),
        Kind::U32 => u32::from_le_bytes(reader.array(what)?).into(),
        Kind::I32 => i32::from_le_bytes(reader.array(what)?).into(),
        Kind::U64 => u64::from_le_bytes(reader.array(what)?).into(),
        Kind::I64 => i64::from_le_bytes(reader.array(what)?).into(),
        Kind::F32 | Kind::F64 | Kind::Bool | Kind::Text | Kind::Array => {
            unreachable!("callers pass whole-number types only")
        }
    })
}
