//! Reads numbers and strings from a source whose every length is a lie until checked against the bytes left.

use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// A position in a file, with the bytes that may still be read.
pub(super) struct Reader<'a, R> {
    source: R,
    path: &'a Path,
    position: u64,
    file_bytes: u64,
    /// Reading past this byte is an error: the end of the file or the limit for headers.
    end: u64,
}

impl<'a, R> Reader<'a, R> {
    /// Starts at byte 0 of a file of `file_bytes`, of which at most `max_bytes` may be read.
    pub(super) fn new(source: R, path: &'a Path, file_bytes: u64, max_bytes: u64) -> Self {
        Self { source, path, position: 0, file_bytes, end: file_bytes.min(max_bytes) }
    }

    /// The number of bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The size of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// An error about this file.
    pub(super) fn fault(&self, message: impl Into<String>) -> Error {
        Error::model_file(self.path, message)
    }

    /// The bytes that may still be read.
    fn n_left(&self) -> u64 {
        self.end - self.position
    }

    /// The error for `n_bytes` that `what` needs and that are not there.
    fn shortage(&self, n_bytes: u64, what: fmt::Arguments<'_>) -> Error {
        let Self { position, end, file_bytes, .. } = self;
        if end < file_bytes {
            return self.fault(format!(
                "{what} at byte {position} takes {n_bytes} bytes, but a header may end at byte {end} at most"
            ));
        }
        let n_left = self.n_left();
        self.fault(format!("{what} at byte {position} takes {n_bytes} bytes, but the file has {n_left} left"))
    }
}

impl<R: Read> Reader<'_, R> {
    /// Reads `n_bytes` bytes.
    pub(super) fn bytes(&mut self, n_bytes: u64, what: fmt::Arguments<'_>) -> Result<Vec<u8>> {
        if n_bytes > self.n_left() {
            return Err(self.shortage(n_bytes, what));
        }
        let mut bytes = vec![0; n_bytes as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads exactly `N` bytes.
    pub(super) fn array<const N: usize>(&mut self, what: fmt::Arguments<'_>) -> Result<[u8; N]> {
        if N as u64 > self.n_left() {
            return Err(self.shortage(N as u64, what));
        }
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills the buffer, which was checked to be no longer than what is left.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.source.read_exact(bytes).map_err(Error::io("read", self.path))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Reads an unsigned number of 32 bits.
    pub(super) fn u32(&mut self, what: fmt::Arguments<'_>) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// Reads an unsigned number of 64 bits.
    pub(super) fn u64(&mut self, what: fmt::Arguments<'_>) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Reads the number of things that follow, each of at least `min_bytes`.
    pub(super) fn count(&mut self, min_bytes: u64, what: fmt::Arguments<'_>) -> Result<u64> {
        let count = self.u64(what)?;
        let max_count = self.n_left() / min_bytes;
        if count > max_count {
            return Err(self.fault(format!("{what} is {count}, but the bytes left have room for {max_count} at most")));
        }
        Ok(count)
    }

    /// Reads a string of at most `max_bytes`: a length and UTF-8.
    pub(super) fn string(&mut self, max_bytes: u64, what: fmt::Arguments<'_>) -> Result<String> {
        let n_bytes = self.u64(what)?;
        if n_bytes > max_bytes {
            return Err(self.fault(format!("{what} has {n_bytes} bytes, expected {max_bytes} at most")));
        }
        let position = self.position;
        let bytes = self.bytes(n_bytes, what)?;
        String::from_utf8(bytes).map_err(|_| self.fault(format!("{what} at byte {position} is not UTF-8")))
    }
}
