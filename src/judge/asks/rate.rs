//! Ratings: which of several levels?

use super::reason::{Explained, Reasoned};
use super::wrong_kind;
use crate::judge::answers::{Answer, Answers, Ask, Stop};
use crate::judge::prompts::{Pack, Slot, Task};
use crate::judge::question::{Prompt, Question};
use crate::record::Rating;
use crate::settings::{Explain, Settings, VerdictMode};
use crate::text::Language;

/// How far the probabilities of levels may miss 1 together.
const MAX_ROUNDING: f64 = 1e-6;

/// A question for a level.
pub trait Rate {
    /// The question in words.
    fn prompt(&self, pack: &Pack) -> Prompt;

    /// The names of the levels, from the lowest, as the prompt gives them.
    fn levels(&self) -> Vec<String>;
}

/// Ratings of NVIDIA's metrics are asked for in two wordings, and the mean is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// The first.
    First,
    /// The second; where two texts are compared, they change places.
    Second,
}

/// How well do the two answers agree? Levels 0, 2, 4. (Answer accuracy.)
#[derive(Debug, Clone, Copy)]
pub struct AnswerAccuracy<'a> {
    /// The wording.
    pub template: Template,
    /// The question.
    pub user_input: &'a str,
    /// The response.
    pub response: &'a str,
    /// The right answer.
    pub reference: &'a str,
}

/// Do the contexts hold what answers the question? Levels 0, 1, 2. (NVIDIA's context relevance.)
#[derive(Debug, Clone, Copy)]
pub struct ContextRelevance<'a> {
    /// The wording.
    pub template: Template,
    /// The contexts, joined.
    pub contexts: &'a [String],
    /// The question.
    pub user_input: &'a str,
}

/// Do the contexts say what the response says? Levels 0, 1, 2. (NVIDIA's response groundedness.)
#[derive(Debug, Clone, Copy)]
pub struct Groundedness<'a> {
    /// The wording.
    pub template: Template,
    /// The contexts, joined.
    pub contexts: &'a [String],
    /// The response.
    pub response: &'a str,
}

/// Which level of the user's rubric describes the response? Levels 1 to n.
#[derive(Debug, Clone, Copy)]
pub struct OfRubric<'a> {
    /// What is shown: texts for the slots of the sample's columns.
    pub shown: &'a [(Slot, Vec<&'a str>)],
    /// What is rated.
    pub definition: &'a str,
    /// What each level means, from 1 on.
    pub levels: &'a [String],
}

impl Rate for AnswerAccuracy<'_> {
    fn prompt(&self, pack: &Pack) -> Prompt {
        let (task, response, reference) = match self.template {
            Template::First => (Task::Accuracy1, self.response, self.reference),
            Template::Second => (Task::Accuracy2, self.reference, self.response),
        };
        let slots: [(Slot, &[&str]); 3] =
            [(Slot::UserInput, &[self.user_input]), (Slot::Response, &[response]), (Slot::Answer, &[reference])];
        pack.prompt(task, &slots)
    }

    fn levels(&self) -> Vec<String> {
        ["0", "2", "4"].map(str::to_owned).to_vec()
    }
}

impl Rate for ContextRelevance<'_> {
    fn prompt(&self, pack: &Pack) -> Prompt {
        let task = match self.template {
            Template::First => Task::ContextRelevance1,
            Template::Second => Task::ContextRelevance2,
        };
        let contexts: Vec<&str> = self.contexts.iter().map(String::as_str).collect();
        pack.prompt(task, &[(Slot::Contexts, &contexts), (Slot::UserInput, &[self.user_input])])
    }

    fn levels(&self) -> Vec<String> {
        ["0", "1", "2"].map(str::to_owned).to_vec()
    }
}

impl Rate for Groundedness<'_> {
    fn prompt(&self, pack: &Pack) -> Prompt {
        let task = match self.template {
            Template::First => Task::Groundedness1,
            Template::Second => Task::Groundedness2,
        };
        let contexts: Vec<&str> = self.contexts.iter().map(String::as_str).collect();
        pack.prompt(task, &[(Slot::Contexts, &contexts), (Slot::Response, &[self.response])])
    }

    fn levels(&self) -> Vec<String> {
        ["0", "1", "2"].map(str::to_owned).to_vec()
    }
}

impl Rate for OfRubric<'_> {
    fn prompt(&self, pack: &Pack) -> Prompt {
        let described: Vec<String> = self.levels.iter().zip(1..).map(|(level, n)| format!("{n}: {level}")).collect();
        let (definition, described) = ([self.definition], described.iter().map(String::as_str).collect::<Vec<_>>());
        let mut slots: Vec<(Slot, &[&str])> =
            self.shown.iter().map(|(slot, texts)| (*slot, texts.as_slice())).collect();
        slots.extend([(Slot::Definition, definition.as_slice()), (Slot::Levels, &described)]);
        pack.prompt(Task::Rubric, &slots)
    }

    fn levels(&self) -> Vec<String> {
        (1..=self.levels.len()).map(|n| n.to_string()).collect()
    }
}

impl Answers<'_> {
    /// The rating, in the mode of the settings, with its reason where one is asked for: a rating is explained with all
    /// verdicts, since none is a loss by itself.
    ///
    /// # Errors
    /// As [`Answers::ask`].
    pub fn rate(&mut self, ask: &impl Rate) -> Result<Rating, Stop> {
        let settings = self.settings();
        let pose = &|pack: &Pack| ask.prompt(pack);
        match settings.verdicts {
            VerdictMode::Logits => {
                let levels = self.ask(&ByLogits(ask))?;
                let rating = Rating::new(levels, None);
                if settings.explain != Explain::All {
                    return Ok(rating);
                }
                let reason = self.ask(&Explained { pose, label: &ask.levels()[rating.most_likely] })?;
                Ok(Rating { reason: Some(reason), ..rating })
            }
            VerdictMode::Written => {
                let reason = self.ask(&Reasoned { pose })?;
                let levels = self.ask(&AfterReason { ask, reason: &reason })?;
                Ok(Rating::new(levels, Some(reason)))
            }
        }
    }
}

/// The levels that may follow the question.
struct ByLogits<'a, A>(&'a A);

/// The rating once a reason was written.
struct AfterReason<'a, A> {
    ask: &'a A,
    reason: &'a str,
}

impl<A: Rate> Ask for ByLogits<'_, A> {
    type Reply = Vec<f64>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        rating(self.0, self.0.prompt(Pack::of(language)))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<f64>, Stop> {
        read_levels(self.0, answer)
    }
}

impl<A: Rate> Ask for AfterReason<'_, A> {
    type Reply = Vec<f64>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let pack = Pack::of(language);
        let after = pack.prompt(Task::RatingAfterReason, &[(Slot::Reason, &[self.reason])]);
        rating(self.ask, self.ask.prompt(pack).then(after))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<f64>, Stop> {
        read_levels(self.ask, answer)
    }
}

/// Each level with and without a space before it, as tokenizers have both.
fn rating(ask: &impl Rate, prompt: Prompt) -> Question {
    let spellings = |level: String| vec![format!(" {level}"), level];
    Question::Rating { prompt, levels: ask.levels().into_iter().map(spellings).collect() }
}

fn read_levels(ask: &impl Rate, answer: &Answer) -> Result<Vec<f64>, Stop> {
    let Answer::Rating(levels) = answer else { return Err(wrong_kind("a rating", answer)) };
    let expected = ask.levels().len();
    let is_distribution = levels.iter().all(|p| (0.0..=1.0).contains(p))
        && (levels.iter().sum::<f64>() - 1.0).abs() <= MAX_ROUNDING
        && levels.len() == expected;
    if is_distribution {
        return Ok(levels.clone());
    }
    Err(Stop::Failed(format!("the rating is {levels:?}, expected {expected} probabilities that add up to 1")))
}
