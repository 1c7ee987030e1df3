//! The user's own metrics: does the response meet a criterion, or which level of a rubric does it reach?

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{About, Case, Metric, is_blank, text_of};
use crate::error::{Error, Result};
use crate::hash::sha256_hex;
use crate::judge::asks::{Criterion, OfRubric};
use crate::judge::prompts::Slot;
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Rubric, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;

/// Levels are told apart by one digit.
const MAX_LEVELS: usize = 9;

/// Score = 1 if the judge says yes, 0 if it says no, to a criterion of your own about the response.
///
/// A rubric without levels in the file of `--rubric` is one; the metric is called `rubric.NAME`. Whichever of question,
/// contexts and reference a row has is shown with the response.
///
/// - Range: 0 or 1, 1 is yes.
/// - Unscored: if the response is empty.
/// - Edge cases: none.
/// - Source: Ragas 0.4.3, `metrics/_aspect_critic.py`.
/// - Difference from Ragas 0.4.3, both profiles: one verdict; there `strictness` promises a vote and makes none.
pub const ASPECT_CRITIC: About<'static> = About {
    name: "aspect_critic",
    summary: "yes or no by a definition of your own (`--rubric FILE`)",
    columns: &[Column::Response],
    models: &[Role::Judge],
    depth: 1,
    ..About::COMMON
};

/// Score = the sum over levels k of k * P(k): which of the levels 1 to n, each described by you, does the response
/// reach?
///
/// A rubric with levels in the file of `--rubric` is one; the metric is called `rubric.NAME`. Whichever of question,
/// contexts and reference a row has is shown with the response. P is the judge's distribution over the levels.
///
/// - Range: 1 to n, n is best.
/// - Unscored: if the response is empty.
/// - Edge cases: none.
/// - Source: Ragas 0.4.3, `metrics/collections/domain_specific_rubrics`.
/// - Difference from Ragas 0.4.3, strict: the expected level; in `ragas` the most likely one; there what the judge
///   writes.
/// - Difference from Ragas 0.4.3, both profiles: 2 to 9 levels; there five, and any integer that the judge writes.
pub const RUBRIC_SCORE: About<'static> = About {
    name: "rubric_score",
    summary: "a level from 1 to n by descriptions of your own (`--rubric FILE`)",
    range: (1.0, MAX_LEVELS as f64),
    failed_as: 1.0,
    ..ASPECT_CRITIC
};

/// A metric of the user's own.
#[derive(Debug)]
pub struct OwnMetric {
    /// `rubric.NAME`.
    name: String,
    rubric: Rubric,
}

/// What a rubric file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rubric: Vec<Rubric>,
}

/// Reads a file of the user's own metrics, and its SHA-256.
///
/// ```toml
/// [[rubric]]
/// name = "polite"                      # yes or no, as there are no levels
/// definition = "Is the answer polite?"
///
/// [[rubric]]
/// name = "detail"
/// definition = "How detailed is the answer?"
/// levels = ["It says nothing.", "It names the rule.", "It names the rule and its exceptions."]
/// ```
///
/// # Errors
/// If the file cannot be read, or holds no rubric, or one without a name, a definition, or with one level or more than
/// 9.
pub fn read(path: &Path) -> Result<(Vec<OwnMetric>, String)> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let refused = |message: String| {
        let help = "a rubric has a `name`, a `definition` and, for a rating, `levels`; README.md has an example";
        Error::usage(format!("rubric file `{}`: {message}", path.display()), help)
    };
    let file: File = toml::from_str(&text).map_err(|err| refused(err.to_string()))?;
    if file.rubric.is_empty() {
        return Err(refused("it holds no `[[rubric]]`".to_owned()));
    }
    let mut metrics: Vec<OwnMetric> = Vec::new();
    for rubric in file.rubric {
        check(&rubric).map_err(refused)?;
        if metrics.iter().any(|known| known.rubric.name == rubric.name) {
            return Err(refused(format!("two rubrics are called `{}`", rubric.name)));
        }
        metrics.push(OwnMetric::new(rubric));
    }
    Ok((metrics, sha256_hex(text.as_bytes())))
}

fn check(rubric: &Rubric) -> Result<(), String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if rubric.name.is_empty() || !rubric.name.chars().all(is_name) {
        return Err(format!("the name `{}` is not of letters, digits, `_` and `-`", rubric.name));
    }
    if is_blank(&rubric.definition) || rubric.levels.iter().any(|level| is_blank(level)) {
        return Err(format!("the definition or a level of `{}` is empty", rubric.name));
    }
    if rubric.levels.len() == 1 || rubric.levels.len() > MAX_LEVELS {
        let n_levels = rubric.levels.len();
        return Err(format!("the number of levels of `{}` is {n_levels}, expected 2 to {MAX_LEVELS}", rubric.name));
    }
    Ok(())
}

impl OwnMetric {
    /// The metric of a rubric that was read before, as from the header of a run.
    pub fn new(rubric: Rubric) -> Self {
        Self { name: format!("rubric.{}", rubric.name), rubric }
    }

    /// What it is made of.
    pub fn rubric(&self) -> &Rubric {
        &self.rubric
    }
}

impl Metric for OwnMetric {
    fn about(&self) -> About<'_> {
        let (kind, range) = match self.rubric.levels.len() {
            0 => (ASPECT_CRITIC, (0.0, 1.0)),
            n => (RUBRIC_SCORE, (1.0, n as f64)),
        };
        About { name: &self.name, summary: &self.rubric.definition, range, ..kind }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        if is_blank(text_of(&sample.response)) {
            return Err(Stop::unscored("the response is empty"));
        }
        let shown = shown(sample);
        let Rubric { definition, levels, .. } = &self.rubric;
        if levels.is_empty() {
            let verdict = answers.decide(&Criterion { shown: &shown, definition })?;
            return Ok(vec![Evidence::Criterion(verdict)]);
        }
        Ok(vec![Evidence::Rating(answers.rate(&OfRubric { shown: &shown, definition, levels })?)])
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        let part = case.evidence.first().ok_or_else(|| Stop::unscored("nothing was judged"))?;
        match part {
            Evidence::Criterion(verdict) => Ok(Score::of(if verdict.is_yes { 1.0 } else { 0.0 })),
            Evidence::Rating(rating) => {
                let highest = rating.levels.len() as f64;
                let (expected, most_likely) = (1.0 + rating.expected, 1.0 + rating.most_likely as f64);
                let score = match case.settings.profile {
                    Profile::Strict => expected.clamp(1.0, highest),
                    Profile::Ragas => most_likely,
                };
                Ok(Score::of(score).with("expected", expected).with("most_likely", most_likely))
            }
            _ => Err(Stop::Failed("the record holds something else than a rubric's judgement".to_owned())),
        }
    }
}

/// The columns of the sample that hold something, with the slots they are shown in.
fn shown(sample: &Sample) -> Vec<(Slot, Vec<&str>)> {
    let texts =
        [(Slot::UserInput, &sample.user_input), (Slot::Response, &sample.response), (Slot::Answer, &sample.reference)];
    let texts = texts.into_iter().filter_map(|(slot, text)| text.as_deref().map(|text| (slot, vec![text])));
    let mut shown: Vec<(Slot, Vec<&str>)> = texts.filter(|(_, texts)| !is_blank(texts[0])).collect();
    let contexts: Vec<&str> = sample.retrieved_contexts.iter().flatten().map(String::as_str).collect();
    if contexts.iter().any(|context| !is_blank(context)) {
        shown.push((Slot::Contexts, contexts));
    }
    shown
}
