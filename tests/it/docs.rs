//! `docs/metrics.md`: is it what the code says of every metric?
//!
//! The page is made of what each metric says of itself and of its doc comment, so that neither is written twice.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use ragstone::metrics::rubric::{ASPECT_CRITIC, RUBRIC_SCORE};
use ragstone::metrics::{About, METRICS};
use regex::Regex;

const PAGE: &str = "docs/metrics.md";

/// Writes the page instead of comparing it.
const WRITE: &str = "RAGSTONE_WRITE_DOCS";

const HOW_TO_WRITE: &str = "write it anew with `RAGSTONE_WRITE_DOCS=1 cargo test --release docs`";

/// The labels that a metric's doc comment has once each.
const LABELS: [&str; 4] = ["- Range: ", "- Unscored: ", "- Edge cases: ", "- Source: "];

/// That of each deliberate difference from the source.
const DIFFERENCE: &str = "- Difference from ";

const INTRODUCTION: &str = "\
# Metrics

A metric asks the models about a sample, if it needs any, and computes a score from what was judged. What is asked does
not depend on the profile; the arithmetic does:

- `--profile strict`, which needs no naming: what was asked about is what is divided by, a perfect score is 1, and where
  there is nothing to divide by there is no score.
- `--profile ragas`: the arithmetic of Ragas 0.4.3 with its epsilons and its rules for empty lists. Where Ragas gives
  NaN or raises an error, there is no score.

`ragstone report RUN --profile NAME` computes the scores of a finished run in the other profile, with no model at hand.
What is said below without naming a profile holds in both.

A cell is *scored*; or *unscored*, as there was nothing to score, and then it is in no mean; or *failed*, as the score
could not be had, and then it is left out of the mean and counts as the worst score in `mean, failed as worst`.

The metrics marked \"by default\" are computed where a file has their columns, or, where it has those of none, all that
need no model; others are if `--metrics` names them, and `--metrics all` takes all whose columns are there. This page is
made from the doc comments in `src/metrics`, and a test keeps it so.
";

/// A metric with the item that says what it is.
struct Entry {
    about: About<'static>,
    /// When it is computed.
    when: &'static str,
    item: Item,
}

/// A struct or constant with a doc comment.
#[derive(Clone, PartialEq)]
struct Item {
    name: String,
    /// Without the marks of a comment.
    doc: Vec<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every metric, in the order of the tables.
fn entries() -> Vec<Entry> {
    let mut sources = Vec::new();
    read_sources(&root().join("src/metrics"), &mut sources);
    let of_table = METRICS.iter().map(|metric| metric.about());
    let of_table = of_table.map(|about| (about, if about.is_default { "by default" } else { "if it is named" }));
    let of_users = [ASPECT_CRITIC, RUBRIC_SCORE].map(|about| (about, "with `--rubric FILE`"));
    let entry = |(about, when): (About<'static>, _)| Entry { about, when, item: item_of(about.name, &sources) };
    of_table.chain(of_users).map(entry).collect()
}

fn read_sources(folder: &Path, sources: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else {
            sources.push(fs::read_to_string(path).expect("sources are UTF-8"));
        }
    }
}

/// The item whose code holds the metric's name as a literal.
fn item_of(metric: &str, sources: &[String]) -> Item {
    let found: Vec<Item> = sources.iter().filter_map(|source| item_in(metric, source)).collect();
    let [item] = found.as_slice() else { panic!("`{metric}` is named by {} metrics, expected 1", found.len()) };
    item.clone()
}

fn item_in(metric: &str, source: &str) -> Option<Item> {
    let literal = format!("\"{metric}\"");
    let mut name = None;
    for line in source.lines().map(str::trim_start).take_while(|line| *line != "#[cfg(test)]") {
        let opens = [("impl Metric for ", ' '), ("pub const ", ':')].into_iter();
        let opened = opens.filter_map(|(before, after)| line.strip_prefix(before)?.split(after).next()).next();
        name = opened.or(name);
        if !line.starts_with("//") && line.contains(&literal) {
            return name.map(|name| Item { name: name.to_owned(), doc: doc_of(name, source) });
        }
    }
    None
}

fn doc_of(item: &str, source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let declares = |line: &str| {
        let rest = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub const "));
        rest.and_then(|rest| rest.strip_prefix(item)).is_some_and(|rest| rest.starts_with([' ', ';', ':']))
    };
    let declared = lines.iter().position(|line| declares(line)).expect("it is declared where it is implemented");
    let before = lines[..declared].iter().rev().skip_while(|line| line.starts_with("#["));
    let mut doc: Vec<String> = before.map_while(|line| line.strip_prefix("///")).map(without_links).collect();
    doc.reverse();
    doc
}

/// The line of a comment as the page has it: what links to an item of the code is its name alone.
fn without_links(line: &str) -> String {
    let link = Regex::new(r"\[(`[^`]+`)\](\((?:crate|super|self)::[^)]*\))?").expect("the pattern is valid");
    let line = line.strip_prefix(' ').unwrap_or(line);
    link.replace_all(line, "$1").into_owned()
}

fn quoted(names: impl IntoIterator<Item = &'static str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn models(about: &About<'static>) -> String {
    let names: Vec<&str> = about.models.iter().map(|role| role.name()).collect();
    if names.is_empty() { "no model".to_owned() } else { names.join(" and ") }
}

fn columns(about: &About<'static>) -> String {
    quoted(about.columns.iter().map(|column| column.name()))
}

fn range(about: &About<'static>) -> String {
    let (least, most) = about.range;
    format!("{least} to {most}, {} is best", about.best_score())
}

fn page() -> String {
    let entries = entries();
    let mut page =
        format!("{INTRODUCTION}\n| metric | needs | columns | range | what it says |\n|---|---|---|---|---|\n");
    for Entry { about, .. } in &entries {
        let (needs, columns, range) = (models(about), columns(about), range(about));
        writeln!(page, "| `{}` | {needs} | {columns} | {range} | {} |", about.name, about.summary)
            .expect("a text takes all");
    }
    for section in entries.chunk_by(|one, next| one.item == next.item) {
        page += &section_of(section);
    }
    page
}

/// The metrics of one item.
fn section_of(entries: &[Entry]) -> String {
    let mut section = format!("\n## {}\n", quoted(entries.iter().map(|entry| entry.about.name)));
    for Entry { about, when, .. } in entries {
        let aliases = match about.aliases {
            [] => String::new(),
            aliases => format!(" (also {})", quoted(aliases.iter().copied())),
        };
        let (needs, columns, range) = (models(about), columns(about), range(about));
        writeln!(section, "\n`{}`{aliases}: {needs}; columns {columns}; {range}; {when}.", about.name)
            .expect("a text takes all");
    }
    format!("{section}\n{}\n", entries[0].item.doc.join("\n"))
}

#[test]
fn page_is_what_the_code_says() {
    let (path, expected) = (root().join(PAGE), page());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &expected).expect("the folder is ours");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    let line = differs.unwrap_or(found.lines().count().min(expected.lines().count())) + 1;
    assert!(found == expected, "{PAGE} is not what the code says from line {line} on; {HOW_TO_WRITE}");
}

#[test]
fn every_doc_has_a_formula_and_its_labels() {
    for Entry { about, item, .. } in entries() {
        let formula: Vec<&str> = item.doc.iter().map(String::as_str).take_while(|line| !line.is_empty()).collect();
        assert!(formula.join(" ").contains(" = "), "the doc of `{}` does not begin with its formula", about.name);
        for label in LABELS {
            let n = item.doc.iter().filter(|line| line.starts_with(label)).count();
            assert_eq!(n, 1, "the doc of `{}` has {n} lines `{label}…`, expected 1", about.name);
        }
        let is_known = |line: &str| LABELS.into_iter().chain([DIFFERENCE]).any(|label| line.starts_with(label));
        let other = item.doc.iter().find(|line| line.starts_with("- ") && !is_known(line));
        assert_eq!(other, None, "the doc of `{}` has a bullet of another kind", about.name);
    }
}
