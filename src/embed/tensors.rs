//! A safetensors file of a BERT model: which floats have which name?

use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use crate::engine::kernels::Cpu;
use crate::engine::kernels::float::{Kind, Panels};
use crate::error::{Error, Result};

/// The tensors of a file. Names are given without the prefix that some files have.
pub struct Tensors<'a> {
    path: &'a Path,
    file: SafeTensors<'a>,
    prefix: &'static str,
}

/// What may stand before every name: models that were trained with heads for other tasks keep their body under `bert`.
const PREFIXES: [&str; 2] = ["", "bert."];

/// The names that layer normalisation has, and had in the first BERT models.
const RENAMED: [(&str, &str); 2] = [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")];

impl<'a> Tensors<'a> {
    /// Reads the header of a file, of which `bytes` are the content. A prefix is found by the tensor `first`.
    ///
    /// # Errors
    /// If the header is broken, or there is no tensor `first`.
    pub fn read(path: &'a Path, bytes: &'a [u8], first: &str) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|err| Error::model_file(path, format!("not a safetensors file: {err}")))?;
        let has_first = |prefix: &&str| file.tensor(&format!("{prefix}{first}")).is_ok();
        let prefix = PREFIXES.into_iter().find(has_first).ok_or_else(|| missing(path, first))?;
        Ok(Self { path, file, prefix })
    }

    /// The floats of a tensor, widened.
    ///
    /// # Errors
    /// If it is missing, of another shape, not of floats, or not finite.
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (kind, bytes) = self.tensor(name, shape)?;
        let floats = kind.widen(bytes);
        match floats.iter().all(|float| float.is_finite()) {
            true => Ok(floats),
            false => Err(self.wrong(name, "has a weight that is not a finite number")),
        }
    }

    /// The matrix `[n_out, n_in]` of a tensor.
    ///
    /// # Errors
    /// If it is missing, of another shape, not of floats, or not finite.
    pub fn panels(&self, cpu: &Cpu, name: &str, [n_out, n_in]: [usize; 2]) -> Result<Panels> {
        let (kind, bytes) = self.tensor(name, &[n_out, n_in])?;
        Panels::new(cpu, kind, bytes, n_out, n_in)
            .map_err(|_| self.wrong(name, "has a weight that is not a finite number"))
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<(Kind, &'a [u8])> {
        let old = RENAMED.into_iter().fold(name.to_owned(), |name, (now, before)| name.replace(now, before));
        let find = |name: &str| self.file.tensor(&format!("{}{name}", self.prefix)).ok();
        let tensor = find(name).or_else(|| find(&old)).ok_or_else(|| missing(self.path, name))?;
        if tensor.shape() != shape {
            return Err(self.wrong(name, &format!("has the shape {:?}, expected {shape:?}", tensor.shape())));
        }
        let kind = match tensor.dtype() {
            Dtype::F32 => Kind::F32,
            Dtype::F16 => Kind::F16,
            Dtype::BF16 => Kind::BF16,
            other => return Err(self.wrong(name, &format!("is of type {other:?}, expected F32, F16 or BF16"))),
        };
        Ok((kind, tensor.data()))
    }

    fn wrong(&self, name: &str, what: &str) -> Error {
        Error::model_file(self.path, format!("tensor `{name}` {what}"))
    }
}

fn missing(path: &Path, name: &str) -> Error {
    Error::model_file(path, format!("there is no tensor `{name}`"))
}
