//! What chat templates expect of their surroundings, which is Python's Jinja as `transformers` sets it up.

use std::borrow::Cow;
use std::error::Error as _;
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat;
use regex::Regex;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::{FUEL, NAME};

/// How the detail of an error starts that a template raised itself.
const RAISED: &str = "raised by the template: ";
/// The day that templates believe it is, as the parts that `strftime` would write. A clock would change the prompt
/// every day. It is the day that Llama 3.2's template assumes where there is no clock.
const TODAY: [(char, &str); 14] = [
    ('Y', "2024"),
    ('y', "24"),
    ('m', "07"),
    ('B', "July"),
    ('b', "Jul"),
    ('d', "26"),
    ('e', "26"),
    ('A', "Friday"),
    ('a', "Fri"),
    ('j', "208"),
    ('H', "00"),
    ('M', "00"),
    ('S', "00"),
    ('%', "%"),
];

/// An environment that holds one template, under [`NAME`].
///
/// # Errors
/// The template cannot be parsed.
pub(super) fn environment(source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_unknown_method_callback(pycompat::unknown_method_callback);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment.add_filter("tojson", to_json);
    environment.add_template_owned(NAME, without_generation_tags(source).into_owned())?;
    Ok(environment)
}

/// The message with which the template refused its messages, if that is what the error is.
pub(super) fn raised(error: &Error) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(message) = error.detail().and_then(|detail| detail.strip_prefix(RAISED)) {
            return Some(message.to_owned());
        }
        next = error.source().and_then(|source| source.downcast_ref());
    }
    None
}

/// The template with blocks that always apply in place of `{% generation %}`, which marks text for training.
fn without_generation_tags(source: &str) -> Cow<'_, str> {
    let tag = Regex::new(r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}").expect("is a pattern");
    tag.replace_all(source, |found: &regex::Captures<'_>| {
        let block = if found.get(2).is_some() { "endif" } else { "if true" };
        format!("{{%{} {block} {}%}}", &found[1], &found[3])
    })
}

/// `raise_exception(message)`: the template refuses its messages.
fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, format!("{RAISED}{message}")))
}

/// `strftime_now(format)`: today's date, which is always the same day.
fn strftime_now(format: String) -> Result<String, Error> {
    let mut date = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            date.push(letter);
            continue;
        }
        let directive = letters.next();
        let part = TODAY.iter().find(|(known, _)| Some(*known) == directive).ok_or_else(|| {
            Error::new(ErrorKind::InvalidOperation, format!("`{format}` is a date format that is not known here"))
        })?;
        date.push_str(part.1);
    }
    Ok(date)
}

/// `value | tojson`: as Python's `json.dumps` writes it, with a space after each comma and colon.
fn to_json(value: Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let text = match indent {
        None => write_json(&value, Spaced),
        Some(width) => write_json(&value, PrettyFormatter::with_indent(" ".repeat(width.min(16)).as_bytes())),
    };
    let text = text.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    Ok(Value::from_safe_string(text))
}

/// The value as JSON.
fn write_json(value: &Value, formatter: impl Formatter) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
}

/// JSON with Python's separators.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
