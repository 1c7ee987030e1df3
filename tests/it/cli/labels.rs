//! `ragstone judge-check` and `ragstone calibrate`: the judge beside people's labels.

use serde_json::{Value, json};

use super::{Bench, Ran, refusal};

/// The judge finds what is `sound` likely, and what is not unlikely.
const SCRIPT: &str = r#"
verdict = [{ has = ["unsound."], p_yes = 0.2 }, { has = ["sound."], p_yes = 0.9 }, { p_yes = 0.5 }]
"#;

/// Twelve statements that people accept and twelve that they do not; the judge is wrong on one of each.
fn labels() -> String {
    let row = |idx: usize| {
        let (is_yes, is_mistaken) = (idx.is_multiple_of(2), idx < 2);
        let word = if is_yes == is_mistaken { "unsound" } else { "sound" };
        json!({
            "id": format!("s{idx}"), "statement": format!("Statement {idx} is {word}."), "label": u8::from(is_yes),
            "retrieved_contexts": ["A context."], "group": format!("g{}", idx / 2),
        })
    };
    (0..24).map(|idx| row(idx).to_string() + "\n").collect()
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("labels.jsonl", labels());
    bench.write("judge.toml", SCRIPT);
    bench
}

/// The program's answer to `judge-check` with these arguments.
fn check(bench: &Bench, args: &str) -> Ran {
    bench.run(&format!("judge-check --script judge.toml {args}"))
}

/// The cells of a table's row.
fn cells(ran: &Ran, row: usize) -> Vec<String> {
    let line = ran.stdout.lines().nth(2 + row).unwrap_or_else(|| panic!("no row {row} in {}", ran.stdout));
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn judge_is_compared_with_people() {
    let bench = bench();
    let ran = check(&bench, "--data labels.jsonl");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let row = cells(&ran, 0);
    assert_eq!(&row[..4], ["labels", "en", "supported", "24"]);
    // Of 144 pairs of a yes and a no row 121 are in order and 22 tied: 132 / 144. Right are 11 of 12 of either.
    assert!(row[4].starts_with("0.92 [") && row[6].starts_with("0.92 ["), "{row:?}");
    // Agreement 22/24, by chance 1/2: 5/6. Brier (22 rows: 11 * 0.01 + 11 * 0.04; 0.64 + 0.81) / 24 = 2 / 24.
    assert_eq!([&row[8], &row[9]], ["0.83", "0.08"]);
    // All statements share as many words with their context.
    assert_eq!(row[5], "0.50");
    let json = bench.json("judge-check/check.json");
    assert_eq!(json["judge"]["name"], "script");
    let worst: Vec<&Value> =
        json["figures"][0]["disagreements"].as_array().expect("a list").iter().map(|row| &row["id"]).collect();
    assert_eq!(worst, ["s1", "s0"]);
    for name in ["check.md", "check.html"] {
        assert!(bench.read(&format!("judge-check/{name}")).contains("Statement 1 is sound."), "{name}");
    }
}

#[test]
fn statement_that_says_nothing_is_supported_by_nothing() {
    let bench = bench();
    let row = |statement: &str, label| {
        json!({ "statement": statement, "retrieved_contexts": ["A context."], "label": label }).to_string() + "\n"
    };
    bench.write("empty.jsonl", row("It is sound.", 1) + &row(" … !", 0));
    let ran = check(&bench, "--data empty.jsonl");
    assert_eq!((ran.code, &cells(&ran, 0)[3..5]), (0, &["2".to_owned(), "1.00".to_owned()][..]), "{}", ran.stderr);
}

#[test]
fn calibration_corrects_the_verdicts_of_the_same_judge() {
    let bench = bench();
    assert_eq!(check(&bench, "--data labels.jsonl").code, 0);
    let calibration = bench.read("judge-check/calibration.toml");
    assert!(calibration.contains("task = \"supported\"\nlanguage = \"en\"\n"), "{calibration}");
    let row =
        json!({ "id": "r", "user_input": "Q", "reference": "It is sound.", "retrieved_contexts": ["A context."] });
    bench.write("rows.jsonl", row.to_string());
    let args = "rows.jsonl --metrics context_recall --script judge.toml --calibration judge-check/calibration.toml";
    assert_eq!(bench.run(&format!("eval {args}")).code, 0);
    let (header, records) = bench.records("runs/rows");
    assert_eq!(header["corrections"][0]["task"], "supported");
    // Eleven of twelve that scored 0.9 were accepted: Platt's scaling of two scores gives their smoothed shares, near 0.92.
    let p_yes = records[0]["cells"][0]["evidence"][0]["p_yes"].as_f64().expect("a number");
    assert!((0.85..0.95).contains(&p_yes) && p_yes != 0.9, "{p_yes}");
    // What was corrected already is not corrected anew.
    let again = check(&bench, "--data labels.jsonl --calibration judge-check/calibration.toml --out corrected");
    assert_eq!((again.code, bench.path().join("corrected/calibration.toml").exists()), (0, false));
    let words = calibration.lines().find(|line| line.starts_with("words_sha256")).expect("the words are named");
    bench.write("old.toml", calibration.replace(words, "words_sha256 = \"00\""));
    let message = "error: calibration file `old.toml`: `supported` (en) was measured with other words than this version \
                   asks in\nhelp: run `ragstone judge-check` again with this version";
    assert_eq!(check(&bench, "--data labels.jsonl --calibration old.toml --out old"), refusal(message));
    bench.write("judge.toml", format!("{SCRIPT}\n# another judge\n"));
    let message = "error: the calibration is for the judge `script`, and the run uses `script`\n\
                   help: weights, template or arithmetic differ; run `ragstone judge-check` with this judge";
    assert_eq!(bench.run(&format!("eval {args} --out again")), refusal(message));
}

#[test]
fn rows_are_taken_from_folders_and_no_more_than_asked_for() {
    let bench = bench();
    std::fs::create_dir(bench.path().join("sets")).expect("the folder is ours");
    bench.write("sets/b.jsonl", labels());
    bench.write("sets/a.jsonl", labels());
    bench.write("sets/notes.txt", "not a set");
    let ran = check(&bench, "--data sets labels.jsonl --rows 10");
    let names: Vec<String> = (0..3).map(|row| cells(&ran, row)[..4].join(" ")).collect();
    assert_eq!(names, ["a en supported 10", "b en supported 10", "labels en supported 10"]);
    assert_eq!(
        check(&bench, "--data sets"),
        refusal(
            "error: `judge-check` already holds a check: found `check.json`\nhelp: name another folder with `--out DIR`",
        )
    );
}

#[test]
fn columns_decide_what_is_asked() {
    let bench = bench();
    let rows = [
        json!({ "id": "a", "user_input": "Q?", "response": "It is sound.", "label": 1, "pair": 1 }),
        json!({ "id": "b", "user_input": "Q?", "response": "It is unsound.", "label": 0, "pair": 1 }),
        json!({ "id": "c", "user_input": "Q?", "response_a": "It is sound.", "response_b": "X.", "reference": "Y.", "label": -0.5 }),
        json!({ "id": "d", "user_input": "Q?", "retrieved_contexts": ["It is sound."], "label": 1 }),
        json!({ "id": "e", "user_input": "Q?", "response": "No label." }),
    ];
    bench.write("mixed.jsonl", rows.map(|row| row.to_string()).join("\n"));
    bench.write(
        "judge.toml",
        format!(
            "{SCRIPT}\n{}",
            r#"
        write = [{ text = "Which?" }]
        embed = [{ vector = [1.0, 0.0] }]
        rating = [{ has = ["sound."], levels = [0.0, 0.0, 1.0] }, { levels = [1.0, 0.0, 0.0] }]
    "#
        ),
    );
    let ran = check(&bench, "--data mixed.jsonl");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let row = |row| cells(&ran, row);
    // B less A is 0 - 1, as people said: the pair is in order.
    assert_eq!([&row(0)[2], &row(0)[11]], ["nv_answer_accuracy", "1.00"]);
    assert_eq!([&row(1)[2], &row(2)[2]], ["context_relevance", "nv_context_relevance"]);
    // The first of the pair is found likelier to answer.
    assert_eq!([&row(3)[2], &row(4)[2], &row(4)[11]], ["answer_relevancy", "answering", "1.00"]);
}

#[test]
fn files_that_cannot_be_compared_are_refused() {
    let bench = bench();
    for (text, message) in [
        (
            r#"{"statement": "S", "retrieved_contexts": ["C"], "label": "yes"}"#,
            "error: `bad.jsonl`: found the label `\"yes\"`, expected a number\nhelp: write 1 for yes and 0 for no",
        ),
        (
            r#"{"user_input": "Q", "statement": "S", "label": 1}"#,
            "error: `bad.jsonl`: the row has no columns that people's judgement could be of\nhelp: a labelled row has \
             `statement` or `response`, with `retrieved_contexts`, `reference` or `user_input`",
        ),
        (
            r#"{"statement": "S", "retrieved_contexts": ["C"]}"#,
            "error: `bad.jsonl`: no row has a label\nhelp: add a column `label`: 1 for yes, 0 for no, or a grade",
        ),
    ] {
        bench.write("bad.jsonl", text);
        assert_eq!(check(&bench, "--data bad.jsonl"), refusal(message));
    }
    let broken = "error: calibration file `bad.jsonl`: ";
    let ran = check(&bench, "--data labels.jsonl --calibration bad.jsonl");
    assert!(ran.stderr.starts_with(broken) && ran.code == 2, "{}", ran.stderr);
}

#[test]
fn finished_run_is_compared_with_labels_by_id() {
    let bench = Bench::new();
    bench.eval("good.jsonl");
    bench.write("people.jsonl", "{\"id\": \"fees\", \"label\": 1}\n{\"id\": \"휴가-문의\", \"label\": 0}\n");
    let ran = bench.run("calibrate runs/good --labels people.jsonl");
    assert_eq!((ran.stderr.as_str(), ran.code), ("", 0));
    // A metric in each language; the first row of faithfulness is the one in English.
    assert_eq!(&cells(&ran, 0)[1..4], ["en", "faithfulness", "1"]);
    assert_eq!(ran.stdout.lines().count(), 2 + 2 * 5);
    let help =
        "help: write rows like `{\"id\": \"a row of the run\", \"label\": 1}`: 1 is yes, 0 is no, others are grades";
    for (text, message) in [
        ("{\"id\": 1, \"label\": \"no\"}", "line 1: found the label `\"no\"`, expected a number"),
        ("{\"id\": 1, \"label\": 1}\n\n{\"id\": \"1\", \"label\": 0}", "line 3: `1` has a label already"),
        ("{\"id\": 1}", "line 1: missing field `label` at line 1 column 9"),
    ] {
        bench.write("people.jsonl", text);
        let expected = refusal(&format!("error: `people.jsonl` {message}\n{help}"));
        assert_eq!(bench.run("calibrate runs/good --labels people.jsonl"), expected);
    }
    bench.write("people.jsonl", "{\"id\": \"nobody\", \"label\": 1}\n");
    let message = "error: no id of `people.jsonl` is in `runs/good`\n\
                   help: labels are rows with the `id` of the run's samples and a `label`";
    assert_eq!(bench.run("calibrate runs/good --labels people.jsonl"), refusal(message));
}
