//! Where results go: what is refused, and what is never overwritten?

use std::fs::{self, File};
use std::io::pipe;
use std::process::{Command, Stdio};

use super::{Bench, PROGRAM, Ran, refusal};

/// Scores the good file.
fn check(bench: &Bench, args: &str) -> Ran {
    bench.eval(&format!("good.jsonl --metrics faithfulness {args}"))
}

#[test]
fn folder_that_holds_a_run_is_left_alone() {
    let bench = Bench::new();
    assert_eq!(check(&bench, "--out results").code, 0);
    let files = ["records.jsonl", "scores.csv", "summary.json", "run.json"].map(|name| format!("results/{name}"));
    let before = files.each_ref().map(|name| bench.read(name));
    let message =
        "error: `results` already holds a run: found `records.jsonl`\nhelp: name another folder with `--out DIR`";
    assert_eq!(check(&bench, "--seed 1 --out results"), refusal(message));
    assert_eq!(files.each_ref().map(|name| bench.read(name)), before);
}

#[test]
fn file_of_the_users_own_is_left_alone() {
    for name in ["scores.csv", "summary.json", "run.json"] {
        let bench = Bench::new();
        bench.write(&format!("results/{name}"), "mine");
        let message =
            format!("error: `results` already holds a run: found `{name}`\nhelp: name another folder with `--out DIR`");
        assert_eq!(check(&bench, "--out results"), refusal(&message));
        assert_eq!(bench.read(&format!("results/{name}")), "mine");
        assert_eq!(fs::read_dir(bench.path().join("results")).expect("it is there").count(), 1);
    }
}

#[test]
fn folder_with_other_files_takes_the_results() {
    let bench = Bench::new();
    bench.write("results/notes.txt", "mine");
    assert_eq!(check(&bench, "--out results").code, 0);
    assert_eq!(bench.read("results/notes.txt"), "mine");
}

#[test]
fn without_a_folder_each_run_gets_its_own() {
    let bench = Bench::new();
    for folder in ["runs/good", "runs/good-2", "runs/good-3"] {
        let stderr = check(&bench, "").stderr;
        assert_eq!(stderr, format!("T s; records, scores and summary are in {folder}\n"));
    }
    assert_eq!(bench.read("runs/good/records.jsonl"), bench.read("runs/good-3/records.jsonl"));
}

#[test]
fn folder_that_cannot_be_made_is_refused() {
    let bench = Bench::new();
    bench.write("taken", "a file");
    let message = "error: cannot create the folder `taken`: File exists (os error 17)";
    assert_eq!(check(&bench, "--out taken"), refusal(message));
    let message = "error: cannot create the folder `taken/inner`: Not a directory (os error 20)";
    assert_eq!(check(&bench, "--out taken/inner"), refusal(message));
}

#[test]
fn log_that_cannot_be_made_is_refused_before_anything_is_scored() {
    let bench = Bench::new();
    let message = "error: cannot create `nowhere/log`: No such file or directory (os error 2)";
    assert_eq!(check(&bench, "--log nowhere/log"), refusal(message));
    assert!(!bench.path().join("runs").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn log_on_a_full_disk_is_an_error_after_the_results() {
    let bench = Bench::new();
    let expected = Ran {
        stderr: "error: cannot write `/dev/full`: No space left on device (os error 28)\n".to_owned(),
        code: 2,
        ..check(&bench, "--out without-log")
    };
    assert_eq!(check(&bench, "--out with-log --log /dev/full"), expected);
    for name in ["records.jsonl", "scores.csv", "summary.json"] {
        assert_eq!(bench.read(&format!("with-log/{name}")), bench.read(&format!("without-log/{name}")));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_the_disk_refuses_are_an_error() {
    let bench = Bench::new();
    // No file may grow, and the signal that says so is ignored: writing fails as on a full disk.
    let shell = format!("trap '' XFSZ; ulimit -f 0; exec {PROGRAM} eval good.jsonl --script script.toml --out results");
    let mut command = assert_cmd::Command::new("sh");
    let ran = bench.check(command.args(["-c", &shell]).current_dir(bench.path()).env("RAGSTONE_HOME", "home"));
    assert_eq!(ran, refusal("error: cannot write `results/records.jsonl`: File too large (os error 27)"));
}

#[cfg(target_os = "linux")]
#[test]
fn output_on_a_full_disk_is_an_error() {
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let output = Command::new(PROGRAM).arg("metrics").stdout(full).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "error: cannot write `standard output`: No space left on device (os error 28)\n");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn reader_that_has_seen_enough_is_no_error() {
    let bench = Bench::new();
    for args in ["metrics", "models list", "eval good.jsonl --script script.toml", "eval nowhere.jsonl"] {
        let (reader, writer) = pipe().expect("there are pipes");
        drop(reader);
        let mut command = Command::new(PROGRAM);
        command.args(args.split_whitespace()).current_dir(bench.path()).env("RAGSTONE_HOME", "home");
        // As in `ragstone ... 2>&1 | head -0`.
        command.stdout(writer.try_clone().expect("a pipe can be shared")).stderr(Stdio::from(writer));
        let code = command.status().expect("the program starts").code();
        assert_eq!(code, Some(if args == "eval nowhere.jsonl" { 2 } else { 0 }), "{args}");
    }
}

#[test]
fn folder_that_holds_a_run_is_refused_before_models_are_loaded() {
    let bench = Bench::new();
    bench.write("results/records.jsonl", "");
    // There is no script, and no model in the store.
    let expected =
        "error: `results` already holds a run: found `records.jsonl`\nhelp: name another folder with `--out DIR`";
    assert_eq!(bench.run("eval good.jsonl --out results"), refusal(expected));
}

#[test]
fn log_never_takes_the_place_of_a_file() {
    let bench = Bench::new();
    let before = bench.read("good.jsonl");
    let expected = "error: `good.jsonl` is there already\nhelp: name another file with `--log FILE`";
    assert_eq!(check(&bench, "--log good.jsonl"), refusal(expected));
    assert_eq!(bench.read("good.jsonl"), before);
}
