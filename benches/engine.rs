//! The hot paths: how fast is what? `README.md` says how to run them and what each measures.

mod decode;
mod matmul;
mod metrics;
mod prefill;
mod weights;

use criterion::{Criterion, criterion_group, criterion_main};

criterion_group! {
    name = benches;
    // Ten samples, the fewest that criterion allows: one takes seconds.
    config = Criterion::default().sample_size(10);
    targets = matmul::bench, prefill::bench, decode::bench, metrics::bench
}
criterion_main!(benches);
