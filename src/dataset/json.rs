//! JSON and JSONL: which rows are in this file?

use std::fmt;
use std::io::BufRead;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::columns::describe;
use super::source::{Line, Source};
use crate::error::{Error, Place, Result};

/// One row of a file.
#[derive(Debug)]
pub struct Row {
    /// The line that it starts on, counted from 1.
    pub line: u64,
    /// Its names and values in file order; a name may come twice.
    pub cells: Vec<(String, Value)>,
}

/// The rows of a file, one at a time.
#[derive(Debug)]
pub struct Rows<R> {
    source: Source<R>,
    next: Next,
}

/// What comes next in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The first line of JSONL.
    FirstLine,
    /// A further line of JSONL, or the end.
    Line,
    /// The first element of a list; there is one.
    FirstElement,
    /// A comma and an element of a list, or its end.
    Element,
    /// Nothing: the end, or an error that hides where the next row starts.
    Nothing,
}

/// What every file should look like.
const HELP_FORMAT: &str =
    r#"write one object a line, `{"user_input": "…", "response": "…"}`, or a list `[…]` of such objects"#;

impl<R: BufRead> Rows<R> {
    /// Finds out the format from the first character.
    ///
    /// # Errors
    ///
    /// If there are no rows, or the first character starts neither a list nor an object.
    pub fn open(file: &Path, reader: R) -> Result<Self> {
        let mut source = Source::open(file, reader)?;
        let next = match source.peek_after_space()? {
            None => return Err(no_rows(file)),
            Some(b'{') => Next::FirstLine,
            Some(b'[') => {
                source.skip()?;
                if source.peek_after_space()? == Some(b']') {
                    return Err(no_rows(file));
                }
                Next::FirstElement
            }
            Some(_) => return Err(neither_format(&mut source)?),
        };
        Ok(Self { source, next })
    }

    /// The row on the next line that is not blank.
    fn line(&mut self) -> Result<Option<Row>> {
        let is_first = self.next == Next::FirstLine;
        self.next = Next::Line;
        loop {
            let line = match self.source.line() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(None),
                Err(error) => {
                    if matches!(error, Error::Io { .. }) {
                        self.next = Next::Nothing;
                    }
                    return Err(error);
                }
            };
            if line.text.trim().is_empty() {
                continue;
            }
            // An object that is spread over lines would give an error on each of them.
            if is_first && line.text.trim_end().ends_with(['{', '[', ',']) {
                self.next = Next::Nothing;
                return Err(spread_over_lines(self.source.place(), line.number));
            }
            return self.row_of_line(&line).map(Some);
        }
    }

    /// The row that a line holds.
    fn row_of_line(&self, line: &Line) -> Result<Row> {
        let place = Place { line: Some(line.number), ..self.source.place() };
        if !line.text.trim_start().starts_with('{')
            && let Ok(value) = serde_json::from_str::<Value>(&line.text)
        {
            return Err(not_an_object(place, &describe(&value)));
        }
        match serde_json::from_str::<Cells>(&line.text) {
            Ok(Cells(cells)) => Ok(Row { line: line.number, cells }),
            Err(error) => Err(not_json(place, line.n_chars_before, line.text.as_bytes(), &error)),
        }
    }

    /// The next element of the list; none after the last.
    fn element(&mut self) -> Result<Option<Row>> {
        let is_first = self.next == Next::FirstElement;
        // Any error on the way leaves it so: there is no telling where the next row starts.
        self.next = Next::Nothing;
        if !is_first {
            match self.source.peek_after_space()? {
                Some(b',') => self.source.skip()?,
                Some(b']') => return self.end().map(|()| None),
                found => return Err(self.unexpected(found, "`,` or `]` after a row")),
            }
        }
        match self.source.peek_after_space()? {
            Some(b'{') => self.object().map(Some),
            Some(b'[' | b'"' | b't' | b'f' | b'n') => {
                let place = self.source.place();
                let value: Value = self.parse()?;
                self.next = Next::Element;
                Err(not_an_object(place, &describe(&value)))
            }
            Some(b'-' | b'0'..=b'9') => {
                let place = self.source.place();
                self.skip_number()?;
                self.next = Next::Element;
                Err(not_an_object(place, "a number"))
            }
            found => Err(self.unexpected(found, "a row, `{…}`")),
        }
    }

    /// The row that the object at the current position is.
    fn object(&mut self) -> Result<Row> {
        let line = self.source.place().line.unwrap_or_default();
        let Cells(cells) = self.parse()?;
        self.next = Next::Element;
        Ok(Row { line, cells })
    }

    /// Reads one value and not a byte more, unless it is a number.
    fn parse<T: for<'de> Deserialize<'de>>(&mut self) -> Result<T> {
        let (place, n_chars_before) = (self.source.place(), self.source.n_line_chars());
        self.source.start_value();
        let parsed = T::deserialize(&mut serde_json::Deserializer::from_reader(&mut self.source));
        parsed.map_err(|error| {
            if error.is_io() {
                return self.source.error(error.into());
            }
            not_json(place, n_chars_before, self.source.value(), &error)
        })
    }

    /// Reads a number, and leaves what ends it.
    fn skip_number(&mut self) -> Result<()> {
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.source.peek()? {
            self.source.skip()?;
        }
        Ok(())
    }

    /// Reads the list's closing bracket and makes sure that nothing follows.
    fn end(&mut self) -> Result<()> {
        self.source.skip()?;
        match self.source.peek_after_space()? {
            None => Ok(()),
            found => Err(self.unexpected(found, "nothing after the list's closing `]`")),
        }
    }

    /// The error of a byte, or the end, that should not be next.
    fn unexpected(&self, found: Option<u8>, expected: &str) -> Error {
        let place = self.source.place();
        let Some(byte) = found else {
            let message = format!("found the end of the file, expected {expected}");
            return Error::Dataset { place, message, help: HELP_CUT.into() };
        };
        let found = if byte.is_ascii_graphic() { format!("`{}`", byte as char) } else { format!("byte 0x{byte:02X}") };
        let message = format!("found {found} as character {}, expected {expected}", self.source.n_line_chars() + 1);
        Error::Dataset { place, message, help: HELP_LIST.into() }
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next {
            Next::FirstLine | Next::Line => self.line().transpose(),
            Next::FirstElement | Next::Element => self.element().transpose(),
            Next::Nothing => None,
        }
    }
}

/// An object's names and values in order, with those that come twice.
struct Cells(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CellsVisitor)
    }
}

/// Collects [`Cells`].
struct CellsVisitor;

impl<'de> Visitor<'de> for CellsVisitor {
    type Value = Cells;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cells, A::Error> {
        let mut cells = Vec::new();
        while let Some(cell) = map.next_entry()? {
            cells.push(cell);
        }
        Ok(Cells(cells))
    }
}

/// The remedy for a file that stops early.
const HELP_CUT: &str = "the end is missing: was the file copied or written completely?";

/// The remedy for a list whose brackets and commas are wrong.
const HELP_LIST: &str = "a list is `[{…}, {…}]`: a comma between two rows, none after the last, nothing after `]`";

fn no_rows(file: &Path) -> Error {
    Error::Dataset { place: Place::file(file), message: "has no rows".into(), help: HELP_FORMAT.into() }
}

/// The error of a file that starts with something else than a list or an object.
fn neither_format<R: BufRead>(source: &mut Source<R>) -> Result<Error> {
    let place = source.place();
    let first = source.line()?.and_then(|line| line.text.chars().next()).unwrap_or_default();
    let message = format!("found `{first}` as the first character, expected `[` (JSON) or `{{` (JSONL)");
    Ok(Error::Dataset { place, message, help: HELP_FORMAT.into() })
}

fn spread_over_lines(place: Place, line: u64) -> Error {
    Error::Dataset {
        place: Place { line: Some(line), ..place },
        message: "found an object that goes on in the next line, expected a whole row on each line".into(),
        help:
            "write rows that take several lines as a list, `[{…}, {…}]`; if they are under a key, write that list alone"
                .into(),
    }
}

fn not_an_object(place: Place, found: &str) -> Error {
    Error::Dataset { place, message: format!("found {found}, expected an object as a row"), help: HELP_FORMAT.into() }
}

/// The error of a value that serde could not read, given its text (more may follow) and the characters before it in
/// its first line.
fn not_json(place: Place, n_chars_before: u64, value: &[u8], error: &serde_json::Error) -> Error {
    // serde counts lines from 1, and the bytes of a line up to and with the one in question.
    let n_lines_before = error.line().saturating_sub(1);
    let line = value.split(|&byte| byte == b'\n').nth(n_lines_before).unwrap_or_default();
    let idx = error.column().saturating_sub(1).min(line.len());
    let starts_char = |byte: &&u8| **byte & 0xC0 != 0x80;
    let n_chars = line[..idx].iter().filter(starts_char).count() as u64;
    let n_chars = 1 + n_chars + if n_lines_before == 0 { n_chars_before } else { 0 };
    let place = Place { line: place.line.map(|first| first + n_lines_before as u64), ..place };
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let help = help_for_syntax(said, line.get(idx).copied().unwrap_or_default());
    Error::Dataset { place, message: format!("is not JSON at character {n_chars}: {said}"), help: help.into() }
}

/// The remedy for a syntax error, given what serde said and the byte that it stopped at; empty if none is known.
fn help_for_syntax(said: &str, found: u8) -> &'static str {
    match found {
        _ if said.starts_with("EOF") => HELP_CUT,
        _ if said == "trailing characters" => "write one object a line",
        _ if said.starts_with("control character") => r"write a line break inside a text as `\n`, and a tab as `\t`",
        b'\'' => "put names and texts in double quotes, `\"`",
        b'N' | b'I' | b'T' | b'F' => {
            "write `null` for `NaN`, `Infinity` and `None`, `true` for `True`, `false` for `False`"
        }
        b'}' | b']' => "is there a comma before it, with nothing after the comma?",
        _ => "",
    }
}
