//! The table on the terminal: one row a sample, then the means; with many metrics one row a metric.

use std::collections::BTreeSet;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{MetricSummary, Summary};
use crate::record::{Cell, Outcome, Record};

/// Samples that are shown; a longer table is not read.
const MAX_ROWS: usize = 40;

/// Metrics that stand side by side; with more the table would be wider than a terminal.
const MAX_COLUMNS: usize = 8;

/// Columns of the terminal that an id may take.
const MAX_ID_WIDTH: usize = 28;

/// Rows of the table, gathered record by record.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    n_left_out: usize,
    /// Each note and reason once, in order of appearance.
    footnotes: Vec<String>,
}

impl Table {
    /// An empty table for these metrics.
    pub fn new(metrics: &[String]) -> Self {
        let header = std::iter::once("sample".to_owned()).chain(metrics.iter().cloned()).collect();
        Self { header, rows: Vec::new(), n_left_out: 0, footnotes: Vec::new() }
    }

    /// Adds a row, unless there are many already.
    pub fn add(&mut self, record: &Record) {
        if self.rows.len() == MAX_ROWS {
            self.n_left_out += 1;
            return;
        }
        let mut row = vec![shorten(&record.sample.id, MAX_ID_WIDTH)];
        for cell in &record.cells {
            row.push(self.cell(cell));
        }
        self.rows.push(row);
    }

    fn cell(&mut self, cell: &Cell) -> String {
        let (text, reason) = match &cell.outcome {
            Outcome::Scored(score) => (format!("{:.3}", score.score), None),
            Outcome::Unscored { reason } => ("-".to_owned(), Some(format!("unscored: {reason}"))),
            Outcome::Failed { reason } => ("failed".to_owned(), Some(reason.clone())),
        };
        let notes: Vec<String> =
            reason.into_iter().chain(cell.notes.iter().cloned()).map(|note| self.footnote(note)).collect();
        if notes.is_empty() { text } else { format!("{text} [{}]", notes.join(",")) }
    }

    fn footnote(&mut self, note: String) -> String {
        let idx = self.footnotes.iter().position(|known| *known == note).unwrap_or_else(|| {
            self.footnotes.push(note);
            self.footnotes.len() - 1
        });
        (idx + 1).to_string()
    }

    /// The whole table with the means, ready to print.
    pub fn render(&self, summary: &Summary) -> String {
        let mut lines =
            if self.header.len() - 1 <= MAX_COLUMNS { self.by_sample(summary) } else { self.by_metric(summary) };
        if !self.footnotes.is_empty() {
            lines.push(String::new());
        }
        lines.extend(self.footnotes.iter().zip(1..).map(|(note, idx)| format!("[{idx}] {}", note.replace('\n', " "))));
        lines.join("\n") + "\n"
    }

    fn by_sample(&self, summary: &Summary) -> Vec<String> {
        let figures = summary.metrics();
        let figure_row = |name: &str, cell: fn(&MetricSummary) -> String| {
            std::iter::once(name.to_owned()).chain(figures.iter().map(|(_, figures)| cell(figures))).collect()
        };
        let mut foot: Vec<Vec<String>> = vec![figure_row("mean", mean), figure_row("coverage", coverage)];
        if summary.n_failed() > 0 {
            foot.push(figure_row(STRICT_MEAN, strict_mean));
        }
        let widths = widths(std::iter::once(&self.header).chain(&self.rows).chain(&foot));
        let mut lines = vec![line(&self.header, &widths), rule(&widths)];
        lines.extend(self.rows.iter().map(|row| line(row, &widths)));
        if self.n_left_out > 0 {
            lines.push(format!("... and {} more in scores.csv", self.n_left_out));
        }
        lines.push(rule(&widths));
        lines.extend(foot.iter().map(|row| line(row, &widths)));
        lines
    }

    /// The scores of samples are left to the files; notes and reasons are named in the row of their metric.
    fn by_metric(&self, summary: &Summary) -> Vec<String> {
        let mut header = ["metric", "mean", "coverage"].map(str::to_owned).to_vec();
        if summary.n_failed() > 0 {
            header.push(STRICT_MEAN.to_owned());
        }
        header.push("notes".to_owned());
        let row = |(idx, (name, figures)): (usize, (&str, MetricSummary))| {
            let mut row = vec![name.to_owned(), mean(&figures), coverage(&figures)];
            if summary.n_failed() > 0 {
                row.push(strict_mean(&figures));
            }
            row.push(self.marks(idx + 1));
            row
        };
        let rows: Vec<Vec<String>> = summary.metrics().into_iter().enumerate().map(row).collect();
        let widths = widths(std::iter::once(&header).chain(&rows));
        let mut lines = vec![line(&header, &widths), rule(&widths)];
        lines.extend(rows.iter().map(|row| line(row, &widths)));
        lines.extend([rule(&widths), format!("{} samples; their scores are in scores.csv", summary.n_samples())]);
        lines
    }

    /// The footnotes of a column, as in "[1,3]".
    fn marks(&self, column: usize) -> String {
        let marks = self
            .rows
            .iter()
            .filter_map(|row| row[column].split_once('['))
            .flat_map(|(_, marks)| marks.split([',', ']']));
        let marks: BTreeSet<usize> = marks.filter_map(|mark| mark.parse().ok()).collect();
        if marks.is_empty() {
            return String::new();
        }
        format!("[{}]", marks.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
    }
}

/// How the mean with failed cells is called.
const STRICT_MEAN: &str = "mean, failed as worst";

/// The width of each column.
fn widths<'a>(rows: impl Iterator<Item = &'a Vec<String>> + Clone) -> Vec<usize> {
    let n_columns = rows.clone().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.clone().map(|row| row[column].width()).max().unwrap_or(0);
    (0..n_columns).map(width).collect()
}

fn mean(figures: &MetricSummary) -> String {
    figure(figures.mean)
}

fn strict_mean(figures: &MetricSummary) -> String {
    figure(figures.strict_mean)
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// Scored of those with something to score, as in "9/10".
fn coverage(figures: &MetricSummary) -> String {
    format!("{}/{}", figures.n_scored, figures.n_scored + figures.n_failed)
}

/// The first column to the left, the others to the right.
fn line(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (idx, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - cell.width());
        line += &if idx == 0 { format!("{cell}{padding}") } else { format!("  {padding}{cell}") };
    }
    line.trim_end().to_owned()
}

fn rule(widths: &[usize]) -> String {
    "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1))
}

/// The text on one line within `max_width` columns; Korean letters take two.
fn shorten(text: &str, max_width: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.width() <= max_width {
        return text;
    }
    let mut width = 1;
    let kept = text.chars().take_while(|c| {
        width += c.width().unwrap_or(0);
        width <= max_width
    });
    kept.collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn korean_ids_are_cut_by_their_width() {
        assert_eq!(shorten("가나다", 6), "가나다");
        // Two columns a letter and one for the ellipsis.
        assert_eq!(shorten("가나다라", 6), "가나…");
        assert_eq!(shorten("a\tb", 6), "a b");
    }
}
