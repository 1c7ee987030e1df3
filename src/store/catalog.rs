//! Lists the models that are compiled in: which models does ragstone know by name?

use crate::error::{Error, Result};
use crate::model::Manifest;

/// Each manifest of `models/` as its name and its text; a new model is a file there and a line here.
pub const MANIFESTS: &[(&str, &str)] = &[
    ("qwen2.5-coder-1.5b-instruct-q4_k_m", include_str!("../../models/qwen2.5-coder-1.5b-instruct-q4_k_m.toml")),
    ("qwen2.5-coder-0.5b-instruct-q4_k_m", include_str!("../../models/qwen2.5-coder-0.5b-instruct-q4_k_m.toml")),
    ("smollm2-135m-instruct-q4_1", include_str!("../../models/smollm2-135m-instruct-q4_1.toml")),
    ("all-minilm-l6-v2", include_str!("../../models/all-minilm-l6-v2.toml")),
];

/// The most letters a mistyped name may differ by to be taken for a known one.
///
/// Two slips; with more, the shorter names come near to anything.
const MAX_EDITS: usize = 2;

/// The manifests of all models that are compiled in, in the order of [`MANIFESTS`].
pub fn catalog() -> Vec<Manifest> {
    MANIFESTS.iter().map(|(name, text)| read(name, text)).collect()
}

/// The manifest of the model `name`.
///
/// # Errors
/// [`Error::Usage`] with the known names, and the nearest of them if there is a near one.
pub fn find(name: &str) -> Result<Manifest> {
    let Some((name, text)) = MANIFESTS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown(name));
    };
    Ok(read(name, text))
}

fn read(name: &str, text: &str) -> Manifest {
    Manifest::parse(name, text).expect("a test reads every manifest that is compiled in")
}

fn unknown(name: &str) -> Error {
    let names: Vec<String> = MANIFESTS.iter().map(|(known, _)| format!("`{known}`")).collect();
    let known = format!("the known models are {}", names.join(", "));
    let help = match nearest(name) {
        Some(near) => format!("did you mean `{near}`? {known}"),
        None => known,
    };
    Error::usage(format!("there is no model `{name}`"), help)
}

/// The known name that `name` is the beginning of or nearly equal to.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let is_near =
        |known: &str| (!name.is_empty() && known.starts_with(&name)) || strsim::levenshtein(&name, known) <= MAX_EDITS;
    let near = MANIFESTS.iter().map(|(known, _)| *known).filter(|known| is_near(known));
    near.min_by_key(|known| strsim::levenshtein(&name, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Role;

    #[test]
    fn every_manifest_is_valid_and_has_a_source_for_every_file() {
        for manifest in catalog() {
            assert_eq!(manifest.checked.is_empty(), manifest.role == Role::Embedder, "`{}` was checked", manifest.name);
            for file in &manifest.files {
                assert!(!file.sources.is_empty(), "`{}` of `{}` has a source", file.path, manifest.name);
            }
        }
    }

    #[test]
    fn every_manifest_file_is_in_the_table() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut on_disk: Vec<String> =
            entries.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
        let mut in_table: Vec<&str> = MANIFESTS.iter().map(|(name, _)| *name).collect();
        on_disk.sort();
        in_table.sort_unstable();
        assert_eq!(on_disk, in_table);
    }

    #[test]
    fn known_model_is_found() {
        assert_eq!(find("all-minilm-l6-v2").unwrap().name, "all-minilm-l6-v2");
    }

    #[test]
    fn unknown_model_is_answered_with_the_known_names() {
        let error = find("gpt-4").unwrap_err();
        assert_eq!(error.to_string(), "there is no model `gpt-4`");
        let help = error.help().unwrap();
        assert!(help.starts_with("the known models are `qwen2.5-coder-1.5b-instruct-q4_k_m`, "), "{help}");
        assert!(help.ends_with("`all-minilm-l6-v2`"), "{help}");
    }

    #[test]
    fn mistyped_or_shortened_name_is_answered_with_the_nearest() {
        for (typed, meant) in [
            ("all-minilm-l6-v3", "all-minilm-l6-v2"),
            ("All-MiniLM-L6-v2", "all-minilm-l6-v2"),
            ("smollm2", "smollm2-135m-instruct-q4_1"),
        ] {
            let error = find(typed).unwrap_err();
            let help = error.help().unwrap();
            assert!(help.starts_with(&format!("did you mean `{meant}`? the known models are ")), "{help}");
        }
    }

    #[test]
    fn name_that_is_three_edits_away_is_not_guessed() {
        // From `3b` to `0.5b` or `1.5b`: one letter replaced and two inserted.
        let error = find("qwen2.5-coder-3b-instruct-q4_k_m").unwrap_err();
        assert!(error.help().unwrap().starts_with("the known models are "));
    }

    #[test]
    fn edits_are_those_of_the_textbook() {
        // "kitten" and "sitting" are the example of every textbook: k→s, e→i, +g.
        for (from, to, expected) in [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0)] {
            assert_eq!(strsim::levenshtein(from, to), expected, "{from} {to}");
        }
    }
}
