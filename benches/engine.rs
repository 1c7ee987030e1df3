//! The hot paths: how fast is what? `README.md` says how to run them and what each measures.

mod ask;
mod decode;
mod embed;
mod metrics;
mod prefill;
mod speed;
mod text;
mod weights;

use criterion::{Criterion, criterion_group};

criterion_group! {
    name = benches;
    // Ten samples, the fewest that criterion allows: one takes seconds.
    config = Criterion::default().sample_size(10);
    targets = prefill::bench, decode::bench, embed::bench, metrics::bench, text::bench
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "speed") {
        return speed::run(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == "ask") {
        return ask::run(&args[1..]);
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
