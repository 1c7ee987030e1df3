//! The program: arguments in, exit code out.

pub mod args;
mod eval;
mod judge_check;
mod log;
mod models;
mod progress;
mod report;
mod survey;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use self::args::{Cli, Command};
use crate::error::{Error, Result};
use crate::metrics::{About, METRICS, rubric};
use crate::store::Store;

/// How a command ended that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// All is well: 0.
    Well,
    /// Some cells failed: 3.
    WithFailures,
}

/// What stands under a table that is not in our own arithmetic.
const RAGAS_NOTE: &str = "profile ragas: the arithmetic of Ragas 0.4.3\n";

/// Wrong input or use.
const EXIT_USAGE: u8 = 2;
/// Done, but some cells failed.
const EXIT_FAILURES: u8 = 3;
/// A bug, or the device failed.
const EXIT_BUG: u8 = 70;

/// Runs the program and prints its one error, if there is one.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match std::panic::catch_unwind(|| run(&cli)) {
        Ok(Ok(Done::Well)) => ExitCode::SUCCESS,
        Ok(Ok(Done::WithFailures)) => ExitCode::from(EXIT_FAILURES),
        Ok(Err(err)) => refuse(&err),
        Err(_) => {
            tell(format_args!("help: this is a bug in ragstone; what was written so far is in the run folder"));
            ExitCode::from(EXIT_BUG)
        }
    }
}

fn run(cli: &Cli) -> Result<Done> {
    let store = || Store::open(cli.home.as_deref());
    match &cli.command {
        Command::Quickstart(args) => eval::quickstart(&store()?, args),
        Command::Eval(args) => eval::eval(&store()?, args),
        Command::Report(args) => report::report(args),
        Command::JudgeCheck(args) => judge_check::judge_check(&store()?, args),
        Command::Calibrate(args) => judge_check::calibrate(args),
        Command::Metrics => print_metrics(),
        Command::Models(command) => models::run(&store()?, command),
    }
}

fn refuse(err: &Error) -> ExitCode {
    tell(format_args!("error: {err}"));
    if let Some(help) = err.help() {
        tell(format_args!("help: {help}"));
    }
    let is_ours = matches!(err, Error::Engine { .. });
    ExitCode::from(if is_ours { EXIT_BUG } else { EXIT_USAGE })
}

fn print_metrics() -> Result<Done> {
    let all = METRICS.iter().map(|metric| metric.about()).chain([rubric::ASPECT_CRITIC, rubric::RUBRIC_SCORE]);
    print(&all.map(describe).collect::<String>())
}

fn describe(about: About<'_>) -> String {
    let columns: Vec<&str> = about.columns.iter().map(|column| column.name()).collect();
    let models: Vec<&str> = about.models.iter().map(|role| role.name()).collect();
    let models = if models.is_empty() { "no model".to_owned() } else { models.join(", ") };
    let ((least, most), best) = (about.range, about.best_score());
    let aliases = match about.aliases {
        [] => String::new(),
        aliases => format!("; also called {}", aliases.join(", ")),
    };
    format!(
        "{}\n  {}\n  from {least} to {most}, {best} is best; needs {models} and columns {}{aliases}\n",
        about.name,
        about.summary,
        columns.join(", "),
    )
}

/// Says something beside the results, on stderr; that nobody listens, as after `2>&1 | head`, is no error.
fn tell(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints results; a reader that has seen enough, such as `head`, is no error.
fn print(text: &str) -> Result<Done> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(err) if err.kind() != ErrorKind::BrokenPipe => Err(Error::io("write", "standard output".as_ref())(err)),
        _ => Ok(Done::Well),
    }
}
