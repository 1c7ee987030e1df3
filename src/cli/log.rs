//! Every question with its answer, for `--verbose` and `--log`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use super::args::ScoringArgs;
use super::progress::RunBar;
use crate::error::{Error, Result};
use crate::judge::{Answer, Question};
use crate::run::Event;

/// Prompts and answers, for `--verbose` and `--log`.
pub struct Log {
    is_verbose: bool,
    file: Option<(PathBuf, BufWriter<File>)>,
    /// The first refusal of the disk; the run goes on and reports it at the end.
    refusal: Option<std::io::Error>,
}

impl Log {
    /// Opens the file of `--log`.
    ///
    /// # Errors
    /// If it is there already or cannot be made.
    pub fn open(args: &ScoringArgs) -> Result<Self> {
        let open = |path: &PathBuf| {
            // Whatever is there is the user's: the data set, or the log of another run. A device may be written to.
            if path.metadata().is_ok_and(|meta| meta.is_file()) {
                let message = format!("`{}` is there already", path.display());
                return Err(Error::usage(message, "name another file with `--log FILE`"));
            }
            let file = File::create(path).map_err(Error::io("create", path))?;
            Ok((path.clone(), BufWriter::new(file)))
        };
        Ok(Self { is_verbose: args.verbose, file: args.log.as_ref().map(open).transpose()?, refusal: None })
    }

    /// Writes what was answered.
    pub fn write(&mut self, event: &Event<'_>, bar: &RunBar) {
        let Event::Answered { question, answer } = event else { return };
        if !self.is_verbose && self.file.is_none() {
            return;
        }
        let text = describe(question, answer);
        if self.is_verbose {
            bar.print(&text);
        }
        if let Some((_, file)) = &mut self.file
            && let Err(err) = writeln!(file, "{text}")
        {
            self.refusal.get_or_insert(err);
        }
    }

    /// Sees everything onto the disk.
    ///
    /// # Errors
    /// The first refusal of the disk.
    pub fn finish(self) -> Result<()> {
        let Some((path, mut file)) = self.file else { return Ok(()) };
        let flushed = file.flush();
        self.refusal.map_or(flushed, Err).map_err(Error::io("write", &path))
    }
}

/// A question with its answer, for people.
fn describe(question: &Question, answer: &Answer) -> String {
    let asked = match question {
        Question::Verdict { posed, .. } => posed.prompt.to_string(),
        Question::Rating { prompt, .. } | Question::Write { prompt, .. } => prompt.to_string(),
        Question::Embed { text } => text.clone(),
    };
    let answered = match answer {
        Answer::Verdict { p_yes } => format!("P(yes) = {p_yes:.4}"),
        Answer::Rating(levels) => format!("P(level) = {levels:.4?}"),
        Answer::Text(text) => text.clone(),
        Answer::Vector(vector) => format!("a vector of {} numbers", vector.len()),
        Answer::Failed(reason) => format!("failed: {reason}"),
    };
    format!("----- asked\n{asked}\n----- answered\n{answered}")
}
