//! Takes a file from the Hugging Face hub: in the user's cache of it, or at the pinned revision over the network?

use std::any::Any;
use std::ffi::OsString;
use std::fs;
use std::net::{TcpStream, ToSocketAddrs};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, Metadata};
use hf_hub::{Cache, Repo, RepoType};

use super::{Job, remove_folder};
use crate::error::{Error, Result};
use crate::model::PinnedFile;
use crate::store::{user_cache, verify};

/// How long the hub may take to accept a connection; hf-hub itself would wait for the operating system's two minutes.
const CONNECT: Duration = Duration::from_secs(3);

/// How long a download may stand still before it is given up; hf-hub itself would wait for ever.
const STALL: Duration = Duration::from_secs(30);

/// The variables that hf-hub's HTTP client takes a proxy from, in its order (ureq 3.5).
const PROXY_VARIABLES: [&str; 6] = ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// What the environment says about the hub.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The hub's URL, `$HF_ENDPOINT`.
    pub endpoint: String,
    /// The proxy's URL.
    pub proxy: Option<String>,
    /// The cache that Hugging Face's own tools keep: `$HF_HUB_CACHE`, else `hub` in `$HF_HOME`.
    pub cache: Option<PathBuf>,
    /// True if `$HF_HUB_OFFLINE` forbids the network.
    pub is_offline: bool,
    /// How long the hub may take to accept a connection: [`CONNECT`], less in tests.
    pub connect: Duration,
    /// How long a download may stand still: [`STALL`], less in tests.
    pub stall: Duration,
}

impl Settings {
    /// Reads the environment, asked for by variable.
    pub fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| env(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty());
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        let home = text("HF_HOME").map(PathBuf::from).or_else(|| Some(user_cache(env)?.join("huggingface")));
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            proxy: PROXY_VARIABLES.iter().find_map(|name| text(name)),
            cache: text("HF_HUB_CACHE").map(PathBuf::from).or_else(|| Some(home?.join("hub"))),
            // The spellings that huggingface_hub takes for true.
            is_offline: text("HF_HUB_OFFLINE")
                .is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str())),
            connect: CONNECT,
            stall: STALL,
        }
    }
}

/// A file of a repository at a revision.
pub(super) struct Location<'a> {
    /// `owner/name`.
    pub repo: &'a str,
    /// The commit.
    pub revision: &'a str,
    /// The file's path in the repository.
    pub name: &'a str,
}

impl Location<'_> {
    fn repo(&self) -> Repo {
        Repo::with_revision(self.repo.to_owned(), RepoType::Model, self.revision.to_owned())
    }
}

/// Copies the file to `draft` from the user's hub cache, or downloads it.
///
/// No token is sent: what is pinned can be had without one, and hf-hub 0.5 shows it to hosts that it is redirected to.
///
/// # Errors
/// [`Error::Store`] if the hub is off, does not answer, or has another file than the pinned one.
pub(super) fn fetch(job: &mut Job<'_>, file: &PinnedFile, location: &Location<'_>, draft: &Path) -> Result<()> {
    if let Some(cached) = find_cached(&job.settings.hub, file, location) {
        fs::copy(&cached, draft).map_err(Error::io("copy", &cached))?;
        job.reached(file.bytes);
        return Ok(());
    }
    if job.settings.hub.is_offline {
        return Err(failed("the file is not in the hub's cache, and `HF_HUB_OFFLINE` forbids to download it"));
    }
    let settings = &job.settings.hub;
    job.hub_answers.get_or_insert_with(|| probe(settings)).clone().map_err(failed)?;
    let folder = job.partial.join("hub").join(&file.sha256);
    let blob = download(job, file, location, &folder)?;
    fs::rename(&blob, draft).map_err(Error::io("move", &blob))?;
    // A link to the moved blob is left there, over which hf-hub would stumble.
    remove_folder(&folder)
}

/// The file in the user's hub cache, if it is there and right.
fn find_cached(settings: &Settings, file: &PinnedFile, location: &Location<'_>) -> Option<PathBuf> {
    let snapshots = settings.cache.as_ref()?.join(location.repo().folder_name()).join("snapshots");
    let path = snapshots.join(location.revision).join(location.name);
    let is_right = fs::metadata(&path).ok()?.len() == file.bytes && verify::sha256_of(&path).ok()? == file.sha256;
    is_right.then_some(path)
}

/// Finds out, within the time to connect, whether anything answers where the hub or the proxy should be.
fn probe(settings: &Settings) -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    let deadline = Instant::now() + settings.connect;
    for url in [Some(&settings.endpoint), settings.proxy.as_ref()].into_iter().flatten() {
        let (sender, address, connect_timeout) = (sender.clone(), address_of(url), settings.connect);
        // A thread, because looking up a name has no time limit. That nobody waits any longer is no error.
        thread::spawn(move || drop(sender.send(connect(&address, connect_timeout))));
    }
    drop(sender);
    let mut reason = format!("`{}` did not answer within {:?}", settings.endpoint, settings.connect);
    while let Ok(answer) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        match answer {
            Ok(()) => return Ok(()),
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

fn connect(address: &str, timeout: Duration) -> Result<(), String> {
    let cannot = |why: &dyn std::fmt::Display| format!("cannot connect to `{address}`: {why}");
    let mut reason = cannot(&"the name has no address");
    for socket in address.to_socket_addrs().map_err(|error| cannot(&error))? {
        match TcpStream::connect_timeout(&socket, timeout) {
            Ok(_) => return Ok(()),
            Err(error) => reason = cannot(&error),
        }
    }
    Err(reason)
}

/// The `host:port` of a URL.
fn address_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // In `[::1]` the colons are not a port's.
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    if has_port {
        return host.to_owned();
    }
    let port = match scheme {
        "https" => 443,
        scheme if scheme.starts_with("socks") => 1080,
        _ => 80,
    };
    format!("{host}:{port}")
}

/// What the downloading thread reports.
enum Note {
    /// So many bytes more have come.
    Bytes(u64),
    /// It is over: the file's path, or why there is none.
    End(Result<PathBuf, String>),
}

/// Downloads the file with hf-hub into a cache of its own in `folder`; returns the path of the blob.
fn download(job: &mut Job<'_>, file: &PinnedFile, location: &Location<'_>, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let errand = Errand {
        endpoint: job.settings.hub.endpoint.clone(),
        repo: location.repo(),
        name: location.name.to_owned(),
        bytes: file.bytes,
        cache: folder.to_owned(),
    };
    errand.drop_full_parts();
    let (sender, receiver) = mpsc::sync_channel(16);
    thread::spawn(move || {
        let end = errand.run(sender.clone());
        drop(sender.send(Note::End(end)));
    });
    let path = follow(job, file, &receiver)?;
    // hf-hub returns a link to the blob where links can be made.
    path.canonicalize().map_err(Error::io("find", &path))
}

/// Passes on what the downloading thread reports until it ends; dropping the receiver ends it, too.
fn follow(job: &mut Job<'_>, file: &PinnedFile, notes: &Receiver<Note>) -> Result<PathBuf> {
    let mut n_bytes = 0;
    loop {
        match notes.recv_timeout(job.settings.hub.stall) {
            Ok(Note::Bytes(more)) => {
                n_bytes += more;
                if n_bytes > file.bytes {
                    return Err(failed(format!("the hub sent more than the {} bytes that are pinned", file.bytes)));
                }
                job.reached(n_bytes);
            }
            Ok(Note::End(end)) => return end.map_err(failed),
            Err(RecvTimeoutError::Timeout) => {
                let reason = format!("the hub sent nothing for {:?}", job.settings.hub.stall);
                job.hub_answers = Some(Err(reason.clone()));
                return Err(failed(reason));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(failed("the hub's client stopped in the middle")),
        }
    }
}

/// What the downloading thread has to do.
struct Errand {
    endpoint: String,
    repo: Repo,
    name: String,
    bytes: u64,
    cache: PathBuf,
}

impl Errand {
    /// Removes what hf-hub cannot resume: after an end in the instant before it renames a full file, it would ask for
    /// the bytes behind the last one for ever.
    fn drop_full_parts(&self) {
        let blobs = self.cache.join(self.repo.folder_name()).join("blobs");
        let Ok(entries) = fs::read_dir(blobs) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.metadata().is_ok_and(|metadata| metadata.len() >= self.bytes) {
                // If it stays, hf-hub says so.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn run(&self, notes: SyncSender<Note>) -> Result<PathBuf, String> {
        let builder = ApiBuilder::from_cache(Cache::new(self.cache.clone())).with_token(None).with_progress(false);
        let api = builder.with_endpoint(self.endpoint.clone()).build().map_err(|error| error.to_string())?;
        let repo = api.repo(self.repo.clone());
        self.check_offer(&api, &repo.url(&self.name))?;
        repo.download_with_progress(&self.name, Reporter { notes }).map_err(|error| self.explain(&error))
    }

    /// Refuses what is not the pinned file before it is downloaded, and names that hf-hub would use as paths unseen.
    fn check_offer(&self, api: &Api, url: &str) -> Result<(), String> {
        let offer: Metadata = api.metadata(url).map_err(|error| self.explain(&error))?;
        let etag = offer.etag().strip_prefix("W/").unwrap_or(offer.etag());
        if etag.is_empty() || !etag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(format!("the hub names the content `{etag}`, expected letters, digits and `-`"));
        }
        if offer.commit_hash() != self.repo.revision() {
            return Err(format!("the hub has revision `{}`, expected `{}`", offer.commit_hash(), self.repo.revision()));
        }
        if offer.size() as u64 != self.bytes {
            return Err(format!("the hub's `{}` has {} bytes, expected {}", self.name, offer.size(), self.bytes));
        }
        Ok(())
    }

    fn explain(&self, error: &ApiError) -> String {
        format!("cannot download `{}` from `{}`: {error}", self.name, self.endpoint)
    }
}

/// Reports the bytes that hf-hub writes.
struct Reporter {
    notes: SyncSender<Note>,
}

impl Progress for Reporter {
    fn init(&mut self, _: usize, _: &str) {}

    fn update(&mut self, n_bytes: usize) {
        if self.notes.send(Note::Bytes(n_bytes as u64)).is_err() {
            // Nobody waits any longer, and hf-hub offers no other way to stop it. This unwinds without a message.
            let nothing: Box<dyn Any + Send> = Box::new(());
            panic::resume_unwind(nothing);
        }
    }

    fn finish(&mut self) {}
}

fn failed(message: impl Into<String>) -> Error {
    Error::Store { message: message.into(), help: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_with(variables: &[(&str, &str)]) -> Settings {
        Settings::from_env(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn address_is_read_off_a_url() {
        for (url, expected) in [
            ("https://huggingface.co", "huggingface.co:443"),
            ("http://127.0.0.1:8080/mirror", "127.0.0.1:8080"),
            ("http://user:pass@proxy.local/", "proxy.local:80"),
            ("http://[::1]:81", "[::1]:81"),
            ("https://[::1]", "[::1]:443"),
            ("socks5://proxy", "proxy:1080"),
            ("proxy:3128", "proxy:3128"),
        ] {
            assert_eq!(address_of(url), expected, "{url}");
        }
    }

    #[test]
    fn endpoint_is_the_public_hub_unless_the_environment_names_another() {
        assert_eq!(settings_with(&[]).endpoint, "https://huggingface.co");
        assert_eq!(settings_with(&[("HF_ENDPOINT", "http://mirror/")]).endpoint, "http://mirror");
    }

    #[test]
    fn cache_is_that_of_the_hub_s_own_tools() {
        let all = [("HF_HUB_CACHE", "/c"), ("HF_HOME", "/f"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        for (variables, expected) in [
            (&all[..], Some("/c")),
            (&all[1..], Some("/f/hub")),
            (&all[2..], Some("/x/huggingface/hub")),
            (&all[3..], Some("/h/.cache/huggingface/hub")),
            (&[], None),
        ] {
            assert_eq!(settings_with(variables).cache, expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn offline_is_what_huggingface_hub_takes_for_true() {
        for (value, expected) in [("1", true), ("true", true), ("Yes", true), ("0", false), ("", false)] {
            assert_eq!(settings_with(&[("HF_HUB_OFFLINE", value)]).is_offline, expected, "{value}");
        }
    }

    #[test]
    fn proxy_is_the_one_that_the_http_client_uses() {
        let settings = settings_with(&[("http_proxy", "http://b"), ("ALL_PROXY", "http://a")]);
        assert_eq!(settings.proxy.as_deref(), Some("http://a"));
    }
}
