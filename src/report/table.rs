//! The table on the terminal: one row a sample, then the means.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{MetricSummary, Summary};
use crate::record::{Cell, Outcome, Record};

/// Samples that are shown; a longer table is not read.
const MAX_ROWS: usize = 40;

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
        let figures = summary.metrics();
        let figure_row = |name: &str, cell: fn(&MetricSummary) -> String| {
            std::iter::once(name.to_owned()).chain(figures.iter().map(|(_, figures)| cell(figures))).collect()
        };
        let mut foot: Vec<Vec<String>> = vec![figure_row("mean", mean), figure_row("coverage", coverage)];
        if summary.n_failed() > 0 {
            foot.push(figure_row("mean, failed as 0", strict_mean));
        }
        let widths = self.widths(&foot);
        let mut lines = vec![line(&self.header, &widths), rule(&widths)];
        lines.extend(self.rows.iter().map(|row| line(row, &widths)));
        if self.n_left_out > 0 {
            lines.push(format!("... and {} more in scores.csv", self.n_left_out));
        }
        lines.push(rule(&widths));
        lines.extend(foot.iter().map(|row| line(row, &widths)));
        if !self.footnotes.is_empty() {
            lines.push(String::new());
        }
        lines.extend(self.footnotes.iter().zip(1..).map(|(note, idx)| format!("[{idx}] {}", note.replace('\n', " "))));
        lines.join("\n") + "\n"
    }

    fn widths(&self, foot: &[Vec<String>]) -> Vec<usize> {
        let all = || std::iter::once(&self.header).chain(&self.rows).chain(foot);
        let width = |column: usize| all().map(|row| row[column].width()).max().unwrap_or(0);
        (0..self.header.len()).map(width).collect()
    }
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
