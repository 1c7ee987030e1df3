//! `ragstone report`: the scores of a run again, in either profile, with no model and no script.

use serde_json::{Value, json};

use super::{Bench, Ran, cell, refusal};

/// Answers to whatever is asked, so that every metric has its parts.
const ANSWERS: &str = r#"
write = [{ has = ["fails"], fails = "the judge is tired" }, { text = "One thing.\nAnother thing." }]
verdict = [{ has = ["Another thing."], p_yes = 0.2 }, { has = ["One thing."], p_yes = 0.8 }, { has = ["The branch opens at nine."], p_yes = 0.3 }, { p_yes = 0.9 }]
rating = [{ levels = [0.125, 0.625, 0.25] }]
embed = [{ has = ["thing"], vector = [3, 4] }, { has = ["transfer"], vector = [4, 3] }, { vector = [1, 0] }]
"#;

const RUBRICS: &str = r#"
[[rubric]]
name = "polite"
definition = "Is the answer polite?"

[[rubric]]
name = "detail"
definition = "How detailed is the answer?"
levels = ["Nothing.", "The rule.", "The rule and its exceptions."]
"#;

/// Rows with every kind of outcome: good ones, one whose questions fail, without contexts, without columns, unreadable.
const ROWS: &str = r#"
{"id": "fees", "user_input": "What does a transfer cost?", "retrieved_contexts": ["A transfer costs 2 euro.", "The branch opens at nine."], "response": "A transfer is 2 euro.", "reference": "It is 2 euro. It takes a day.", "reference_contexts": ["A transfer costs 2 euro and takes a day."]}
{"id": "ranked", "user_input": "When?", "retrieved_contexts": ["The branch opens at nine.", "A transfer costs 2 euro."], "response": "At nine.", "reference": "At nine.", "reference_contexts": ["It opens at nine."], "note": {"page": 0.1}}
{"id": "tired", "user_input": "Why?", "retrieved_contexts": ["A fee fails."], "response": "It fails.", "reference": "It fails.", "reference_contexts": ["It fails."]}
{"id": "empty", "user_input": "Who?", "retrieved_contexts": [], "response": "Ann.", "reference": "Bo.", "reference_contexts": []}
{"id": "short", "user_input": "Who?"}
{"id": "typed", "user_input": 5}
"#;

/// A folder in which `ROWS` were scored by every metric, in `runs/strict` and in `runs/ragas`.
fn scored() -> Bench {
    let bench = Bench::new();
    bench.write("rows.jsonl", ROWS);
    bench.write("answers.toml", ANSWERS);
    bench.write("own.toml", RUBRICS);
    for profile in ["strict", "ragas"] {
        let args = "eval rows.jsonl --script answers.toml --metrics all --rubric own.toml";
        let ran = bench.run(&format!("{args} --profile {profile} --out runs/{profile}"));
        assert_eq!(ran.code, 3, "{}", ran.stderr);
    }
    bench
}

/// A folder in which `good.jsonl` was scored by one metric, with these lines of the records changed.
fn changed(change: impl Fn(usize, &str) -> String) -> Bench {
    let bench = Bench::new();
    assert_eq!(bench.eval("good.jsonl --metrics faithfulness").code, 0);
    let text = bench.read("runs/good/records.jsonl");
    let lines: Vec<String> = text.lines().enumerate().map(|(idx, line)| change(idx, line)).collect();
    bench.write("runs/changed/records.jsonl", lines.join("\n"));
    bench
}

/// What is said of a line of the records.
fn refused_line(line: usize, what: &str) -> Ran {
    let message = format!("error: `runs/changed/records.jsonl` line {line}: is no record of a run: {what}");
    refusal(&format!("{message}\nhelp: name the folder of a run, as `ragstone eval` of this version leaves it"))
}

/// What is said of a record that was edited.
fn refused_record(what: &str) -> Ran {
    let help = "help: a record is written by `ragstone eval` and not edited";
    refusal(&format!("error: the record of `fees` {what}\n{help}"))
}

#[test]
fn report_in_the_profile_of_the_run_prints_the_table_of_the_run() {
    let bench = Bench::new();
    let table = bench.eval("good.jsonl").stdout;
    // Nobody is asked: the script is gone, and no model is in the store.
    std::fs::remove_file(bench.path().join("script.toml")).expect("it is there");
    let expected = Ran { stdout: table, stderr: String::new(), code: 0 };
    assert_eq!(bench.run("report runs/good"), expected);
    assert_eq!(bench.run("report runs/good --profile strict"), expected);
    assert!(!bench.path().join("home").exists(), "a store was made");
}

#[test]
fn report_in_the_other_profile_gives_the_bytes_of_a_run_in_it() {
    let bench = scored();
    for (from, to) in [("strict", "ragas"), ("ragas", "strict"), ("strict", "strict")] {
        let ran = bench.run(&format!("report runs/{from} --profile {to} --out again/{from}-{to}"));
        assert_eq!(ran.stderr, format!("records, scores and summary are in again/{from}-{to}\n"));
        for name in ["records.jsonl", "scores.csv", "summary.json"] {
            let (found, expected) =
                (bench.read(&format!("again/{from}-{to}/{name}")), bench.read(&format!("runs/{to}/{name}")));
            assert!(found == expected, "{name} of {from} in {to}: found {found}\nexpected {expected}");
        }
    }
    assert_ne!(bench.read("runs/strict/scores.csv"), bench.read("runs/ragas/scores.csv"));
    // Nothing ran, so there is nothing of clock and machine.
    assert!(!bench.path().join("again/strict-ragas/run.json").exists());
    // And there and back again.
    bench.run("report again/strict-ragas --profile strict --out again/back");
    assert_eq!(bench.read("again/back/records.jsonl"), bench.read("runs/strict/records.jsonl"));
}

#[test]
fn profile_of_ragas_has_its_epsilon() {
    let bench = Bench::new();
    bench.eval("good.jsonl --metrics context_precision");
    let ran = bench.run("report runs/good --profile ragas --out ragas");
    assert_eq!(ran.code, 0);
    // One useful context of two, first and second: 1 / (1 + 1e-10), and half of it.
    let scores = |folder: &str| {
        let (_, records) = bench.records(folder);
        records.iter().map(|record| cell(record, "context_precision")["score"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(scores("ragas"), [json!(0.9999999999), json!(0.49999999995)]);
    assert_eq!(scores("runs/good"), [json!(1.0), json!(0.5)]);
    assert_eq!(bench.records("ragas").0["profile"], "ragas");
}

#[test]
fn failed_cells_keep_their_reason_and_the_exit_code() {
    let bench = scored();
    let ran = bench.run("report runs/strict --profile ragas --out again");
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("] the judge is tired\n"), "{}", ran.stdout);
    let (_, records) = bench.records("again");
    let reason = |idx: usize| &cell(&records[idx], "faithfulness")["reason"];
    assert_eq!(reason(2), "the judge is tired");
    let unread = "the row could not be read: line 7, column `user_input`: found a number, `5`, expected a text";
    assert_eq!(reason(5), unread);
    assert_eq!(cell(&records[5], "faithfulness")["outcome"], "failed");
}

#[test]
fn folder_that_is_there_already_is_refused() {
    let bench = Bench::new();
    bench.eval("good.jsonl --metrics faithfulness");
    let before = bench.read("runs/good/records.jsonl");
    let message =
        "error: `runs/good` already holds a run: found `records.jsonl`\nhelp: name another folder with `--out DIR`";
    assert_eq!(bench.run("report runs/good --profile ragas --out runs/good"), refusal(message));
    assert_eq!(bench.read("runs/good/records.jsonl"), before);
    bench.write("mine/scores.csv", "mine");
    let message = "error: `mine` already holds a run: found `scores.csv`\nhelp: name another folder with `--out DIR`";
    assert_eq!(bench.run("report runs/good --out mine"), refusal(message));
    assert_eq!(bench.read("mine/scores.csv"), "mine");
}

#[test]
fn folder_without_a_run_is_refused() {
    let bench = Bench::new();
    let missing = "No such file or directory (os error 2)";
    let message = format!("error: cannot read `nowhere/records.jsonl`: {missing}");
    assert_eq!(bench.run("report nowhere"), refusal(&message));
    let message = "error: cannot read `good.jsonl/records.jsonl`: Not a directory (os error 20)";
    assert_eq!(bench.run("report good.jsonl"), refusal(message));
}

#[test]
fn file_that_is_no_run_is_refused_with_its_line() {
    let line = |wrong: usize, text: &'static str| {
        changed(move |idx, line| if idx == wrong { text.to_owned() } else { line.to_owned() })
            .run("report runs/changed")
    };
    let cut = changed(|idx, line| if idx == 1 { line[..40].to_owned() } else { line.to_owned() });
    assert_eq!(cut.run("report runs/changed"), refused_line(2, "EOF while parsing a string"));
    assert_eq!(changed(|_, _| String::new()).run("report runs/changed"), refused_line(1, "EOF while parsing a value"));
    assert_eq!(line(0, r#"{"user_input": "Who?", "response": "Ann."}"#), refused_line(1, "missing field `format`"));
    assert_eq!(line(1, "records"), refused_line(2, "expected value"));
    assert_eq!(line(1, "{}"), refused_line(2, "missing field `sample`"));
    let bench = Bench::new();
    bench.write("runs/changed/records.jsonl", "");
    assert_eq!(bench.run("report runs/changed"), refused_line(1, "the file is empty"));
}

#[test]
fn run_that_was_interrupted_is_reported_as_far_as_it_came() {
    // The last line has no line break: it was being written.
    let cut = changed(|idx, line| if idx == 2 { line[..40].to_owned() } else { line.to_owned() });
    let ran = cut.run("report runs/changed");
    assert_eq!(ran.stderr, "warning: the run was not finished; these are its first 1 samples\n");
    assert!(ran.stdout.contains("\ncoverage           1/1\n") && ran.code == 0, "{}", ran.stdout);
}

#[test]
fn run_of_another_format_is_refused() {
    let bench = changed(|_, line| line.replace(r#"{"format":1,"#, r#"{"format":2,"#));
    assert_eq!(bench.run("report runs/changed"), refused_line(1, "found format 2, expected 1"));
}

#[test]
fn metric_that_is_not_known_is_refused() {
    let bench = changed(|_, line| line.replace(r#""faithfulness""#, r#""honesty""#));
    let version = env!("CARGO_PKG_VERSION");
    let message = "error: the run has a metric `honesty`, which this version does not know";
    let help = format!("help: the run was made by ragstone {version}, and this is {version}");
    assert_eq!(bench.run("report runs/changed"), refusal(&format!("{message}\n{help}")));
}

#[test]
fn record_that_was_edited_is_refused() {
    let check = |old: &'static str, new: &'static str| {
        let bench = changed(move |idx, line| if idx == 0 { line.to_owned() } else { line.replacen(old, new, 1) });
        bench.run("report runs/changed")
    };
    let other = r#"{"metric":"context_recall""#;
    assert_eq!(check(r#"{"metric":"faithfulness""#, other), refused_record("has other metrics than the header"));
    assert_eq!(
        check(r#""response":"#, r#""answer":"#),
        refused_record("has no `response`, from which `faithfulness` was judged")
    );
    let rating = r#""evidence":[{"part":"rating","levels":[1],"most_likely":0,"expected":0.0},"#;
    assert_eq!(
        check(r#""evidence":["#, rating),
        refused_record("has figures of `faithfulness` that are out of their range")
    );
}

#[test]
fn cell_that_lost_its_evidence_fails() {
    let bench = scored();
    let text = bench.read("runs/strict/records.jsonl");
    bench.write("runs/lost/records.jsonl", text.replace(r#"[{"part":"similarity","cosine":0.8}]"#, "[]"));
    let ran = bench.run("report runs/lost --out again");
    assert_eq!(ran.code, 3);
    let (_, records) = bench.records("again");
    assert_eq!(cell(&records[0], "semantic_similarity")["reason"], "the record holds no cosine of the texts");
}

#[test]
fn header_that_was_edited_is_refused() {
    let message = "error: the run has a `beta` or `weights` with which there is no score\n\
                   help: a header is written by `ragstone eval` and not edited";
    for (old, new) in [(r#""beta":1.0"#, r#""beta":0.0"#), (r#""weights":[0.75,0.25]"#, r#""weights":[0,0]"#)] {
        let bench = changed(|_, line| line.replace(old, new));
        assert_eq!(bench.run("report runs/changed"), refusal(message));
    }
}
