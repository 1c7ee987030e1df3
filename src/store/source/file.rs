//! Takes a file from this machine: is it there, and as large as pinned?

use std::fs;
use std::path::Path;

use super::Job;
use crate::error::{Error, Result};
use crate::model::PinnedFile;

/// Copies the file at `path` to `draft`.
///
/// # Errors
/// [`Error::Store`] if it has another size than the pinned one, [`Error::Io`] if it cannot be read or copied.
pub(super) fn fetch(job: &mut Job<'_>, file: &PinnedFile, path: &Path, draft: &Path) -> Result<()> {
    // The size is compared first, so that a wrong path cannot fill the disk.
    let bytes = fs::metadata(path).map_err(Error::io("read", path))?.len();
    if bytes != file.bytes {
        let message = format!("`{}` has {bytes} bytes, expected {}", path.display(), file.bytes);
        return Err(Error::Store { message, help: String::new() });
    }
    fs::copy(path, draft).map_err(Error::io("copy", path))?;
    job.reached(bytes);
    Ok(())
}
