//! The program as its users see it: stdout, stderr, exit codes and files, with a script in place of the models.

mod eval;
mod injection;
mod labels;
mod models;
mod out;
mod program;
mod report;
mod rows;
mod rubric;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ragstone");

/// A working folder with `good.jsonl` and the answers about it in `script.toml`.
pub struct Bench {
    folder: TempDir,
}

/// What the program did.
#[derive(Debug, PartialEq)]
struct Ran {
    stdout: String,
    /// With `T s` for the seconds, and `BENCH` for the working folder.
    stderr: String,
    code: i32,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a temporary folder can be made") };
        bench.write("good.jsonl", include_str!("../data/cli/good.jsonl"));
        bench.write("script.toml", include_str!("../data/cli/script.toml"));
        bench
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("the folder is ours");
        fs::write(path, content).expect("the folder is ours");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|err| panic!("`{name}`: {err}"))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|err| panic!("`{name}`: {err}"))
    }

    /// The header and the records of a run.
    fn records(&self, folder: &str) -> (Value, Vec<Value>) {
        let text = self.read(&format!("{folder}/records.jsonl"));
        let mut lines = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
        (lines.next().expect("there is a header"), lines.collect())
    }

    /// The program in this folder, with no store but an empty `home`.
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args.split_whitespace()).current_dir(self.path());
        command.env_clear().env("RAGSTONE_HOME", self.path().join("home"));
        command
    }

    /// Runs the program with arguments parted by spaces.
    fn run(&self, args: &str) -> Ran {
        self.check(&mut self.command(args))
    }

    /// Scores a file with the script.
    fn eval(&self, args: &str) -> Ran {
        self.run(&format!("eval --script script.toml {args}"))
    }

    fn check(&self, command: &mut Command) -> Ran {
        let output = command.output().expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        let bench = self.path().to_str().expect("temporary folders have plain names");
        let lines = text(output.stderr).replace(bench, "BENCH");
        Ran {
            stdout: text(output.stdout).replace(bench, "BENCH"),
            stderr: lines.lines().map(|line| without_seconds(line) + "\n").collect(),
            code: output.status.code().expect("no signal ended the program"),
        }
    }
}

/// The last line of a run, which begins with how long it took.
fn without_seconds(line: &str) -> String {
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.starts_with(" s; ") { format!("T{after}") } else { line.to_owned() }
}

/// What the program does when it prints an error and nothing else.
fn refusal(lines: &str) -> Ran {
    Ran { stdout: String::new(), stderr: format!("{lines}\n"), code: 2 }
}

/// The cells of a record by metric.
fn cell<'a>(record: &'a Value, metric: &str) -> &'a Value {
    let cells = record["cells"].as_array().expect("a record has cells");
    cells.iter().find(|cell| cell["metric"] == metric).unwrap_or_else(|| panic!("no cell `{metric}` in {record}"))
}
