//! Calibration: does the judge say what people say?
//!
//! Rows that people labelled ([`labelled`]) are judged like any others, by the metrics that their columns call for
//! ([`tasks`]); what came out is compared with the labels ([`figures`]) and shown ([`page`]). Verdicts on single statements
//! can be corrected by what was found ([`correction`]). Attacks that come with the program ([`injection`]) show whether texts
//! bring the judge round ([`steering`]).

pub mod correction;
pub mod figures;
pub mod floor;
pub mod injection;
pub mod labelled;
pub mod page;
pub mod steering;
pub mod tasks;
