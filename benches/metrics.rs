//! The whole thing: how long do the five metrics take on the quickstart's samples?

use std::collections::BTreeMap;
use std::path::Path;

use criterion::{Criterion, Throughput};
use ragstone::dataset::Dataset;
use ragstone::record::PinnedModel;
use ragstone::respond::judge::Judge;
use ragstone::respond::local::LocalModels;
use ragstone::run::{self, Plan};

use crate::weights::{self, EMBEDDER, EXAMPLE, JUDGES};

/// `metrics/JUDGE` with the larger judge, in samples a second; the tokens of a run are printed.
pub fn bench(criterion: &mut Criterion) {
    let judge = JUDGES[1];
    let (Some(gguf), Some(embedder)) = (weights::gguf(judge), weights::folder(EMBEDDER)) else { return };
    let mut group = criterion.benchmark_group("metrics");
    group.throughput(Throughput::Elements(EXAMPLE.lines().count() as u64));
    let mut models = None;
    let mut n_runs = 0;
    group.bench_function(judge, |bencher| {
        let models = models.get_or_insert_with(|| load(judge, &gguf, &embedder));
        bencher.iter(|| {
            score_example(models);
            n_runs += 1;
        });
    });
    if let Some(counts) = models.as_ref().map(LocalModels::counts) {
        let [asked, computed, written] = [counts.asked, counts.computed, counts.written].map(|count| count / n_runs);
        eprintln!("tokens a run: {asked} asked, {computed} computed, {written} of them written");
    }
}

fn load(judge: &str, gguf: &Path, embedder: &Path) -> LocalModels {
    let pinned = |name: &str| PinnedModel {
        name: name.to_owned(),
        pins: BTreeMap::new(),
        languages: Vec::new(),
        checked: Vec::new(),
    };
    let embedder = weights::embedder(embedder);
    LocalModels::new(Some(Judge::new(pinned(judge), weights::engine(gguf))), Some((pinned(EMBEDDER), embedder)))
}

fn score_example(models: &mut LocalModels) {
    let plan = Plan::default();
    let rows = Dataset::read(Path::new("quickstart.jsonl"), EXAMPLE.as_bytes()).expect("the example is well-formed");
    run::run(rows, &plan, models, &mut |_| Ok(()), &mut |_| ()).expect("the models answer");
}
