//! Free questions to a judge, for studies of wording (`study`): what does it answer to exactly this?
//!
//! `engine ask MODEL.gguf` reads a question a line as JSON from stdin and prints an answer a line, in order:
//!
//! ```text
//! {"system": "…", "user": ["our words", ["data"], …], "answers": [["No", " No"], ["Yes", " Yes"]]}   -> [0.2, 0.8]
//! {"system": "…", "user": […], "write": "items"}                                                     -> "a text"
//! {"prefix": "…", "text": "…"}                                    -> the log-probability of each token of the text
//! ```

use std::io::{self, BufRead, Write};
use std::path::Path;

use ragstone::engine::Engine;
use ragstone::engine::score::Probe;
use ragstone::judge::{Answer, Form, Key, Prompt, Reply, Segment};
use ragstone::record::PinnedModel;
use ragstone::respond::judge::{ChoiceAsk, Judge, TextAsk};
use serde_json::{Value, json};

use crate::weights;

/// Questions that are asked together: enough to share the beginnings of prompts, and few enough to see progress.
const WAVE: usize = 256;

/// Answers stdin.
pub fn run(args: &[String]) {
    let model = PinnedModel {
        name: "study".to_owned(),
        pins: std::collections::BTreeMap::new(),
        languages: Vec::new(),
        checked: Vec::new(),
    };
    let mut judge = Judge::new(model, weights::engine(Path::new(&args[0])));
    let read = |line: io::Result<String>| serde_json::from_str(&line.expect("stdin is text")).expect("a line is JSON");
    let questions: Vec<Value> = io::stdin().lock().lines().map(read).collect();
    if questions.first().is_some_and(|question| question["text"].is_string()) {
        return likelihoods(&mut weights::engine(Path::new(&args[0])), &questions);
    }
    for wave in questions.chunks(WAVE) {
        for answer in answers(&mut judge, wave) {
            writeln!(io::stdout(), "{answer}").expect("stdout takes the answer");
        }
    }
    let counts = judge.counts();
    eprintln!("tokens: {} asked, {} computed, {} of them written", counts.asked, counts.computed, counts.written);
}

/// The answers in order: those to be chosen first, then those to be written.
fn answers(judge: &mut Judge, questions: &[Value]) -> Vec<Value> {
    let prompts: Vec<Prompt> = questions.iter().map(prompt).collect();
    let levels: Vec<Option<Vec<Vec<String>>>> =
        questions.iter().map(|question| serde_json::from_value(question["answers"].clone()).ok()).collect();
    let both = || prompts.iter().zip(&levels);
    let chosen: Vec<ChoiceAsk<'_>> =
        both().filter_map(|(prompt, levels)| Some(ChoiceAsk::Rating { prompt, levels: levels.as_ref()? })).collect();
    let mut chosen = judge.decide(&chosen, &mut |_| ()).expect("the judge answers").into_iter();
    let written: Vec<TextAsk<'_>> = both()
        .zip(questions)
        .filter(|((_, levels), _)| levels.is_none())
        .map(|((prompt, _), question)| TextAsk { prompt, form: form(question), draw: 0, key: Key([0; 32]) })
        .collect();
    let mut written = judge.write(&written, &mut |_| ()).expect("the judge writes").into_iter();
    let next = |levels: &Option<Vec<_>>| if levels.is_some() { chosen.next() } else { written.next() };
    levels.iter().map(next).map(|reply| value(reply.expect("every question has a reply"))).collect()
}

/// Strings are our words, lists of one string are data.
fn prompt(question: &Value) -> Prompt {
    let segment = |part: &Value| match part {
        Value::String(words) => Segment::Words(words.clone()),
        data => Segment::Data(data[0].as_str().expect("data is a list of one string").to_owned()),
    };
    let system = question["system"].as_str().expect("`system` is a string").to_owned();
    let user = question["user"].as_array().expect("`user` is a list").iter().map(segment).collect();
    Prompt { system, user }
}

fn form(question: &Value) -> Form {
    match question["write"].as_str() {
        Some("line") => Form::Line,
        Some("items") => Form::Items,
        other => panic!("`write` is {other:?}, expected `line` or `items`"),
    }
}

fn value(reply: Reply) -> Value {
    match reply.answer {
        Answer::Rating(p) => json!(p),
        Answer::Text(text) => json!(text),
        Answer::Failed(reason) => json!({ "failed": reason }),
        Answer::Verdict { .. } | Answer::Vector(_) => unreachable!("neither was asked for"),
    }
}

/// Prints the log-probability of each token of each text.
fn likelihoods(engine: &mut Engine, questions: &[Value]) {
    let n_vocab = engine.tokenizer().n_vocab() as u32;
    for question in questions {
        let encode = |name: &str| engine.tokenizer().encode_template(question[name].as_str().expect("a string"));
        let (prefix, text) = (encode("prefix"), encode("text"));
        let probe = |idx: usize| Probe {
            prompt: [prefix.as_slice(), &text[..idx]].concat(),
            n_static: 0,
            candidates: (0..n_vocab).collect(),
        };
        let probes: Vec<Probe> = (0..text.len()).map(probe).collect();
        let logits = engine.score(&probes, &mut |_| ()).expect("the engine scores");
        let value = |(logits, &token): (Vec<f32>, &u32)| {
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            let sum: f64 = logits.iter().map(|&x| f64::from(x - largest).exp()).sum();
            f64::from(logits[token as usize] - largest) - sum.ln()
        };
        let values: Vec<f64> = logits.into_iter().zip(&text).map(value).collect();
        writeln!(io::stdout(), "{}", json!(values)).expect("stdout takes the answer");
    }
}
