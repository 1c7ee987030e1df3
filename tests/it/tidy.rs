//! The rules of the house that a compiler does not check: is the tree as ARCHITECTURE.md and the style say?

use std::fs;
use std::path::{Path, PathBuf};

use ragstone::metrics::METRICS;

/// Modules by level, as in ARCHITECTURE.md: a lower one may not use a higher one.
const LEVELS: &[&[&str]] = &[
    &["error", "hash", "sample", "settings", "record", "model", "text", "stats"],
    &["dataset", "store", "engine"],
    &["embed", "judge"],
    &["metrics", "respond"],
    &["run"],
    &["report", "compare", "calibrate", "testset", "collect"],
    &["cli", "main", "lib"],
];

/// A longer file is split by meaning.
const MAX_LINES: usize = 600;

/// A file of `src`.
struct Source {
    /// Relative to `src`, with `/`.
    path: String,
    /// Its lines without comments and unit tests, and all.
    code: Vec<String>,
    n_lines: usize,
    first_line: String,
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("sources are UTF-8");
        let relative = path.strip_prefix(root().join("src")).expect("it was found there");
        Self {
            path: relative.to_str().expect("names are ASCII").replace('\\', "/"),
            code: code_of(&text),
            n_lines: text.lines().count(),
            first_line: text.lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// The module at the top that it belongs to.
    fn module(&self) -> &str {
        self.path.split('/').next().expect("a split has a first part").trim_end_matches(".rs")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The lines that are neither comments nor an inline test module, which always ends a file.
fn code_of(text: &str) -> Vec<String> {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..tests].lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

/// Every file below `src` that is not for unit tests alone.
fn sources() -> Vec<Source> {
    let (mut paths, mut folders, mut for_tests) = (Vec::new(), vec![root().join("src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                for_tests.extend(test_modules(&path));
                paths.push(path);
            }
        }
    }
    let is_for_tests = |path: &Path| for_tests.iter().any(|module| path.with_extension("").starts_with(module));
    paths.iter().filter(|path| !is_for_tests(path)).map(|path| Source::read(path)).collect()
}

/// The modules in files of their own that a file declares for tests, as paths without `.rs`.
fn test_modules(path: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(path).expect("sources are UTF-8");
    let is_folder = path.ends_with("mod.rs") || path.ends_with("lib.rs");
    let folder = if is_folder { path.with_file_name("") } else { path.with_extension("") };
    let modules = text.split("#[cfg(test)]\n").skip(1).filter_map(|after| {
        let line = after.lines().next()?.trim_start_matches("pub ");
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    });
    modules.map(|module| folder.join(module)).collect()
}

fn level(module: &str) -> Option<usize> {
    LEVELS.iter().position(|modules| modules.contains(&module))
}

/// The modules after each `crate::`.
fn used_modules(line: &str) -> impl Iterator<Item = &str> {
    let name = |after: &str| after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    line.split("crate::").skip(1).map(move |after| &after[..name(after)])
}

/// Fails with every line of code, outside of the places that `is_allowed`, that holds one of these.
fn check(forbidden: &[&str], is_allowed: fn(&str) -> bool) {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !is_allowed(&source.path)) {
        let lines = source.code.iter().filter(|line| forbidden.iter().any(|text| line.contains(text)));
        found.extend(lines.map(|line| format!("{}: {}", source.path, line.trim())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_module_uses_a_higher_one() {
    for source in sources() {
        let module = source.module();
        let own = level(module).unwrap_or_else(|| panic!("module `{module}` has no level: add it to the table"));
        for used in source.code.iter().flat_map(|line| used_modules(line)).filter(|used| !used.is_empty()) {
            // What the root re-exports, such as `crate::Result`, is of level 0.
            let used_level = level(used).unwrap_or(0);
            assert!(used_level <= own, "{} (level {own}) uses `{used}` (level {used_level})", source.path);
        }
    }
}

#[test]
fn every_import_of_our_own_names_its_module() {
    // `use crate::{a, b}` would hide the modules from the test above.
    check(&["crate::{"], |_| false);
}

#[test]
fn every_file_says_first_which_question_it_answers() {
    for source in sources() {
        assert!(source.first_line.starts_with("//! "), "{} begins with `{}`", source.path, source.first_line);
    }
}

#[test]
fn no_file_is_long() {
    for source in sources() {
        assert!(source.n_lines <= MAX_LINES, "{} has {} lines, expected {MAX_LINES}", source.path, source.n_lines);
    }
}

#[test]
fn nothing_from_outside_is_unwrapped() {
    check(&[".unwrap()", ".unwrap_err()"], |_| false);
}

#[test]
fn unsafe_code_is_in_the_kernels_alone() {
    check(&["unsafe "], |path| path.starts_with("engine/kernels/"));
}

#[test]
fn only_the_command_line_prints() {
    check(&["println!", "print!(", "dbg!("], |path| path.starts_with("cli/"));
}

#[test]
fn readme_names_every_metric() {
    let readme = fs::read_to_string(root().join("README.md")).expect("there is a README.md");
    for metric in METRICS {
        let name = metric.about().name;
        assert!(readme.contains(&format!("`{name}`")), "README.md does not name `{name}`");
    }
}
