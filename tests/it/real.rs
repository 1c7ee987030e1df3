//! Every metric on real weights: does each give scores over the example?

use std::collections::BTreeMap;

use ragstone::dataset::Dataset;
use ragstone::engine::Options;
use ragstone::metrics::rubric::OwnMetric;
use ragstone::metrics::{METRICS, Metric};
use ragstone::record::{PinnedModel, Record, Rubric};
use ragstone::respond::judge::Judge;
use ragstone::respond::local::LocalModels;
use ragstone::run::{self, Plan};
use ragstone::sample::Sample;
use ragstone::settings::{Explain, Settings, VerdictMode};

use crate::weights::{MINILM, QWEN};

/// One row in each language, of which nothing is wrong.
const ROWS: [&str; 2] = ["en-good-1", "ko-good"];

fn models() -> Option<LocalModels> {
    let pinned = |name: &str| PinnedModel {
        name: name.to_owned(),
        pins: BTreeMap::new(),
        languages: Vec::new(),
        checked: Vec::new(),
    };
    let judge = Judge::new(pinned(QWEN.name), QWEN.engine(Options::default())?);
    Some(LocalModels::new(Some(judge), Some((pinned(MINILM.name), MINILM.embedder(2)?))))
}

fn samples() -> Vec<Sample> {
    let rows = Dataset::read("quickstart.jsonl".as_ref(), include_bytes!("../../examples/quickstart.jsonl").as_slice());
    let all = rows.and_then(Iterator::collect::<Result<Vec<Sample>, _>>).expect("the example can be read");
    let samples: Vec<Sample> = all.into_iter().filter(|sample| ROWS.contains(&sample.id.as_str())).collect();
    assert_eq!(samples.len(), ROWS.len());
    samples
}

fn check(plan: &Plan<'_>, models: &mut LocalModels) -> Vec<Record> {
    let mut records = Vec::new();
    let mut sink = |record| {
        records.push(record);
        Ok(())
    };
    run::run(samples().into_iter().map(Ok), plan, models, &mut sink, &mut |_| ()).expect("nothing ends the run");
    records
}

/// A criterion and a rubric of levels.
fn own() -> [OwnMetric; 2] {
    let rubric = |name: &str, levels: &[&str]| {
        let levels = levels.iter().map(|level| (*level).to_owned()).collect();
        OwnMetric::new(Rubric {
            name: name.to_owned(),
            definition: "Does the answer name a number?".to_owned(),
            levels,
        })
    };
    [rubric("number", &[]), rubric("numbers", &["It names none.", "It names one.", "It names several."])]
}

#[test]
fn every_metric_scores_the_example() {
    let Some(mut models) = models() else { return };
    let own = own();
    let metrics = METRICS.iter().copied().chain(own.iter().map(|metric| metric as &dyn Metric)).collect();
    let plan = Plan { metrics, ..Plan::default() };
    let records = check(&plan, &mut models);
    for (idx, metric) in plan.metrics.iter().enumerate() {
        let about = metric.about();
        let scores: Vec<f64> = records.iter().filter_map(|record| record.cells[idx].outcome.score()).collect();
        let (least, most) = about.range;
        // This judge cannot write every list, least in Korean; quotations there are none.
        assert!(!scores.is_empty() || about.name == "quoted_spans", "`{}` has no score", about.name);
        assert!(scores.iter().all(|score| (least..=most).contains(score)), "`{}`: {scores:?}", about.name);
    }
}

#[test]
fn written_verdicts_and_explanations_have_reasons() {
    let Some(mut models) = models() else { return };
    let metric = |name| METRICS.iter().copied().find(|metric| metric.about().name == name).expect("it is in the table");
    let metrics = vec![metric("context_precision"), metric("nv_answer_accuracy")];
    for (verdicts, explain) in [(VerdictMode::Written, Explain::None), (VerdictMode::Logits, Explain::All)] {
        let settings = Settings { verdicts, explain, ..Settings::default() };
        let plan = Plan { metrics: metrics.clone(), settings, ..Plan::default() };
        for record in check(&plan, &mut models) {
            for cell in record.cells {
                let evidence = serde_json::to_value(&cell.evidence).expect("evidence is plain data");
                let parts = evidence.as_array().expect("every cell was judged");
                assert!(parts.iter().all(|part| part["reason"].is_string()), "{evidence}");
            }
        }
    }
}
