//! Weights of a checked GGUF file as matrices: what is kept quantised, what becomes f32?

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use candle_core::quantized::{GgmlDType, QMatMul, ggml_file};
use candle_core::{Device, Storage, Tensor};

use super::gguf::{GgmlType, Gguf, TensorInfo};
use super::kernels::matmul::{MIN_ROWS, matmul};
use crate::error::{Error, Result};

/// What becomes of quantised weights when they are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WeightFormat {
    /// Q4_K and Q6_K, for which candle has fast kernels, stay as they are; all others become f32.
    #[default]
    Fast,
    /// Everything becomes f32: the reference, without rounding of activations.
    F32,
}

/// An open GGUF file with the tensors that were not taken yet.
pub struct Weights<'a> {
    gguf: &'a Gguf,
    file: File,
    format: WeightFormat,
}

/// A weight matrix `[out, in]`, perhaps quantised.
#[derive(Debug)]
pub struct Matrix {
    weight: QMatMul,
}

/// x W^T + b.
#[derive(Debug)]
pub struct Linear {
    matrix: Matrix,
    /// `[out]`
    bias: Option<Tensor>,
}

impl<'a> Weights<'a> {
    /// Opens the file again for reading tensors.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(gguf: &'a Gguf, format: WeightFormat) -> Result<Self> {
        let file = File::open(&gguf.path).map_err(Error::io("open", &gguf.path))?;
        Ok(Self { gguf, file, format })
    }

    /// Whether the file has a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.gguf.opt_tensor(name).is_some()
    }

    /// The vector `name` of `len` floats.
    ///
    /// # Errors
    /// If it is missing or has another shape.
    pub fn vector(&mut self, name: &str, len: usize) -> Result<Tensor> {
        let tensor = self.read(name, &[len])?;
        tensor.dequantize(&Device::Cpu).map_err(Error::engine("read a vector"))
    }

    /// The matrix `name` of shape `[n_out, n_in]`.
    ///
    /// # Errors
    /// If it is missing or has another shape.
    pub fn matrix(&mut self, name: &str, n_out: usize, n_in: usize) -> Result<Matrix> {
        let tensor = self.read(name, &[n_out, n_in])?;
        let stays = self.format == WeightFormat::Fast && matches!(tensor.dtype(), GgmlDType::Q4K | GgmlDType::Q6K);
        let weight = if stays {
            QMatMul::QTensor(tensor.into())
        } else {
            QMatMul::Tensor(tensor.dequantize(&Device::Cpu).map_err(Error::engine("dequantise a matrix"))?)
        };
        Ok(Matrix { weight })
    }

    /// The layer `name`: `name.weight` of shape `[n_out, n_in]`, and `name.bias` if the file has it.
    ///
    /// # Errors
    /// If the weight is missing, or a shape is wrong.
    pub fn linear(&mut self, name: &str, n_out: usize, n_in: usize) -> Result<Linear> {
        let matrix = self.matrix(&format!("{name}.weight"), n_out, n_in)?;
        let bias = format!("{name}.bias");
        let bias = if self.has(&bias) { Some(self.vector(&bias, n_out)?) } else { None };
        Ok(Linear { matrix, bias })
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<candle_core::quantized::QTensor> {
        let info = self.gguf.tensor(name)?;
        if info.shape != shape {
            let message = format!("tensor `{name}` has shape {:?}, expected {shape:?}", info.shape);
            return Err(Error::model_file(&self.gguf.path, message));
        }
        let bytes = read_bytes(&mut self.file, info).map_err(Error::io("read", &self.gguf.path))?;
        ggml_file::qtensor_from_ggml(candle_dtype(info.dtype), &bytes, shape.to_vec(), &Device::Cpu)
            .map_err(Error::engine("load a tensor"))
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

impl Matrix {
    /// x W^T for `x` of shape `[rows, in]`: `[rows, out]`. A row's result does not depend on the other rows.
    ///
    /// # Errors
    /// If candle fails.
    pub fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let (n_rows, _) = x.dims2()?;
        if n_rows >= MIN_ROWS {
            return self.product(x);
        }
        let last = x.narrow(0, n_rows - 1, 1)?.repeat((MIN_ROWS - n_rows, 1))?;
        let padded = Tensor::cat(&[x, &last], 0)?;
        self.product(&padded)?.narrow(0, 0, n_rows)?.contiguous()
    }

    fn product(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match &self.weight {
            QMatMul::Tensor(weight) | QMatMul::TensorF16(weight) => float_product(x, weight),
            // candle's Q6_K kernel also sums in another order for a single row.
            QMatMul::QTensor(_) => candle_core::Module::forward(&self.weight, x),
        }
    }

    /// Rows of the matrix as f32, `[ids, in]`: an embedding, or the part of an output head that is needed.
    ///
    /// # Errors
    /// If an id is not below the number of rows.
    pub fn rows(&self, ids: &[u32]) -> candle_core::Result<Tensor> {
        self.weight.embedding(&Tensor::new(ids, &Device::Cpu)?)
    }

    /// Memory it takes: for quantised weights the file's blocks and the tiles that candle makes of them at first use
    /// (`candle-core/src/quantized/repack_x86.rs`: 3072 or 5120 bytes for 16 x 256 weights).
    pub fn bytes(&self) -> usize {
        match &self.weight {
            QMatMul::Tensor(weight) | QMatMul::TensorF16(weight) => {
                weight.elem_count() * weight.dtype().size_in_bytes()
            }
            QMatMul::QTensor(weight) => {
                let tile_bytes = if weight.dtype() == GgmlDType::Q4K { 3072 } else { 5120 };
                weight.storage_size_in_bytes() + weight.shape().elem_count() / (16 * 256) * tile_bytes
            }
        }
    }
}

impl Linear {
    /// Memory that the weight takes; a bias is next to nothing.
    pub fn bytes(&self) -> usize {
        self.matrix.bytes()
    }

    /// x W^T + b for `x` of shape `[rows, in]`: `[rows, out]`.
    ///
    /// # Errors
    /// If candle fails.
    pub fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let y = self.matrix.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// x W^T on the floats of two contiguous tensors.
fn float_product(x: &Tensor, weight: &Tensor) -> candle_core::Result<Tensor> {
    let (n_rows, n_in) = x.dims2()?;
    let out = with_floats(x, |x| with_floats(weight, |weight| matmul(x, weight, n_in)))??;
    let n_out = out.len() / n_rows;
    Tensor::from_vec(out, (n_rows, n_out), &Device::Cpu)
}

/// Hands out the floats of a tensor, row by row, without copying a contiguous one.
///
/// # Errors
/// If it is not on the CPU or does not hold f32.
pub fn with_floats<R>(x: &Tensor, f: impl FnOnce(&[f32]) -> R) -> candle_core::Result<R> {
    let x = x.contiguous()?;
    let (storage, layout) = x.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { candle_core::bail!("the tensor is not on the CPU") };
    Ok(f(&storage.as_slice::<f32>()?[layout.start_offset()..][..layout.shape().elem_count()]))
}

fn candle_dtype(dtype: GgmlType) -> GgmlDType {
    match dtype {
        GgmlType::F32 => GgmlDType::F32,
        GgmlType::F16 => GgmlDType::F16,
        GgmlType::BF16 => GgmlDType::BF16,
        GgmlType::Q4_0 => GgmlDType::Q4_0,
        GgmlType::Q4_1 => GgmlDType::Q4_1,
        GgmlType::Q5_0 => GgmlDType::Q5_0,
        GgmlType::Q5_1 => GgmlDType::Q5_1,
        GgmlType::Q8_0 => GgmlDType::Q8_0,
        GgmlType::Q8_1 => GgmlDType::Q8_1,
        GgmlType::Q2K => GgmlDType::Q2K,
        GgmlType::Q3K => GgmlDType::Q3K,
        GgmlType::Q4K => GgmlDType::Q4K,
        GgmlType::Q5K => GgmlDType::Q5K,
        GgmlType::Q6K => GgmlDType::Q6K,
        GgmlType::Q8K => GgmlDType::Q8K,
    }
}
