//! Without a network: does everything but fetching models work in an empty network namespace?

use std::process::{Command, Output};

use clap::CommandFactory;
use ragstone::cli::args::Cli;

use crate::cli::{Bench, PROGRAM};

/// Set to 1 where the system forbids network namespaces; these tests then pass without having shown anything.
const OPT_OUT: &str = "RAGSTONE_TEST_NO_NETNS";

/// The commands that may open a connection.
const ONLINE: &[&str] = &["quickstart", "models pull"];

/// Every other command, with arguments, its exit code, and a part of what it prints.
const OFFLINE: &[(&str, &str, i32, &str)] = &[
    ("eval", "good.jsonl --script script.toml", 0, "mean"),
    ("eval", "good.jsonl --home home", 2, "is not in the store, and downloads are off"),
    ("judge-check", "--data nowhere.jsonl", 2, "cannot open `nowhere.jsonl`"),
    ("calibrate", "nowhere --labels good.jsonl", 2, "missing field `label`"),
    ("report", "nowhere", 2, "cannot read `nowhere/records.jsonl`"),
    ("metrics", "", 0, "faithfulness"),
    ("models list", "--home home", 0, "not in the store"),
    ("models path", "all-minilm-l6-v2 --home home", 2, "is not in the store, and downloads are off"),
    ("models verify", "--home home", 0, "there is no model in the store"),
];

/// Runs a program with no network but an unconfigured loopback, or not at all if the opt-out is set.
fn check(bench: &Bench, program: &str, args: &str) -> Option<Output> {
    if std::env::var_os(OPT_OUT).is_some_and(|value| value == "1") {
        return None;
    }
    let unshare = |flags| {
        let mut command = Command::new("unshare");
        command.arg(flags).arg("--").arg(program).args(args.split_whitespace()).current_dir(bench.path());
        command.output().unwrap_or_else(|err| panic!("cannot run `unshare`: {err}; set {OPT_OUT}=1 to go without"))
    };
    let output = unshare("-rn");
    if !String::from_utf8_lossy(&output.stderr).starts_with("unshare:") {
        return Some(output);
    }
    // Some systems let root have a network namespace and nobody a user namespace.
    let output = unshare("-n");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.starts_with("unshare:"), "{stderr}; set {OPT_OUT}=1 where namespaces are forbidden");
    Some(output)
}

/// All commands that are not groups of others, as they are typed.
fn commands(command: &clap::Command, before: &str) -> Vec<String> {
    let typed = |sub: &clap::Command| format!("{before} {}", sub.get_name()).trim().to_owned();
    let leaves = |sub: &clap::Command| {
        if sub.has_subcommands() { commands(sub, &typed(sub)) } else { vec![typed(sub)] }
    };
    command.get_subcommands().flat_map(leaves).collect()
}

#[test]
fn the_namespace_has_no_network() {
    let Some(output) = check(&Bench::new(), "cat", "/proc/net/dev /proc/net/route") else { return };
    let devices = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(names, ["lo"], "{devices}");
}

#[test]
fn every_command_but_fetching_works_without_a_network() {
    for (command, args, code, part) in OFFLINE {
        let Some(output) = check(&Bench::new(), PROGRAM, &format!("{command} {args}")) else { return };
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(*code), "{command}: {said}");
        assert!(said.contains(part), "{command}: {said}");
    }
}

#[test]
fn every_command_is_either_run_here_or_may_open_a_connection() {
    for command in commands(&Cli::command(), "") {
        let is_run = OFFLINE.iter().any(|(known, ..)| *known == command);
        assert!(is_run != ONLINE.contains(&command.as_str()), "`{command}` is in one of the two tables");
    }
}
