//! What `dataset` promises: which files are read as what, and every error's full text.

use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use super::*;
use crate::sample::Column;
use crate::text::detect;

/// What a file holds: each row's sample or error.
fn rows(content: impl AsRef<[u8]>) -> Vec<Result<Sample>> {
    match Dataset::read(Path::new("eval.jsonl"), Cursor::new(content.as_ref())) {
        Ok(dataset) => dataset.collect(),
        Err(error) => vec![Err(error)],
    }
}

/// The samples of a file that must be good.
fn samples(content: impl AsRef<[u8]>) -> Vec<Sample> {
    rows(content).into_iter().map(|row| row.unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The error of a file that must have exactly one, as it is printed.
fn error(content: impl AsRef<[u8]>) -> (String, String) {
    let mut errors: Vec<_> = rows(content).into_iter().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.remove(0);
    (error.to_string(), error.help().unwrap_or_default().to_owned())
}

/// Checks a file's only error and help.
fn check_error(content: impl AsRef<[u8]>, message: &str, help: &str) {
    assert_eq!(error(content), (message.to_owned(), help.to_owned()));
}

/// The ids of a file's good rows, and `!` for the others.
fn ids(content: &str) -> Vec<String> {
    rows(content).into_iter().map(|row| row.map_or("!".to_owned(), |sample| sample.id)).collect()
}

#[test]
fn jsonl_is_read_whatever_its_mark_line_ends_and_blank_lines() {
    let plain = samples("{\"id\":\"a\",\"user_input\":\"q\"}\n{\"id\":\"b\",\"user_input\":\"질문\"}");
    assert_eq!(plain.len(), 2);
    assert_eq!(plain[1].user_input.as_deref(), Some("질문"));
    let noisy =
        "\u{feff}\r\n  \r\n {\"id\":\"a\",\"user_input\":\"q\"}\r\n\r\n{\"id\":\"b\",\"user_input\":\"질문\"} \r\n\n";
    assert_eq!(samples(noisy), plain);
}

#[test]
fn a_list_is_read_whatever_its_layout() {
    let lines = samples("{\"id\":\"a\",\"user_input\":\"q\"}\n{\"id\":\"b\",\"user_input\":\"질문\"}");
    assert_eq!(samples("[{\"id\":\"a\",\"user_input\":\"q\"},{\"id\":\"b\",\"user_input\":\"질문\"}]"), lines);
    let spread =
        "\u{feff}\n[\r\n  {\"id\": \"a\",\n \"user_input\": \"q\"}\n,\n{\"id\":\"b\",\"user_input\":\"질문\"}\n]\n";
    assert_eq!(samples(spread), lines);
}

#[test]
fn every_name_in_the_table_is_read_into_its_column() {
    for known in COLUMNS {
        let cells = format!(r#"{{"user_input": null, "{}": {}}}"#, known.name, known.shape.example());
        if known.column == Column::Id {
            continue; // An id alone is no row; `ids_are_texts_and_integers` reads it.
        }
        let sample = &samples(&cells)[0];
        assert!(known.column.is_present(sample), "{cells}");
        assert!(sample.metadata.is_empty(), "{cells}");
        let others = Column::ALL.into_iter().filter(|column| ![Column::Id, known.column].contains(column));
        assert!(others.into_iter().all(|column| !column.is_present(sample)), "{cells}");
    }
}

#[test]
fn the_first_name_of_each_column_is_the_one_that_is_written() {
    for column in Column::ALL {
        let first = COLUMNS.iter().find(|known| known.column == column).map(|known| known.name);
        assert_eq!(first, Some(column.name()));
    }
}

#[test]
fn other_columns_are_kept_unchanged_and_in_order() {
    let sample = &samples(r#"{"z": 0.1, "question": "q", "a": {"n": [1, null]}, "context": "c"}"#)[0];
    assert_eq!(serde_json::to_string(&sample.metadata).unwrap(), r#"{"z":0.1,"a":{"n":[1,null]},"context":"c"}"#);
}

#[test]
fn null_is_absent_and_empty_is_data() {
    let sample = &samples(r#"{"question": "", "contexts": [], "answer": null}"#)[0];
    assert_eq!(sample.user_input.as_deref(), Some(""));
    assert_eq!(sample.retrieved_contexts, Some(vec![]));
    assert_eq!(sample.response, None);
}

#[test]
fn ids_are_texts_and_integers() {
    let content = r#"{"id": 7, "question": "q", "retrieved_context_ids": ["a", 18446744073709551615, -1]}"#;
    let sample = &samples(content)[0];
    assert_eq!(sample.id, "7");
    assert_eq!(sample.retrieved_context_ids.as_deref().unwrap(), ["a", "18446744073709551615", "-1"]);
    check_error(
        r#"{"id": 7.5, "question": "q"}"#,
        "`eval.jsonl` line 1, column `id`: found a number, `7.5`, expected a text or an integer",
        r#"write it like this: `"id": "row-1"`"#,
    );
    check_error(
        r#"{"retrieved_context_ids": [1, 2.5]}"#,
        "`eval.jsonl` line 1, column `retrieved_context_ids`: found a number, `2.5` as item 2 of the list, expected a text or an integer",
        r#"write it like this: `"retrieved_context_ids": ["doc-1", 2]`"#,
    );
}

#[test]
fn two_names_of_one_column_may_only_say_the_same() {
    let same = r#"{"question": "q", "user_input": "q", "ground_truth": "r", "ground_truths": ["r"], "answer": null, "response": "a"}"#;
    assert_eq!(samples(same)[0].response.as_deref(), Some("a"));
    check_error(
        r#"{"question": "q", "user_input": "p"}"#,
        "`eval.jsonl` line 1: found `question` and `user_input` with different values, expected one of them, as both are read as `user_input`",
        "leave one of them out, or give it a name of its own",
    );
    check_error(
        r#"{"question": "q", "question": "p"}"#,
        "`eval.jsonl` line 1: found `question` twice, with different values, expected it once",
        "leave one of them out, or give it a name of its own",
    );
}

#[test]
fn ground_truths_may_hold_one_text() {
    assert_eq!(samples(r#"{"ground_truths": ["r"]}"#)[0].reference.as_deref(), Some("r"));
    for (list, n_texts) in [("[]", 0), (r#"["r", "s"]"#, 2)] {
        check_error(
            format!(r#"{{"ground_truths": {list}}}"#),
            &format!(
                "`eval.jsonl` line 1, column `ground_truths`: found a list of {n_texts} texts, expected exactly one, as a row has one reference"
            ),
            r#"keep one, or join them, and write `"reference": "some text"`"#,
        );
    }
}

#[test]
fn a_cell_of_the_wrong_type_is_named_with_its_start() {
    check_error(
        "{\"question\": \"q\"}\n{\"question\": \"q\", \"answer\": 42}",
        "`eval.jsonl` line 2, column `answer`: found a number, `42`, expected a text",
        r#"write it like this: `"answer": "some text"`"#,
    );
    check_error(
        r#"{"contexts": "The transfer limit is 5,000 euros a day for new customers."}"#,
        // The quote and 39 characters.
        "`eval.jsonl` line 1, column `contexts`: found a text, `\"The transfer limit is 5,000 euros a day…`, expected a list of texts",
        r#"write a list, even of one text: `"contexts": ["…"]`"#,
    );
    check_error(
        r#"{"retrieved_contexts": ["a", {"text": "b"}]}"#,
        "`eval.jsonl` line 1, column `retrieved_contexts`: found an object, `{\"text\":\"b\"}` as item 2 of the list, expected a text",
        r#"write it like this: `"retrieved_contexts": ["first text", "second text"]`"#,
    );
    check_error(
        r#"{"contexts": [null]}"#,
        "`eval.jsonl` line 1, column `contexts`: found `null` as item 1 of the list, expected a text",
        r#"write it like this: `"contexts": ["first text", "second text"]`"#,
    );
    check_error(
        r#"{"reference": ["a"]}"#,
        "`eval.jsonl` line 1, column `reference`: found a list, `[\"a\"]`, expected a text",
        r#"write it like this: `"reference": "some text"`"#,
    );
}

#[test]
fn a_row_without_known_columns_names_what_it_has() {
    let known = "known columns are `id`, `user_input`, `question`, `response`, `answer`, `retrieved_contexts`, `contexts`, \
                 `reference`, `ground_truth`, `ground_truths`, `reference_contexts`, `retrieved_context_ids`, \
                 `reference_context_ids`";
    let table = [
        (r#"{"id": 1, "respone": "a", "b": 1}"#, "`id`, `respone`, `b`", "did you mean `response` for `respone`? "),
        (r#"{"Question ": "q"}"#, "`Question `", "did you mean `question` for `Question `? "),
        (r#"{"prompt": "a"}"#, "`prompt`", ""),
        (r#"{"rows": [{"question": "q"}]}"#, "`rows`", "the rows seem to be in `rows`: write that list alone; "),
        ("{}", "an empty object", ""),
    ];
    for (content, found, advice) in table {
        let message = format!("`eval.jsonl` line 1: found no known column, only {found}");
        check_error(content, &message, &format!("{advice}{known}"));
    }
    let many: Vec<String> = (0..22).map(|n| format!(r#""x{n}": 1"#)).collect();
    assert!(error(format!("{{{}}}", many.join(", "))).0.ends_with("`x19` and 2 more"));
}

#[test]
fn a_name_is_near_one_that_is_two_changes_away() {
    let table = [
        ("respone", Some("response")),
        ("anwser", Some("answer")), // two letters changed places: two changes
        ("User Input", Some("user_input")),
        ("contxts", Some("contexts")),
        ("response", None), // is known
        ("query", None),
        ("ix", None),
        ("답변", None),
    ];
    for (name, expected) in table {
        assert_eq!(near_miss(name), expected, "{name}");
    }
}

#[test]
fn a_file_without_rows_is_an_error() {
    for empty in ["", " \r\n\n", "\u{feff}", "[]", " [ \n ] "] {
        check_error(
            empty,
            "`eval.jsonl`: has no rows",
            r#"write one object a line, `{"user_input": "…", "response": "…"}`, or a list `[…]` of such objects"#,
        );
    }
}

#[test]
fn a_file_that_is_not_utf8_is_refused_with_the_byte() {
    let help = "save it as UTF-8; older Windows programs save Korean text as CP949 or UTF-16 unless told otherwise";
    // 질 in CP949 is C1 FA. The first line has 11 bytes with its line break, and 7 come before it on the second.
    let cp949 = b"{\"id\":\"a\"}\n{\"a\":\"q\xC1\xFA\"}";
    let bad = "`eval.jsonl` line 2: found the byte 0xC1 at byte 18 of the file, expected UTF-8";
    let errors: Vec<String> = rows(cp949).into_iter().filter_map(Result::err).map(|e| e.to_string()).collect();
    assert_eq!(errors[1], bad);
    // 17 bytes in the first line, and 7.
    check_error(
        b"[{\"answer\":\"a\"},\n{\"a\":\"q\xC1\xFA\"}]",
        "`eval.jsonl` line 2: found the byte 0xC1 at byte 24 of the file, expected UTF-8",
        help,
    );
    for mark in [b"\xFF\xFE{\0", b"\xFE\xFF\0{"] {
        check_error(mark, "`eval.jsonl`: found the byte order mark of UTF-16 at byte 0, expected UTF-8", help);
    }
    check_error(
        b"\xC1\xFA\xB9\xAE,\n",
        "`eval.jsonl` line 1: found the byte 0xC1 at byte 0 of the file, expected UTF-8",
        help,
    );
}

#[test]
fn a_file_that_is_no_json_is_refused() {
    check_error(
        "\n질문,답변\nq,a\n",
        "`eval.jsonl` line 2: found `질` as the first character, expected `[` (JSON) or `{` (JSONL)",
        r#"write one object a line, `{"user_input": "…", "response": "…"}`, or a list `[…]` of such objects"#,
    );
}

#[test]
fn bad_json_in_a_line_names_the_character() {
    let table = [
        // {"질문": is 6 characters, then come a space, "가", a comma, a space, "a", a space: 16 before the 1.
        (r#"{"질문": "가", "a" 1}"#, "is not JSON at character 17: expected `:`", ""),
        (
            r#"{"question": NaN}"#,
            "is not JSON at character 14: expected value",
            "write `null` for `NaN`, `Infinity` and `None`, `true` for `True`, `false` for `False`",
        ),
        (
            r#"{'question': 1}"#,
            "is not JSON at character 2: key must be a string",
            "put names and texts in double quotes, `\"`",
        ),
        (
            r#"{"question": "q",}"#,
            "is not JSON at character 18: trailing comma",
            "is there a comma before it, with nothing after the comma?",
        ),
        (
            r#"{"question": "q"} {"question": "q"}"#,
            "is not JSON at character 19: trailing characters",
            "write one object a line",
        ),
        (
            "{\"question\": \"a\tb\"}",
            "is not JSON at character 16: control character (\\u0000-\\u001F) found while parsing a string",
            r"write a line break inside a text as `\n`, and a tab as `\t`",
        ),
        (
            r#"{"question": "q"#,
            "is not JSON at character 15: EOF while parsing a string",
            "the end is missing: was the file copied or written completely?",
        ),
    ];
    for (line, message, help) in table {
        check_error(format!("{{\"answer\": \"a\"}}\n{line}"), &format!("`eval.jsonl` line 2: {message}"), help);
        // In a list on lines of its own the character is the same.
        if message.contains("EOF") || message.contains("trailing characters") {
            continue;
        }
        check_error(format!("[{{\"answer\": \"a\"}},\n{line}]"), &format!("`eval.jsonl` line 2: {message}"), help);
    }
}

#[test]
fn a_list_with_wrong_commas_or_brackets_names_the_character() {
    let list = "a list is `[{…}, {…}]`: a comma between two rows, none after the last, nothing after `]`";
    let cut = "the end is missing: was the file copied or written completely?";
    let row = r#"{"answer": "a"}"#; // 15 characters
    let table = [
        (format!("[{row} {row}]"), "found `{` as character 18, expected `,` or `]` after a row", list),
        (format!("[{row},]"), "found `]` as character 18, expected a row, `{…}`", list),
        (format!("[{row}] x"), "found `x` as character 19, expected nothing after the list's closing `]`", list),
        (format!("[{row}"), "found the end of the file, expected `,` or `]` after a row", cut),
        (format!("[{row},"), "found the end of the file, expected a row, `{…}`", cut),
        (format!("[{row}, {{\"a\": "), "is not JSON at character 24: EOF while parsing a value", cut),
        (format!("[{row}, 가]"), "found byte 0xEA as character 19, expected a row, `{…}`", list),
    ];
    for (content, message, help) in table {
        check_error(content, &format!("`eval.jsonl` line 1: {message}"), help);
    }
}

#[test]
fn a_row_that_is_no_object_is_an_error_and_the_next_is_read() {
    let help = r#"write one object a line, `{"user_input": "…", "response": "…"}`, or a list `[…]` of such objects"#;
    let found = [
        ("[1]", "a list, `[1]`"),
        ("\"text\"", "a text, `\"text\"`"),
        ("true", "a boolean, `true`"),
        ("null", "`null`"),
    ];
    for (row, found) in found {
        let message = format!("`eval.jsonl` line 2: found {found}, expected an object as a row");
        check_error(format!("{{\"answer\": \"a\"}}\n{row}\n{{\"answer\": \"b\"}}"), &message, help);
        let list = format!("[{{\"answer\": \"a\"}},\n{row},{{\"answer\": \"b\"}}]");
        check_error(&list, &message, help);
        assert_eq!(rows(&list).len(), 3);
    }
    check_error(
        "[-1.5e3, {\"answer\": \"b\"}]",
        "`eval.jsonl` line 1: found a number, expected an object as a row",
        help,
    );
}

#[test]
fn an_object_spread_over_lines_is_one_error() {
    check_error(
        "{\n  \"rows\": [\n    {\"question\": \"q\"}\n  ]\n}\n",
        "`eval.jsonl` line 1: found an object that goes on in the next line, expected a whole row on each line",
        "write rows that take several lines as a list, `[{…}, {…}]`; if they are under a key, write that list alone",
    );
}

#[test]
fn a_bad_row_does_not_lose_the_others() {
    let bad_line = "{\"id\":\"a\",\"answer\":\"x\"}\n{\"id\":\n{\"id\":\"c\",\"answer\":\"x\"}\n";
    assert_eq!(ids(bad_line), ["a", "!", "c"]);
    let cut_first_line = "{\"id\":\"a\n{\"id\":\"c\",\"answer\":\"x\"}\n";
    assert_eq!(ids(cut_first_line), ["!", "c"]);
    let bad_cell = r#"[{"id":"a","answer":1},{"id":"c","answer":"x"}]"#;
    assert_eq!(ids(bad_cell), ["!", "c"]);
    // After a syntax error in a list there is no telling where the next row starts.
    assert_eq!(ids(r#"[{"id":"a","answer":"x"},{"id":},{"id":"c","answer":"x"}]"#), ["a", "!"]);
}

#[test]
fn a_row_of_a_list_is_placed_at_its_first_line() {
    let content = "[\n  {\n    \"answer\": \"a\"\n  },\n  {\n    \"answer\": 1\n  }\n]";
    assert!(error(content).0.starts_with("`eval.jsonl` line 5, column `answer`: "));
}

#[test]
fn a_row_without_an_id_is_called_by_its_content() {
    // The layout of `content_id`, computed with Python's hashlib and struct.
    assert_eq!(ids(r#"{"user_input": "q"}"#), ["0ca021b280589516"]);
    assert_eq!(
        ids(r#"{"contexts": ["a", ""], "x": 1, "question": "질문", "id": "", "retrieved_context_ids": [7]}"#),
        ["a2242b04380b03b5"]
    );
    assert_eq!(ids(r#"{"user_input": "q", "contexts": []}"#), ["040f0390a8be1fe5"]);
    assert_eq!(ids(r#"{"user_input": "q", "response": ""}"#), ["67f84e00b3378a48"]);
}

#[test]
fn copies_of_a_row_are_numbered_and_given_ids_must_differ() {
    let copies = "{\"user_input\": \"q\"}\n{\"user_input\": \"q\", \"x\": 1}\n{\"question\": \"q\"}";
    assert_eq!(ids(copies), ["0ca021b280589516", "0ca021b280589516-2", "0ca021b280589516-3"]);
    let given = "{\"id\": 1, \"answer\": \"a\"}\n\n{\"id\": \"1\", \"answer\": \"b\"}\n{\"id\": 2, \"answer\": \"b\"}";
    assert_eq!(ids(given), ["1", "!", "2"]);
    check_error(
        given,
        "`eval.jsonl` line 3, column `id`: found `1`, which is the id of line 1 already, expected another",
        "make each `id` unique, or leave the column out: rows then get ids made from their content",
    );
}

/// A file that repeats one line and is never in memory.
struct Repeat {
    line: &'static [u8],
    n_left: usize,
}

impl Read for Repeat {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.n_left == 0 || buf.len() < self.line.len() {
            return Ok(0);
        }
        self.n_left -= 1;
        buf[..self.line.len()].copy_from_slice(self.line);
        Ok(self.line.len())
    }
}

#[test]
fn rows_are_read_as_they_are_asked_for() {
    const N_ROWS: usize = 200_000;
    let line = b"{\"user_input\": \"q\", \"contexts\": [\"c\"]}\n";
    let endless = Repeat { line, n_left: usize::MAX };
    let dataset = Dataset::read(Path::new("endless"), BufReader::new(endless)).expect("has rows");
    let last = dataset.take(N_ROWS).last().expect("has rows").expect("is good");
    assert!(last.id.ends_with("-200000"), "{}", last.id);
    let endless_list = Cursor::new(b"[{\"answer\": \"a\"}\n".to_vec())
        .chain(BufReader::new(Repeat { line: b",{\"user_input\": \"q\", \"contexts\": [\"c\"]}", n_left: usize::MAX }));
    let dataset = Dataset::read(Path::new("endless"), endless_list).expect("has rows");
    assert!(dataset.take(N_ROWS).all(|row| row.is_ok()));
}

/// A reader that fails after some bytes.
struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn a_read_error_names_the_file_and_ends_the_rows() {
    for start in ["{\"answer\": \"a\"}\n", "[{\"answer\": \"a\"}", "[{\"answer\": \"a\"},{\"a"] {
        let reader = Cursor::new(start.as_bytes()).chain(BufReader::new(Failing));
        let rows: Vec<_> = Dataset::read(Path::new("eval.jsonl"), reader).expect("has a row").collect();
        assert_eq!(rows.len(), 2, "{start}");
        let message = rows[1].as_ref().expect_err("the disk is gone").to_string();
        assert_eq!(message, "cannot read `eval.jsonl`: the disk is gone");
    }
}

#[test]
fn a_file_is_opened_by_its_content_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.txt");
    std::fs::write(&path, "[{\"question\": \"q\"}]").expect("a file");
    let samples: Vec<_> = Dataset::open(&path).expect("has a row").collect();
    assert_eq!(samples.len(), 1);
    let missing = folder.path().join("missing.jsonl");
    let message = Dataset::open(&missing).expect_err("is missing").to_string();
    assert!(message.starts_with(&format!("cannot open `{}`: ", missing.display())), "{message}");
}

#[test]
fn the_quickstart_is_good_and_each_row_is_in_the_language_that_its_id_names() {
    let samples = samples(include_str!("../../examples/quickstart.jsonl"));
    assert_eq!(samples.len(), 11);
    for sample in samples {
        let columns = [Column::UserInput, Column::Response, Column::RetrievedContexts, Column::Reference];
        assert!(columns.into_iter().all(|column| column.is_present(&sample)), "{}", sample.id);
        let language = detect(&sample.user_input.expect("is present")).code();
        assert!(sample.id.starts_with(language), "{}", sample.id);
    }
}
