//! Labelled rows: what did people say, and of what?

use serde_json::Value;

use super::tasks::Task;
use crate::error::{Error, Place, Result};
use crate::hash::sha256_hex;
use crate::sample::Sample;

/// A row with what people said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// What is judged: one sample, or the two of a pair of responses, A first.
    pub samples: Vec<Sample>,
    /// 1 for yes and 0 for no; other numbers are grades. Of a pair of responses: above 0 if B is the better one.
    pub label: f64,
    /// Rows of the same document, which are no independent evidence.
    pub group: String,
    /// The pair that it belongs to: its other row should have the lower or the higher score.
    pub pair: Option<String>,
    /// What it measures.
    pub task: Task,
}

/// The labelled row of a sample; `None` if it has no label.
///
/// The label is the column `label`, the group `group` or `raw.group`, the pair `pair` or `raw.pair`; a row without a group
/// is a group of its own. What is measured follows from the other columns, see [`Task`].
///
/// # Errors
/// If the label is no number, or the columns call for no task.
pub fn read(sample: Sample, place: &Place) -> Result<Option<Labelled>> {
    let refused = |message: String, help: &str| Error::Dataset { place: place.clone(), message, help: help.to_owned() };
    let label = match sample.metadata.get("label") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Bool(label)) => f64::from(u8::from(*label)),
        Some(label) => label.as_f64().filter(|label| label.is_finite()).ok_or_else(|| {
            refused(format!("found the label `{label}`, expected a number"), "write 1 for yes and 0 for no")
        })?,
    };
    let Some(task) = Task::of(&sample) else {
        let help =
            "a labelled row has `statement` or `response`, with `retrieved_contexts`, `reference` or `user_input`";
        return Err(refused("the row has no columns that people's judgement could be of".to_owned(), help));
    };
    let named = |name: &str| {
        let raw = sample.metadata.get("raw").and_then(|raw| raw.get(name));
        let value = sample.metadata.get(name).or(raw).filter(|value| !value.is_null())?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let group = named("group").unwrap_or_else(|| sample.id.clone());
    let pair = named("pair");
    Ok(Some(Labelled { samples: task.samples(&sample), label, group, pair, task }))
}

/// At most `n_max` of the rows, as many with yes as with no if labels are yes and no, always the same ones for a seed; rows
/// of pairs are taken pair by pair. In their order.
pub fn balanced(rows: Vec<Labelled>, n_max: usize, seed: u64) -> Vec<Labelled> {
    if rows.len() <= n_max {
        return rows;
    }
    // Rows are drawn by a hash of their unit, a pair or a row by itself, so that a longer file keeps most of the choice.
    let unit = |row: &Labelled| row.pair.clone().unwrap_or_else(|| row.samples[0].id.clone());
    let mut drawn: Vec<(String, usize)> = rows
        .iter()
        .enumerate()
        .map(|(idx, row)| (sha256_hex(format!("{seed} {}", unit(row)).as_bytes()), idx))
        .collect();
    drawn.sort();
    let is_binary = rows.iter().all(|row| row.label == 0.0 || row.label == 1.0);
    let quota = if is_binary { n_max / 2 } else { n_max };
    let (mut n_taken, mut is_kept) = ([0, 0], vec![false; rows.len()]);
    for (_, idx) in drawn {
        let class = usize::from(is_binary && rows[idx].label == 1.0);
        if n_taken[class] < quota {
            n_taken[class] += 1;
            is_kept[idx] = true;
        }
    }
    rows.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(row, _)| row).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn check(metadata: Value) -> Result<Option<Labelled>> {
        let sample = Sample {
            id: "r".into(),
            retrieved_contexts: Some(vec!["C".into()]),
            metadata: metadata.as_object().cloned().unwrap_or_default(),
            ..Sample::default()
        };
        read(sample, &Place::line(Path::new("labels.jsonl"), 3))
    }

    #[test]
    fn label_group_and_pair_are_read_from_the_row_or_from_raw() {
        let row = check(json!({ "statement": "S", "label": 1, "raw": { "group": 7, "pair": "p" } })).unwrap().unwrap();
        assert_eq!((row.label, row.group.as_str(), row.pair.as_deref()), (1.0, "7", Some("p")));
        let row = check(json!({ "statement": "S", "label": false })).unwrap().unwrap();
        assert_eq!((row.label, row.group.as_str(), row.pair), (0.0, "r", None));
        assert_eq!(check(json!({ "statement": "S", "label": null })).unwrap(), None);
    }

    #[test]
    fn label_that_is_no_number_is_named_with_its_place() {
        let error = check(json!({ "statement": "S", "label": "good" })).unwrap_err();
        assert_eq!(error.to_string(), "`labels.jsonl` line 3: found the label `\"good\"`, expected a number");
        let error = check(json!({ "label": 1 })).unwrap_err().to_string();
        assert_eq!(error, "`labels.jsonl` line 3: the row has no columns that people's judgement could be of");
    }

    #[test]
    fn choice_is_balanced_and_the_same_each_time() {
        let row = |idx: usize| {
            let label = f64::from(u8::from(idx.is_multiple_of(4)));
            let mut row = check(json!({ "statement": "S", "label": label })).unwrap().unwrap();
            row.samples[0].id = idx.to_string();
            row
        };
        let rows: Vec<Labelled> = (0..100).map(row).collect();
        let chosen = balanced(rows.clone(), 20, 0);
        let n_yes = chosen.iter().filter(|row| row.label == 1.0).count();
        assert_eq!((chosen.len(), n_yes), (20, 10));
        assert_eq!(chosen, balanced(rows.clone(), 20, 0));
        assert_ne!(chosen, balanced(rows.clone(), 20, 1));
        assert_eq!(balanced(rows.clone(), 100, 0), rows);
    }
}
