//! A first reading of a file: what is in it, and which metrics can score it?

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::tell;
use crate::dataset::Dataset;
use crate::engine::Options;
use crate::error::{Error, Place, Result};
use crate::metrics::{self, METRICS, Metric};
use crate::sample::Column;

/// Bad rows that are printed one by one; the records have them all.
const MAX_WARNINGS: usize = 5;

/// The name that stands for every metric whose columns the file has.
const ALL: &str = "all";

/// What a first reading of a file found, before any model is loaded.
pub struct Survey {
    file: PathBuf,
    /// Rows to be scored, bad ones included.
    pub n_rows: usize,
    /// Columns that some row has.
    columns: Vec<Column>,
    /// Bytes of all responses.
    response_bytes: usize,
    /// Bytes of the contexts of the row that has most.
    max_context_bytes: usize,
    /// The first bad rows.
    warnings: Vec<Error>,
    n_bad: usize,
}

impl Survey {
    /// Reads the first `limit` rows.
    ///
    /// # Errors
    /// If no row can be read, or the file cannot be read on.
    pub fn of<R: BufRead>(rows: Dataset<R>, file: &Path, limit: usize) -> Result<Self> {
        let mut survey = Self {
            file: file.to_owned(),
            n_rows: 0,
            columns: Vec::new(),
            response_bytes: 0,
            max_context_bytes: 0,
            warnings: Vec::new(),
            n_bad: 0,
        };
        for row in rows.take(limit) {
            survey.n_rows += 1;
            match row {
                Ok(sample) => {
                    let new = |column: &Column| column.is_present(&sample) && !survey.columns.contains(column);
                    let new: Vec<Column> = Column::ALL.into_iter().filter(new).collect();
                    survey.columns.extend(new);
                    let contexts = sample.retrieved_contexts.iter().flatten().map(String::len).sum();
                    survey.max_context_bytes = survey.max_context_bytes.max(contexts);
                    survey.response_bytes += sample.response.map_or(0, |response| response.len());
                }
                Err(err @ Error::Dataset { .. }) => {
                    survey.n_bad += 1;
                    if survey.warnings.len() < MAX_WARNINGS {
                        survey.warnings.push(err);
                    }
                }
                Err(err) => return Err(err),
            }
        }
        // Nothing can be scored: the first bad row is the error.
        if survey.n_bad == survey.n_rows {
            return Err(survey.warnings.swap_remove(0));
        }
        Ok(survey)
    }

    /// Tokens whose keys and values will be kept at a time: those of texts written side by side, each with instructions,
    /// the response and claims about it, or those of one sample's contexts and the questions about them.
    pub fn kv_tokens(&self, options: &Options) -> usize {
        /// Of UTF-8, English and Korean.
        const TOKEN_BYTES: usize = 4;
        /// Instructions after the response, and a question written about it.
        const TEXT_TOKENS: usize = 60;
        let response = self.response_bytes / self.n_rows / TOKEN_BYTES;
        // Claims once and a question three times: of the texts in work a quarter is as long as the response again.
        let n_texts = options.max_streams.min(4 * self.n_rows);
        let writing = n_texts * (TEXT_TOKENS + response + response / 4);
        writing.max(self.max_context_bytes / TOKEN_BYTES + 2 * options.max_rows)
    }

    fn has(&self, metric: &dyn Metric) -> bool {
        metric.about().columns.iter().all(|column| self.columns.contains(column))
    }

    /// The metrics that are computed without being named: the usual ones whose columns the file has; if it has those of
    /// none, all that need no model.
    pub fn default_metrics(&self) -> Vec<&'static dyn Metric> {
        let fitting = || METRICS.iter().copied().filter(|metric| self.has(*metric));
        let usual: Vec<&dyn Metric> = fitting().filter(|metric| metric.about().is_default).collect();
        if usual.is_empty() { fitting().filter(|metric| metric.about().models.is_empty()).collect() } else { usual }
    }

    /// The metrics of these names, each once and in the order of the table, if the file has their columns.
    ///
    /// # Errors
    /// If there is no such metric, or the file lacks a column.
    pub fn metrics(&self, names: &[String]) -> Result<Vec<&'static dyn Metric>> {
        if names.iter().any(|name| name == ALL) {
            let (fitting, others): (Vec<&dyn Metric>, Vec<&dyn Metric>) =
                METRICS.iter().copied().partition(|metric| self.has(*metric));
            if !fitting.is_empty() && !others.is_empty() {
                let names: Vec<&str> = others.iter().map(|metric| metric.about().name).collect();
                tell(format_args!("left out, as the file lacks a column of each: {}", names.join(", ")));
            }
            return Ok(fitting);
        }
        let asked = names.iter().map(|name| metrics::find(name.trim())).collect::<Result<Vec<_>>>()?;
        asked.iter().try_for_each(|metric| self.check_columns(*metric))?;
        let is_asked = |metric: &&dyn Metric| asked.iter().any(|asked| asked.about().name == metric.about().name);
        Ok(METRICS.iter().copied().filter(is_asked).collect())
    }

    /// Whether the file has the metric's columns.
    ///
    /// # Errors
    /// That names the first it lacks.
    pub fn check_columns(&self, metric: &dyn Metric) -> Result<()> {
        let name = metric.about().name;
        let missing = metric.about().columns.iter().find(|column| !self.columns.contains(column));
        let Some(missing) = missing else { return Ok(()) };
        let message = format!("no column `{}`, which metric `{name}` needs", missing.name());
        let help = format!("found {}; rename a column, or leave the metric out", self.found());
        Err(Error::Dataset { place: Place::file(&self.file), message, help })
    }

    /// The error that no metric has all its columns.
    pub fn no_metrics(&self) -> Error {
        let message = format!("no metric has all its columns; found {}", self.found());
        let help = "`ragstone metrics` lists which metric needs which columns".to_owned();
        Error::Dataset { place: Place::file(&self.file), message, help }
    }

    fn found(&self) -> String {
        // Every row is given an id, so that it was found says nothing of the file.
        let columns = self.columns.iter().filter(|column| **column != Column::Id);
        columns.map(|column| format!("`{}`", column.name())).collect::<Vec<_>>().join(", ")
    }

    /// Says on stderr which rows cannot be read.
    pub fn warn_of_bad_rows(&self) {
        for err in &self.warnings {
            tell(format_args!("warning: {err}"));
            if let Some(help) = err.help() {
                tell(format_args!("help: {help}"));
            }
        }
        if self.n_bad > 0 {
            tell(format_args!(
                "warning: {} of {} rows cannot be read; their cells will be failed",
                self.n_bad, self.n_rows
            ));
        }
    }

    /// Says on stderr which of the usual metrics are left out, and which columns they lack.
    pub fn warn_of_left_out_metrics(&self) {
        let is_left_out = |metric: &&&dyn Metric| metric.about().is_default && !self.has(**metric);
        for metric in METRICS.iter().filter(is_left_out) {
            let missing = metric.about().columns.iter().filter(|column| !self.columns.contains(column));
            let missing: Vec<&str> = missing.map(|column| column.name()).collect();
            tell(format_args!("left out: {}, the file has no `{}`", metric.about().name, missing.join("`, `")));
        }
    }
}
