//! Pulls from fake sources; the expected contents are the ones the fakes were given.

use std::path::PathBuf;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::model::Role;
use crate::store::source::Settings;

mod hub;
#[cfg(unix)]
mod pip;
mod server;

/// A store in a temporary folder, and what pulls into it are told about the world.
struct Bench {
    folder: TempDir,
    settings: Settings,
    /// Every event so far, in Rust's own notation.
    events: Vec<String>,
}

impl Bench {
    /// An empty store in a world with no Python, and with a hub at a port where nobody listens.
    fn new() -> Self {
        let mut settings = Settings::from_env(&|_| None);
        settings.python = vec!["/nowhere/python3".into()];
        settings.hub.endpoint = "http://127.0.0.1:9".to_owned();
        Self { folder: tempfile::tempdir().unwrap(), settings, events: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&self) -> Store {
        Store::open(Some(&self.path("home"))).unwrap()
    }

    fn pull(&mut self, manifest: &Manifest) -> Result<PathBuf> {
        let store = self.store();
        let events = &mut self.events;
        store.pull_with(manifest, &self.settings, &mut |event| events.push(format!("{event:?}")))
    }

    /// Pulls, and returns what the user would read: the message, and the help.
    fn fail(&mut self, manifest: &Manifest) -> (String, String) {
        let error = self.pull(manifest).expect_err("the pull fails");
        (error.to_string(), error.help().unwrap_or_default().to_owned())
    }

    /// Whether an event was told that has all of these words.
    fn was_told(&self, words: &[&str]) -> bool {
        self.events.iter().any(|event| words.iter().all(|word| event.contains(word)))
    }

    /// What is in the folder of the models, hidden locks left out, in order.
    fn listing(&self, inside: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("home/models").join(inside)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }

    fn content(&self, path: &str) -> Vec<u8> {
        fs::read(self.path("home/models/m").join(path)).unwrap()
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pinned(path: &str, content: &[u8], sources: Vec<Source>) -> PinnedFile {
    PinnedFile { path: path.to_owned(), bytes: content.len() as u64, sha256: sha256(content), sources }
}

fn model(files: Vec<PinnedFile>) -> Manifest {
    Manifest {
        name: "m".to_owned(),
        role: Role::Judge,
        architecture: "llama".to_owned(),
        licence: "MIT".to_owned(),
        summary: "made up".to_owned(),
        languages: vec!["en".to_owned()],
        context_length: 8,
        checked: Vec::new(),
        files,
    }
}

fn file_source(path: &Path) -> Source {
    Source::File { path: path.to_str().unwrap().to_owned() }
}

#[test]
fn file_is_copied_verified_and_located() {
    let mut bench = Bench::new();
    let from = bench.path("weights");
    fs::write(&from, "abc").unwrap();
    let manifest = model(vec![pinned("sub/weights", b"abc", vec![file_source(&from)])]);
    let folder = bench.pull(&manifest).unwrap();
    assert_eq!(bench.content("sub/weights"), b"abc");
    assert_eq!(bench.listing(""), ["m"]);
    assert_eq!(bench.store().locate(&manifest).unwrap(), folder);
    assert_eq!(bench.store().verify(&manifest).unwrap(), folder);
}

#[test]
fn events_tell_the_course_of_a_pull() {
    let mut bench = Bench::new();
    let from = bench.path("weights");
    fs::write(&from, "abc").unwrap();
    let absent = bench.path("absent");
    let manifest = model(vec![pinned("w", b"abc", vec![file_source(&absent), file_source(&from)])]);
    bench.pull(&manifest).unwrap();
    let (absent, from) = (absent.display(), from.display());
    let expected = [
        format!("Started {{ file: \"w\", bytes: 3, from: \"file `{absent}`\" }}"),
        format!(
            "Failed {{ file: \"w\", from: \"file `{absent}`\", reason: \"cannot read `{absent}`: \
             No such file or directory (os error 2)\" }}"
        ),
        format!("Started {{ file: \"w\", bytes: 3, from: \"file `{from}`\" }}"),
        "Reached { bytes: 3 }".to_owned(),
        "Done { file: \"w\" }".to_owned(),
    ];
    assert_eq!(bench.events, expected);
    bench.events.clear();
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.events, ["Kept { file: \"w\" }"]);
}

#[test]
fn file_of_another_size_is_refused() {
    let mut bench = Bench::new();
    let from = bench.path("weights");
    fs::write(&from, "abcd").unwrap();
    let (message, help) = bench.fail(&model(vec![pinned("w", b"abc", vec![file_source(&from)])]));
    let from = from.display();
    let expected = format!("no source delivered `w` of model `m`\n  file `{from}`: `{from}` has 4 bytes, expected 3");
    assert_eq!(message, expected);
    assert_eq!(help, "run `ragstone models pull m` again to go on from here");
}

#[test]
fn file_of_other_bytes_is_refused_and_not_kept() {
    let mut bench = Bench::new();
    let from = bench.path("weights");
    fs::write(&from, "abd").unwrap();
    let (message, _) = bench.fail(&model(vec![pinned("w", b"abc", vec![file_source(&from)])]));
    let expected = format!(
        ": `w` as delivered does not have the pinned SHA-256\n    expected: {}\n    computed: {}",
        sha256(b"abc"),
        sha256(b"abd")
    );
    assert!(message.ends_with(&expected), "{message}");
    assert!(bench.listing("m").is_empty());
    assert!(bench.listing("m.partial/files").is_empty());
}

#[test]
fn file_without_a_source_is_named() {
    let mut bench = Bench::new();
    let (message, _) = bench.fail(&model(vec![pinned("w", b"abc", Vec::new())]));
    assert_eq!(message, "no source delivered `w` of model `m`: its manifest names none");
}

#[test]
fn wrong_file_in_the_store_is_replaced() {
    let mut bench = Bench::new();
    let from = bench.path("weights");
    fs::write(&from, "abc").unwrap();
    fs::create_dir_all(bench.path("home/models/m")).unwrap();
    fs::write(bench.path("home/models/m/w"), "abd").unwrap();
    let manifest = model(vec![pinned("w", b"abc", vec![file_source(&from)])]);
    bench.store().locate(&manifest).unwrap_err();
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.content("w"), b"abc");
    bench.store().locate(&manifest).unwrap();
}

#[test]
fn second_pull_waits_for_the_first_and_keeps_what_it_brought() {
    let mut bench = Bench::new();
    let from = bench.path("weights");
    fs::write(&from, "abc").unwrap();
    let manifest = model(vec![pinned("w", b"abc", vec![file_source(&from)])]);
    let (store, settings) = (bench.store(), bench.settings.clone());
    let (first_is_in, wait_for_first) = std::sync::mpsc::channel();
    let (second_waits, wait_for_second) = std::sync::mpsc::channel::<()>();
    let (first, first_manifest) = (store.clone(), manifest.clone());
    let first = std::thread::spawn(move || {
        first.pull_with(&first_manifest, &settings, &mut |event| {
            if matches!(event, PullEvent::Started { .. }) {
                first_is_in.send(()).unwrap();
                wait_for_second.recv().unwrap();
            }
        })
    });
    wait_for_first.recv().unwrap();
    let events = &mut bench.events;
    let second = store.pull_with(&manifest, &bench.settings, &mut |event| {
        if event == PullEvent::Waiting {
            second_waits.send(()).unwrap();
        }
        events.push(format!("{event:?}"));
    });
    second.unwrap();
    first.join().unwrap().unwrap();
    assert_eq!(bench.events, ["Waiting", "Kept { file: \"w\" }"]);
}

#[test]
fn store_that_cannot_be_written_is_named() {
    let mut bench = Bench::new();
    fs::write(bench.path("home"), "a file").unwrap();
    let (message, _) = bench.fail(&model(vec![pinned("w", b"abc", Vec::new())]));
    let models = bench.path("home/models");
    assert!(message.starts_with(&format!("cannot create `{}`: ", models.display())), "{message}");
}

#[test]
fn full_disk_ends_the_pull_without_trying_other_sources() {
    let full = Error::io("write", Path::new("w"))(io::Error::from(io::ErrorKind::StorageFull));
    assert!(is_disk_full(&full));
    let refused = Error::io("write", Path::new("w"))(io::Error::from(io::ErrorKind::PermissionDenied));
    assert!(!is_disk_full(&refused));
}
