//! Data sets: which samples are in this file?

mod columns;
mod ids;
mod json;
mod source;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

pub use columns::{COLUMNS, KnownColumn, Shape, near_miss};
pub use ids::content_id;

use crate::error::{Error, Place, Result};
use crate::sample::Sample;
use ids::Ids;
use json::{Row, Rows};

/// The samples of a JSON or JSONL file, read one at a time in file order.
///
/// The content tells the format, not the file's name: a file that starts with `[` is a JSON list of objects, one that
/// starts with `{` is JSONL, one object a line. A byte order mark, CRLF and blank lines are skipped. [`COLUMNS`] says
/// which names are read as what; `null` is absent, and whatever else a row holds is kept as metadata.
///
/// A row's id is its `id`, or [`content_id`] if it has none or an empty one. The second of two rows with the same
/// content gets `-2` appended, the third `-3`; two rows with the same given id are an error.
///
/// A bad row is an `Err`, and the rows after it follow, so that it never costs the others their scores. Only what hides
/// where the next row starts ends the iteration: an error in the syntax or encoding of a JSON list, an object spread
/// over lines at the start of JSONL, and a read error. Memory holds one row, and some seventy bytes for each id.
#[derive(Debug)]
pub struct Dataset<R = BufReader<File>> {
    file: PathBuf,
    rows: Rows<R>,
    ids: Ids,
}

impl Dataset {
    /// Opens a file and finds out its format.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not UTF-8, is neither JSON nor JSONL, or has no rows.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Self::read(path, BufReader::new(file))
    }
}

impl<R: BufRead> Dataset<R> {
    /// Reads from `reader`; `file` is the name that errors give it.
    ///
    /// # Errors
    ///
    /// As [`Dataset::open`].
    pub fn read(file: &Path, reader: R) -> Result<Self> {
        Ok(Self { file: file.to_owned(), rows: Rows::open(file, reader)?, ids: Ids::default() })
    }

    /// The sample that a row holds, with an id that no row before it has.
    fn sample(&mut self, row: Row) -> Result<Sample> {
        let place = Place::line(&self.file, row.line);
        let mut sample = columns::sample(row.cells, &place)?;
        self.ids.assign(&mut sample, &place)?;
        Ok(sample)
    }
}

impl<R: BufRead> Iterator for Dataset<R> {
    type Item = Result<Sample>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(row.and_then(|row| self.sample(row)))
    }
}
