//! A scripted responder: what would the program do if the models said exactly this?
//!
//! For tests of everything but the models, by us and by users. The script is a TOML file:
//!
//! ```toml
//! [[verdict]]                  # the first entry whose texts all occur in the prompt answers
//! has = ["Does the context say", "Paris"]
//! p_yes = 0.9
//!
//! [[rating]]                   # for questions with levels: the probability of each
//! levels = [0.1, 0.2, 0.7]
//!
//! [[write]]
//! has = ["List the statements"]
//! text = "Paris is in France.\nParis has a river."
//!
//! [[write]]
//! has = ["France"]
//! draw = 1                     # answers this draw alone, see `judge::Question`
//! text = "Where is Paris?"
//!
//! [[embed]]                    # the first entry whose texts all occur in the text answers
//! has = ["Where"]
//! vector = [0.6, 0.8]
//!
//! [[write]]
//! has = ["unanswerable"]
//! fails = "the reason"         # instead of the answer
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::Responder;
use crate::error::{Error, Result};
use crate::hash::sha256_hex;
use crate::judge::{Answer, Question, Reply};
use crate::record::PinnedModel;

/// Answers from a file.
#[derive(Debug)]
pub struct Script {
    rules: Rules,
    model: PinnedModel,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rules {
    verdict: Vec<Rule>,
    rating: Vec<Rule>,
    write: Vec<Rule>,
    embed: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Texts that must all occur in the question.
    #[serde(default)]
    has: Vec<String>,
    /// The draw that it answers; `None` answers any.
    draw: Option<u32>,
    p_yes: Option<f64>,
    levels: Option<Vec<f64>>,
    text: Option<String>,
    vector: Option<Vec<f32>>,
    fails: Option<String>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If the file cannot be read or is not a script.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        Self::parse(&text).map_err(|err| Error::usage(format!("script `{}`: {err}", path.display()), ""))
    }

    /// Reads a script from its text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let rules = toml::from_str(text)?;
        let pins = BTreeMap::from([("script".to_owned(), sha256_hex(text.as_bytes()))]);
        Ok(Self {
            rules,
            model: PinnedModel { name: "script".to_owned(), pins, languages: Vec::new(), checked: Vec::new() },
        })
    }

    fn reply(&self, question: &Question) -> Reply {
        let (kind, rules, asked, draw) = match question {
            Question::Verdict { posed, .. } => ("verdict", &self.rules.verdict, posed.prompt.to_string(), None),
            Question::Rating { prompt, .. } => ("rating", &self.rules.rating, prompt.to_string(), None),
            Question::Write { prompt, draw, .. } => ("write", &self.rules.write, prompt.to_string(), Some(*draw)),
            Question::Embed { text } => ("embed", &self.rules.embed, text.clone(), None),
        };
        let found = rules.iter().find(|rule| rule.fits(&asked, draw));
        let answer = found
            .and_then(|rule| rule.answer(kind))
            .unwrap_or_else(|| Answer::Failed(format!("the script has no `{kind}` for: {asked}")));
        // Words stand for tokens: any number that follows from the question will do.
        Reply { answer, tokens_asked: asked.split_whitespace().count() as u64 }
    }
}

impl Rule {
    fn fits(&self, asked: &str, draw: Option<u32>) -> bool {
        self.has.iter().all(|text| asked.contains(text)) && (self.draw.is_none() || self.draw == draw)
    }

    fn answer(&self, kind: &str) -> Option<Answer> {
        if let Some(reason) = &self.fails {
            return Some(Answer::Failed(reason.clone()));
        }
        match kind {
            "verdict" => self.p_yes.map(|p_yes| Answer::Verdict { p_yes }),
            "rating" => self.levels.clone().map(Answer::Rating),
            "write" => self.text.clone().map(Answer::Text),
            _ => self.vector.clone().map(Answer::Vector),
        }
    }
}

impl Responder for Script {
    fn judge(&self) -> Option<&PinnedModel> {
        Some(&self.model)
    }

    fn embedder(&self) -> Option<&PinnedModel> {
        Some(&self.model)
    }

    fn answer(&mut self, questions: &[Question], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>> {
        let replies = questions.iter().map(|question| self.reply(question)).collect();
        on_progress(1.0);
        Ok(replies)
    }
}
