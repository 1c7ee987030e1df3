//! Products of f32 matrices through crate `gemm`: the same bits for a row, whatever the other rows are.

use gemm::Parallelism;
use rayon::prelude::*;

/// Products are computed for at least this many rows.
///
/// For one row, and for results of at most 256 elements, `gemm` sums in another order. From four rows on (the matrices
/// of language models have at least 128 columns) a row's result no longer depends on how many others there are.
pub const MIN_ROWS: usize = 4;

/// Up to this many rows `gemm` is faster with the result turned, since then it need not copy the weights into tiles;
/// above, turning the result back costs more. Measured by `cargo bench -- matmul`.
const FEW_ROWS: usize = 64;

/// x W^T for `x` `[rows, n_in]` and `weight` `[n_out, n_in]`, both row by row: `[rows, n_out]`.
///
/// # Panics
/// If there are fewer than [`MIN_ROWS`] rows, or a length is not a multiple of `n_in`.
pub fn matmul(x: &[f32], weight: &[f32], n_in: usize) -> Vec<f32> {
    assert!(x.len().is_multiple_of(n_in) && weight.len().is_multiple_of(n_in), "the slices hold whole rows");
    let (n_rows, n_out) = (x.len() / n_in, weight.len() / n_in);
    assert!(n_rows >= MIN_ROWS, "there are {n_rows} rows, expected at least {MIN_ROWS}");
    if n_rows > FEW_ROWS {
        return product(x, weight, n_in, Layout { row_stride: n_out, column_stride: 1 });
    }
    let turned = product(x, weight, n_in, Layout { row_stride: 1, column_stride: n_rows });
    turn(&turned, n_rows)
}

/// The transpose of a matrix whose rows have `width` elements.
fn turn(matrix: &[f32], width: usize) -> Vec<f32> {
    let height = matrix.len() / width;
    let mut out = vec![0f32; matrix.len()];
    out.par_chunks_mut(height).enumerate().for_each(|(column, out)| {
        for (out, row) in out.iter_mut().zip(matrix.chunks_exact(width)) {
            *out = row[column];
        }
    });
    out
}

/// Where element (row, column) of a result lies.
struct Layout {
    row_stride: usize,
    column_stride: usize,
}

fn product(x: &[f32], weight: &[f32], n_in: usize, to: Layout) -> Vec<f32> {
    let (n_rows, n_out) = (x.len() / n_in, weight.len() / n_in);
    let mut out = vec![0f32; n_rows * n_out];
    let parallelism = match rayon::current_num_threads() {
        1 => Parallelism::None,
        n_threads => Parallelism::Rayon(n_threads),
    };
    // SAFETY: `x` has n_rows rows of n_in floats, `weight` n_out of them, and `out` n_rows * n_out floats; either layout
    // of it addresses each of them once. `out` is borrowed by nobody else.
    unsafe {
        gemm::gemm(
            n_rows,
            n_out,
            n_in,
            out.as_mut_ptr(),
            to.column_stride as isize,
            to.row_stride as isize,
            false,
            x.as_ptr(),
            1,
            n_in as isize,
            weight.as_ptr(),
            n_in as isize,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernels::testing::floats;

    /// n_in and n_out as in small models; 576 is more than one of the pieces into which `gemm` cuts sums.
    const SIZES: [(usize, usize); 3] = [(576, 192), (64, 128), (1536, 130)];

    #[test]
    fn row_has_the_same_bits_among_any_number_of_rows() {
        for (n_in, n_out) in SIZES {
            let (x, weight) = (floats(1, 520 * n_in), floats(2, n_out * n_in));
            let all = matmul(&x, &weight, n_in);
            for n_rows in (MIN_ROWS..80).chain([127, 128, 129, 511, 513]) {
                let some = matmul(&x[..n_rows * n_in], &weight, n_in);
                assert!(some == all[..n_rows * n_out], "{n_rows} rows of {n_in} x {n_out}");
            }
        }
    }

    #[test]
    fn equals_the_sum_in_f64() {
        let (n_in, n_out, n_rows) = (100, 130, 5);
        let (x, weight) = (floats(3, n_rows * n_in), floats(4, n_out * n_in));
        let out = matmul(&x, &weight, n_in);
        for row in 0..n_rows {
            for column in 0..n_out {
                let pairs = x[row * n_in..].iter().zip(&weight[column * n_in..]).take(n_in);
                let expected: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                // 100 products below 1, each sum rounded to 2^-24 of at most 100.
                assert!((f64::from(out[row * n_out + column]) - expected).abs() < 1e-5);
            }
        }
    }
}
