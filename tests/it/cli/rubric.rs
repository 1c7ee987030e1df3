//! `ragstone eval --rubric FILE`: metrics of the user's own, and files that are refused.

use serde_json::{Value, json};

use super::{Bench, Ran, refusal};

const RUBRICS: &str = r#"[[rubric]]
name = "polite"
definition = "Is the answer polite?"

[[rubric]]
name = "자세함"
definition = "How detailed is the answer?"
levels = ["Nothing.", "The rule.", "The rule and its exceptions."]
"#;

/// `sha256sum` of `RUBRICS`.
const RUBRICS_SHA256: &str = "547321f3418140c55385157b4db61b086113a891c33de6dd9e6524979bc3ff70";

/// The level of the answer about fees is 1 + 0.25 + 2 * 0.5 in the mean, and 3 most likely.
const SCRIPT: &str = r#"
verdict = [{ has = ["Is the answer polite?", "takes a day."], p_yes = 0.9 }, { p_yes = 0.25 }]
rating = [{ has = ["The rule.", "takes a day."], levels = [0.25, 0.25, 0.5] }, { levels = [1, 0, 0] }]
"#;

/// Scores the good file by a rubric file of this text, which is called `own.toml`.
fn check(rubrics: &str, args: &str) -> (Bench, Ran) {
    let bench = Bench::new();
    bench.write("own.toml", rubrics);
    bench.write("script.toml", SCRIPT);
    let ran = bench.eval(&format!("good.jsonl --rubric own.toml {args}"));
    (bench, ran)
}

/// What is said of `own.toml`.
fn refused(what: &str) -> Ran {
    let help = "help: a rubric has a `name`, a `definition` and, for a rating, `levels`; README.md has an example";
    refusal(&format!("error: rubric file `own.toml`: {what}\n{help}"))
}

/// A rubric with so many levels.
fn rated(n_levels: usize) -> String {
    let levels: Vec<String> = (1..=n_levels).map(|n| format!("Level {n}.")).collect();
    format!("[[rubric]]\nname = \"detail\"\ndefinition = \"How detailed?\"\nlevels = {levels:?}\n")
}

#[test]
fn rubrics_are_columns_of_the_table() {
    let (bench, ran) = check(RUBRICS, "");
    let expected = "\
sample     rubric.polite  rubric.자세함
---------------------------------------
fees               1.000          2.250
휴가-문의          0.000          1.000
---------------------------------------
mean               0.500          1.625
coverage             2/2            2/2
";
    assert_eq!((ran.stdout.as_str(), ran.code), (expected, 0));
    let scores = bench.read("runs/good/scores.csv");
    assert_eq!(scores.lines().next(), Some("id,user_input,rubric.polite,rubric.자세함"));
}

#[test]
fn rubrics_and_the_hash_of_their_file_are_in_the_header() {
    let (bench, _) = check(RUBRICS, "");
    let (header, _) = bench.records("runs/good");
    assert_eq!(header["metrics"], json!(["rubric.polite", "rubric.자세함"]));
    let levels = ["Nothing.", "The rule.", "The rule and its exceptions."];
    let expected = json!([
        { "name": "polite", "definition": "Is the answer polite?" },
        { "name": "자세함", "definition": "How detailed is the answer?", "levels": levels },
    ]);
    assert_eq!(header["rubrics"], expected);
    assert_eq!(header["rubrics_sha256"], RUBRICS_SHA256);
    assert_eq!(header["embedder"], Value::Null);
}

#[test]
fn rubrics_come_after_the_metrics_that_are_named() {
    let (bench, _) = check(RUBRICS, "--metrics context_precision");
    let (header, _) = bench.records("runs/good");
    assert_eq!(header["metrics"], json!(["context_precision", "rubric.polite", "rubric.자세함"]));
}

#[test]
fn profile_of_ragas_takes_the_most_likely_level() {
    let (bench, _) = check(RUBRICS, "--profile ragas");
    assert!(bench.read("runs/good/scores.csv").contains("\nfees,What does a transfer cost?,1,3\n"));
}

#[test]
fn file_without_responses_is_refused() {
    let bench = Bench::new();
    bench.write("own.toml", RUBRICS);
    bench.write("asked.jsonl", r#"{"user_input": "Who?"}"#);
    let message = "error: `asked.jsonl`: no column `response`, which metric `rubric.polite` needs\n\
                   help: found `user_input`; rename a column, or leave the metric out";
    assert_eq!(bench.eval("asked.jsonl --rubric own.toml"), refusal(message));
}

#[test]
fn rubric_file_that_cannot_be_read_is_refused() {
    let message = "error: cannot read `nowhere.toml`: No such file or directory (os error 2)";
    assert_eq!(Bench::new().eval("good.jsonl --rubric nowhere.toml"), refusal(message));
}

#[test]
fn rubric_file_without_rubrics_is_refused_and_nothing_is_written() {
    for text in ["", "# none yet\n", "rubric = []\n"] {
        let (bench, ran) = check(text, "");
        assert_eq!(ran, refused("it holds no `[[rubric]]`"));
        assert!(!bench.path().join("runs").exists());
    }
}

#[test]
fn key_that_is_misspelt_is_refused() {
    let misspelt = "[[rubric]]\nname = \"polite\"\ndefinition = \"Is it kind?\"\nlevel = [\"No.\", \"Yes.\"]\n";
    let stderr = check(misspelt, "").1.stderr;
    assert!(stderr.contains("unknown field `level`, expected one of `name`, `definition`, `levels`"), "{stderr}");
}

#[test]
fn rubrics_of_one_name_are_refused() {
    let twice = format!("{RUBRICS}\n[[rubric]]\nname = \"polite\"\ndefinition = \"Is it kind?\"\n");
    assert_eq!(check(&twice, "").1, refused("two rubrics are called `polite`"));
}

#[test]
fn rubric_has_no_level_or_two_to_nine() {
    for n_levels in [1, 10] {
        let expected = format!("the number of levels of `detail` is {n_levels}, expected 2 to 9");
        assert_eq!(check(&rated(n_levels), "").1, refused(&expected));
    }
    for n_levels in [0, 2, 9] {
        let (bench, _) = check(&rated(n_levels), "");
        assert_eq!(bench.records("runs/good").0["metrics"], json!(["rubric.detail"]), "{n_levels} levels");
    }
}

#[test]
fn rubric_of_another_shape_is_refused() {
    let rubric =
        |name: &str, definition: &str| format!("[[rubric]]\nname = \"{name}\"\ndefinition = \"{definition}\"\n");
    let name = |name: &str| refused(&format!("the name `{name}` is not of letters, digits, `_` and `-`"));
    assert_eq!(check(&rubric("a b", "Is it?"), "").1, name("a b"));
    assert_eq!(check(&rubric("", "Is it?"), "").1, name(""));
    assert_eq!(check(&rubric("kind", " "), "").1, refused("the definition or a level of `kind` is empty"));
    for (text, message) in [
        ("[[rubric]]\nname = \"kind\"\n", "missing field `definition`\n"),
        ("[[rubrics]]\n", "unknown field `rubrics`, expected `rubric`\n"),
        ("rubric = [", "error: rubric file `own.toml`: TOML parse error at line 1, column 11\n"),
    ] {
        let ran = check(text, "").1;
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", 2));
    }
}
