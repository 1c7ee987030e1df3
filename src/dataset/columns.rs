//! Columns: what does each cell of a row mean?

use serde_json::{Map, Value};

use crate::error::{Error, Place, Result};
use crate::sample::{Column, Sample};

/// A column name that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownColumn {
    /// The name in the file.
    pub name: &'static str,
    /// What is read from it.
    pub column: Column,
    /// What a cell must hold.
    pub shape: Shape,
}

/// Every column name that is read: for each column the name that is written, then the old ones.
///
/// The old names are those of Ragas < 0.2. All other columns are metadata.
pub const COLUMNS: &[KnownColumn] = &[
    known("id", Column::Id, Shape::Id),
    known("user_input", Column::UserInput, Shape::Text),
    known("question", Column::UserInput, Shape::Text),
    known("response", Column::Response, Shape::Text),
    known("answer", Column::Response, Shape::Text),
    known("retrieved_contexts", Column::RetrievedContexts, Shape::Texts),
    known("contexts", Column::RetrievedContexts, Shape::Texts),
    known("reference", Column::Reference, Shape::Text),
    known("ground_truth", Column::Reference, Shape::Text),
    known("ground_truths", Column::Reference, Shape::OneText),
    known("reference_contexts", Column::ReferenceContexts, Shape::Texts),
    known("retrieved_context_ids", Column::RetrievedContextIds, Shape::Ids),
    known("reference_context_ids", Column::ReferenceContextIds, Shape::Ids),
];

const fn known(name: &'static str, column: Column, shape: Shape) -> KnownColumn {
    KnownColumn { name, column, shape }
}

/// What a cell must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A text or an integer, which becomes its decimal text.
    Id,
    /// A text.
    Text,
    /// A list of texts, possibly empty.
    Texts,
    /// A list of exactly one text.
    OneText,
    /// A list of texts and integers, possibly empty.
    Ids,
}

impl Shape {
    /// The shape in words, as in "expected a list of texts".
    pub fn expected(self) -> &'static str {
        match self {
            Self::Id => "a text or an integer",
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::OneText => "a list of one text",
            Self::Ids => "a list of texts or integers",
        }
    }

    /// A cell of this shape in JSON.
    pub fn example(self) -> &'static str {
        match self {
            Self::Id => r#""row-1""#,
            Self::Text => r#""some text""#,
            Self::Texts => r#"["first text", "second text"]"#,
            Self::OneText => r#"["the right answer"]"#,
            Self::Ids => r#"["doc-1", 2]"#,
        }
    }

    /// Whether a cell of this shape is a list.
    fn is_list(self) -> bool {
        match self {
            Self::Id | Self::Text => false,
            Self::Texts | Self::OneText | Self::Ids => true,
        }
    }

    /// Whether an integer may stand for a text.
    fn takes_integers(self) -> bool {
        matches!(self, Self::Id | Self::Ids)
    }
}

/// How many characters of a wrong value are shown: enough to find it, on one line of a terminal.
const SHOWN_CHARS: usize = 40;

/// How many characters a name may be away from a known one to be taken for a misspelling of it.
const NEAR: usize = 2;

/// The known column that `name` is probably a misspelling of, such as `response` for `respone` or `Response`.
pub fn near_miss(name: &str) -> Option<&'static str> {
    if find(name).is_some() {
        return None;
    }
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    let distance = |known: &KnownColumn| strsim::levenshtein(&name, known.name);
    let nearest = COLUMNS.iter().min_by_key(|known| distance(known))?;
    // In a name as short as `id`, two changes leave nothing of it.
    (distance(nearest) <= NEAR.min(nearest.name.len() / 3)).then_some(nearest.name)
}

/// The sample that a row's cells make, without an id if the row gives none.
///
/// # Errors
///
/// If no cell is of a known column, a cell has the wrong shape, or two cells give one column different values.
pub fn sample(cells: Vec<(String, Value)>, place: &Place) -> Result<Sample> {
    if !cells.iter().any(|(name, _)| find(name).is_some_and(|known| known.column != Column::Id)) {
        return Err(no_known_column(&cells, place));
    }
    let (mut texts, mut lists, mut metadata) = (Vec::new(), Vec::new(), Map::new());
    for (name, value) in cells {
        match (find(&name), value) {
            (None, value) => {
                metadata.insert(name, value);
            }
            (Some(_), Value::Null) => {}
            (Some(known), Value::Array(items)) if known.shape.is_list() => {
                let list = texts_of(items, known, place)?;
                match known.shape {
                    Shape::OneText => insert(&mut texts, known, only_text(list, known, place)?, place)?,
                    Shape::Id | Shape::Text | Shape::Texts | Shape::Ids => insert(&mut lists, known, list, place)?,
                }
            }
            (Some(known), value) => insert(&mut texts, known, text_of(value, known, place)?, place)?,
        }
    }
    Ok(Sample {
        id: take(&mut texts, Column::Id).unwrap_or_default(),
        user_input: take(&mut texts, Column::UserInput),
        response: take(&mut texts, Column::Response),
        retrieved_contexts: take(&mut lists, Column::RetrievedContexts),
        reference: take(&mut texts, Column::Reference),
        reference_contexts: take(&mut lists, Column::ReferenceContexts),
        retrieved_context_ids: take(&mut lists, Column::RetrievedContextIds),
        reference_context_ids: take(&mut lists, Column::ReferenceContextIds),
        metadata,
    })
}

fn find(name: &str) -> Option<&'static KnownColumn> {
    COLUMNS.iter().find(|known| known.name == name)
}

/// Cells of known columns that have been read.
type Found<T> = Vec<(&'static KnownColumn, T)>;

/// Adds a cell, or drops it if another name has given the same value.
fn insert<T: PartialEq>(found: &mut Found<T>, known: &'static KnownColumn, cell: T, place: &Place) -> Result<()> {
    let Some((other, there)) = found.iter().find(|(other, _)| other.column == known.column) else {
        found.push((known, cell));
        return Ok(());
    };
    if *there == cell {
        return Ok(());
    }
    let message = if other == &known {
        format!("found `{}` twice, with different values, expected it once", known.name)
    } else {
        let (first, second, column) = (other.name, known.name, known.column.name());
        format!(
            "found `{first}` and `{second}` with different values, expected one of them, as both are read as `{column}`"
        )
    };
    Err(wrong(place.clone(), message, "leave one of them out, or give it a name of its own"))
}

fn take<T>(found: &mut Found<T>, column: Column) -> Option<T> {
    let idx = found.iter().position(|(known, _)| known.column == column)?;
    Some(found.swap_remove(idx).1)
}

/// The text of a cell that is no list.
fn text_of(value: Value, known: &KnownColumn, place: &Place) -> Result<String> {
    let shape = known.shape;
    match value {
        Value::String(text) if !shape.is_list() => Ok(text),
        Value::Number(number) if !shape.is_list() && shape.takes_integers() && !number.is_f64() => {
            Ok(number.to_string())
        }
        value => {
            let message = format!("found {}, expected {}", describe(&value), shape.expected());
            let help = if shape.is_list() && value.is_string() {
                format!(r#"write a list, even of one text: `"{}": ["…"]`"#, known.name)
            } else {
                help_for_shape(known)
            };
            Err(wrong(place.clone().column(known.name), message, help))
        }
    }
}

/// The texts of a list's items.
fn texts_of(items: Vec<Value>, known: &KnownColumn, place: &Place) -> Result<Vec<String>> {
    let text_of_item = |(idx, item)| match item {
        Value::String(text) => Ok(text),
        Value::Number(number) if known.shape.takes_integers() && !number.is_f64() => Ok(number.to_string()),
        item => {
            let expected = if known.shape.takes_integers() { "a text or an integer" } else { "a text" };
            let message = format!("found {} as item {} of the list, expected {expected}", describe(&item), idx + 1);
            Err(wrong(place.clone().column(known.name), message, help_for_shape(known)))
        }
    };
    items.into_iter().enumerate().map(text_of_item).collect()
}

/// The text of a list that must hold exactly one.
fn only_text(list: Vec<String>, known: &KnownColumn, place: &Place) -> Result<String> {
    let n_texts = list.len();
    let mut texts = list.into_iter();
    match (texts.next(), texts.next()) {
        (Some(text), None) => Ok(text),
        _ => {
            let message = format!("found a list of {n_texts} texts, expected exactly one, as a row has one reference");
            let help = r#"keep one, or join them, and write `"reference": "some text"`"#;
            Err(wrong(place.clone().column(known.name), message, help))
        }
    }
}

fn help_for_shape(known: &KnownColumn) -> String {
    format!(r#"write it like this: `"{}": {}`"#, known.name, known.shape.example())
}

/// What a value is and how it starts, as in "a number, `42`".
pub fn describe(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "`null`".to_owned(),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let json = value.to_string();
    let start: String = json.chars().take(SHOWN_CHARS).collect();
    let ellipsis = if start.len() < json.len() { "…" } else { "" };
    format!("{kind}, `{start}{ellipsis}`")
}

/// The error of a row that has nothing to evaluate: a list under a key, a misspelling, or another kind of file.
fn no_known_column(cells: &[(String, Value)], place: &Place) -> Error {
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    let found = if names.is_empty() { "an empty object".to_owned() } else { quoted(&names) };
    let is_list_of_rows = |value: &Value| value.get(0).is_some_and(Value::is_object);
    let nested = cells.iter().find(|(_, value)| is_list_of_rows(value)).map(|(name, _)| name);
    let misspelt = names.iter().find_map(|name| near_miss(name).map(|known| (name, known)));
    let advice = match (nested, misspelt) {
        (Some(name), _) => format!("the rows seem to be in `{name}`: write that list alone; "),
        (None, Some((name, known))) => format!("did you mean `{known}` for `{name}`? "),
        (None, None) => String::new(),
    };
    let known: Vec<&str> = COLUMNS.iter().map(|known| known.name).collect();
    let help = format!("{advice}known columns are {}", quoted(&known));
    wrong(place.clone(), format!("found no known column, only {found}"), help)
}

/// How many column names an error lists.
const MAX_NAMES: usize = 20;

fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > MAX_NAMES { format!(" and {} more", names.len() - MAX_NAMES) } else { String::new() };
    shown.join(", ") + &more
}

fn wrong(place: Place, message: String, help: impl Into<String>) -> Error {
    Error::Dataset { place, message, help: help.into() }
}
