//! Corrections: what makes of the judge's P(yes) a probability that people would agree with?

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::figures::Point;
use crate::error::{Error, Result};
use crate::judge::prompts::words_sha256;
use crate::record::PinnedModel;
use crate::settings::Correction;
use crate::stats::agreement;
use crate::stats::platt::Platt;

/// Rows of each answer that a correction is fitted to at least.
const MIN_ROWS: usize = 10;

/// A calibration file: corrections with the judge that they are for.
///
/// ```toml
/// [judge]
/// name = "qwen2.5-coder-1.5b-instruct-q4_k_m"
/// pins = { "weights" = "..." }
///
/// [[correction]]
/// task = "supported"
/// language = "en"
/// words_sha256 = "..."
/// slope = 0.71
/// intercept = -0.52
/// threshold = 0.47
/// n_rows = 120
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The judge.
    pub judge: Pinned,
    /// Its corrections.
    #[serde(rename = "correction", default)]
    pub corrections: Vec<Correction>,
}

/// The judge that corrections are for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Its name.
    pub name: String,
    /// What shapes its answers.
    pub pins: BTreeMap<String, String>,
}

/// The correction of the verdicts of a task in a language; `None` with fewer than ten rows of either answer, or where higher
/// scores do not go with yes.
pub fn fit(task: &str, language: &str, points: &[Point]) -> Option<Correction> {
    let rows: Vec<(f64, bool)> = points.iter().map(|point| (point.score, point.label == 1.0)).collect();
    let n_yes = rows.iter().filter(|(_, is_yes)| *is_yes).count();
    if n_yes.min(rows.len() - n_yes) < MIN_ROWS {
        return None;
    }
    let platt = Platt::fit(&rows)?;
    let corrected: Vec<(f64, bool)> = rows.iter().map(|(p, is_yes)| (platt.apply(*p), *is_yes)).collect();
    Some(Correction {
        task: task.to_owned(),
        language: language.to_owned(),
        words_sha256: words_sha256(task, language)?,
        slope: platt.slope,
        intercept: platt.intercept,
        threshold: agreement::best_threshold(&corrected)?,
        n_rows: rows.len(),
    })
}

/// Whether it was fitted to questions in the words of this version.
fn is_in_these_words(correction: &Correction) -> bool {
    words_sha256(&correction.task, &correction.language).as_deref() == Some(&correction.words_sha256)
}

impl Calibration {
    /// Reads a calibration file.
    ///
    /// # Errors
    /// If it cannot be read or is none.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        let refused = |message: String| {
            let help = "name the `calibration.toml` that `ragstone judge-check` wrote";
            Error::usage(format!("calibration file `{}`: {message}", path.display()), help)
        };
        let calibration: Self = toml::from_str(&text).map_err(|err| refused(err.to_string()))?;
        if let Some(c) = calibration.corrections.iter().find(|correction| !correction.is_sound()) {
            return Err(refused(format!("the numbers of `{}` ({}) are out of range", c.task, c.language)));
        }
        match calibration.corrections.iter().find(|correction| !is_in_these_words(correction)) {
            Some(c) => Err(Error::usage(
                format!(
                    "calibration file `{}`: `{}` ({}) was measured with other words than this version asks in",
                    path.display(),
                    c.task,
                    c.language
                ),
                "run `ragstone judge-check` again with this version",
            )),
            None => Ok(calibration),
        }
    }

    /// Whether it is for this judge.
    ///
    /// # Errors
    /// That names both.
    pub fn check_judge(&self, judge: Option<&PinnedModel>) -> Result<()> {
        if judge.is_none_or(|judge| judge.pins == self.judge.pins) {
            return Ok(());
        }
        let used = judge.map_or("none", |judge| judge.name.as_str());
        let message = format!("the calibration is for the judge `{}`, and the run uses `{used}`", self.judge.name);
        Err(Error::usage(message, "weights, template or arithmetic differ; run `ragstone judge-check` with this judge"))
    }

    /// The file's text.
    ///
    /// # Panics
    /// Never: it holds only strings and finite numbers.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a calibration has only strings and finite numbers")
    }
}
