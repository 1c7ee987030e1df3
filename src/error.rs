//! The one error type of the library: what was wrong with what came from outside?

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of every fallible function of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Wrong input, a missing model, or a failing device: what was found, where, and what to do.
///
/// A sample that cannot be scored is not an error but an [`Outcome`](crate::record::Outcome). A bug panics.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused an action on a path.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as in "cannot {action} `path`".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A data set, or a place in it, is not what it should be.
    #[error("{place}: {message}")]
    Dataset {
        /// Where it was found.
        place: Place,
        /// What was found, and what was expected.
        message: String,
        /// What to do; empty if there is no remedy to name.
        help: String,
    },
    /// A model file is broken, hostile, or of a kind that this program cannot run.
    #[error("model file `{}`: {message}", path.display())]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What was found, and what was expected.
        message: String,
    },
    /// A manifest (`models/NAME.toml`) is not valid.
    #[error("manifest `{name}`: {message}")]
    Manifest {
        /// The manifest's name or path.
        name: String,
        /// What was found, and what was expected.
        message: String,
    },
    /// A model is not in the store, or what a source delivered is not what the manifest pins.
    #[error("{message}")]
    Store {
        /// What was found, and what was expected.
        message: String,
        /// What to do; empty if there is no remedy to name.
        help: String,
    },
    /// The user asked for something that does not exist or does not fit together.
    #[error("{message}")]
    Usage {
        /// What was found, and what was expected.
        message: String,
        /// What to do; empty if there is no remedy to name.
        help: String,
    },
    /// The tensor library failed while computing.
    #[error("the engine failed to {action}: {source}")]
    Engine {
        /// What was being computed.
        action: &'static str,
        /// What candle said.
        source: candle_core::Error,
    },
}

impl Error {
    /// An [`Error::Io`] for `map_err`: `fs::read(path).map_err(Error::io("read", path))`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// An [`Error::Engine`] for `map_err`.
    pub fn engine(action: &'static str) -> impl FnOnce(candle_core::Error) -> Self {
        move |source| Self::Engine { action, source }
    }

    /// An [`Error::Usage`].
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// An [`Error::ModelFile`].
    pub fn model_file(path: &Path, message: impl Into<String>) -> Self {
        Self::ModelFile { path: path.to_owned(), message: message.into() }
    }

    /// The message without the name of the data set: the same wherever the file lies.
    pub fn without_file(&self) -> String {
        match self {
            Self::Dataset { place, message, .. } => {
                let text =
                    Self::Dataset { place: place.clone(), message: message.clone(), help: String::new() }.to_string();
                text.trim_start_matches(&format!("`{}` ", place.file.display())).to_owned()
            }
            other => other.to_string(),
        }
    }

    /// The remedy, if there is one, without the word `help:`.
    pub fn help(&self) -> Option<&str> {
        let (Self::Dataset { help, .. } | Self::Store { help, .. } | Self::Usage { help, .. }) = self else {
            return None;
        };
        Some(help.as_str()).filter(|help| !help.is_empty())
    }
}

/// A place in a data set, printed as "`eval.jsonl` line 3, column `contexts`".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The column as it is named in the file.
    pub column: Option<String>,
}

impl Place {
    /// The whole file.
    pub fn file(file: &Path) -> Self {
        Self { file: file.to_owned(), line: None, column: None }
    }

    /// A line of the file, counted from 1.
    pub fn line(file: &Path, line: u64) -> Self {
        Self { line: Some(line), ..Self::file(file) }
    }

    /// The same line, narrowed to a column.
    pub fn column(self, column: &str) -> Self {
        Self { column: Some(column.to_owned()), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        Ok(())
    }
}
