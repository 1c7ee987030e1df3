//! `ragstone eval` on files that are not all good: what is scored, what is said, and with which exit code?

use super::{Bench, Ran, cell, refusal};

const FORMAT_HELP: &str =
    "help: write one object a line, `{\"user_input\": \"…\", \"response\": \"…\"}`, or a list `[…]` of such objects";

/// Scores a file of this content, which is called `eval.jsonl`.
fn check(content: impl AsRef<[u8]>, args: &str) -> (Bench, Ran) {
    let bench = Bench::new();
    bench.write("eval.jsonl", content);
    let ran = bench.eval(&format!("eval.jsonl {args}"));
    (bench, ran)
}

/// A line of `good.jsonl`.
fn good(idx: usize) -> &'static str {
    include_str!("../../data/cli/good.jsonl").lines().nth(idx).expect("there are two")
}

#[test]
fn bad_rows_cost_the_others_nothing() {
    let rows = [good(0), r#"{"id": "typed", "user_input": 5}"#, r#"{"id": "cut", "user_input": "Q"#, good(1)];
    let (bench, ran) = check(rows.join("\n"), "--metrics faithfulness");
    let expected = "\
sample                 faithfulness
-----------------------------------
fees                          0.500
line 2                   failed [1]
line 3                   failed [2]
휴가-문의                     1.000
-----------------------------------
";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    let stderr = "\
warning: `eval.jsonl` line 2, column `user_input`: found a number, `5`, expected a text
help: write it like this: `\"user_input\": \"some text\"`
warning: `eval.jsonl` line 3: is not JSON at character 30: EOF while parsing a string
help: the end is missing: was the file copied or written completely?
warning: 2 of 4 rows cannot be read; their cells will be failed
T s; records, scores and summary are in runs/eval
";
    assert_eq!((ran.stderr.as_str(), ran.code), (stderr, 3));
    assert_eq!(bench.records("runs/eval").1.len(), 4);
}

#[test]
fn failed_cells_count_in_coverage_and_in_the_strict_mean() {
    let rows = [good(1), r#"{"user_input": 5}"#];
    let (bench, ran) = check(rows.join("\n"), "--metrics faithfulness");
    let expected = "\
mean                          1.000
coverage                        1/2
mean, failed as worst         0.500

[1] the row could not be read: line 2, column `user_input`: found a number, `5`, expected a text
";
    assert!(ran.stdout.ends_with(expected), "{}", ran.stdout);
    assert_eq!(bench.read("runs/eval/scores.csv").lines().last(), Some("line 2,,"));
}

#[test]
fn only_the_first_bad_rows_are_printed_one_by_one() {
    let bad = [r#"{"user_input": 5}"#; 7].join("\n");
    let (_, ran) = check(format!("{}\n{bad}", good(0)), "--metrics faithfulness");
    assert_eq!(ran.stderr.matches("expected a text").count(), 5);
    assert!(ran.stderr.contains("warning: 7 of 8 rows cannot be read; their cells will be failed\n"), "{}", ran.stderr);
}

#[test]
fn list_that_breaks_off_keeps_the_rows_before() {
    let (bench, ran) = check(format!("[{}, {{\"user_input\": ", good(0)), "--metrics faithfulness");
    assert_eq!(ran.code, 3);
    assert_eq!(cell(&bench.records("runs/eval").1[0], "faithfulness")["score"], 0.5);
}

#[test]
fn file_of_bad_rows_alone_is_refused_with_the_first() {
    let (bench, ran) = check("{\"user_input\": 5}\n{\"user_input\": 6}", "");
    let message = "error: `eval.jsonl` line 1, column `user_input`: found a number, `5`, expected a text\n\
                   help: write it like this: `\"user_input\": \"some text\"`";
    assert_eq!(ran, refusal(message));
    assert!(!bench.path().join("runs").exists());
}

#[test]
fn row_without_a_column_is_unscored_and_no_failure() {
    let (_, ran) = check(format!("{}\n{{\"user_input\": \"Q\"}}", good(1)), "--metrics faithfulness");
    assert_eq!(ran.code, 0);
    let foot = "coverage                   1/1\n\n\
                [1] unscored: the row has no `response`, `retrieved_contexts`\n";
    assert!(ran.stdout.ends_with(foot), "{}", ran.stdout);
}

#[test]
fn metrics_without_their_columns_are_left_out_and_named() {
    let (bench, ran) = check(r#"{"user_input": "Who?", "response": ""}"#, "");
    let stderr = "\
left out: faithfulness, the file has no `retrieved_contexts`
left out: context_precision, the file has no `retrieved_contexts`, `reference`
left out: context_utilization, the file has no `retrieved_contexts`
left out: context_recall, the file has no `retrieved_contexts`, `reference`
T s; records, scores and summary are in runs/eval
";
    assert_eq!((ran.stderr.as_str(), ran.code), (stderr, 0));
    assert_eq!(bench.read("runs/eval/scores.csv").lines().next(), Some("id,user_input,answer_relevancy"));
}

#[test]
fn metric_that_is_asked_for_without_its_column_is_refused() {
    let row = r#"{"user_input": "Who?", "response": "Ann.", "retrieved_contexts": ["Ann."]}"#;
    let message = "error: `eval.jsonl`: no column `reference`, which metric `context_recall` needs\n\
                   help: found `user_input`, `response`, `retrieved_contexts`; rename a column, or leave the metric out";
    assert_eq!(check(row, "--metrics faithfulness,context_recall").1, refusal(message));
}

#[test]
fn metrics_that_are_not_asked_for_are_not_missed() {
    let row = r#"{"user_input": "Who?", "response": "", "retrieved_contexts": ["Ann."]}"#;
    let (_, ran) = check(row, "--metrics faithfulness");
    assert_eq!(ran.stderr, "T s; records, scores and summary are in runs/eval\n");
}

#[test]
fn file_with_the_columns_of_no_metric_is_refused() {
    let message = "error: `eval.jsonl`: no metric has all its columns; found `user_input`\n\
                   help: `ragstone metrics` lists which metric needs which columns";
    assert_eq!(check(r#"{"user_input": "Who?"}"#, "").1, refusal(message));
}

#[test]
fn unknown_metric_is_answered_with_the_nearest_or_all() {
    let message = "error: there is no metric `faithfulnes`\nhelp: did you mean `faithfulness`?";
    assert_eq!(check(good(0), "--metrics faithfulnes").1, refusal(message));
    let message = "error: `rubric_score` has no definition of its own\nhelp: describe it in a file and name that with \
                   `--rubric FILE`; README.md has an example";
    assert_eq!(check(good(0), "--metrics rubric_score").1, refusal(message));
    let message = "error: there is no metric `zebra`\nhelp: `ragstone metrics` lists them all";
    assert_eq!(check(good(0), "--metrics zebra").1, refusal(message));
}

#[test]
fn file_without_rows_is_refused() {
    for content in ["", "\n \n", "[]", "\u{feff}[ ]\n"] {
        assert_eq!(check(content, "").1, refusal(&format!("error: `eval.jsonl`: has no rows\n{FORMAT_HELP}")));
    }
}

#[test]
fn stream_is_refused_because_it_can_be_read_once_only() {
    let expected = "error: `/dev/null` is a pipe or a device, expected a file\n\
                    help: save the rows to a file first: it is read twice";
    assert_eq!(Bench::new().eval("/dev/null"), refusal(expected));
}

#[test]
fn file_of_another_format_is_refused() {
    let message = "error: `eval.jsonl` line 1: found `u` as the first character, expected `[` (JSON) or `{` (JSONL)";
    assert_eq!(check("user_input,response\n", "").1, refusal(&format!("{message}\n{FORMAT_HELP}")));
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_place() {
    let help =
        "help: save it as UTF-8; older Windows programs save Korean text as CP949 or UTF-16 unless told otherwise";
    let message = "error: `eval.jsonl` line 1: found the byte 0xE9 at byte 19 of the file, expected UTF-8";
    assert_eq!(check(b"{\"user_input\": \"caf\xe9\"}", "").1, refusal(&format!("{message}\n{help}")));
    let message = "error: `eval.jsonl`: found the byte order mark of UTF-16 at byte 0, expected UTF-8";
    assert_eq!(check(b"\xff\xfe{\0", "").1, refusal(&format!("{message}\n{help}")));
}

#[test]
fn line_that_is_not_utf8_costs_the_others_nothing() {
    let (bench, ran) = check([good(0).as_bytes(), b"\n{\"user_input\": \"\xe9\"}"].concat(), "--metrics faithfulness");
    assert_eq!(ran.code, 3);
    assert_eq!(cell(&bench.records("runs/eval").1[0], "faithfulness")["score"], 0.5);
}

#[test]
fn id_that_comes_twice_fails_the_second_row() {
    let (bench, ran) = check([good(0), good(0)].join("\n"), "--metrics faithfulness");
    assert_eq!(ran.code, 3);
    let expected = "warning: `eval.jsonl` line 2, column `id`: found `fees`, which is the id of line 1 already, \
                    expected another\n";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    assert_eq!(cell(&bench.records("runs/eval").1[0], "faithfulness")["score"], 0.5);
}

#[test]
fn path_that_is_no_readable_file_is_refused() {
    let bench = Bench::new();
    let message = "error: cannot open `nowhere.jsonl`: No such file or directory (os error 2)";
    assert_eq!(bench.eval("nowhere.jsonl"), refusal(message));
    assert_eq!(bench.eval("."), refusal("error: cannot read `.`: Is a directory (os error 21)"));
}
