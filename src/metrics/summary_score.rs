//! Summary score: does the response hold what the contexts are about, and is it shorter?

use super::{About, Case, Metric, is_blank, list_of, text_of};
use crate::judge::asks::{Answered, ClosedQuestions, Keyphrases};
use crate::judge::{Answers, Stop};
use crate::model::Role;
use crate::record::{Evidence, Judged, Score};
use crate::sample::{Column, Sample};
use crate::settings::Profile;
use crate::stats;
use crate::text;

/// How much conciseness weighs, as in Ragas.
const COEFF: f64 = 0.5;

/// SS = (Q + C) / 2, where Q is the share of questions that the response answers, and C is how much shorter it is.
///
/// The judge lists the keyphrases of the reference contexts and writes a question about each whose answer is yes; each
/// is then one question of yes or no about the response. C = 1 - min(n, N) / N, with n characters of the response and N
/// of the contexts, joined. Q and C stand beside the score as `answered` and `conciseness`.
///
/// - Range: 0 to 1, 1 is best.
/// - Unscored: if the response or the reference contexts are empty.
/// - Edge cases: if the judge writes no question, the cell fails. A response as long as the contexts has C = 0.
/// - Source: Ragas 0.4.3, `metrics/collections/summary_score`.
/// - Difference from Ragas 0.4.3, strict: no epsilon of 1e-10.
/// - Difference from Ragas 0.4.3, both profiles: a cell without questions fails; there it is a division by zero.
/// - Difference from Ragas 0.4.3, both profiles: Q and C weigh the same, and C always counts; there `coeff` and
///   `length_penalty` say how much.
/// - Difference from Ragas 0.4.3, both profiles: characters are counted in NFC; there as they come, so that decomposed
///   Hangul is two to three times as long.
#[derive(Debug)]
pub struct SummaryScore;

impl Metric for SummaryScore {
    fn about(&self) -> About<'_> {
        About {
            name: "summary_score",
            aliases: &["summarization_score"],
            summary: "whether the response holds what the reference contexts are about, and is shorter",
            columns: &[Column::ReferenceContexts, Column::Response],
            models: &[Role::Judge],
            depth: 3,
            ..About::COMMON
        }
    }

    fn ask(&self, sample: &Sample, answers: &mut Answers<'_>) -> Result<Vec<Evidence>, Stop> {
        let (texts, response) = (list_of(&sample.reference_contexts), text_of(&sample.response));
        if is_blank(response) || texts.iter().all(|text| is_blank(text)) {
            return Err(Stop::unscored("the response or the reference contexts are empty"));
        }
        let keyphrases = answers.ask(&Keyphrases { texts })?;
        let questions = answers.ask(&ClosedQuestions { texts, keyphrases: &keyphrases })?;
        let verdicts = answers.decide_all(questions.iter().map(|question| Answered { response, question }))?;
        let judged = questions.iter().zip(verdicts).map(|(text, verdict)| Judged::new(text, verdict));
        Ok(judged.map(Evidence::Answered).collect())
    }

    fn score(&self, case: &Case<'_>) -> Result<Score, Stop> {
        const EPSILON: f64 = 1e-10;
        let is_answered = |part: &&Evidence| matches!(part, Evidence::Answered(judged) if judged.verdict);
        let n_answered = case.evidence.iter().filter(is_answered).count();
        let Some(answered) = stats::share(n_answered, case.evidence.len()) else {
            return Err(Stop::Failed("the judge wrote no question".to_owned()));
        };
        let n_text = n_chars(&list_of(&case.sample.reference_contexts).join("\n"));
        let n_response = n_chars(text_of(&case.sample.response));
        let epsilon = match case.settings.profile {
            Profile::Strict => 0.0,
            Profile::Ragas => EPSILON,
        };
        let conciseness = 1.0 - n_response.min(n_text) as f64 / (n_text as f64 + epsilon);
        let score = answered * (1.0 - COEFF) + conciseness * COEFF;
        Ok(Score::of(score).with("answered", answered).with("conciseness", conciseness))
    }
}

/// The characters of a text, however its Hangul is composed.
fn n_chars(text: &str) -> usize {
    text::nfc(text).chars().count()
}
