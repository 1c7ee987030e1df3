//! The judge in this process: how do questions become tokens, and logits become answers?

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::labels::LabelTrie;
use crate::engine::memory::Memory;
use crate::engine::sampler::Sampling;
use crate::engine::score::Probe;
use crate::engine::tokenizer::Tokenizer;
use crate::engine::write::{Request, Until, Written};
use crate::engine::{Counts, Engine};
use crate::error::Result;
use crate::judge::{Answer, Form, Key, Labels, Posed, Prompt, Reply, Segment};
use crate::record::PinnedModel;
use crate::stats;

/// Temperature of drawn texts: varied, but not wild.
const TEMPERATURE: f64 = 0.7;
/// Nucleus of drawn texts.
const TOP_P: f64 = 0.9;
/// The longest line that is written.
const MAX_LINE_TOKENS: usize = 128;
/// A list may take this many tokens, and twice as many as the data it is about: claims repeat their subjects.
const MIN_LIST_TOKENS: usize = 64;

/// A language model that gives verdicts and writes texts.
#[derive(Debug)]
pub struct Judge {
    model: PinnedModel,
    engine: Engine,
    /// What the chat template puts around the user turn, by system turn: rendering it takes milliseconds.
    frames: HashMap<String, Frame>,
    /// The lift of each anchor that was asked, by its prompt.
    anchors: HashMap<String, f64>,
}

/// The probability of each answer, or why the question could not be asked.
struct Decision {
    probabilities: Result<Vec<f64>, String>,
    n_tokens: usize,
}

/// A question and the spellings of each of its answers.
type Choice<'a> = (&'a Prompt, Vec<&'a [String]>);

/// Tokens around the user turn.
#[derive(Debug)]
struct Frame {
    before: Vec<u32>,
    after: Vec<u32>,
}

/// A question that is answered by reading one position.
#[derive(Debug, Clone, Copy)]
pub enum ChoiceAsk<'a> {
    /// Yes or no.
    Verdict {
        /// What is shown.
        posed: &'a Posed,
        /// The words that mean yes and no.
        labels: &'a Labels,
        /// The same question about texts whose right answers are half yes and half no.
        anchors: &'a [Posed],
    },
    /// One of several levels.
    Rating {
        /// What is shown.
        prompt: &'a Prompt,
        /// The spellings of each level, from the lowest.
        levels: &'a [Vec<String>],
    },
}

/// A question for a text.
#[derive(Debug, Clone, Copy)]
pub struct TextAsk<'a> {
    /// What is shown.
    pub prompt: &'a Prompt,
    /// The shape of the text.
    pub form: Form,
    /// 0 for the most likely text.
    pub draw: u32,
    /// Keys the random draws.
    pub key: Key,
}

/// A prompt as tokens.
struct Encoded {
    tokens: Vec<u32>,
    /// Those of them that are data.
    n_data: usize,
    /// Those before the first that is data.
    n_static: usize,
}

impl Judge {
    /// A judge; `model` is what the run header says of the engine's file.
    pub fn new(model: PinnedModel, engine: Engine) -> Self {
        Self { model, engine, frames: HashMap::new(), anchors: HashMap::new() }
    }

    /// What the run header says of it.
    pub fn model(&self) -> &PinnedModel {
        &self.model
    }

    /// Tokens so far.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    /// Memory of the engine.
    pub fn memory(&self) -> Memory {
        self.engine.memory()
    }

    /// Memory that it will take with keys and values of `kv_tokens` tokens.
    pub fn predicted_bytes(&self, kv_tokens: usize) -> usize {
        self.engine.need().bytes() + self.engine.kv_token_bytes() * kv_tokens
    }

    /// P(yes) for each question of yes or no, without its prior and moved so that one half lies in the middle between the
    /// anchors; for each rating the probability of every level, as the judge gives it.
    ///
    /// Small judges lean to yes, to some texts more than to others. With p the probability of yes and p' that of the same
    /// question without the texts that decide it (1/2 if that is not asked), the lift is logit(p) - max(logit(p'), -2), and the
    /// result sigmoid(lift - mean of the anchors' lifts), where the anchors' right answers are half yes and half no. As the
    /// contextual calibration of Zhao et al., "Calibrate Before Use", 2021, section 5, with a content-free input for each
    /// question; anchors set the middle, since the wording of one such input for all decided too much
    /// (`docs/judge-quality.md`).
    ///
    /// # Errors
    /// If the chat template or the engine fails.
    pub fn decide(&mut self, asks: &[ChoiceAsk<'_>], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>> {
        self.ask_anchors(asks)?;
        let questions: Vec<Choice<'_>> = asks.iter().flat_map(ChoiceAsk::choices).collect();
        let mut decisions = self.choose(&questions, on_progress)?.into_iter();
        let reply = |ask: &ChoiceAsk<'_>| {
            let own: Vec<Decision> = decisions.by_ref().take(ask.choices().len()).collect();
            let tokens_asked = own.iter().map(|decision| decision.n_tokens as u64).sum();
            let answer = match ask {
                ChoiceAsk::Rating { .. } => probabilities(&own).map(|p| Answer::Rating(p[0].clone())),
                ChoiceAsk::Verdict { anchors, .. } => {
                    lift(&own).map(|lift| Answer::Verdict { p_yes: stats::sigmoid(lift - self.middle(anchors)) })
                }
            };
            Reply { answer: answer.unwrap_or_else(Answer::Failed), tokens_asked }
        };
        Ok(asks.iter().map(reply).collect())
    }

    /// Asks the anchors that were not asked before.
    fn ask_anchors(&mut self, asks: &[ChoiceAsk<'_>]) -> Result<()> {
        let mut new: Vec<(&Posed, &Labels)> = Vec::new();
        for ask in asks {
            let ChoiceAsk::Verdict { labels, anchors, .. } = ask else { continue };
            for anchor in *anchors {
                if !self.anchors.contains_key(&anchor.prompt.to_string())
                    && !new.iter().any(|(known, _)| *known == anchor)
                {
                    new.push((anchor, labels));
                }
            }
        }
        let questions: Vec<Choice<'_>> =
            new.iter().flat_map(|(anchor, labels)| anchor.prompts().map(|prompt| yes_or_no(prompt, labels))).collect();
        let mut decisions = self.choose(&questions, &mut |_| ())?.into_iter();
        for (anchor, _) in new {
            let own: Vec<Decision> = decisions.by_ref().take(anchor.prompts().count()).collect();
            // Labels that cannot be told apart fail the question itself, with their reason.
            self.anchors.insert(anchor.prompt.to_string(), lift(&own).unwrap_or(0.0));
        }
        Ok(())
    }

    /// The mean lift of anchors; 0 if there are none.
    fn middle(&self, anchors: &[Posed]) -> f64 {
        let lifts: Vec<f64> = anchors.iter().map(|anchor| self.anchors[&anchor.prompt.to_string()]).collect();
        stats::mean(&lifts).unwrap_or(0.0)
    }

    /// The probability of each answer, as the judge gives it.
    fn choose(&mut self, asks: &[Choice<'_>], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Decision>> {
        let mut probes = Vec::new();
        let mut plans = Vec::new();
        let encoded = self.encode(asks.iter().map(|(prompt, _)| *prompt).collect())?;
        for ((_, answers), Encoded { tokens, n_static, .. }) in asks.iter().zip(encoded) {
            let first = probes.len();
            let trie = self.trie(answers).and_then(|trie| self.check_length(tokens.len(), trie.depth()).map(|()| trie));
            for (path, candidates) in trie.iter().flat_map(LabelTrie::branches) {
                probes.push(Probe { prompt: [tokens.as_slice(), &path].concat(), n_static, candidates });
            }
            plans.push((tokens.len(), trie, first..probes.len()));
        }
        let logits = self.engine.score(&probes, on_progress)?;
        let decide = |(n_tokens, trie, range): (usize, Result<LabelTrie, String>, Range<usize>)| Decision {
            probabilities: trie.map(|trie| trie.probabilities(&logits[range])),
            n_tokens,
        };
        Ok(plans.into_iter().map(decide).collect())
    }

    fn trie(&self, answers: &[&[String]]) -> Result<LabelTrie, String> {
        let encode = |text: &String| self.engine.tokenizer().encode_data(text);
        let answers: Vec<Vec<Vec<u32>>> = answers.iter().map(|texts| texts.iter().map(encode).collect()).collect();
        LabelTrie::new(&answers)
    }

    /// A text for each question.
    ///
    /// # Errors
    /// If the chat template or the engine fails.
    pub fn write(&mut self, asks: &[TextAsk<'_>], on_progress: &mut dyn FnMut(f64)) -> Result<Vec<Reply>> {
        let mut requests = Vec::new();
        let mut plans = Vec::new();
        let encoded = self.encode(asks.iter().map(|ask| ask.prompt).collect())?;
        for (ask, prompt) in asks.iter().zip(encoded) {
            let max_tokens = match ask.form {
                Form::Line => MAX_LINE_TOKENS,
                Form::Items => MIN_LIST_TOKENS + 2 * prompt.n_data,
            };
            let n_prompt = prompt.tokens.len();
            let fits = self.check_length(n_prompt, max_tokens);
            if fits.is_ok() {
                requests.push(request(ask, prompt, max_tokens));
            }
            plans.push((n_prompt, max_tokens, fits));
        }
        let mut written = self.engine.write(&requests, on_progress)?.into_iter();
        let reply = |(n_prompt, max_tokens, fits)| match fits {
            Err(reason) => Reply { answer: Answer::Failed(reason), tokens_asked: n_prompt as u64 },
            Ok(()) => self.text_reply(n_prompt, max_tokens, written.next().expect("every request was written")),
        };
        Ok(plans.into_iter().map(reply).collect())
    }

    fn text_reply(&self, n_prompt: usize, max_tokens: usize, written: Written) -> Reply {
        let text = self.engine.tokenizer().decode(&written.tokens);
        let tokens_asked = (n_prompt + written.tokens.len()) as u64;
        let answer = if written.is_complete {
            Answer::Text(text)
        } else {
            let start: String = text.chars().take(60).collect();
            Answer::Failed(format!("the judge's text did not end within {max_tokens} tokens; it begins `{start}`"))
        };
        Reply { answer, tokens_asked }
    }

    /// Why a prompt cannot be asked, if it cannot.
    fn check_length(&self, n_prompt: usize, n_after: usize) -> Result<(), String> {
        let window = self.engine.max_tokens();
        if n_prompt + n_after <= window {
            return Ok(());
        }
        Err(format!("the prompt has {n_prompt} tokens and {n_after} may follow, the judge's window is {window}"))
    }

    /// The tokens that the engine reads for a prompt.
    ///
    /// # Errors
    /// If the chat template fails.
    pub fn tokens(&mut self, prompt: &Prompt) -> Result<Vec<u32>> {
        Ok(self.encode(vec![prompt])?.into_iter().flat_map(|encoded| encoded.tokens).collect())
    }

    /// The prompts as tokens, in their order.
    fn encode(&mut self, prompts: Vec<&Prompt>) -> Result<Vec<Encoded>> {
        for prompt in &prompts {
            if !self.frames.contains_key(&prompt.system) {
                self.frames.insert(prompt.system.clone(), Frame::of(&self.engine, &prompt.system)?);
            }
        }
        let (tokenizer, frames) = (self.engine.tokenizer(), &self.frames);
        Ok(prompts.into_par_iter().map(|prompt| Encoded::of(prompt, &frames[&prompt.system], tokenizer)).collect())
    }
}

impl<'a> ChoiceAsk<'a> {
    /// What is asked: the prompt, and of a verdict then its prior.
    fn choices(&self) -> Vec<Choice<'a>> {
        match *self {
            Self::Verdict { posed, labels, .. } => posed.prompts().map(|prompt| yes_or_no(prompt, labels)).collect(),
            Self::Rating { prompt, levels } => vec![(prompt, levels.iter().map(Vec::as_slice).collect())],
        }
    }
}

impl Encoded {
    /// The system turn is a template with our words; in the user turn our words and data are both plain text, encoded
    /// apart, so that special tokens come from the chat template alone and equal parts have equal tokens.
    fn of(prompt: &Prompt, frame: &Frame, tokenizer: &Tokenizer) -> Self {
        let mut tokens = frame.before.clone();
        let (mut n_data, mut n_static) = (0, tokens.len());
        for segment in &prompt.user {
            let encoded = tokenizer.encode_data(segment.text());
            match segment {
                Segment::Data(_) => n_data += encoded.len(),
                Segment::Words(_) if n_data == 0 => n_static += encoded.len(),
                Segment::Words(_) => {}
            }
            tokens.extend(encoded);
        }
        tokens.extend(&frame.after);
        Self { tokens, n_data, n_static }
    }
}

impl Frame {
    fn of(engine: &Engine, system: &str) -> Result<Self> {
        let frame = engine.chat().frame(system)?;
        let tokenizer = engine.tokenizer();
        let (mut before, after) = (tokenizer.encode_template(&frame.before), tokenizer.encode_template(&frame.after));
        // Some templates write the token that begins a text themselves.
        if let Some(bos) = tokenizer.bos()
            && before.first() != Some(&bos)
        {
            before.insert(0, bos);
        }
        Ok(Self { before, after })
    }
}

/// The place of yes among the answers of [`yes_or_no`].
const YES: usize = 1;

/// The probabilities of each decision.
fn probabilities(decisions: &[Decision]) -> Result<Vec<&Vec<f64>>, String> {
    decisions.iter().map(|decision| decision.probabilities.as_ref().map_err(Clone::clone)).collect()
}

/// The logit of yes, less that of its prior if one was asked for.
fn lift(decisions: &[Decision]) -> Result<f64, String> {
    let logits: Vec<f64> = probabilities(decisions)?.into_iter().map(|p| logit(p[YES])).collect();
    Ok(logits[0] - logits.get(1).map_or(0.0, |prior| prior.max(MIN_PRIOR)))
}

/// The least prior that is taken off, as a logit: what is less likely by itself is hardly a statement ("N/A"), and taking that off
/// would make every context support it. Of 274 statements in English and Korean none lies below -1.7 with either judge
/// (`docs/judge-quality.md`).
const MIN_PRIOR: f64 = -2.0;

/// A question whose answers are no and yes.
fn yes_or_no<'a>(prompt: &'a Prompt, labels: &'a Labels) -> Choice<'a> {
    (prompt, vec![&labels.no, &labels.yes])
}

fn request(ask: &TextAsk<'_>, prompt: Encoded, max_tokens: usize) -> Request {
    let until = match ask.form {
        Form::Line => Until::Line,
        Form::Items => Until::RepeatedLine,
    };
    let sampling = match ask.draw {
        0 => Sampling::Greedy,
        _ => Sampling::Nucleus { temperature: TEMPERATURE, top_p: TOP_P, seed: ask.key.0 },
    };
    Request { prompt: prompt.tokens, n_static: prompt.n_static, max_tokens, until, sampling }
}

/// The logit of a probability, cut where it says "certain": beyond, rounding decides.
fn logit(p: f64) -> f64 {
    /// 1 - p is then 1e-13, the last digits of an f64.
    const CERTAIN: f64 = 30.0;
    (libm::log(p) - libm::log(1.0 - p)).clamp(-CERTAIN, CERTAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probability_of_the_anchors_becomes_one_half() {
        for p in [1e-20, 0.1, 0.5, 0.97, 1.0 - 1e-12] {
            assert!((stats::sigmoid(logit(p) - logit(p)) - 0.5).abs() < 1e-12);
        }
        // odds 0.9 : 0.1 = 9, anchor odds 0.75 : 0.25 = 3; corrected odds 3, that is 0.75.
        assert!((stats::sigmoid(logit(0.9) - logit(0.75)) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn certainty_stays_a_number() {
        assert_eq!((logit(0.0), logit(1.0)), (-30.0, 30.0));
        assert!(stats::sigmoid(logit(1.0) - logit(0.0)).is_finite());
    }
}
