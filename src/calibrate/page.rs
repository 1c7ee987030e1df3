//! Pages: how are the figures read, on a terminal, in Markdown and in a browser?

mod injection;

use std::fmt::Write;

use serde::Serialize;

use super::figures::{Estimate, Figures};
use super::steering::Injection;
use crate::record::PinnedModel;
use crate::stats::agreement::ReliabilityBin;

/// A whole check of a judge.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// The judge.
    pub judge: Option<PinnedModel>,
    /// The embedder.
    pub embedder: Option<PinnedModel>,
    /// Set by set.
    pub figures: Vec<Figures>,
    /// What the attacks that come with the program did, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<Injection>,
    /// Seconds of computing.
    pub secs: f64,
    /// Tokens of all prompts and texts.
    pub tokens_asked: u64,
}

/// Heads of the table, with what each means.
const COLUMNS: &Columns = &[
    ("set", "the file"),
    ("lang", "language of the rows"),
    ("metric", "what was asked"),
    ("rows", "rows with a score; in brackets those without"),
    ("AUC", "how often a yes row is above a no row; 0.5 is chance; 95 % interval by bootstrap over groups"),
    ("floor", "the same for counting shared words in place of asking a judge; of pairs of responses their right order"),
    ("bal. acc.", "mean of the shares of yes and no rows that are right, at the threshold of the run"),
    ("best (at)", "the same at the threshold that is best on these very rows"),
    ("kappa", "agreement beyond chance, at the threshold of the run"),
    ("Brier", "mean squared distance of P(yes) and label"),
    ("cal. err.", "mean distance of P(yes) and the share of yes, over ten bins"),
    ("pairs", "share of pairs in the right order, ties counting half"),
    ("Spearman", "rank correlation with graded labels"),
];

impl Check {
    /// The table in Markdown, which is read on a terminal as well.
    pub fn to_markdown(&self) -> String {
        let of_figures = markdown_table(COLUMNS, &self.figures.iter().map(row).collect::<Vec<_>>());
        let tables = [(!self.figures.is_empty()).then_some(of_figures), self.injection.as_ref().map(injection::table)];
        tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// The whole report in Markdown.
    pub fn to_report(&self) -> String {
        let mut text = format!("# Check of the judge {}\n\n{}\n", self.judge_name(), self.to_markdown());
        if !self.figures.is_empty() {
            text += &markdown_legend(COLUMNS);
        }
        for figures in self.figures.iter().filter(|figures| !figures.disagreements.is_empty()) {
            let _ = write!(text, "\n## Worst disagreements: {}, {}\n\n", figures.set, figures.metric);
            for row in &figures.disagreements {
                let _ = writeln!(
                    text,
                    "- `{}`: judge {:.2}, people {}: {}",
                    row.id,
                    row.score,
                    row.label,
                    one_line(&row.text)
                );
            }
        }
        self.injection.iter().for_each(|injection| text += &injection::report(injection));
        let _ = write!(text, "\n{:.0} s, {} tokens asked.\n", self.secs, self.tokens_asked);
        text
    }

    /// One HTML file without scripts and links: table, reliability pictures, disagreements.
    pub fn to_html(&self) -> String {
        let mut text = format!("{HTML_HEAD}<h1>Check of the judge {}</h1>\n", escape(&self.judge_name()));
        if !self.figures.is_empty() {
            text += &self.figures_to_html();
        }
        self.injection.iter().for_each(|injection| text += &injection::html(injection));
        let _ = write!(text, "<p>{:.0} s, {} tokens asked.</p>\n</body>\n</html>\n", self.secs, self.tokens_asked);
        text
    }

    fn figures_to_html(&self) -> String {
        let mut text = html_table(COLUMNS, &self.figures.iter().map(row).collect::<Vec<_>>());
        text += "<h2>Reliability</h2>\n<p>Each dot is a tenth of the range of P(yes): to the right what the judge says, upwards how \
                 often people say yes. On the line both agree; larger dots are more rows.</p>\n<div class=\"pictures\">\n";
        for figures in self.figures.iter().filter(|figures| !figures.reliability.is_empty()) {
            let name = format!("{}, {}", figures.set, figures.metric);
            let _ = writeln!(
                text,
                "<figure>{}<figcaption>{}</figcaption></figure>",
                picture(&figures.reliability),
                escape(&name)
            );
        }
        text += "</div>\n";
        for figures in self.figures.iter().filter(|figures| !figures.disagreements.is_empty()) {
            let _ = writeln!(
                text,
                "<h2>Worst disagreements: {}, {}</h2>\n<ul>",
                escape(&figures.set),
                escape(&figures.metric)
            );
            for row in &figures.disagreements {
                let (id, said) = (escape(&row.id), escape(&one_line(&row.text)));
                let _ =
                    writeln!(text, "<li><code>{id}</code> judge {:.2}, people {}: {said}</li>", row.score, row.label);
            }
            text += "</ul>\n";
        }
        text
    }

    /// `check.json`.
    ///
    /// # Panics
    /// Never: it holds only strings and finite numbers.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a check has only strings and finite numbers") + "\n"
    }

    fn judge_name(&self) -> String {
        self.judge.as_ref().map_or_else(|| "(none)".to_owned(), |judge| judge.name.clone())
    }
}

/// Columns of a table: heads, with what each means.
type Columns = [(&'static str, &'static str)];

fn markdown_table(columns: &Columns, rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    let width = |idx: usize| rows.iter().chain([&heads]).map(|row| row[idx].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = line(&heads) + &line(&rule);
    rows.iter().for_each(|row| text += &line(row));
    text
}

fn markdown_legend(columns: &Columns) -> String {
    columns.iter().map(|(head, meaning)| format!("- {head}: {meaning}\n")).collect()
}

/// A table with its legend.
fn html_table(columns: &Columns, rows: &[Vec<String>]) -> String {
    let mut text = "<table>\n<tr>".to_owned();
    columns.iter().for_each(|(head, meaning)| {
        let _ = write!(text, "<th title=\"{}\">{}</th>", escape(meaning), escape(head));
    });
    text += "</tr>\n";
    for cells in rows {
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let _ = writeln!(text, "<tr>{cells}</tr>");
    }
    text += "</table>\n<dl>\n";
    columns.iter().for_each(|(head, meaning)| {
        let _ = writeln!(text, "<dt>{}</dt><dd>{}</dd>", escape(head), escape(meaning));
    });
    text + "</dl>\n"
}

fn row(figures: &Figures) -> Vec<String> {
    let plain = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let rows = match figures.n_without_score {
        0 => figures.n_rows.to_string(),
        n => format!("{} (+{n})", figures.n_rows),
    };
    let best = figures.best_balanced_accuracy.zip(figures.best_threshold);
    vec![
        figures.set.clone(),
        figures.language.clone(),
        figures.metric.clone(),
        rows,
        ranged(figures.auc),
        plain(figures.floor),
        ranged(figures.balanced_accuracy),
        best.map_or_else(|| "-".to_owned(), |(accuracy, at)| format!("{accuracy:.2} ({at:.2})")),
        plain(figures.kappa),
        plain(figures.brier),
        plain(figures.calibration_error),
        ranged(figures.pairwise_accuracy),
        ranged(figures.spearman),
    ]
}

fn ranged(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(Estimate { value, interval: None }) => format!("{value:.2}"),
        Some(Estimate { value, interval: Some((low, high)) }) => format!("{value:.2} [{low:.2}, {high:.2}]"),
    }
}

/// The start of a text on one line.
fn one_line(text: &str) -> String {
    const MAX_CHARS: usize = 300;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_CHARS { line } else { line.chars().take(MAX_CHARS).collect::<String>() + "…" }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A reliability picture as SVG, 200 pixels square.
fn picture(bins: &[ReliabilityBin]) -> String {
    const SIDE: f64 = 200.0;
    let n_rows: usize = bins.iter().map(|bin| bin.n_rows).sum();
    let mut svg = format!("<svg viewBox=\"-24 -8 {0} {0}\" role=\"img\" aria-label=\"reliability\">", SIDE + 40.0);
    let _ = write!(
        svg,
        "<rect class=\"frame\" width=\"{SIDE}\" height=\"{SIDE}\"/><path class=\"line\" d=\"M0 {SIDE}L{SIDE} 0\"/>"
    );
    for bin in bins {
        let Some((mean_score, share_yes)) = bin.mean_score.zip(bin.share_yes) else { continue };
        let radius = 3.0 + 14.0 * (bin.n_rows as f64 / n_rows as f64).sqrt();
        let (x, y) = (mean_score * SIDE, (1.0 - share_yes) * SIDE);
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{} rows: P(yes) {:.2}, share of yes {:.2}</title></circle>",
            bin.n_rows, mean_score, share_yes
        );
    }
    for (at, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
        let _ = write!(svg, "<text x=\"{:.0}\" y=\"{:.0}\">{label}</text>", at * SIDE, SIDE + 16.0);
        let _ = write!(svg, "<text x=\"-12\" y=\"{:.0}\">{label}</text>", (1.0 - at) * SIDE + 4.0);
    }
    svg + "</svg>"
}

const HTML_HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Check of the judge</title>\n<style>\n\
    body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1b1f24 }\n\
    table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n\
    th, td { border-bottom: 1px solid #d5dae0; padding: .3rem .6rem; text-align: left; white-space: nowrap }\n\
    dl { columns: 2 } dt { font-weight: 600 } dd { margin: 0 0 .5rem 1rem }\n\
    .pictures { display: flex; flex-wrap: wrap; gap: 1rem } figure { margin: 0; width: 15rem } figcaption { font-size: 13px }\n\
    .frame { fill: #f6f8fa; stroke: #afb8c1 } .line { stroke: #afb8c1; fill: none } circle { fill: #0969da99 }\n\
    svg text { font-size: 11px; text-anchor: middle }\n</style>\n</head>\n<body>\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::figures::{Point, Subject};

    fn check() -> Check {
        let point = |idx: usize| Point {
            id: format!("r{idx}"),
            text: "<b>\"a\" & b</b>".to_owned(),
            score: [0.9, 0.8, 0.7, 0.1][idx % 4],
            overlap: None,
            label: [1.0, 1.0, 0.0, 0.0][idx % 4],
            group: format!("g{idx}"),
            pair: None,
        };
        let points: Vec<Point> = (0..40).map(point).collect();
        let subject = Subject {
            set: "facts|1",
            language: "en",
            metric: "supported",
            is_of_pairs: false,
            n_without_score: 2,
            threshold: 0.5,
            seed: 0,
        };
        Check {
            judge: None,
            embedder: None,
            figures: vec![Figures::of(subject, &points)],
            injection: None,
            secs: 1.0,
            tokens_asked: 7,
        }
    }

    #[test]
    fn table_names_rows_and_figures() {
        let text = check().to_markdown();
        let cells: Vec<&str> = text.lines().nth(2).unwrap().split(" | ").map(str::trim).collect();
        // At 0.5 all yes and half of the no rows are right; above 0.75 all are.
        assert_eq!(&cells[1..4], ["en", "supported", "40 (+2)"]);
        assert_eq!(cells[5], "-");
        assert!(cells[6].starts_with("0.75 ["), "{text}");
        assert_eq!(cells[7], "1.00 (0.75)");
    }

    #[test]
    fn page_escapes_data_and_asks_for_nothing() {
        let html = check().to_html();
        assert!(html.contains("&lt;b&gt;&quot;a&quot; &amp; b&lt;/b&gt;"));
        assert!(!html.contains("<b>") && !html.contains("http") && !html.contains("<script"));
    }
}
