//! `ragstone models`, and models that `eval` cannot have: what is said, and is nothing fetched?

use ragstone::store;

use super::{Bench, Ran, refusal};

const EMBEDDER: &str = "all-minilm-l6-v2";
const JUDGE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m";

/// What is said of a model that is not in the store.
fn absent(name: &str) -> Ran {
    refusal(&format!(
        "error: model `{name}` is not in the store, and downloads are off\n\
         help: {} once, or point `RAGSTONE_HOME` at a folder that has it",
        pull(name)
    ))
}

/// What to run to have a model.
fn pull(name: &str) -> String {
    let build = if cfg!(feature = "pull") { "" } else { " with a build that has feature `pull`" };
    format!("run `ragstone models pull {name}`{build}")
}

fn printed(text: &str) -> Ran {
    Ran { stdout: text.to_owned(), stderr: String::new(), code: 0 }
}

/// Runs the program where the store holds these files of the embedder, each with the content `abc`.
fn check(files: &[&str], args: &str) -> Ran {
    let bench = Bench::new();
    for file in files {
        bench.write(&format!("home/models/{EMBEDDER}/{file}"), "abc");
    }
    let ran = bench.run(args);
    assert!(!files.is_empty() || !bench.path().join("home").exists(), "`{args}` made a store");
    ran
}

#[test]
fn list_shows_every_model_with_licence_and_state() {
    let ran = check(&[], "models list");
    assert_eq!((ran.stderr.as_str(), ran.code), ("", 0));
    assert!(ran.stdout.starts_with("store: BENCH/home\n\n"), "{}", ran.stdout);
    for manifest in store::catalog() {
        assert!(ran.stdout.contains(&format!("\n{}\n  {}\n", manifest.name, manifest.summary)), "{}", ran.stdout);
        assert!(ran.stdout.contains(&format!("licence {}\n  not in the store\n", manifest.licence)), "{}", ran.stdout);
    }
    let expected = "\n  embedder, 91 MB, en, licence Apache-2.0\n  not in the store\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}

#[test]
fn path_of_an_absent_model_is_refused_with_what_to_run() {
    assert_eq!(check(&[], &format!("models path {EMBEDDER}")), absent(EMBEDDER));
}

#[test]
fn unknown_model_is_answered_with_the_nearest() {
    for command in ["models path", "models verify", "eval good.jsonl --metrics faithfulness --judge"] {
        let ran = check(&[], &format!("{command} qwen2.5-coder-1.5b"));
        let expected = format!(
            "error: there is no model `qwen2.5-coder-1.5b`\nhelp: did you mean `{JUDGE}`? the known models are `{JUDGE}`, "
        );
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", 2));
    }
}

#[test]
fn verify_says_so_where_there_is_nothing() {
    assert_eq!(check(&[], "models verify"), printed("there is no model in the store\n"));
    assert_eq!(check(&[], &format!("models verify {EMBEDDER}")), absent(EMBEDDER));
}

#[test]
fn verify_finds_a_model_that_is_there_in_part() {
    let expected = refusal(&format!(
        "error: model `{EMBEDDER}` is incomplete in the store: `config.json` is missing\n\
         help: {} once, or point `RAGSTONE_HOME` at a folder that has it",
        pull(EMBEDDER)
    ));
    assert_eq!(check(&["model.safetensors"], "models verify"), expected);
}

#[test]
fn file_that_is_not_the_pinned_one_is_refused() {
    let manifest = store::find(EMBEDDER).expect("it is in the catalogue");
    let files: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    let expected = refusal(&format!(
        "error: `BENCH/home/models/{EMBEDDER}/{}` has 3 bytes, expected {}\n\
         help: {} to fetch it again",
        files[0],
        manifest.files[0].bytes,
        pull(EMBEDDER)
    ));
    for args in ["models verify", "models path all-minilm-l6-v2", "eval good.jsonl --metrics answer_relevancy"] {
        assert_eq!(check(&files, args), expected, "{args}");
    }
}

#[test]
fn absent_models_end_an_evaluation_before_anything_is_written() {
    assert_eq!(check(&[], "eval good.jsonl --metrics faithfulness"), absent(JUDGE));
    assert_eq!(check(&[], "eval good.jsonl --metrics answer_relevancy"), absent(EMBEDDER));
}

#[test]
fn model_of_the_other_role_is_refused() {
    let ran = check(&[], &format!("eval good.jsonl --metrics faithfulness --judge {EMBEDDER}"));
    let expected = format!("error: `{EMBEDDER}` is of role embedder, expected judge\nhelp: there are `{JUDGE}`, ");
    assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    assert_eq!(ran.code, 2);
    let ran = check(&[], &format!("eval good.jsonl --embedder {JUDGE}"));
    assert_eq!(
        ran.stderr,
        format!("error: `{JUDGE}` is of role judge, expected embedder\nhelp: there are `{EMBEDDER}`\n")
    );
}

#[test]
fn path_that_holds_no_model_is_refused() {
    let eval = "eval good.jsonl --metrics faithfulness --judge";
    let message = "error: cannot open `no/judge.gguf`: No such file or directory (os error 2)";
    assert_eq!(check(&[], &format!("{eval} no/judge.gguf")), refusal(message));
    let message = "error: model file `good.jsonl`: starts with the bytes `7b 22 69 64`; expected a GGUF file";
    assert_eq!(check(&[], &format!("{eval} good.jsonl")), refusal(message));
    let message = "error: cannot read `./config.json`: No such file or directory (os error 2)";
    assert_eq!(check(&[], "eval good.jsonl --embedder ."), refusal(message));
}

#[test]
fn store_is_named_by_flag_before_environment() {
    let ran = check(&[], "models list --home other");
    assert!(ran.stdout.starts_with("store: BENCH/other\n"), "{}", ran.stdout);
}

#[test]
fn store_without_a_place_is_refused() {
    let bench = Bench::new();
    let message = "error: there is no folder for the models: none of `RAGSTONE_HOME`, `XDG_CACHE_HOME` and `HOME` is set\n\
                   help: name one with `--home FOLDER` or in `RAGSTONE_HOME`";
    assert_eq!(bench.check(bench.command("models list").env_clear()), refusal(message));
    assert_eq!(bench.check(bench.command("metrics").env_clear()).code, 0);
}

#[test]
fn judge_that_is_no_model_file_is_refused_before_it_is_read_to_its_end() {
    // It has no end: hashing it first would never come back.
    let ran = Bench::new().run("eval good.jsonl --metrics faithfulness --judge /dev/zero");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("model file `/dev/zero`"), "{}", ran.stderr);
}
