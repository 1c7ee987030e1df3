//! Bytes of a text file: what comes next, and where are we?

use std::io::{self, BufRead, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result};

/// A UTF-8 file that is read once, from front to back, and knows its position.
///
/// As a [`Read`] it hands out one byte at a time, so that a parser which stops leaves the position where it stopped.
#[derive(Debug)]
pub struct Source<R> {
    file: PathBuf,
    reader: Chain<Cursor<Vec<u8>>, R>,
    /// The current line, counted from 1.
    line: u64,
    /// Characters of the current line that have been read.
    n_line_chars: u64,
    /// Bytes of the file that have been read.
    n_bytes: u64,
    /// What has been read since [`Source::start_value`], to find the place of a parser's error in.
    value: Vec<u8>,
    /// The bytes of a character that has been read in part.
    partial: Vec<u8>,
    /// The error to report instead of the [`io::Error`] that stopped the parser.
    not_utf8: Option<Error>,
}

/// A line of a file, without what was read of it before.
#[derive(Debug)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// How many characters of the line come before the text.
    pub n_chars_before: u64,
    /// The text without white space at its end.
    pub text: String,
}

impl<R: BufRead> Source<R> {
    /// Starts after the byte order mark, if there is one.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is UTF-16.
    pub fn open(file: &Path, mut reader: R) -> Result<Self> {
        let mut head = Vec::new();
        reader.by_ref().take(4).read_to_end(&mut head).map_err(Error::io("read", file))?;
        if let [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] = head[..] {
            return Err(Error::Dataset {
                place: Place::file(file),
                message: "found the byte order mark of UTF-16 at byte 0, expected UTF-8".into(),
                help: HELP_UTF8.into(),
            });
        }
        let n_mark = if head.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        head.drain(..n_mark);
        Ok(Self {
            file: file.to_owned(),
            reader: Cursor::new(head).chain(reader),
            line: 1,
            n_line_chars: 0,
            n_bytes: n_mark as u64,
            value: Vec::new(),
            partial: Vec::new(),
            not_utf8: None,
        })
    }

    /// The current line.
    pub fn place(&self) -> Place {
        Place::line(&self.file, self.line)
    }

    /// How many characters of the current line have been read.
    pub fn n_line_chars(&self) -> u64 {
        self.n_line_chars
    }

    /// Starts to remember what is read.
    pub fn start_value(&mut self) {
        self.value.clear();
    }

    /// What has been read since [`Source::start_value`].
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// The next byte, not yet read; none at the end.
    pub fn peek(&mut self) -> Result<Option<u8>> {
        let next = self.reader.fill_buf().map_err(Error::io("read", &self.file))?;
        Ok(next.first().copied())
    }

    /// The next byte that is no white space, not yet read; what comes before it is.
    pub fn peek_after_space(&mut self) -> Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.skip()?;
        }
        Ok(None)
    }

    /// Reads one byte.
    pub fn skip(&mut self) -> Result<()> {
        let read = self.read(&mut [0]);
        read.map(|_| ()).map_err(|error| self.error(error))
    }

    /// The rest of the current line; none at the end.
    ///
    /// # Errors
    ///
    /// If it cannot be read or is not UTF-8. In the second case the next line can be read.
    pub fn line(&mut self) -> Result<Option<Line>> {
        let mut bytes = Vec::new();
        self.reader.read_until(b'\n', &mut bytes).map_err(Error::io("read", &self.file))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let (number, n_chars_before, start) = (self.line, self.n_line_chars, self.n_bytes);
        self.line += 1;
        self.n_line_chars = 0;
        self.n_bytes += bytes.len() as u64;
        let mut text = String::from_utf8(bytes).map_err(|error| {
            let idx = error.utf8_error().valid_up_to();
            not_utf8(Place::line(&self.file, number), error.as_bytes()[idx], start + idx as u64)
        })?;
        text.truncate(text.trim_end().len());
        Ok(Some(Line { number, n_chars_before, text }))
    }

    /// The error behind one that reading as a [`Read`] gave.
    pub fn error(&mut self, error: io::Error) -> Error {
        self.not_utf8.take().unwrap_or_else(|| Error::io("read", &self.file)(error))
    }

    /// Moves the position over one byte.
    fn step(&mut self, byte: u8) -> io::Result<()> {
        self.value.push(byte);
        self.n_bytes += 1;
        // Bytes 10xxxxxx continue a character.
        self.n_line_chars += u64::from(byte & 0xC0 != 0x80);
        if byte == b'\n' {
            self.line += 1;
            self.n_line_chars = 0;
        }
        if byte.is_ascii() && self.partial.is_empty() {
            return Ok(());
        }
        self.partial.push(byte);
        match std::str::from_utf8(&self.partial) {
            Ok(_) => self.partial.clear(),
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                let start = self.n_bytes - self.partial.len() as u64;
                self.not_utf8 = Some(not_utf8(self.place(), self.partial[0], start));
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let next = self.reader.fill_buf()?.first().copied();
        let (Some(slot), Some(byte)) = (buf.first_mut(), next) else { return Ok(0) };
        *slot = byte;
        self.reader.consume(1);
        self.step(byte)?;
        Ok(1)
    }
}

/// The remedy for every wrong encoding.
const HELP_UTF8: &str =
    "save it as UTF-8; older Windows programs save Korean text as CP949 or UTF-16 unless told otherwise";

fn not_utf8(place: Place, byte: u8, n_bytes_before: u64) -> Error {
    let message = format!("found the byte 0x{byte:02X} at byte {n_bytes_before} of the file, expected UTF-8");
    Error::Dataset { place, message, help: HELP_UTF8.into() }
}
