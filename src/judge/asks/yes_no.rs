//! Questions of yes or no: what is asked, and which answer is a loss?

use super::reason::{Explained, Reasoned};
use super::wrong_kind;
use crate::judge::answers::{Answer, Answers, Ask, Stop, all};
use crate::judge::prompts::{Pack, Slot, Task};
use crate::judge::question::{Labels, Posed, Question};
use crate::record::Verdict;
use crate::settings::{Correction, Explain, Settings, VerdictMode};
use crate::stats::platt::Platt;
use crate::text::Language;

/// A question of yes or no.
pub trait YesNo {
    /// What is asked.
    fn task(&self) -> Task;

    /// The question in words.
    fn pose(&self, pack: &Pack) -> Posed;

    /// Whether the words ask for the opposite: their no is our yes.
    fn is_reversed(&self) -> bool {
        false
    }

    /// The verdict that lowers scores.
    fn loss(&self) -> bool {
        false
    }
}

/// Is this statement supported by these contexts? (Faithfulness, step 2; context recall.)
#[derive(Debug, Clone, Copy)]
pub struct Supported<'a> {
    /// The contexts, joined; or a window of one; or one other text.
    pub contexts: &'a [&'a str],
    /// The statement.
    pub statement: &'a str,
}

/// Does this context help to arrive at this answer? (Context precision and utilization.)
#[derive(Debug, Clone, Copy)]
pub struct Useful<'a> {
    /// One chunk.
    pub context: &'a str,
    /// The question.
    pub user_input: &'a str,
    /// The reference, or the response.
    pub answer: &'a str,
}

/// Does this sentence of the contexts help to answer the question? (Context relevance.)
#[derive(Debug, Clone, Copy)]
pub struct Relevant<'a> {
    /// The contexts, joined.
    pub contexts: &'a [String],
    /// The question.
    pub user_input: &'a str,
    /// The sentence.
    pub sentence: &'a str,
}

/// Does this response evade the question? (Answer relevancy.)
#[derive(Debug, Clone, Copy)]
pub struct Noncommittal<'a> {
    /// The response.
    pub response: &'a str,
}

/// Does this response answer this question? (The direct question beside answer relevancy.)
#[derive(Debug, Clone, Copy)]
pub struct Answering<'a> {
    /// The question.
    pub user_input: &'a str,
    /// The response.
    pub response: &'a str,
}

/// Does this text answer the question with yes? (Summary score.)
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The text.
    pub response: &'a str,
    /// The question.
    pub question: &'a str,
}

/// Does the response meet this criterion? (The user's rubric.)
#[derive(Debug, Clone, Copy)]
pub struct Criterion<'a> {
    /// What is shown: texts for the slots of the sample's columns.
    pub shown: &'a [(Slot, Vec<&'a str>)],
    /// The criterion.
    pub definition: &'a str,
}

impl YesNo for Supported<'_> {
    fn task(&self) -> Task {
        Task::Supported
    }

    fn pose(&self, pack: &Pack) -> Posed {
        pack.pose(self.task(), &[(Slot::Contexts, self.contexts), (Slot::Statement, &[self.statement])])
    }
}

impl YesNo for Useful<'_> {
    fn task(&self) -> Task {
        Task::Useful
    }

    fn pose(&self, pack: &Pack) -> Posed {
        let slots: [(Slot, &[&str]); 3] =
            [(Slot::Contexts, &[self.context]), (Slot::UserInput, &[self.user_input]), (Slot::Answer, &[self.answer])];
        pack.pose(self.task(), &slots)
    }
}

impl YesNo for Relevant<'_> {
    fn task(&self) -> Task {
        Task::Relevant
    }

    fn pose(&self, pack: &Pack) -> Posed {
        let contexts: Vec<&str> = self.contexts.iter().map(String::as_str).collect();
        let slots: [(Slot, &[&str]); 3] =
            [(Slot::Contexts, &contexts), (Slot::UserInput, &[self.user_input]), (Slot::Statement, &[self.sentence])];
        pack.pose(self.task(), &slots)
    }
}

impl YesNo for Noncommittal<'_> {
    fn task(&self) -> Task {
        Task::Noncommittal
    }

    fn pose(&self, pack: &Pack) -> Posed {
        pack.pose(self.task(), &[(Slot::Response, &[self.response])])
    }

    /// The prompt asks whether the response says something definite: small judges tend to answer no to a text full of
    /// negations, whatever is asked (`docs/judge-quality.md`).
    fn is_reversed(&self) -> bool {
        true
    }

    fn loss(&self) -> bool {
        true
    }
}

impl YesNo for Answering<'_> {
    fn task(&self) -> Task {
        Task::Answering
    }

    fn pose(&self, pack: &Pack) -> Posed {
        pack.pose(self.task(), &[(Slot::UserInput, &[self.user_input]), (Slot::Response, &[self.response])])
    }
}

impl YesNo for Answered<'_> {
    fn task(&self) -> Task {
        Task::Answered
    }

    fn pose(&self, pack: &Pack) -> Posed {
        pack.pose(self.task(), &[(Slot::Response, &[self.response]), (Slot::UserInput, &[self.question])])
    }
}

impl YesNo for Criterion<'_> {
    fn task(&self) -> Task {
        Task::Criterion
    }

    fn pose(&self, pack: &Pack) -> Posed {
        let mut slots: Vec<(Slot, &[&str])> =
            self.shown.iter().map(|(slot, texts)| (*slot, texts.as_slice())).collect();
        let definition = [self.definition];
        slots.push((Slot::Definition, &definition));
        pack.pose(self.task(), &slots)
    }
}

impl Answers<'_> {
    /// The verdict, in the mode of the settings, with its reason where one is asked for.
    ///
    /// # Errors
    /// As [`Answers::ask`].
    pub fn decide(&mut self, ask: &impl YesNo) -> Result<Verdict, Stop> {
        match self.settings().verdicts {
            VerdictMode::Logits => {
                let verdict = self.by_logits(ask)?;
                self.explained(ask, verdict)
            }
            VerdictMode::Written => {
                let reason = self.ask(&Reasoned { pose: &|pack: &Pack| ask.pose(pack).prompt })?;
                let verdict = self.ask(&AfterReason { ask, reason: &reason })?;
                Ok(Verdict { reason: Some(reason), ..verdict })
            }
        }
    }

    /// Of several questions the one whose yes is likeliest, the first of equally likely ones, with its verdict. Only this one
    /// is explained. There is at least one; verdicts come by logits whatever the settings.
    ///
    /// # Errors
    /// As [`Answers::ask_all`].
    pub fn decide_any<A: YesNo>(&mut self, asks: &[A]) -> Result<(usize, Verdict), Stop> {
        let verdicts = all(asks.iter().map(|ask| self.by_logits(ask)).collect())?;
        let mut best = 0;
        for (idx, verdict) in verdicts.iter().enumerate() {
            if verdict.p_yes > verdicts[best].p_yes {
                best = idx;
            }
        }
        let verdict = verdicts.into_iter().nth(best).expect("there is a question");
        Ok((best, self.explained(&asks[best], verdict)?))
    }

    /// The verdict by logits, as a calibration file corrects it.
    fn by_logits(&mut self, ask: &impl YesNo) -> Result<Verdict, Stop> {
        Ok(corrected(self.ask(&ByLogits(ask))?, ask.task(), self.language(), self.settings()))
    }

    /// The verdict with its reason, where the settings ask for one.
    fn explained(&mut self, ask: &impl YesNo, verdict: Verdict) -> Result<Verdict, Stop> {
        let is_explained = match self.settings().explain {
            Explain::None => false,
            Explain::Losses => verdict.is_yes == ask.loss(),
            Explain::All => true,
        };
        if !is_explained {
            return Ok(verdict);
        }
        let Labels { yes, no } = labels(ask, Pack::of(self.language()));
        let label = if verdict.is_yes { &yes[0] } else { &no[0] };
        let reason = self.ask(&Explained { pose: &|pack: &Pack| ask.pose(pack).prompt, label })?;
        Ok(Verdict { reason: Some(reason), ..verdict })
    }

    /// The verdicts in order.
    ///
    /// # Errors
    /// As [`Answers::ask_all`].
    pub fn decide_all<A: YesNo>(&mut self, asks: impl IntoIterator<Item = A>) -> Result<Vec<Verdict>, Stop> {
        all(asks.into_iter().map(|ask| self.decide(&ask)).collect())
    }
}

/// The verdict as a calibration file corrects it, if one has something for this task and language.
fn corrected(verdict: Verdict, task: Task, language: Language, settings: &Settings) -> Verdict {
    let is_meant = |known: &&Correction| known.task == task.name() && known.language == language.code();
    let Some(correction) = settings.corrections.iter().find(is_meant) else { return verdict };
    let platt = Platt { slope: correction.slope, intercept: correction.intercept };
    let p_yes = platt.apply(verdict.p_yes);
    Verdict { is_yes: p_yes >= correction.threshold, p_yes, ..verdict }
}

/// The words for yes and no, exchanged if the prompt asks for the opposite.
fn labels(ask: &impl YesNo, pack: &Pack) -> Labels {
    let Labels { yes, no } = pack.labels.clone();
    if ask.is_reversed() { Labels { yes: no, no: yes } } else { Labels { yes, no } }
}

/// The verdict is the label that is likeliest to follow the question.
struct ByLogits<'a, A>(&'a A);

/// The verdict once a reason was written.
struct AfterReason<'a, A> {
    ask: &'a A,
    reason: &'a str,
}

impl<A: YesNo> Ask for ByLogits<'_, A> {
    type Reply = Verdict;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let pack = Pack::of(language);
        let (posed, labels) = (self.0.pose(pack), labels(self.0, pack));
        Question::Verdict { posed, labels, anchors: pack.anchors(self.0.task()) }
    }

    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
        read_verdict(answer, settings)
    }
}

impl<A: YesNo> Ask for AfterReason<'_, A> {
    type Reply = Verdict;

    /// It has neither prior nor anchors: the reason decides, and the label only says it.
    fn question(&self, language: Language, _: &Settings) -> Question {
        let pack = Pack::of(language);
        let after = pack.prompt(Task::AfterReason, &[(Slot::Reason, &[self.reason])]);
        let posed = Posed { prompt: self.ask.pose(pack).prompt.then(after), prior: None };
        Question::Verdict { posed, labels: labels(self.ask, pack), anchors: Vec::new() }
    }

    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
        read_verdict(answer, settings)
    }
}

fn read_verdict(answer: &Answer, settings: &Settings) -> Result<Verdict, Stop> {
    match *answer {
        Answer::Verdict { p_yes } if (0.0..=1.0).contains(&p_yes) => {
            Ok(Verdict { is_yes: p_yes >= settings.threshold, p_yes, reason: None })
        }
        Answer::Verdict { p_yes } => Err(Stop::Failed(format!("P(yes) is {p_yes}, expected a number from 0 to 1"))),
        _ => Err(wrong_kind("a verdict", answer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probability_outside_its_range_is_a_failure() {
        let settings = Settings::default();
        assert!(read_verdict(&Answer::Verdict { p_yes: f64::NAN }, &settings).is_err());
        assert!(read_verdict(&Answer::Verdict { p_yes: 1.5 }, &settings).is_err());
        let at_threshold = read_verdict(&Answer::Verdict { p_yes: 0.5 }, &settings);
        assert_eq!(at_threshold, Ok(Verdict { is_yes: true, p_yes: 0.5, reason: None }));
    }
}
