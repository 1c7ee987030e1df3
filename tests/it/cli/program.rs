//! The program as a whole: help, version, wrong arguments, and scripts.

use ragstone::metrics::METRICS;

use super::{Bench, Ran, refusal};

fn check(args: &str) -> Ran {
    Bench::new().run(args)
}

/// Scores the good file with a script of this text.
fn check_script(text: &str) -> Ran {
    let bench = Bench::new();
    bench.write("other.toml", text);
    bench.run("eval good.jsonl --metrics faithfulness --script other.toml")
}

#[test]
fn version_is_that_of_the_package() {
    let stdout = concat!("ragstone ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    assert_eq!(check("--version"), Ran { stdout, stderr: String::new(), code: 0 });
}

#[test]
fn help_names_the_commands_and_hides_the_script() {
    let ran = check("--help");
    assert_eq!((ran.stderr.as_str(), ran.code), ("", 0));
    for command in ["quickstart", "eval", "report", "metrics", "models"] {
        assert!(ran.stdout.contains(&format!("\n  {command} ")), "{}", ran.stdout);
    }
    let eval = check("eval --help");
    assert!(eval.stdout.contains("--metrics <NAME>") && !eval.stdout.contains("--script"), "{}", eval.stdout);
}

#[test]
fn models_help_names_its_commands() {
    let ran = check("models --help");
    for command in ["list", "path", "verify"] {
        assert!(ran.stdout.contains(&format!("\n  {command} ")), "{}", ran.stdout);
    }
}

#[test]
fn no_arguments_give_the_help_and_the_exit_code_of_wrong_use() {
    let ran = check("");
    assert_eq!((ran.stdout.as_str(), ran.code), ("", 2));
    assert_eq!(ran.stderr, check("--help").stdout);
}

#[test]
fn wrong_arguments_are_wrong_use() {
    let invalid = |value: &str, option: &str, expected: &str| {
        format!("error: invalid value '{value}' for '{option}': expected {expected}\n")
    };
    let beta = |value| invalid(value, "--beta <BETA>", "a number above 0 and up to 1000");
    let weights = |value| {
        let expected = "two numbers that are not negative and not both 0, as in `0.75,0.25`";
        invalid(value, "--weights <CLAIMS,LIKENESS>", expected)
    };
    let window = |value| invalid(value, "--window <N>", "a number of sentences from 1 on, or `whole`");
    let cosine = |value| invalid(value, "--similarity-threshold <COSINE>", "a number from -1 to 1");
    for (args, message) in [
        ("judge", "error: unrecognized subcommand 'judge'"),
        ("eval", "error: the following required arguments were not provided:"),
        ("eval good.jsonl --metric x", "error: unexpected argument '--metric' found"),
        ("eval good.jsonl --limit 0", "error: invalid value '0' for '--limit <N>': 0 is not in 1.."),
        ("eval good.jsonl --questions 0", "error: invalid value '0' for '--questions <N>': 0 is not in 1..=64"),
        ("eval good.jsonl --questions 65", "error: invalid value '65' for '--questions <N>': 65 is not in 1..=64"),
        ("eval good.jsonl --seed -1", "error: unexpected argument '-1' found"),
        ("eval good.jsonl --window 0", &window("0")),
        ("eval good.jsonl --window all", &window("all")),
        ("eval good.jsonl --beta 0", &beta("0")),
        ("eval good.jsonl --beta 1001", &beta("1001")),
        ("eval good.jsonl --beta NaN", &beta("NaN")),
        ("eval good.jsonl --weights 1", &weights("1")),
        ("eval good.jsonl --weights 0,0", &weights("0,0")),
        ("eval good.jsonl --weights 1,-1", &weights("1,-1")),
        ("eval good.jsonl --weights 1e308,1e308", &weights("1e308,1e308")),
        ("eval good.jsonl --weights 1,2,3", &weights("1,2,3")),
        ("eval good.jsonl --similarity-threshold 2", &cosine("2")),
        ("eval good.jsonl --similarity-threshold -1.5", &cosine("-1.5")),
        ("eval good.jsonl --similarity-threshold NaN", &cosine("NaN")),
        ("eval good.jsonl --profile strictly", "error: invalid value 'strictly' for '--profile <NAME>'"),
        ("report", "error: the following required arguments were not provided:"),
        ("report runs --profile strictly", "error: invalid value 'strictly' for '--profile <NAME>'"),
        ("eval good.jsonl --language fr", "error: invalid value 'fr' for '--language <LANGUAGE>'"),
        ("models path", "error: the following required arguments were not provided:"),
    ] {
        let ran = check(args);
        assert!(ran.stderr.starts_with(message), "{args}: {}", ran.stderr);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", 2), "{args}");
    }
}

#[test]
fn metrics_are_listed_with_range_and_needs() {
    let ran = check("metrics");
    let first = "\
faithfulness
  share of the response's claims that the contexts support
  from 0 to 1, 1 is best; needs judge and columns user_input, response, retrieved_contexts
";
    assert!(ran.stdout.starts_with(first), "{}", ran.stdout);
    let names: Vec<&str> = ran.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
    let known = METRICS.iter().map(|metric| metric.about().name).chain(["aspect_critic", "rubric_score"]);
    assert_eq!(names, known.collect::<Vec<_>>());
    assert_eq!((ran.stderr.as_str(), ran.code), ("", 0));
}

#[test]
fn script_that_cannot_be_read_is_refused() {
    let message = "error: cannot read `nowhere.toml`: No such file or directory (os error 2)";
    assert_eq!(check("eval good.jsonl --script nowhere.toml"), refusal(message));
    for (text, message) in [
        ("verdict = [", "error: script `other.toml`: TOML parse error at line 1, column 12\n"),
        ("verdicts = []", "unknown field `verdicts`, expected one of `verdict`, `rating`, `write`, `embed`\n"),
        (
            "verdict = [{ p = 1 }]",
            "unknown field `p`, expected one of `has`, `draw`, `p_yes`, `levels`, `text`, `vector`, `fails`\n",
        ),
    ] {
        let ran = check_script(text);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", 2));
    }
}

#[test]
fn question_that_the_script_does_not_know_fails_its_cell() {
    let ran = check_script("");
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("\nfees                     failed [1]\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n[1] the script has no `write` for: "), "{}", ran.stdout);
    let ran = check_script("write = [{ text = \"One.\" }]");
    assert!(ran.stdout.contains("\n[1] the script has no `verdict` for: "), "{}", ran.stdout);
}

#[test]
fn answer_of_the_wrong_kind_fails_its_cell() {
    let ran = check_script("write = [{ p_yes = 0.5 }]");
    assert!(ran.stdout.contains("\n[1] the script has no `write` for: "), "{}", ran.stdout);
    let ran = check_script("write = [{ text = \"One.\" }]\nverdict = [{ p_yes = 1.5 }]");
    assert!(ran.stdout.ends_with("\n[1] P(yes) is 1.5, expected a number from 0 to 1\n"), "{}", ran.stdout);
}
