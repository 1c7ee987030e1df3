//! Our own kernels on the processor: the same bits on every machine.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Backend, Linear, RawTensor};
use crate::engine::gguf::GgmlType;
use crate::engine::kernels::attention::{HeadShape, KvLayer, attention};
use crate::engine::kernels::float::Kind;
use crate::engine::kernels::quant::{self, Activations, Format, SUPER};
use crate::engine::kernels::rope::RopeTable;
use crate::engine::kernels::strips::{Output, Strips, product};
use crate::engine::kernels::{Cpu, float, huge, math};
use crate::engine::weights::WeightFormat;
use crate::error::{Error, Result};

/// The processor.
#[derive(Debug)]
pub struct CpuBackend {
    cpu: Arc<Cpu>,
    format: WeightFormat,
    /// The rows last multiplied with quantised weights.
    codes: Activations,
    spare: Spare,
}

/// Weights as the kernels read them.
#[derive(Debug)]
pub enum Matrix {
    /// Quantised.
    Quantised(quant::Panels),
    /// Floats of 16 or 32 bits.
    Float(float::Panels),
}

/// Rows of f32, `[rows, width]`, in memory that is used again: fresh megabytes cost as much as a norm.
#[derive(Debug)]
pub struct Floats {
    memory: Vec<f32>,
    len: usize,
    width: usize,
    home: Spare,
}

/// Memory that is not in use.
#[derive(Debug, Clone, Default)]
struct Spare(Arc<Mutex<Vec<Vec<f32>>>>);

impl Spare {
    /// Rows with any content: the smallest piece of memory that is large enough, or the largest, made larger.
    fn take(&self, n_rows: usize, width: usize) -> Floats {
        let len = n_rows * width;
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = (0..pieces.len()).filter(|&idx| pieces[idx].len() >= len).min_by_key(|&idx| pieces[idx].len());
        let idx = fitting.or_else(|| (0..pieces.len()).max_by_key(|&idx| pieces[idx].len()));
        let mut memory = idx.map(|idx| pieces.swap_remove(idx)).unwrap_or_default();
        if memory.len() < len {
            memory = huge::vec(len);
            memory.resize(len, 0.0);
        }
        Floats { memory, len, width, home: self.clone() }
    }
}

impl Floats {
    fn n_rows(&self) -> usize {
        self.len / self.width
    }

    fn get(&self) -> &[f32] {
        &self.memory[..self.len]
    }

    fn get_mut(&mut self) -> &mut [f32] {
        &mut self.memory[..self.len]
    }
}

impl Drop for Floats {
    fn drop(&mut self) {
        self.home.0.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.memory));
    }
}

impl CpuBackend {
    /// The processor, with what becomes of quantised weights.
    pub fn new(cpu: Arc<Cpu>, format: WeightFormat) -> Self {
        Self { cpu, format, codes: Activations::default(), spare: Spare::default() }
    }

    /// The products with quantised weights whose activations are coded by blocks of `block` elements.
    fn quantised_products(&mut self, layers: &[Linear<'_, Self>], x: &Floats, out: &mut [Floats], block: usize) {
        let mut outputs = outputs(layers, out, |matrix| matrix.quantised(block));
        if !outputs.is_empty() {
            self.codes.code(&self.cpu, x.get(), x.width, block);
            product(&self.cpu, &self.codes, &mut outputs);
        }
    }

    fn float_products(&self, layers: &[Linear<'_, Self>], x: &Floats, out: &mut [Floats]) {
        product(&self.cpu, x.get(), &mut outputs(layers, out, Matrix::float));
    }
}

/// The products with those matrices whose panels are of one type.
fn outputs<'a, P>(
    layers: &[Linear<'a, CpuBackend>],
    out: &'a mut [Floats],
    panels: impl Fn(&'a Matrix) -> Option<&'a P>,
) -> Vec<Output<'a, P>> {
    let places = layers.iter().zip(out);
    let output = |(layer, out): (&Linear<'a, CpuBackend>, &'a mut Floats)| {
        let weights = panels(layer.weight)?;
        Some(Output { weights, bias: layer.bias.map(Vec::as_slice), out: out.get_mut() })
    };
    places.filter_map(output).collect()
}

impl Matrix {
    /// The panels of weights whose activations are coded by blocks of `block` elements.
    fn quantised(&self, block: usize) -> Option<&quant::Panels> {
        match self {
            Self::Quantised(panels) => (panels.block() == block).then_some(panels),
            Self::Float(_) => None,
        }
    }

    fn float(&self) -> Option<&float::Panels> {
        match self {
            Self::Float(panels) => Some(panels),
            Self::Quantised(_) => None,
        }
    }

    fn n_out(&self) -> usize {
        match self {
            Self::Quantised(panels) => panels.n_out(),
            Self::Float(panels) => panels.n_out(),
        }
    }

    fn n_in(&self) -> usize {
        match self {
            Self::Quantised(panels) => panels.n_in(),
            Self::Float(panels) => panels.n_in(),
        }
    }

    /// One row as f32.
    fn decode(&self, row: usize, out: &mut [f32]) {
        match self {
            Self::Quantised(panels) => panels.decode(row, out),
            Self::Float(panels) => panels.decode(row, out),
        }
    }
}

/// Memory that a matrix will take.
pub fn planned_bytes(format: WeightFormat, dtype: GgmlType, n_out: usize, n_in: usize) -> usize {
    match (format, format_of(dtype)) {
        (WeightFormat::Quantised, Some(quantised)) => quant::Panels::bytes_of(quantised, n_out, n_in),
        _ => float::Panels::bytes_of(kind_of(dtype), n_out, n_in),
    }
}

/// How weights without a kernel for quantised ones are kept.
fn kind_of(dtype: GgmlType) -> Kind {
    match dtype {
        GgmlType::F16 => Kind::F16,
        GgmlType::BF16 => Kind::BF16,
        _ => Kind::F32,
    }
}

/// The kernel for a type, if there is one.
fn format_of(dtype: GgmlType) -> Option<Format> {
    match dtype {
        GgmlType::Q4_0 => Some(Format::Q4_0),
        GgmlType::Q4_1 => Some(Format::Q4_1),
        GgmlType::Q5_0 => Some(Format::Q5_0),
        GgmlType::Q5_1 => Some(Format::Q5_1),
        GgmlType::Q8_0 => Some(Format::Q8_0),
        GgmlType::Q4K => Some(Format::Q4K),
        GgmlType::Q5K => Some(Format::Q5K),
        GgmlType::Q6K => Some(Format::Q6K),
        GgmlType::F32
        | GgmlType::F16
        | GgmlType::BF16
        | GgmlType::Q8_1
        | GgmlType::Q2K
        | GgmlType::Q3K
        | GgmlType::Q8K => None,
    }
}

impl Backend for CpuBackend {
    type Rows = Floats;
    type Matrix = Matrix;
    type Vector = Vec<f32>;
    type Cache = Vec<KvLayer>;

    fn matrix(&mut self, tensor: RawTensor) -> Result<Matrix> {
        let RawTensor { dtype, n_out, n_in, .. } = tensor;
        let wrong = |message| Error::usage(format!("a matrix of the model cannot be used: {message}"), "");
        if self.format == WeightFormat::Quantised
            && let Some(format) = format_of(dtype)
        {
            let panels = quant::Panels::new(&self.cpu, format, &tensor.bytes, n_out, n_in);
            return panels.map(Matrix::Quantised).map_err(wrong);
        }
        let bytes = match dtype {
            GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => tensor.bytes,
            _ => tensor.to_floats()?.into_iter().flat_map(f32::to_le_bytes).collect(),
        };
        float::Panels::new(&self.cpu, kind_of(dtype), &bytes, n_out, n_in).map(Matrix::Float).map_err(wrong)
    }

    fn vector(&mut self, values: Vec<f32>) -> Result<Vec<f32>> {
        Ok(values)
    }

    fn matrix_bytes(matrix: &Matrix) -> usize {
        match matrix {
            Matrix::Quantised(panels) => panels.bytes(),
            Matrix::Float(panels) => panels.bytes(),
        }
    }

    fn cache(&self, shape: HeadShape, n_layers: usize, n_blocks: usize) -> Vec<KvLayer> {
        (0..n_layers).map(|_| KvLayer::new(shape, n_blocks)).collect()
    }

    fn embed(&mut self, matrix: &Matrix, ids: &[u32]) -> Result<Floats> {
        let n_in = matrix.n_in();
        let mut out = self.spare.take(ids.len(), n_in);
        self.cpu.pool.for_chunks(out.get_mut(), n_in, |row, out| matrix.decode(ids[row] as usize, out));
        Ok(out)
    }

    fn norm(&mut self, x: &Floats, weight: &Vec<f32>, eps: f32) -> Result<Floats> {
        let mut out = self.spare.take(x.n_rows(), x.width);
        math::rms_norm(&self.cpu, x.get(), weight, eps, out.get_mut());
        Ok(out)
    }

    fn products<const N: usize>(&mut self, layers: [Linear<'_, Self>; N], x: &Floats) -> Result<[Floats; N]> {
        let mut out = layers.each_ref().map(|layer| self.spare.take(x.n_rows(), layer.weight.n_out()));
        for block in [SUPER, 32] {
            self.quantised_products(&layers, x, &mut out, block);
        }
        self.float_products(&layers, x, &mut out);
        Ok(out)
    }

    fn rotate(&mut self, table: &RopeTable, mut x: Floats, positions: &[u32]) -> Result<Floats> {
        table.rotate(&self.cpu, x.get_mut(), positions);
        Ok(x)
    }

    fn store(
        &mut self,
        cache: &mut Vec<KvLayer>,
        layer_idx: usize,
        slots: &[u32],
        keys: Floats,
        values: Floats,
    ) -> Result<()> {
        cache[layer_idx].write(&self.cpu, slots, keys.get(), values.get());
        Ok(())
    }

    fn attend(&mut self, cache: &Vec<KvLayer>, layer_idx: usize, queries: Floats, slots: &[&[u32]]) -> Result<Floats> {
        let mut out = self.spare.take(queries.n_rows(), queries.width);
        attention(&self.cpu, queries.get(), &cache[layer_idx], slots, out.get_mut());
        Ok(out)
    }

    fn gate(&mut self, mut gate: Floats, up: Floats) -> Result<Floats> {
        math::swiglu(&self.cpu, gate.get_mut(), up.get());
        Ok(gate)
    }

    fn add(&mut self, mut x: Floats, y: Floats) -> Result<Floats> {
        math::add(&self.cpu, x.get_mut(), y.get());
        Ok(x)
    }

    fn select(&mut self, x: &Floats, rows: &[u32]) -> Result<Floats> {
        let mut out = self.spare.take(rows.len(), x.width);
        for (out, &row) in out.get_mut().chunks_exact_mut(x.width).zip(rows) {
            out.copy_from_slice(&x.get()[row as usize * x.width..][..x.width]);
        }
        Ok(out)
    }

    fn upload(&mut self, x: &[f32], width: usize) -> Result<Floats> {
        let mut out = self.spare.take(x.len() / width, width);
        out.get_mut().copy_from_slice(x);
        Ok(out)
    }

    fn read<T>(&self, x: &Floats, f: impl FnOnce(&[f32]) -> T) -> Result<T> {
        Ok(f(x.get()))
    }

    fn dots(&self, matrix: &Matrix, ids: &[u32], x: &[f32]) -> Result<Vec<f32>> {
        let mut row = vec![0.0; matrix.n_in()];
        let dot = |&id: &u32| {
            matrix.decode(id as usize, &mut row);
            math::dot(&self.cpu, x, &row)
        };
        Ok(ids.iter().map(dot).collect())
    }
}
