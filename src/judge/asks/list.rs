//! Lists as judges write them: which items are in a text?

use std::collections::HashSet;

use serde_json::Value;

use super::said;
use crate::judge::answers::{Answer, Stop};
use crate::text;

/// What an announcement ends with; the second is the wide one of East Asian keyboards.
const COLONS: [char; 2] = [':', '：'];

/// The sentences of a list's items, each once: small judges write several sentences on a line.
pub fn read_sentences(answer: &Answer) -> Result<Vec<String>, Stop> {
    let lines = lines(said(answer)?);
    Ok(once(lines.iter().map(|line| item(line)).flat_map(text::sentences)))
}

/// The items of a list, each once.
pub fn read_items(answer: &Answer) -> Result<Vec<String>, Stop> {
    let lines = lines(said(answer)?);
    Ok(once(lines.iter().map(|line| item(line))))
}

/// The names in a list's items, each once: small judges put a kind before them and several on a line, as in
/// `places: Fenton, Marlow`. The comma of 2,000 has no space after it.
pub fn read_names(answer: &Answer) -> Result<Vec<String>, Stop> {
    let items = read_items(answer)?;
    let after_kind = items.iter().map(|item| item.split_once(": ").map_or(item.as_str(), |(_, names)| names));
    Ok(once(after_kind.flat_map(|names| names.split(", ")).map(str::trim)))
}

/// The lines of a text, without fences around them; of JSON its strings, as some judges write it unasked.
fn lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("```")).collect();
    let strings = strings_of_json(&lines.join("\n"));
    strings.unwrap_or_else(|| lines.into_iter().map(str::to_owned).collect())
}

/// The strings of a list or object that is the whole text but for an announcement, as in `The claims: ["A."]`.
fn strings_of_json(text: &str) -> Option<Vec<String>> {
    let (announcement, json) = text.split_at(text.find(['[', '{'])?);
    if !(announcement.trim().is_empty() || announcement.trim_end().ends_with(COLONS)) {
        return None;
    }
    let value: Value = serde_json::from_str(json).ok()?;
    let mut strings = Vec::new();
    push_strings(value, &mut strings);
    Some(strings)
}

fn push_strings(value: Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| push_strings(item, strings)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| push_strings(field, strings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The items that say something, each once, whether its Hangul is composed or not.
fn once<'a>(items: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashSet::new();
    items.filter(|item| says_something(item) && seen.insert(text::nfc(item))).map(str::to_owned).collect()
}

/// Whether an item holds a letter or digit and is neither a heading nor an announcement, as in `The claims are:`.
fn says_something(item: &str) -> bool {
    let is_heading = item.starts_with('#') && item.trim_start_matches('#').starts_with(' ');
    item.contains(char::is_alphanumeric) && !item.ends_with(COLONS) && !is_heading
}

/// A line of a list without its bullet or number, and without Markdown's stars around it.
fn item(line: &str) -> &str {
    let line = bare(line);
    // A dash before a letter is a bullet, before a digit it is a minus.
    let line = line.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic)).unwrap_or(line);
    bare(&line[text::list_marker(line).unwrap_or(0)..])
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c == '*' || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_items_lose_bullets_and_numbers_but_not_figures() {
        let cases = [
            ("- A fee applies.", "A fee applies."),
            ("1. A fee applies.", "A fee applies."),
            ("12) A fee applies.", "A fee applies."),
            ("**1. A fee applies.**", "A fee applies."),
            ("1. **A fee applies.**", "A fee applies."),
            ("3.5 percent is the fee.", "3.5 percent is the fee."),
            ("2020 was a leap year.", "2020 was a leap year."),
            ("-5 degrees is the low.", "-5 degrees is the low."),
            ("- 5 degrees is the low.", "5 degrees is the low."),
            ("2024. 3. 15. 시행되었다.", "2024. 3. 15. 시행되었다."),
            ("-A fee applies.", "A fee applies."),
            ("• 수수료가 있다.", "수수료가 있다."),
            ("1.수수료가 있다.", "수수료가 있다."),
            ("① 수수료가 있다.", "수수료가 있다."),
        ];
        for (line, expected) in cases {
            assert_eq!(item(line), expected);
        }
    }

    #[test]
    fn claims_are_each_line_once() {
        let answer = Answer::Text("- A.\n\n- B.\n---\n- A.\n".to_owned());
        assert_eq!(read_sentences(&answer), Ok(vec!["A.".to_owned(), "B.".to_owned()]));
    }

    #[test]
    fn names_are_items_and_not_sentences() {
        let answer = Answer::Text("1. Dr. Kim\n2. 서울\n3. ---\n4. Dr. Kim\n- amounts: 2024, 2,000 euros".to_owned());
        let names = ["Dr. Kim", "서울", "2024", "2,000 euros"].map(str::to_owned);
        assert_eq!(read_names(&answer), Ok(names.to_vec()));
    }

    #[test]
    fn text_that_begins_with_a_bracket_is_no_json() {
        let answer = Answer::Text("[1] Ann did.\n[Bo] did too.".to_owned());
        let claims = ["[1] Ann did.", "[Bo] did too."].map(str::to_owned);
        assert_eq!(read_sentences(&answer), Ok(claims.to_vec()));
    }
}
