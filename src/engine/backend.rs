//! Ways to compute: what does a decoder ask of the device it runs on?
//!
//! The seam between the decoder, which is the same everywhere, and what differs by device. [`cpu`] is our own kernels,
//! [`mod@reference`] the operations of candle, slower and kept for good to compare with.

pub mod cpu;
pub mod reference;

use candle_core::quantized::{GgmlDType, QTensor, ggml_file};

use super::gguf::GgmlType;
use super::kernels::attention::HeadShape;
use super::kernels::rope::RopeTable;
use crate::error::{Error, Result};

/// The operations of a decoder. Rows are f32 `[rows, width]`.
///
/// A row's result depends on nothing but the row: not on the others, their number, or threads.
pub trait Backend {
    /// Activations.
    type Rows;
    /// A weight matrix `[n_out, n_in]`.
    type Matrix;
    /// A weight vector.
    type Vector;
    /// Keys and values of all layers.
    type Cache;

    /// Takes over the weights of a matrix.
    ///
    /// # Errors
    /// If they cannot be used.
    fn matrix(&mut self, tensor: RawTensor) -> Result<Self::Matrix>;
    /// Takes over a vector.
    ///
    /// # Errors
    /// If it cannot be used.
    fn vector(&mut self, values: Vec<f32>) -> Result<Self::Vector>;
    /// Memory that a matrix takes.
    fn matrix_bytes(matrix: &Self::Matrix) -> usize;
    /// A cache of slots in blocks for `n_layers` layers.
    fn cache(&self, shape: HeadShape, n_layers: usize, n_blocks: usize) -> Self::Cache;

    /// Rows of a matrix: an embedding.
    ///
    /// # Errors
    /// If the device fails, as all that follow.
    fn embed(&mut self, matrix: &Self::Matrix, ids: &[u32]) -> Result<Self::Rows>;
    /// RMS norm (Zhang and Sennrich 2019).
    fn norm(&mut self, x: &Self::Rows, weight: &Self::Vector, eps: f32) -> Result<Self::Rows>;
    /// x W^T + b for several matrices.
    fn products<const N: usize>(&mut self, layers: [Linear<'_, Self>; N], x: &Self::Rows) -> Result<[Self::Rows; N]>;
    /// Rotates the heads of rows at some positions.
    fn rotate(&mut self, table: &RopeTable, x: Self::Rows, positions: &[u32]) -> Result<Self::Rows>;
    /// Writes keys and values of one layer to a slot for each row.
    fn store(
        &mut self,
        cache: &mut Self::Cache,
        layer_idx: usize,
        slots: &[u32],
        keys: Self::Rows,
        values: Self::Rows,
    ) -> Result<()>;
    /// Attention of each row over its own slots of one layer.
    fn attend(
        &mut self,
        cache: &Self::Cache,
        layer_idx: usize,
        queries: Self::Rows,
        slots: &[&[u32]],
    ) -> Result<Self::Rows>;
    /// silu(gate) * up
    fn gate(&mut self, gate: Self::Rows, up: Self::Rows) -> Result<Self::Rows>;
    /// x + y
    fn add(&mut self, x: Self::Rows, y: Self::Rows) -> Result<Self::Rows>;
    /// Some of the rows.
    fn select(&mut self, x: &Self::Rows, rows: &[u32]) -> Result<Self::Rows>;
    /// Rows from this machine's memory, `[rows, width]`.
    fn upload(&mut self, x: &[f32], width: usize) -> Result<Self::Rows>;
    /// Rows in this machine's memory.
    fn read<T>(&self, x: &Self::Rows, f: impl FnOnce(&[f32]) -> T) -> Result<T>;
    /// Dot products of `x` with rows of a matrix.
    fn dots(&self, matrix: &Self::Matrix, ids: &[u32], x: &[f32]) -> Result<Vec<f32>>;
}

/// A matrix and what is added to each row of its products.
pub struct Linear<'a, B: Backend + ?Sized> {
    /// `[n_out, n_in]`
    pub weight: &'a B::Matrix,
    /// `[n_out]`
    pub bias: Option<&'a B::Vector>,
}

/// A matrix as it lies in a file.
#[derive(Debug)]
pub struct RawTensor {
    /// How elements are coded.
    pub dtype: GgmlType,
    /// Row by row.
    pub bytes: Vec<u8>,
    /// Rows.
    pub n_out: usize,
    /// Elements of a row.
    pub n_in: usize,
}

impl RawTensor {
    /// The same as candle keeps it.
    ///
    /// # Errors
    /// If candle refuses it.
    pub fn to_candle(&self) -> Result<QTensor> {
        let (dtype, shape) = (candle_dtype(self.dtype), vec![self.n_out, self.n_in]);
        ggml_file::qtensor_from_ggml(dtype, &self.bytes, shape, &candle_core::Device::Cpu)
            .map_err(Error::engine("load a tensor"))
    }

    /// The elements as f32, `[n_out, n_in]`.
    ///
    /// # Errors
    /// If candle refuses it.
    pub fn to_floats(&self) -> Result<Vec<f32>> {
        let tensor = self.to_candle()?;
        let floats = || tensor.dequantize(&candle_core::Device::Cpu)?.flatten_all()?.to_vec1();
        floats().map_err(Error::engine("decode a tensor"))
    }
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
