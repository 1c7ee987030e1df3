//! `ragstone eval` on a good file: what is printed, and what is written?

use std::collections::BTreeMap;

use ragstone::metrics::METRICS;
use ragstone::sample::Column;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::{Bench, Ran, cell, refusal};

// Derived by hand from `tests/data/cli`:
// fees: 1 of 2 claims; three equal questions, (4 * 3 + 3 * 4) / 25; the useful context first; 1 of 1 sentence.
// 휴가-문의: 1 of 1 claim; 3 / 5; the useful context second; 1 of 2 sentences.
const TABLE: &str = "\
sample     faithfulness  answer_relevancy  context_precision  context_utilization  context_recall
-------------------------------------------------------------------------------------------------
fees              0.500             0.960              1.000                1.000           1.000
휴가-문의         1.000             0.600              0.500                0.500           0.500
-------------------------------------------------------------------------------------------------
mean              0.750             0.780              0.750                0.750           0.750
coverage            2/2               2/2                2/2                  2/2             2/2
";

const SCORES: &str = "\
id,user_input,faithfulness,answer_relevancy,context_precision,context_utilization,context_recall
fees,What does a transfer cost?,0.5,0.96,1,1,1
휴가-문의,휴가는 며칠인가요?,1,0.6,0.5,0.5,0.5
";

#[test]
fn table_is_all_of_stdout_and_the_folder_is_named_on_stderr() {
    let expected =
        Ran { stdout: TABLE.into(), stderr: "T s; records, scores and summary are in runs/good\n".into(), code: 0 };
    assert_eq!(Bench::new().eval("good.jsonl"), expected);
}

#[test]
fn columns_of_the_table_align_beside_korean_ids() {
    let stdout = Bench::new().eval("good.jsonl").stdout;
    let widths: Vec<usize> = stdout.lines().map(UnicodeWidthStr::width).collect();
    assert_eq!(widths, [widths[0]; 7]);
}

#[test]
fn scores_are_a_row_a_sample() {
    let bench = Bench::new();
    bench.eval("good.jsonl");
    assert_eq!(bench.read("runs/good/scores.csv"), SCORES);
}

#[test]
fn summary_has_means_with_their_denominators() {
    let bench = Bench::new();
    bench.eval("good.jsonl");
    let figures = |mean: f64| {
        json!({
            "mean": mean, "strict_mean": mean, "coverage": 1.0,
            "n_scored": 2, "n_unscored": 0, "n_failed": 0,
        })
    };
    let metrics = json!({
        "faithfulness": figures(0.75), "answer_relevancy": figures(0.78), "context_precision": figures(0.75),
        "context_utilization": figures(0.75), "context_recall": figures(0.75),
    });
    assert_eq!(bench.json("runs/good/summary.json"), json!({ "n_samples": 2, "metrics": metrics }));
}

#[test]
fn records_begin_with_what_determines_them() {
    let bench = Bench::new();
    bench.eval("good.jsonl");
    let (mut header, records) = bench.records("runs/good");
    for model in ["judge", "embedder"] {
        let sha256 = header[model]["pins"]["script"].take();
        assert_eq!(sha256.as_str().map(str::len), Some(64));
    }
    assert_eq!(header["prompts_sha256"].take().as_str().map(str::len), Some(64));
    let script = json!({ "name": "script", "pins": { "script": null }, "languages": [] });
    let metrics = ["faithfulness", "answer_relevancy", "context_precision", "context_utilization", "context_recall"];
    let expected = json!({
        "format": 1, "ragstone": env!("CARGO_PKG_VERSION"), "metrics": metrics, "prompts_sha256": null,
        "profile": "strict", "threshold": 0.5, "questions": 3, "seed": 0, "verdicts": "logits", "explain": "none",
        "claims": "written", "statements": "sentences", "window": 6, "atomicity": "low", "coverage": "low", "beta": 1.0, "weights": [0.75, 0.25],
        "distance": null, "similarity_threshold": null, "language": "auto",
        "judge": script, "embedder": script,
    });
    assert_eq!(header, expected);
    assert_eq!(records.len(), 2);
}

#[test]
fn record_holds_the_sample_and_what_each_score_rests_on() {
    let bench = Bench::new();
    bench.eval("good.jsonl");
    let (_, records) = bench.records("runs/good");
    assert_eq!(records[0]["language"], "en");
    assert_eq!(records[1]["language"], "ko");
    assert_eq!(records[1]["sample"]["retrieved_contexts"], json!(["구내식당은 열한 시에 연다.", "연차는 15일이다."]));
    let faithfulness = cell(&records[0], "faithfulness");
    let window = json!({ "contexts": [1, 2], "sentences": [1, 1] });
    let claims = json!([
        { "part": "claim", "text": "A transfer costs two euro.", "window": window, "verdict": true, "p_yes": 0.9 },
        { "part": "claim", "text": "A transfer takes one day.", "window": window, "verdict": false, "p_yes": 0.2 },
    ]);
    assert_eq!(faithfulness["outcome"], "scored");
    assert_eq!(faithfulness["evidence"], claims);
    assert_eq!(faithfulness["written"], json!(["A transfer costs two euro.\nA transfer takes one day."]));
    let contexts = json!([
        { "part": "context", "rank": 1, "verdict": false, "p_yes": 0.1 },
        { "part": "context", "rank": 2, "verdict": true, "p_yes": 0.9 },
    ]);
    assert_eq!(cell(&records[1], "context_precision")["evidence"], contexts);
}

#[test]
fn clock_and_machine_are_in_a_file_of_their_own() {
    let bench = Bench::new();
    bench.eval("good.jsonl");
    let info = bench.json("runs/good/run.json");
    assert_eq!(info["data"], "good.jsonl");
    assert_eq!(info["n_samples"], 2);
    assert!(info["started_unix_secs"].as_u64() > Some(1_700_000_000), "{info}");
    assert!(info["tokens_asked"].as_u64() > Some(0), "{info}");
}

#[test]
fn two_runs_give_the_same_bytes() {
    let bench = Bench::new();
    bench.eval("good.jsonl --out first");
    bench.eval("good.jsonl --out second");
    for name in ["records.jsonl", "scores.csv", "summary.json"] {
        assert_eq!(bench.read(&format!("first/{name}")), bench.read(&format!("second/{name}")), "{name}");
    }
}

#[test]
fn order_of_rows_changes_no_record() {
    let bench = Bench::new();
    let text = bench.read("good.jsonl");
    bench.write("reversed.jsonl", text.lines().rev().collect::<Vec<_>>().join("\n"));
    bench.eval("good.jsonl --out forward");
    bench.eval("reversed.jsonl --out back");
    let by_id = |folder| -> BTreeMap<String, Value> {
        bench.records(folder).1.into_iter().map(|record| (record["sample"]["id"].to_string(), record)).collect()
    };
    assert_eq!(by_id("forward"), by_id("back"));
    assert_eq!(bench.read("forward/summary.json"), bench.read("back/summary.json"));
}

#[test]
fn old_column_names_give_the_same_records() {
    let bench = Bench::new();
    let mut text = bench.read("good.jsonl");
    for (name, old) in [
        ("user_input", "question"),
        ("response", "answer"),
        ("retrieved_contexts", "contexts"),
        ("reference", "ground_truth"),
    ] {
        text = text.replace(&format!("\"{name}\":"), &format!("\"{old}\":"));
    }
    bench.write("old.jsonl", text);
    assert_eq!(bench.eval("old.jsonl --out old").code, 0);
    bench.eval("good.jsonl --out new");
    assert_eq!(bench.read("old/records.jsonl"), bench.read("new/records.jsonl"));
}

#[test]
fn json_list_gives_the_same_records() {
    let bench = Bench::new();
    let text = bench.read("good.jsonl");
    bench.write("list.json", format!("[\n{}\n]\n", text.lines().collect::<Vec<_>>().join(",\n")));
    assert_eq!(bench.eval("list.json --out list").code, 0);
    bench.eval("good.jsonl --out lines");
    assert_eq!(bench.read("list/records.jsonl"), bench.read("lines/records.jsonl"));
}

#[test]
fn metrics_that_are_named_are_each_scored_once_in_the_order_of_the_table() {
    let bench = Bench::new();
    let ran = bench.eval("good.jsonl --metrics context_recall,faithfulness,context_recall --metrics faithfulness");
    assert_eq!(ran.code, 0);
    assert_eq!(bench.read("runs/good/scores.csv").lines().next(), Some("id,user_input,faithfulness,context_recall"));
    assert_eq!(bench.records("runs/good").0["embedder"], Value::Null);
}

#[test]
fn all_metrics_are_those_whose_columns_the_file_has() {
    let columns = [Column::Id, Column::UserInput, Column::Response, Column::RetrievedContexts, Column::Reference];
    let fitting = |columns: &[Column]| -> Vec<&str> {
        let abouts = METRICS.iter().map(|metric| metric.about());
        abouts
            .filter(|about| about.columns.iter().all(|column| columns.contains(column)))
            .map(|about| about.name)
            .collect()
    };
    let bench = Bench::new();
    let ran = bench.eval("good.jsonl --metrics all");
    let left_out = "left out, as the file lacks a column of each: summary_score, nonllm_context_precision, \
                    nonllm_context_recall, id_based_context_precision, id_based_context_recall\n";
    assert!(ran.stderr.starts_with(left_out), "{}", ran.stderr);
    assert_eq!(bench.records("runs/good").0["metrics"], json!(fitting(&columns)));
    bench.write("bare.jsonl", r#"{"user_input": "Who?", "response": "Ann."}"#);
    bench.eval("bare.jsonl --metrics all");
    assert_eq!(bench.records("runs/bare").0["metrics"], json!(fitting(&columns[..3])));
    bench.write("asked.jsonl", r#"{"user_input": "Who?"}"#);
    let message = "error: `asked.jsonl`: no metric has all its columns; found `user_input`\n\
                   help: `ragstone metrics` lists which metric needs which columns";
    assert_eq!(bench.eval("asked.jsonl --metrics all"), refusal(message));
}

#[test]
fn limit_scores_the_first_rows() {
    let bench = Bench::new();
    bench.eval("good.jsonl --limit 1");
    let (_, records) = bench.records("runs/good");
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["sample"]["id"], "fees");
}

#[test]
fn questions_are_as_many_as_asked_for() {
    let bench = Bench::new();
    bench.eval("good.jsonl --questions 2");
    let (header, records) = bench.records("runs/good");
    assert_eq!(header["questions"], 2);
    let evidence = cell(&records[0], "answer_relevancy")["evidence"].as_array().expect("there is evidence").clone();
    let parts: Vec<&Value> = evidence.iter().map(|part| &part["part"]).collect();
    assert_eq!(parts, ["question", "question", "noncommittal"]);
}

#[test]
fn claims_are_held_against_all_contexts_at_once_where_that_is_asked_for() {
    let bench = Bench::new();
    bench.eval("good.jsonl --metrics faithfulness --window 1 --out sentences");
    bench.eval("good.jsonl --metrics faithfulness --window whole --out whole");
    let part = |folder: &str| cell(&bench.records(folder).1[0], "faithfulness")["evidence"][0].clone();
    assert_eq!(part("sentences")["window"], json!({ "contexts": [1, 1], "sentences": [1, 1] }));
    assert!(part("whole").get("window").is_none());
}

#[test]
fn options_are_in_the_header() {
    for (option, name, expected) in [
        ("--seed 7", "seed", json!(7)),
        ("--profile ragas", "profile", json!("ragas")),
        ("--verdicts written", "verdicts", json!("written")),
        ("--explain losses", "explain", json!("losses")),
        ("--statements written", "statements", json!("written")),
        ("--window 3", "window", json!(3)),
        ("--window whole", "window", Value::Null),
        ("--atomicity high", "atomicity", json!("high")),
        ("--coverage high", "coverage", json!("high")),
        ("--beta 0.5", "beta", json!(0.5)),
        ("--distance jaro-winkler", "distance", json!("jaro-winkler")),
        ("--weights 1,0", "weights", json!([1.0, 0.0])),
        ("--similarity-threshold -0.5", "similarity_threshold", json!(-0.5)),
    ] {
        let bench = Bench::new();
        bench.eval(&format!("good.jsonl --metrics faithfulness {option}"));
        assert_eq!(bench.records("runs/good").0[name], expected, "{option}");
    }
}

#[test]
fn language_of_the_prompts_follows_the_samples_or_the_flag() {
    let is_hangul = |c: char| ('가'..='힣').contains(&c);
    for (choice, languages, is_korean) in
        [("auto", ["en", "ko"], false), ("en", ["en", "en"], false), ("ko", ["ko", "ko"], true)]
    {
        let bench = Bench::new();
        bench.eval(&format!("good.jsonl --language {choice}"));
        let (header, records) = bench.records("runs/good");
        assert_eq!(header["language"], choice);
        assert_eq!([&records[0]["language"], &records[1]["language"]], languages);
        // The first sample has no Korean letter.
        bench.eval(&format!("good.jsonl --limit 1 --language {choice} --log log"));
        assert_eq!(bench.read("log").contains(is_hangul), is_korean, "{choice}");
    }
}

#[test]
fn log_holds_prompts_and_answers() {
    let bench = Bench::new();
    bench.eval("good.jsonl --log log");
    let log = bench.read("log");
    assert_eq!(log.matches("----- asked\n").count(), log.matches("----- answered\n").count());
    for part in [
        "A transfer is 2 euro and takes a day.",
        "----- answered\nA transfer costs two euro.\nA transfer takes one day.\n",
        "----- answered\nP(yes) = 0.9000\n",
        "----- asked\nHow much is a transfer?\n----- answered\na vector of 2 numbers\n",
        "구내식당은 열한 시에 연다.",
    ] {
        assert!(log.contains(part), "no `{part}` in {log}");
    }
}

#[test]
fn verbose_says_on_stderr_what_the_log_holds() {
    let bench = Bench::new();
    let ran = bench.eval("good.jsonl --verbose --log log");
    assert_eq!(ran.stdout, TABLE);
    assert!(ran.stderr.starts_with(&bench.read("log")), "{}", ran.stderr);
}

#[test]
fn long_table_is_cut_and_says_so() {
    let bench = Bench::new();
    let first = bench.read("good.jsonl").lines().next().expect("there is a line").to_owned();
    let rows: Vec<String> = (0..45).map(|idx| first.replace("\"fees\"", &format!("\"fees {idx}\""))).collect();
    bench.write("long.jsonl", rows.join("\n"));
    let ran = bench.eval("long.jsonl --metrics faithfulness");
    assert!(ran.stdout.contains("\nfees 39          0.500\n... and 5 more in scores.csv\n---"), "{}", ran.stdout);
    assert_eq!(bench.read("runs/long/scores.csv").lines().count(), 46);
}

#[test]
fn quickstart_scores_the_built_in_example() {
    let bench = Bench::new();
    let ran = bench.run("quickstart --script script.toml");
    // The script knows nothing of the example.
    assert_eq!(ran.code, 3);
    assert_eq!(
        ran.stderr,
        "the built-in example: 11 samples; see examples/README.md for what is wrong with which\n\
         T s; records, scores and summary are in runs/quickstart\n"
    );
    assert_eq!(bench.records("runs/quickstart").1.len(), 11);
}
