//! Questions for a text: what is to be written, and what is read out of it?

use super::list::{read_items, read_names, read_sentences};
use super::reason::{line, read_line};
use crate::judge::answers::{Answer, Ask, Stop};
use crate::judge::prompts::{Pack, Slot, Task, is_of_example};
use crate::judge::question::{Form, Prompt, Question};
use crate::settings::{Level, Settings};
use crate::text::{self, Language};

/// Which claims does the response make? (Faithfulness, step 1.)
#[derive(Debug, Clone, Copy)]
pub struct Claims<'a> {
    /// The question, for the pronouns.
    pub user_input: &'a str,
    /// The response, or the reference.
    pub response: &'a str,
}

/// Which claims does this text make, by itself, as finely and completely as the settings say? (Factual correctness.)
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The text.
    pub text: &'a str,
}

/// Which people, places, dates, amounts and other named things does this text name? (Context entity recall.)
#[derive(Debug, Clone, Copy)]
pub struct Entities<'a> {
    /// The text, or texts.
    pub texts: &'a [String],
}

/// What is this text about? (Summary score, step 1.)
#[derive(Debug, Clone, Copy)]
pub struct Keyphrases<'a> {
    /// The text, or texts.
    pub texts: &'a [String],
}

/// Which questions does this text answer with yes? (Summary score, step 2.)
#[derive(Debug, Clone, Copy)]
pub struct ClosedQuestions<'a> {
    /// The text, or texts.
    pub texts: &'a [String],
    /// What they should be about.
    pub keyphrases: &'a [String],
}

/// Which question does this response answer? (Answer relevancy.)
#[derive(Debug, Clone, Copy)]
pub struct ReverseQuestion<'a> {
    /// The response.
    pub response: &'a str,
    /// 0 for the most likely question, others for random draws.
    pub draw: u32,
}

impl Ask for Claims<'_> {
    /// The claims, each once, in order.
    type Reply = Vec<String>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let slots: [(Slot, &[&str]); 2] = [(Slot::UserInput, &[self.user_input]), (Slot::Response, &[self.response])];
        list(Pack::of(language).prompt(Task::Claims, &slots))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<String>, Stop> {
        let claims = own(Task::Claims, read_sentences(answer)?, self.response);
        check_complete(&claims, self.response)?;
        Ok(claims)
    }
}

impl Facts<'_> {
    fn task(settings: &Settings) -> Task {
        match (settings.atomicity, settings.coverage) {
            (Level::Low, Level::Low) => Task::FactsLowLow,
            (Level::Low, Level::High) => Task::FactsLowHigh,
            (Level::High, Level::Low) => Task::FactsHighLow,
            (Level::High, Level::High) => Task::FactsHighHigh,
        }
    }
}

impl Ask for Facts<'_> {
    /// The claims, each once, in order.
    type Reply = Vec<String>;

    fn question(&self, language: Language, settings: &Settings) -> Question {
        list(Pack::of(language).prompt(Self::task(settings), &[(Slot::Response, &[self.text])]))
    }

    fn read(&self, answer: &Answer, settings: &Settings) -> Result<Vec<String>, Stop> {
        let claims = match settings.atomicity {
            // A line may join what belongs together.
            Level::Low => read_items(answer)?,
            Level::High => read_sentences(answer)?,
        };
        Ok(own(Self::task(settings), claims, self.text))
    }
}

impl Ask for Entities<'_> {
    /// The names, each once, in order.
    type Reply = Vec<String>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        list(Pack::of(language).prompt(Task::Entities, &[(Slot::Contexts, &refs(self.texts))]))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<String>, Stop> {
        Ok(own(Task::Entities, read_names(answer)?, &self.texts.join("\n")))
    }
}

impl Ask for Keyphrases<'_> {
    /// The phrases, each once, in order.
    type Reply = Vec<String>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        list(Pack::of(language).prompt(Task::Keyphrases, &[(Slot::Contexts, &refs(self.texts))]))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<String>, Stop> {
        read_items(answer)
    }
}

impl Ask for ClosedQuestions<'_> {
    /// The questions, each once, in order.
    type Reply = Vec<String>;

    fn question(&self, language: Language, _: &Settings) -> Question {
        let (texts, keyphrases) = (refs(self.texts), refs(self.keyphrases));
        let slots: [(Slot, &[&str]); 2] = [(Slot::Contexts, &texts), (Slot::Keyphrases, &keyphrases)];
        list(Pack::of(language).prompt(Task::ClosedQuestions, &slots))
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<Vec<String>, Stop> {
        let mut sentences = read_sentences(answer)?;
        // Small judges answer their own questions, or write terms.
        sentences.retain(|sentence| sentence.ends_with(['?', '？']));
        Ok(sentences)
    }
}

impl Ask for ReverseQuestion<'_> {
    /// The question; empty if the judge wrote none.
    type Reply = String;

    fn question(&self, language: Language, settings: &Settings) -> Question {
        let prompt = Pack::of(language).prompt(Task::ReverseQuestion, &[(Slot::Response, &[self.response])]);
        match self.draw {
            0 => line(prompt),
            draw => Question::Write { prompt, form: Form::Line, draw, seed: settings.seed },
        }
    }

    fn read(&self, answer: &Answer, _: &Settings) -> Result<String, Stop> {
        read_line(answer)
    }
}

/// The items without those that the judge copied from the prompt's example, unless they stand in the text as well.
fn own(task: Task, mut items: Vec<String>, text: &str) -> Vec<String> {
    items.retain(|item| !is_of_example(task, item) || text.contains(item.as_str()));
    items
}

/// Sentences from which on a text must have at least half as many claims: the shorter ones are often one claim.
const MANY_SENTENCES: usize = 4;

/// That a judge which was asked for everything did not stop early: a score over a few of many claims would say nothing.
fn check_complete(claims: &[String], text: &str) -> Result<(), Stop> {
    let n_sentences = text::sentences(text).len();
    if n_sentences < MANY_SENTENCES || 2 * claims.len() >= n_sentences || claims.is_empty() {
        return Ok(());
    }
    Err(Stop::Failed(format!("the judge wrote {} claims of a text of {n_sentences} sentences", claims.len())))
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The most likely list after a prompt.
fn list(prompt: Prompt) -> Question {
    Question::Write { prompt, form: Form::Items, draw: 0, seed: 0 }
}
