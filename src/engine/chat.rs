//! Chat templates: which text does this model expect around a system text and a user's message?

mod python;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use minijinja::{Environment, ErrorKind, Value, context};
use sha2::{Digest, Sha256};

use crate::engine::gguf::{Gguf, Metadata};
use crate::error::{Error, Result};
use crate::hash;

/// The layout for models without a template: base models, which only continue text.
const PLAIN: &str = "{% for message in messages %}{{ message.content }}\
    {% if message.role == 'system' %}{{ '\\n\\n' }}{% endif %}{% endfor %}{{ '\\nAnswer:' }}";
/// Templates in use have up to 20 KiB.
const MAX_TEMPLATE_BYTES: usize = 64 << 10;
/// More than any system text of ours; a template that writes more is broken.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Bounds both time and memory: about one unit for an instruction and for 64 bytes, so 13 MB. Templates in use
/// need a few hundred.
const FUEL: u64 = 200_000;
/// The template engine's parser recurses without a limit, at most once for each byte of a template. The worst found (a
/// row of minus signs) takes 32 MiB in a release build and 128 MiB in a debug build; only what is used becomes real.
const STACK_BYTES: usize = 256 << 20;
/// The name of the template in the engine's messages.
const NAME: &str = "chat_template";

/// A model's chat template, or the plain layout if it has none.
#[derive(Debug)]
pub struct ChatTemplate {
    path: PathBuf,
    /// The template as the file has it.
    source: String,
    /// Holds the parsed template under [`NAME`].
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
}

/// The text around a user's message. It is ours and not data: special tokens in it count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Everything up to the message.
    pub before: String,
    /// Everything after the message, up to where the model's answer starts.
    pub after: String,
}

/// Why a template gave no text.
#[derive(Debug)]
enum Failure {
    /// It refused the messages, with this message of its own.
    Raised(String),
    /// It is broken or hostile; what it did.
    Broken(String),
}

impl ChatTemplate {
    /// Reads `tokenizer.chat_template`.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if the template is larger than 64 KiB or cannot be parsed.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self> {
        let metadata = &gguf.metadata;
        let source = metadata.opt_str("tokenizer.chat_template")?.unwrap_or(PLAIN);
        if source.len() > MAX_TEMPLATE_BYTES {
            let message =
                format!("its chat template has {} bytes, expected {MAX_TEMPLATE_BYTES} at most", source.len());
            return Err(Error::model_file(&gguf.path, message));
        }
        Ok(Self {
            path: gguf.path.clone(),
            environment: parse(source, &gguf.path)?,
            source: source.to_owned(),
            bos_token: token_text(metadata, "tokenizer.ggml.bos_token_id")?,
            eos_token: token_text(metadata, "tokenizer.ggml.eos_token_id")?,
        })
    }

    /// The text around a user's message, given the system text; an empty one counts as none.
    ///
    /// If the template refuses a system text or leaves it out, the text becomes the head of the user's turn, with a
    /// blank line after it.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if the template fails, runs or writes without end, or does not show the message once.
    pub fn frame(&self, system: &str) -> Result<Frame> {
        on_deep_stack(&self.path, || self.frame_here(system))?
    }

    /// [`Self::frame`] on the stack of the caller.
    fn frame_here(&self, system: &str) -> Result<Frame> {
        let sentinel = self.sentinel(system);
        if system.is_empty() {
            return self.cut(self.render(&[("user", &sentinel)]), &sentinel);
        }
        let rendered = self.render(&[("system", system), ("user", &sentinel)]);
        let is_left_out = match &rendered {
            Ok(text) => !text.contains(system.trim()),
            Err(Failure::Raised(_)) => true,
            Err(Failure::Broken(_)) => false,
        };
        if is_left_out {
            return self.cut(self.render(&[("user", &format!("{system}\n\n{sentinel}"))]), &sentinel);
        }
        self.cut(rendered, &sentinel)
    }

    /// The SHA-256, in hexadecimal, of everything that shapes a frame besides the system text.
    ///
    /// It is taken over the template (the plain layout's if the file has none), the text of the first token and that of
    /// the end token, each as a `u64` length in little endian and UTF-8.
    pub fn sha256(&self) -> String {
        let mut hasher = Sha256::new();
        for text in [&self.source, &self.bos_token, &self.eos_token] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        hash::hex(&hasher.finalize())
    }

    /// A text that stands for the user's message and that occurs nowhere else.
    fn sentinel(&self, system: &str) -> String {
        let candidates = (0..).map(|number| format!("\u{f8fe}{number}\u{f8ff}"));
        let mut free = candidates.filter(|text| !self.source.contains(text) && !system.contains(text));
        free.next().expect("finite texts do not contain every number")
    }

    /// The text of a conversation of these roles and contents, up to where the model's answer starts.
    fn render(&self, messages: &[(&str, &str)]) -> Result<String, Failure> {
        let messages: Vec<Value> = messages.iter().map(|&(role, content)| context! { role, content }).collect();
        let context = context! {
            messages,
            add_generation_prompt => true,
            bos_token => self.bos_token.as_str(),
            eos_token => self.eos_token.as_str(),
            tools => (),
            documents => (),
        };
        let mut output = Bounded::default();
        let result = self
            .environment
            .get_template(NAME)
            .expect("was added when the environment was made")
            .render_captured_to(context, &mut output)
            .map(drop);
        match result {
            Ok(()) => Ok(String::from_utf8(output.bytes).expect("a template's output is UTF-8")),
            Err(_) if output.is_full => Err(Failure::Broken(format!("writes more than {MAX_OUTPUT_BYTES} bytes"))),
            Err(error) => Err(Failure::of(&error)),
        }
    }

    /// The text before and after the sentinel.
    fn cut(&self, rendered: Result<String, Failure>, sentinel: &str) -> Result<Frame> {
        let fault = |message: String| Error::model_file(&self.path, format!("its chat template {message}"));
        let text = rendered.map_err(|failure| match failure {
            Failure::Raised(message) => fault(format!("refuses a user's message: {message}")),
            Failure::Broken(message) => fault(message),
        })?;
        let parts: Vec<&str> = text.split(sentinel).collect();
        let [before, after] = parts[..] else {
            return Err(fault(format!("shows the user's message {} times, expected once", parts.len() - 1)));
        };
        Ok(Frame { before: before.to_owned(), after: after.to_owned() })
    }
}

impl Failure {
    /// What an error of the template engine means.
    fn of(error: &minijinja::Error) -> Self {
        if error.kind() == ErrorKind::OutOfFuel {
            return Self::Broken("runs without end or fills the memory".to_owned());
        }
        match python::raised(error) {
            Some(message) => Self::Raised(message),
            None => Self::Broken(format!("fails: {error}")),
        }
    }
}

/// Output that may not grow without end.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_OUTPUT_BYTES {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Parses a template.
fn parse(source: &str, path: &Path) -> Result<Environment<'static>> {
    let parsed = on_deep_stack(path, || python::environment(source))?;
    parsed.map_err(|error| Error::model_file(path, format!("its chat template cannot be parsed: {error}")))
}

/// What `work` returns, which runs on a stack that no template can overflow.
fn on_deep_stack<T: Send>(path: &Path, work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let worker = builder.spawn_scoped(scope, work).map_err(Error::io("start a thread for", path))?;
        Ok(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// The text of the token whose number is under `key`; empty if the key is absent.
fn token_text(metadata: &Metadata, key: &str) -> Result<String> {
    let Some(id) = metadata.opt_usize(key)? else {
        return Ok(String::new());
    };
    let tokens = metadata.strings("tokenizer.ggml.tokens")?;
    let token = tokens
        .get(id)
        .ok_or_else(|| metadata.fault(format!("key `{key}` is {id}, but there are only {} tokens", tokens.len())))?;
    Ok(token.clone())
}
