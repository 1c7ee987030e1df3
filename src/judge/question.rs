//! What exactly is asked, and which answer belongs to it?

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// A question, complete: whoever answers it needs nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Question {
    /// Yes or no: how likely is yes?
    Verdict {
        /// What is shown to the judge, and to find its prior.
        posed: Posed,
        /// The words that mean yes and no.
        labels: Labels,
        /// The same question about other texts, half of them with the answer yes and half with no: where is the middle?
        anchors: Vec<Posed>,
    },
    /// One of several levels: how likely is each?
    Rating {
        /// What is shown to the judge.
        prompt: Prompt,
        /// The spellings of each level, from the lowest.
        levels: Vec<Vec<String>>,
    },
    /// A text.
    Write {
        /// What is shown to the judge.
        prompt: Prompt,
        /// The shape of the text.
        form: Form,
        /// Draw 0 is the most likely text; others are drawn at random, keyed by this number and the seed.
        draw: u32,
        /// The seed of the run; 0 for draw 0, which does not depend on it.
        seed: u64,
    },
    /// The direction of a text in the embedder's space.
    Embed {
        /// The text, in NFC.
        text: String,
    },
}

/// What is shown to the judge: a system turn of ours, and a user turn in which our words and the user's data are
/// kept apart, so that data never becomes structure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompt {
    /// The system turn; never data.
    pub system: String,
    /// The user turn.
    pub user: Vec<Segment>,
}

/// A question of yes or no in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Posed {
    /// What is shown to the judge.
    pub prompt: Prompt,
    /// The same without the texts that decide it: how readily does the judge say yes to the rest? `None` if it is not asked.
    pub prior: Option<Prompt>,
}

/// A part of the user turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Segment {
    /// Words of the prompt pack.
    Words(String),
    /// Text from a data set or written by the judge, in NFC.
    Data(String),
}

/// Words that mean yes, and words that mean no, in several spellings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Labels {
    /// Spellings of yes.
    pub yes: Vec<String>,
    /// Spellings of no.
    pub no: Vec<String>,
}

/// The shape of a written text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// One line.
    Line,
    /// A list, one item a line.
    Items,
}

/// What answers depend on beside the question: hashes of the models and all that shapes their work.
///
/// Any text will do as long as it changes whenever an answer may change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    /// For verdicts and texts.
    pub judge: String,
    /// For embeddings.
    pub embedder: String,
}

/// The name of an answer: SHA-256 of all that shaped it. Never of a row number or of what else was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 32]);

impl Question {
    /// SHA-256 of the pins that matter, a zero byte, and the question as JSON.
    pub fn key(&self, pins: &Pins) -> Key {
        let pin = match self {
            Self::Verdict { .. } | Self::Rating { .. } | Self::Write { .. } => &pins.judge,
            Self::Embed { .. } => &pins.embedder,
        };
        let question = serde_json::to_vec(self).expect("a question has only strings and numbers");
        Key(Sha256::new().chain_update(pin).chain_update([0]).chain_update(question).finalize().into())
    }

    /// Whether it is answered by reading one position, after all texts are written.
    pub fn is_verdict(&self) -> bool {
        match self {
            Self::Verdict { .. } | Self::Rating { .. } => true,
            Self::Write { .. } | Self::Embed { .. } => false,
        }
    }

    /// The prompt, for the log; `None` for embeddings, which are their text.
    pub fn prompt(&self) -> Option<&Prompt> {
        match self {
            Self::Verdict { posed: Posed { prompt, .. }, .. }
            | Self::Rating { prompt, .. }
            | Self::Write { prompt, .. } => Some(prompt),
            Self::Embed { .. } => None,
        }
    }
}

impl Posed {
    /// The prompt, then that of its prior.
    pub fn prompts(&self) -> impl Iterator<Item = &Prompt> {
        std::iter::once(&self.prompt).chain(&self.prior)
    }
}

impl Prompt {
    /// The same turn going on with that of another prompt, on a new line.
    pub fn then(mut self, next: Self) -> Self {
        self.user.push(Segment::Words("\n".to_owned()));
        self.user.extend(next.user);
        self
    }
}

impl Segment {
    /// The text.
    pub fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Data(text) => text,
        }
    }
}

impl fmt::Display for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.system)?;
        self.user.iter().try_for_each(|segment| f.write_str(segment.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embed(text: &str) -> Question {
        Question::Embed { text: text.to_owned() }
    }

    #[test]
    fn key_follows_the_question_and_the_pins_that_shape_it() {
        let pins = Pins { judge: "j".into(), embedder: "e".into() };
        let key = embed("a").key(&pins);
        // printf 'e\0{"kind":"embed","text":"a"}' | sha256sum
        assert_eq!(key.0[..4], [0xe5, 0x02, 0x8c, 0x17]);
        assert_eq!(key, embed("a").key(&Pins { judge: "other".into(), ..pins.clone() }));
        assert_ne!(key, embed("a").key(&Pins { embedder: "other".into(), ..pins.clone() }));
        assert_ne!(key, embed("b").key(&pins));
    }

    #[test]
    fn words_and_data_of_the_same_text_are_different_questions() {
        let verdict = |segment| Question::Verdict {
            posed: Posed { prompt: Prompt { system: String::new(), user: vec![segment] }, prior: None },
            labels: Labels { yes: vec![], no: vec![] },
            anchors: vec![],
        };
        let pins = Pins::default();
        let (words, data) = (Segment::Words("x".into()), Segment::Data("x".into()));
        assert_ne!(verdict(words).key(&pins), verdict(data).key(&pins));
    }
}
