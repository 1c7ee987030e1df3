//! Keeps the model files: where on this machine are the exact bytes that a manifest pins?
//!
//! A store is a folder:
//!
//! ```text
//! HOME/models/NAME/model.safetensors                   a file of model NAME, whole and verified
//! HOME/models/NAME/model.safetensors.verified.json     what it looked like when it was hashed
//! HOME/models/NAME.partial/                            an unfinished pull, which the next one resumes
//! HOME/models/.NAME.lock                               held while NAME is pulled
//! ```

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::{Manifest, PinnedFile};

pub use catalog::{MANIFESTS, catalog, find};
#[cfg(feature = "pull")]
pub use pull::PullEvent;
pub use verify::sha256_of;

mod catalog;
#[cfg(feature = "pull")]
mod pull;
#[cfg(feature = "pull")]
mod source;
mod verify;

/// A folder of verified model files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    home: PathBuf,
}

impl Store {
    /// The store at `home`, else at `$RAGSTONE_HOME`, else in the user's cache folder; nothing is created.
    ///
    /// # Errors
    /// [`Error::Usage`] if none of these is known.
    pub fn open(home: Option<&Path>) -> Result<Self> {
        let home = home.map(Path::to_owned).or_else(|| home_of(&|name| env::var_os(name)));
        let Some(home) = home else {
            return Err(Error::usage(
                "there is no folder for the models: none of `RAGSTONE_HOME`, `XDG_CACHE_HOME` and `HOME` is set",
                "name one with `--home FOLDER` or in `RAGSTONE_HOME`",
            ));
        };
        let home = std::path::absolute(&home).map_err(Error::io("find the folder", &home))?;
        Ok(Self { home })
    }

    /// The store's folder, an absolute path; it need not exist.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder of a model whose files are all there and are the pinned ones.
    ///
    /// A file is hashed the first time and whenever its size, time of change or inode differ from what they were then.
    ///
    /// # Errors
    /// [`Error::Store`] if a file is missing or not what the manifest pins, [`Error::Io`] if one cannot be read.
    pub fn locate(&self, manifest: &Manifest) -> Result<PathBuf> {
        self.check_files(manifest, verify::check)
    }

    /// The same as [`locate`](Self::locate), hashing every file in any case.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    pub fn verify(&self, manifest: &Manifest) -> Result<PathBuf> {
        self.check_files(manifest, verify::check_fully)
    }

    /// Whether every file of the model is there with the right size; nothing is hashed.
    pub fn has(&self, manifest: &Manifest) -> bool {
        let folder = self.folder(manifest);
        let is_there =
            |file: &PinnedFile| folder.join(&file.path).metadata().is_ok_and(|meta| meta.len() == file.bytes);
        manifest.files.iter().all(is_there)
    }

    /// Whether a file of the model is there, right or not.
    pub fn has_part(&self, manifest: &Manifest) -> bool {
        let folder = self.folder(manifest);
        manifest.files.iter().any(|file| folder.join(&file.path).exists())
    }

    fn check_files(&self, manifest: &Manifest, check: fn(&Path, &PinnedFile, &str) -> Result<()>) -> Result<PathBuf> {
        let folder = self.folder(manifest);
        check_presence(manifest, &folder)?;
        let help = format!("{} to fetch it again", how_to_pull(&manifest.name));
        for file in &manifest.files {
            check(&folder.join(&file.path), file, &help)?;
        }
        Ok(folder)
    }

    fn folder(&self, manifest: &Manifest) -> PathBuf {
        self.home.join("models").join(&manifest.name)
    }
}

fn check_presence(manifest: &Manifest, folder: &Path) -> Result<()> {
    let missing: Vec<_> = manifest.files.iter().filter(|file| !folder.join(&file.path).exists()).collect();
    let Some(first) = missing.first() else {
        return Ok(());
    };
    let name = &manifest.name;
    let message = if missing.len() == manifest.files.len() {
        format!("model `{name}` is not in the store, and downloads are off")
    } else {
        format!("model `{name}` is incomplete in the store: `{}` is missing", first.path)
    };
    let help = format!("{} once, or point `RAGSTONE_HOME` at a folder that has it", how_to_pull(name));
    Err(Error::Store { message, help })
}

/// What to do to have a model pulled, as the beginning of a sentence.
fn how_to_pull(name: &str) -> String {
    let command = format!("run `ragstone models pull {name}`");
    if cfg!(feature = "pull") { command } else { command + " with a build that has feature `pull`" }
}

/// The home that the environment names, asked for by variable.
fn home_of(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path_in = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = path_in("RAGSTONE_HOME") {
        return Some(home);
    }
    user_cache(env).map(|cache| cache.join("ragstone"))
}

/// The user's cache folder: `$XDG_CACHE_HOME`, which counts only if it is absolute, else `~/.cache`.
fn user_cache(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path_in = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let in_home = || path_in("HOME").or_else(|| path_in("USERPROFILE")).map(|home| home.join(".cache"));
    path_in("XDG_CACHE_HOME").or_else(in_home)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::Role;

    /// The SHA-256 of "abc", from FIPS 180-4's example.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// A model of two files, both holding "abc".
    fn manifest() -> Manifest {
        let file =
            |path: &str| PinnedFile { path: path.to_owned(), bytes: 3, sha256: ABC.to_owned(), sources: Vec::new() };
        Manifest {
            name: "m".to_owned(),
            role: Role::Judge,
            architecture: "llama".to_owned(),
            licence: "MIT".to_owned(),
            summary: "two small files".to_owned(),
            languages: vec!["en".to_owned()],
            context_length: 8,
            checked: Vec::new(),
            files: vec![file("weights"), file("sub/config")],
        }
    }

    /// A store that holds the named files of [`manifest`].
    fn store_with(folder: &tempfile::TempDir, files: &[(&str, &str)]) -> Store {
        let store = Store::open(Some(folder.path())).unwrap();
        for (path, content) in files {
            let path = folder.path().join("models/m").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        store
    }

    fn home_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        home_of(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    fn home_is_the_given_folder_and_is_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("not/there");
        assert_eq!(Store::open(Some(&home)).unwrap().home(), home);
        assert!(!home.exists());
    }

    #[test]
    fn relative_home_is_made_absolute() {
        let home = env::current_dir().unwrap().join("models-here");
        assert_eq!(Store::open(Some(Path::new("models-here"))).unwrap().home(), home);
    }

    #[test]
    fn home_comes_from_the_first_variable_that_is_set() {
        let all = [("RAGSTONE_HOME", "/r"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        for (variables, expected) in [
            (&all[..], Some("/r")),
            (&all[1..], Some("/x/ragstone")),
            (&all[2..], Some("/h/.cache/ragstone")),
            (&[("RAGSTONE_HOME", ""), ("HOME", "/h")], Some("/h/.cache/ragstone")),
            (&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")], Some("/h/.cache/ragstone")),
            (&[], None),
        ] {
            assert_eq!(home_with(variables), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn complete_model_is_located_and_verified() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_with(&folder, &[("weights", "abc"), ("sub/config", "abc")]);
        let expected = folder.path().join("models/m");
        assert_eq!(store.locate(&manifest()).unwrap(), expected);
        assert_eq!(store.verify(&manifest()).unwrap(), expected);
    }

    #[test]
    fn absent_model_is_answered_with_what_to_run() {
        let folder = tempfile::tempdir().unwrap();
        let error = store_with(&folder, &[]).locate(&manifest()).unwrap_err();
        assert_eq!(error.to_string(), "model `m` is not in the store, and downloads are off");
        let help = format!("{} once, or point `RAGSTONE_HOME` at a folder that has it", how_to_pull("m"));
        assert_eq!(error.help(), Some(help.as_str()));
    }

    #[test]
    fn incomplete_model_is_answered_with_the_missing_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = store_with(&folder, &[("weights", "abc")]).locate(&manifest()).unwrap_err();
        assert_eq!(error.to_string(), "model `m` is incomplete in the store: `sub/config` is missing");
    }

    #[test]
    fn altered_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_with(&folder, &[("weights", "abd"), ("sub/config", "abc")]);
        let error = store.locate(&manifest()).unwrap_err();
        assert!(error.to_string().contains("does not have the pinned SHA-256\n  expected: ba78"), "{error}");
        assert_eq!(error.help(), Some(format!("{} to fetch it again", how_to_pull("m")).as_str()));
    }

    #[test]
    fn build_without_downloads_says_so() {
        let suffix = if cfg!(feature = "pull") { "" } else { " with a build that has feature `pull`" };
        assert_eq!(how_to_pull("m"), format!("run `ragstone models pull m`{suffix}"));
    }

    #[test]
    fn only_verify_sees_a_change_that_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_with(&folder, &[("weights", "abc"), ("sub/config", "abc")]);
        store.locate(&manifest()).unwrap();
        let path = folder.path().join("models/m/weights");
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "abd").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        store.locate(&manifest()).unwrap();
        store.verify(&manifest()).unwrap_err();
    }
}
