//! The operations of candle on the processor: slower, and kept to compare with.
//!
//! Weights that candle's fast kernels know stay quantised, all others become f32. Attention, rotation and the gate are
//! the kernels of [`super::cpu`], since candle's cannot attend over scattered slots; their own tests compare them with
//! the textbook formulas. Sums of f32 products are cut by the size of the first cache (crate `gemm`), so bits are the
//! same on one kind of machine only.

use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QMatMul};
use candle_core::{Device, Module, Tensor};

use super::{Backend, Linear, RawTensor};
use crate::engine::gguf::GgmlType;
use crate::engine::kernels::attention::{HeadShape, KvLayer, attention};
use crate::engine::kernels::rope::RopeTable;
use crate::engine::kernels::{Cpu, math};
use crate::engine::weights::WeightFormat;
use crate::error::{Error, Result};

/// candle on the processor.
#[derive(Debug)]
pub struct Reference {
    cpu: Arc<Cpu>,
    format: WeightFormat,
}

/// Products are computed for at least this many rows: for one row, and for results of few elements, candle sums in
/// another order. From four rows on (the matrices of language models have at least 128 columns) a row's result no
/// longer depends on how many others there are.
const MIN_ROWS: usize = 4;

impl Reference {
    /// candle, with what becomes of quantised weights.
    pub fn new(cpu: Arc<Cpu>, format: WeightFormat) -> Self {
        Self { cpu, format }
    }
}

/// Memory that a matrix will take. For quantised weights the file's blocks and the tiles that candle makes of them at
/// first use (`candle-core/src/quantized/repack_x86.rs`: 3072 or 5120 bytes for 16 x 256 weights).
pub fn planned_bytes(format: WeightFormat, dtype: GgmlType, n_out: usize, n_in: usize) -> usize {
    let n = n_out * n_in;
    match (format, dtype) {
        (WeightFormat::Quantised, GgmlType::Q4K) => n / 256 * (144 + 3072 / 16),
        (WeightFormat::Quantised, GgmlType::Q6K) => n / 256 * (210 + 5120 / 16),
        _ => n * size_of::<f32>(),
    }
}

/// Names the operation that failed.
fn tried<T>(action: &'static str, f: impl FnOnce() -> candle_core::Result<T>) -> Result<T> {
    f().map_err(Error::engine(action))
}

/// A tensor from floats, `[rows, width]`.
fn tensor(x: Vec<f32>, width: usize) -> candle_core::Result<Tensor> {
    let n_rows = x.len() / width;
    Tensor::from_vec(x, (n_rows, width), &Device::Cpu)
}

fn floats(x: &Tensor) -> candle_core::Result<Vec<f32>> {
    x.flatten_all()?.to_vec1()
}

fn product(weight: &QMatMul, bias: Option<&Tensor>, x: &Tensor) -> candle_core::Result<Tensor> {
    let (n_rows, _) = x.dims2()?;
    let y = if n_rows >= MIN_ROWS || n_rows == 0 {
        weight.forward(x)?
    } else {
        let last = x.narrow(0, n_rows - 1, 1)?.repeat((MIN_ROWS - n_rows, 1))?;
        weight.forward(&Tensor::cat(&[x, &last], 0)?)?.narrow(0, 0, n_rows)?.contiguous()?
    };
    match bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

impl Backend for Reference {
    type Rows = Tensor;
    type Matrix = QMatMul;
    type Vector = Tensor;
    type Cache = Vec<KvLayer>;

    fn matrix(&mut self, raw: RawTensor) -> Result<QMatMul> {
        let weights = raw.to_candle()?;
        let is_fast = matches!(weights.dtype(), GgmlDType::Q4K | GgmlDType::Q6K);
        if self.format == WeightFormat::Quantised && is_fast {
            return Ok(QMatMul::QTensor(weights.into()));
        }
        Ok(QMatMul::Tensor(tried("decode a matrix", || weights.dequantize(&Device::Cpu))?))
    }

    fn vector(&mut self, values: Vec<f32>) -> Result<Tensor> {
        let n = values.len();
        tried("load a vector", || Tensor::from_vec(values, n, &Device::Cpu))
    }

    fn matrix_bytes(matrix: &QMatMul) -> usize {
        match matrix {
            QMatMul::Tensor(weight) | QMatMul::TensorF16(weight) => weight.elem_count() * size_of::<f32>(),
            QMatMul::QTensor(weight) => {
                let dtype = if weight.dtype() == GgmlDType::Q4K { GgmlType::Q4K } else { GgmlType::Q6K };
                planned_bytes(WeightFormat::Quantised, dtype, 1, weight.shape().elem_count())
            }
        }
    }

    fn cache(&self, shape: HeadShape, n_layers: usize, n_blocks: usize) -> Vec<KvLayer> {
        (0..n_layers).map(|_| KvLayer::new(shape, n_blocks)).collect()
    }

    fn embed(&mut self, matrix: &QMatMul, ids: &[u32]) -> Result<Tensor> {
        tried("look up an embedding", || matrix.embedding(&Tensor::new(ids, &Device::Cpu)?))
    }

    fn norm(&mut self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        tried("compute a norm", || candle_nn::ops::rms_norm(x, weight, eps))
    }

    fn products<const N: usize>(&mut self, layers: [Linear<'_, Self>; N], x: &Tensor) -> Result<[Tensor; N]> {
        let mut out = layers.each_ref().map(|_| x.clone());
        for (layer, out) in layers.iter().zip(&mut out) {
            *out = tried("multiply with weights", || product(layer.weight, layer.bias, x))?;
        }
        Ok(out)
    }

    fn rotate(&mut self, table: &RopeTable, x: Tensor, positions: &[u32]) -> Result<Tensor> {
        tried("rotate heads", || {
            let mut rotated = floats(&x)?;
            table.rotate(&self.cpu, &mut rotated, positions);
            tensor(rotated, x.dim(1)?)
        })
    }

    fn store(
        &mut self,
        cache: &mut Vec<KvLayer>,
        layer_idx: usize,
        slots: &[u32],
        keys: Tensor,
        values: Tensor,
    ) -> Result<()> {
        tried("keep keys and values", || {
            cache[layer_idx].write(&self.cpu, slots, &floats(&keys)?, &floats(&values)?);
            Ok(())
        })
    }

    fn attend(&mut self, cache: &Vec<KvLayer>, layer_idx: usize, queries: Tensor, slots: &[&[u32]]) -> Result<Tensor> {
        tried("attend", || {
            let mut out = vec![0.0; queries.elem_count()];
            attention(&self.cpu, &floats(&queries)?, &cache[layer_idx], slots, &mut out);
            tensor(out, queries.dim(1)?)
        })
    }

    fn gate(&mut self, gate: Tensor, up: Tensor) -> Result<Tensor> {
        tried("gate", || {
            let mut gated = floats(&gate)?;
            math::swiglu(&self.cpu, &mut gated, &floats(&up)?);
            tensor(gated, gate.dim(1)?)
        })
    }

    fn add(&mut self, x: Tensor, y: Tensor) -> Result<Tensor> {
        tried("add", || x + y)
    }

    fn select(&mut self, x: &Tensor, rows: &[u32]) -> Result<Tensor> {
        tried("select rows", || x.index_select(&Tensor::new(rows, &Device::Cpu)?, 0))
    }

    fn upload(&mut self, x: &[f32], width: usize) -> Result<Tensor> {
        tried("take rows", || tensor(x.to_vec(), width))
    }

    fn read<T>(&self, x: &Tensor, f: impl FnOnce(&[f32]) -> T) -> Result<T> {
        Ok(f(&tried("read rows", || floats(x))?))
    }

    fn dots(&self, matrix: &QMatMul, ids: &[u32], x: &[f32]) -> Result<Vec<f32>> {
        let rows = tried("read weights", || matrix.embedding(&Tensor::new(ids, &Device::Cpu)?)?.to_vec2::<f32>())?;
        Ok(rows.iter().map(|row| math::dot(&self.cpu, x, row)).collect())
    }
}
