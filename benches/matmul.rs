//! Products of f32 matrices in the shapes of the small judges: from how many rows on is which way faster?

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use ragstone::engine::kernels::matmul::matmul;

/// Layers as `(name, n_in, n_out)`.
const SHAPES: [(&str, usize, usize); 6] = [
    ("135m_q", 576, 576),
    ("135m_ffn_up", 576, 1536),
    ("135m_ffn_down", 1536, 576),
    ("0.5b_q", 896, 896),
    ("0.5b_ffn_up", 896, 4864),
    ("0.5b_ffn_down", 4864, 896),
];

/// Rows: those of one stream (which is computed as four), of several, both sides of the change at 64, and prefill.
const ROWS: [usize; 7] = [4, 8, 32, 64, 65, 128, 512];

/// `matmul/SHAPE/ROWS`, in floating-point operations a second.
pub fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matmul");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (name, n_in, n_out) in SHAPES {
        let weight = floats(n_out * n_in);
        for n_rows in ROWS {
            let x = floats(n_rows * n_in);
            group.throughput(Throughput::Elements(2 * (n_rows * n_in * n_out) as u64));
            group.bench_function(BenchmarkId::new(name, n_rows), |bencher| {
                bencher.iter(|| matmul(black_box(&x), black_box(&weight), n_in));
            });
        }
    }
}

/// Floats of size one; their values do not change the speed.
fn floats(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}
