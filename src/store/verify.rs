//! Checks the files of the store: does this file hold the bytes that its manifest pins?

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::hash;
use crate::model::PinnedFile;

/// The size of a read while hashing: large enough that the system calls do not count.
const BUFFER_BYTES: usize = 256 * 1024;

/// What a file looked like when its SHA-256 was last computed; as long as it looks so, it is not hashed again.
///
/// Kept beside the file as `FILE.verified.json`, rewritten whenever the file is hashed:
///
/// ```json
/// {"bytes":3,"modified_ns":1764511200123456789,"inode":4211,
///  "sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Verified {
    /// The file's size.
    bytes: u64,
    /// Its time of change, nanoseconds since 1970; 0 where there is none.
    modified_ns: u64,
    /// Its inode; 0 where there is none (Windows).
    inode: u64,
    /// The SHA-256 that was computed, in lower-case hexadecimal.
    sha256: String,
}

/// Checks size and SHA-256 of the file at `path`, and hashes it only if it changed since it was last hashed.
///
/// # Errors
/// [`Error::Store`] with `help` if it is not what `pin` says, [`Error::Io`] if it cannot be read.
pub(super) fn check(path: &Path, pin: &PinnedFile, help: &str) -> Result<()> {
    check_size(path, pin, help)?;
    match remembered(path) {
        Some(sha256) => compare(path, pin, &sha256, help),
        None => check_fully(path, pin, help),
    }
}

/// Checks size and SHA-256 of the file at `path`, hashing it in any case.
///
/// # Errors
/// As [`check`].
pub(super) fn check_fully(path: &Path, pin: &PinnedFile, help: &str) -> Result<()> {
    check_size(path, pin, help)?;
    let before = look(path)?;
    let sha256 = sha256_of(path)?;
    if look(path)? == before {
        remember(path, Verified { sha256: sha256.clone(), ..before });
    }
    compare(path, pin, &sha256, help)
}

/// The SHA-256 of the file at `path`, in lower-case hexadecimal.
///
/// # Errors
/// [`Error::Io`] if it cannot be read.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let (_, sha256) = copy_hashed(&mut file, &mut io::sink()).map_err(Error::io("read", path))?;
    Ok(sha256)
}

/// Copies all of `from` into `to`; returns the number of bytes and their SHA-256.
///
/// # Errors
/// Whatever `from` and `to` say.
pub(super) fn copy_hashed(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<(u64, String)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut n_bytes = 0;
    loop {
        let n_read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_read) => n_read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..n_read]);
        to.write_all(&buffer[..n_read])?;
        n_bytes += n_read as u64;
    }
    Ok((n_bytes, hash::hex(&hasher.finalize())))
}

/// The message for bytes that have another SHA-256 than the pinned one.
pub(super) fn hash_mismatch(what: &str, expected: &str, computed: &str) -> String {
    format!("{what} does not have the pinned SHA-256\n  expected: {expected}\n  computed: {computed}")
}

/// Where the [`Verified`] of the file at `path` is kept.
fn sidecar(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".verified.json");
    PathBuf::from(name)
}

/// Notes that the file at `path`, which came here a moment ago, was found to have this SHA-256.
///
/// # Errors
/// [`Error::Io`] if the file cannot be looked at.
#[cfg(feature = "pull")]
pub(super) fn remember_as(path: &Path, sha256: &str) -> Result<()> {
    remember(path, Verified { sha256: sha256.to_owned(), ..look(path)? });
    Ok(())
}

fn check_size(path: &Path, pin: &PinnedFile, help: &str) -> Result<()> {
    let bytes = fs::metadata(path).map_err(Error::io("read", path))?.len();
    if bytes == pin.bytes {
        return Ok(());
    }
    let message = format!("`{}` has {bytes} bytes, expected {}", path.display(), pin.bytes);
    Err(Error::Store { message, help: help.to_owned() })
}

fn compare(path: &Path, pin: &PinnedFile, computed: &str, help: &str) -> Result<()> {
    if computed == pin.sha256 {
        return Ok(());
    }
    let message = hash_mismatch(&format!("`{}`", path.display()), &pin.sha256, computed);
    Err(Error::Store { message, help: help.to_owned() })
}

/// The SHA-256 of the file at `path` if it was computed before and the file looks unchanged.
fn remembered(path: &Path) -> Option<String> {
    // A note that is missing or broken means that nothing is known: the file is hashed again.
    let verified: Verified = serde_json::from_slice(&fs::read(sidecar(path)).ok()?).ok()?;
    let seen = Verified { sha256: verified.sha256.clone(), ..look(path).ok()? };
    (seen == verified).then_some(verified.sha256)
}

/// Writes the note; a store that cannot be written to is hashed at every load instead.
fn remember(path: &Path, verified: Verified) {
    let text = serde_json::to_vec(&verified).expect("numbers and a string are JSON");
    let _ = fs::write(sidecar(path), text);
}

/// What the file at `path` looks like now, with no SHA-256.
fn look(path: &Path) -> Result<Verified> {
    let metadata = fs::metadata(path).map_err(Error::io("read", path))?;
    let age = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = age.and_then(|age| u64::try_from(age.as_nanos()).ok()).unwrap_or(0);
    Ok(Verified { bytes: metadata.len(), modified_ns, inode: inode(&metadata), sha256: String::new() })
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SHA-256 of "abc", from FIPS 180-4's example.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn abc(folder: &tempfile::TempDir) -> (PathBuf, PinnedFile) {
        let path = folder.path().join("abc");
        fs::write(&path, "abc").unwrap();
        (path, PinnedFile { path: "abc".to_owned(), bytes: 3, sha256: ABC.to_owned(), sources: Vec::new() })
    }

    /// Sets the file's content and puts its time of change back, as a careless copy would.
    fn change_unseen(path: &Path, content: &str) {
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, content).unwrap();
        File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }

    #[test]
    fn right_file_passes_and_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pin) = abc(&folder);
        check(&path, &pin, "").unwrap();
        assert_eq!(remembered(&path).as_deref(), Some(ABC));
    }

    #[test]
    fn file_that_looks_unchanged_is_not_hashed_again_unless_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pin) = abc(&folder);
        check(&path, &pin, "").unwrap();
        change_unseen(&path, "abd");
        check(&path, &pin, "").unwrap();
        check_fully(&path, &pin, "").unwrap_err();
        check(&path, &pin, "").unwrap_err();
    }

    #[test]
    fn changed_file_is_hashed_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pin) = abc(&folder);
        check(&path, &pin, "").unwrap();
        fs::write(&path, "abd").unwrap();
        let later = UNIX_EPOCH + std::time::Duration::from_secs(1);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        // sha256sum of "abd"
        let computed = "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9";
        let error = check(&path, &pin, "fetch it").unwrap_err();
        let expected =
            format!("`{}` does not have the pinned SHA-256\n  expected: {ABC}\n  computed: {computed}", path.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.help(), Some("fetch it"));
    }

    #[test]
    fn wrong_size_is_named_without_hashing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pin) = abc(&folder);
        fs::write(&path, "abcd").unwrap();
        let error = check(&path, &pin, "").unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` has 4 bytes, expected 3", path.display()));
        assert!(!sidecar(&path).exists());
    }

    #[test]
    fn broken_note_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pin) = abc(&folder);
        fs::write(sidecar(&path), "{").unwrap();
        check(&path, &pin, "").unwrap();
        assert_eq!(remembered(&path).as_deref(), Some(ABC));
    }

    #[test]
    fn missing_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pin) = abc(&folder);
        fs::remove_file(&path).unwrap();
        let message = check(&path, &pin, "").unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot read `{}`: ", path.display())), "{message}");
    }
}
