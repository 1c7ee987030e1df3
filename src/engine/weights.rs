//! Weights of a checked GGUF file: where does each tensor come from, and has it the shape that the model wants?

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::backend::{Backend, Linear, RawTensor};
use super::gguf::{Gguf, TensorInfo};
use crate::error::{Error, Result};

/// What becomes of quantised weights when they are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WeightFormat {
    /// They stay quantised where there is a kernel for them.
    #[default]
    Quantised,
    /// Everything becomes f32: without rounding of activations, to compare with other programs.
    F32,
}

/// An open GGUF file and the backend that takes its weights.
pub struct Weights<'a, B> {
    gguf: &'a Gguf,
    file: File,
    backend: &'a mut B,
}

/// x W^T + b.
pub struct Layer<B: Backend> {
    /// `[n_out, n_in]`
    pub weight: B::Matrix,
    /// `[n_out]`
    pub bias: Option<B::Vector>,
}

impl<B: Backend> Layer<B> {
    /// The layer as a backend takes it.
    pub fn linear(&self) -> Linear<'_, B> {
        Linear { weight: &self.weight, bias: self.bias.as_ref() }
    }
}

impl<'a, B: Backend> Weights<'a, B> {
    /// Opens the file again for reading tensors.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(gguf: &'a Gguf, backend: &'a mut B) -> Result<Self> {
        let file = File::open(&gguf.path).map_err(Error::io("open", &gguf.path))?;
        Ok(Self { gguf, file, backend })
    }

    /// Whether the file has a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.gguf.opt_tensor(name).is_some()
    }

    /// The vector `name` of `len` floats.
    ///
    /// # Errors
    /// If it is missing or has another shape.
    pub fn vector(&mut self, name: &str, len: usize) -> Result<B::Vector> {
        let raw = self.read(name, &[len])?;
        self.backend.vector(raw.to_floats()?)
    }

    /// The matrix `name` of shape `[n_out, n_in]`.
    ///
    /// # Errors
    /// If it is missing or has another shape.
    pub fn matrix(&mut self, name: &str, n_out: usize, n_in: usize) -> Result<B::Matrix> {
        let raw = self.read(name, &[n_out, n_in])?;
        self.backend.matrix(raw)
    }

    /// The layer `name`: `name.weight` of shape `[n_out, n_in]`, and `name.bias` if the file has it.
    ///
    /// # Errors
    /// If the weight is missing, or a shape is wrong.
    pub fn layer(&mut self, name: &str, n_out: usize, n_in: usize) -> Result<Layer<B>> {
        let weight = self.matrix(&format!("{name}.weight"), n_out, n_in)?;
        let bias = format!("{name}.bias");
        let bias = if self.has(&bias) { Some(self.vector(&bias, n_out)?) } else { None };
        Ok(Layer { weight, bias })
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<RawTensor> {
        let info = self.gguf.tensor(name)?;
        if info.shape != shape {
            let message = format!("tensor `{name}` has shape {:?}, expected {shape:?}", info.shape);
            return Err(Error::model_file(&self.gguf.path, message));
        }
        let bytes = read_bytes(&mut self.file, info).map_err(Error::io("read", &self.gguf.path))?;
        let (n_in, outer) = shape.split_last().expect("every shape asked for has a dimension");
        Ok(RawTensor { dtype: info.dtype, bytes, n_out: outer.iter().product(), n_in: *n_in })
    }
}

/// The bytes of a tensor; its place was checked against the file's size when the header was read.
fn read_bytes(file: &mut File, info: &TensorInfo) -> std::io::Result<Vec<u8>> {
    let len = usize::try_from(info.bytes).expect("a tensor of a checked file fits in memory addresses");
    let mut bytes = vec![0u8; len];
    file.seek(SeekFrom::Start(info.offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
