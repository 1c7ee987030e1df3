//! Questions and answers: what is a judge asked, in which words, and what did it say?
//!
//! A metric asks ([`asks`]); [`Answers`] knows the answer or notes the [`Question`]; whoever drives the metric has the
//! open questions answered by a responder, keeps the answers in the [`AnswerStore`], and lets the metric try again.

pub mod answers;
pub mod asks;
pub mod prompts;
pub mod question;

pub use answers::{Answer, AnswerStore, Answers, Ask, Reply, Stop};
pub use question::{Form, Key, Labels, Pins, Posed, Prompt, Question, Segment};
