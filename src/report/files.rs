//! The run folder: which files does a run leave?
//!
//! ```text
//! records.jsonl   the header, then a line a sample: all that the pins determine
//! scores.csv      a row a sample: id, question, scores
//! summary.json    mean, coverage and counts a metric
//! run.json        clock, machine, tokens computed: all that differs from run to run
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Summary;
use crate::error::{Error, Place, Result};
use crate::record::{Header, Record};

/// The files of a run, the first of them written first; none is ever overwritten.
const FILES: &[&str] = &["records.jsonl", "scores.csv", "summary.json", "run.json"];

/// A run folder being written; records and scores go to disk one by one.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    records: BufWriter<File>,
    scores: csv::Writer<File>,
}

/// `run.json`: what differs between two runs of the same thing.
#[derive(Debug, Clone, Serialize)]
pub struct RunInfo {
    /// The data set as the user named it.
    pub data: String,
    /// When the run began, in seconds since 1970.
    pub started_unix_secs: u64,
    /// Seconds spent loading models.
    pub load_secs: f64,
    /// Seconds spent on everything after that.
    pub score_secs: f64,
    /// Samples.
    pub n_samples: usize,
    /// Tokens of the prompts and texts of all cells; equal questions count each time.
    pub tokens_asked: u64,
    /// Tokens put through the decoder.
    pub tokens_computed: u64,
    /// Tokens written.
    pub tokens_written: u64,
    /// The judge's weights in memory.
    pub weight_bytes: usize,
    /// The most keys and values of the judge that were ever kept.
    pub kv_peak_bytes: usize,
    /// The largest resident memory as it was foreseen when the models were loaded.
    pub predicted_memory_bytes: usize,
    /// The largest resident memory so far, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// Threads.
    pub n_threads: usize,
    /// Processor architecture and operating system.
    pub machine: String,
}

impl RunFolder {
    /// Whether a run may be written to the folder; it need not be there.
    ///
    /// # Errors
    /// If it already holds a run.
    pub fn check_free(path: &Path) -> Result<()> {
        let Some(name) = FILES.iter().find(|name| path.join(name).exists()) else { return Ok(()) };
        let message = format!("`{}` already holds a run: found `{name}`", path.display());
        Err(Error::usage(message, "name another folder with `--out DIR`"))
    }

    /// Makes the folder, if it is not there, and begins the files.
    ///
    /// # Errors
    /// If it already holds a run, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self> {
        Self::check_free(path)?;
        fs::create_dir_all(path).map_err(Error::io("create the folder", path))?;
        let create = |name: &str| {
            let path = path.join(name);
            File::create_new(&path).map_err(Error::io("create", &path))
        };
        let mut folder = Self {
            path: path.to_owned(),
            records: BufWriter::new(create("records.jsonl")?),
            scores: csv::Writer::from_writer(create("scores.csv")?),
        };
        folder.write_record_line(header)?;
        let names = ["id", "user_input"].into_iter().chain(header.metrics.iter().map(String::as_str));
        folder.write_score_row(names.map(str::to_owned).collect())?;
        Ok(folder)
    }

    /// Adds a record to `records.jsonl` and `scores.csv`.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn add(&mut self, record: &Record) -> Result<()> {
        self.write_record_line(record)?;
        let texts = [&record.sample.id, record.sample.user_input.as_deref().unwrap_or_default()];
        let scores = record.cells.iter().map(|cell| cell.outcome.score());
        let scores = scores.map(|score| score.map_or_else(String::new, |score| score.to_string()));
        self.write_score_row(texts.into_iter().map(inert).chain(scores).collect())
    }

    /// Writes `summary.json`, and `run.json` if something ran, and sees everything onto the disk.
    ///
    /// # Errors
    /// If the disk refuses it.
    pub fn finish(mut self, summary: &Summary, info: Option<&RunInfo>) -> Result<PathBuf> {
        let refused = |path: &Path| Error::io("write", path);
        self.records.flush().map_err(refused(&self.path.join("records.jsonl")))?;
        self.records.get_ref().sync_all().map_err(refused(&self.path.join("records.jsonl")))?;
        self.scores.flush().map_err(refused(&self.path.join("scores.csv")))?;
        let info = info.map(|info| {
            let text = serde_json::to_string_pretty(info).expect("the info has only strings and finite numbers");
            ("run.json", text + "\n")
        });
        for (name, text) in [("summary.json", summary.to_json())].into_iter().chain(info) {
            let path = self.path.join(name);
            fs::write(&path, text).map_err(refused(&path))?;
        }
        Ok(self.path)
    }

    fn write_record_line(&mut self, line: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(line).expect("records have only strings and finite numbers");
        text.push(b'\n');
        // Flushed at once: an interrupted run keeps what was scored.
        self.records
            .write_all(&text)
            .and_then(|()| self.records.flush())
            .map_err(Error::io("write", &self.path.join("records.jsonl")))
    }

    fn write_score_row(&mut self, cells: Vec<String>) -> Result<()> {
        let path = self.path.join("scores.csv");
        let refused = |err: csv::Error| Error::io("write", &path)(std::io::Error::other(err));
        self.scores.write_record(cells).and_then(|()| Ok(self.scores.flush()?)).map_err(refused)
    }
}

/// The records of a run folder, one by one.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    reader: BufReader<File>,
    line: u64,
    is_cut: bool,
}

/// The header of a run folder, and its records.
///
/// # Errors
/// If the folder holds no run, or one of another version of the format.
pub fn read(folder: &Path) -> Result<(Header, Records)> {
    let path = folder.join("records.jsonl");
    let file = File::open(&path).map_err(Error::io("read", &path))?;
    let mut records = Records { path, reader: BufReader::new(file), line: 0, is_cut: false };
    let header: Header = records.next_line().unwrap_or_else(|| Err(records.broken("the file is empty")))?;
    if header.format != Header::FORMAT {
        return Err(records.broken(&format!("found format {}, expected {}", header.format, Header::FORMAT)));
    }
    Ok((header, records))
}

impl Records {
    fn next_line<T: DeserializeOwned>(&mut self) -> Option<Result<T>> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => return None,
            Ok(_) => self.line += 1,
            Err(err) => return Some(Err(Error::io("read", &self.path)(err))),
        }
        let parsed = serde_json::from_str(line.trim_end_matches('\n'));
        // Lines end with a line break: this one was being written when the run ended.
        if parsed.is_err() && !line.ends_with('\n') && self.line > 1 {
            self.is_cut = true;
            return None;
        }
        let said = |err: serde_json::Error| {
            // serde counts the lines of this line alone.
            let said = err.to_string();
            self.broken(said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said))
        };
        Some(parsed.map_err(said))
    }

    /// Whether the last line was written in part and left out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn broken(&self, what: &str) -> Error {
        let message = format!("is no record of a run: {what}");
        let help = "name the folder of a run, as `ragstone eval` of this version leaves it".to_owned();
        Error::Dataset { place: Place::line(&self.path, self.line.max(1)), message, help }
    }
}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line()
    }
}

/// The text as a spreadsheet shows it and does not run it: formulas begin with one of these characters.
fn inert(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text() {
        assert_eq!(inert("=1+1"), "'=1+1");
        assert_eq!(inert("왜?"), "왜?");
    }
}
