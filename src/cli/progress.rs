//! Bars on stderr; on anything but a terminal nothing is drawn.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::tell;
use crate::run::Event;
#[cfg(feature = "pull")]
use crate::store::PullEvent;

/// Steps of the bar a sample.
const STEPS: f64 = 1000.0;

/// Writing takes about this share of a wave's time on the quickstart file; it only makes the bar run evenly.
const WRITING_SHARE: f64 = 0.4;

/// The bar of a run, in samples.
#[derive(Debug)]
pub struct RunBar {
    bar: ProgressBar,
}

impl RunBar {
    /// A bar for so many samples.
    pub fn new(n_samples: u64) -> Self {
        let bar = ProgressBar::new(n_samples * STEPS as u64);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3}% {elapsed} elapsed, {eta} to go");
        bar.set_style(style.expect("the template is constant"));
        bar.enable_steady_tick(Duration::from_millis(500));
        bar.set_message(format!("0/{n_samples} samples"));
        Self { bar }
    }

    /// Moves the bar.
    pub fn show(&self, event: &Event<'_>) {
        let &Event::Answering { n_done, n_wave, is_writing, share } = event else { return };
        let in_wave = if is_writing { share * WRITING_SHARE } else { WRITING_SHARE + share * (1.0 - WRITING_SHARE) };
        let position = (n_done as f64 + in_wave * n_wave as f64) * STEPS;
        // A second round of writing starts its share anew: the bar waits.
        self.bar.set_position(self.bar.position().max(position as u64));
        let n_samples = self.bar.length().unwrap_or(0) / STEPS as u64;
        let work = if is_writing { "writing" } else { "judging" };
        self.bar.set_message(format!("{n_done}/{n_samples} samples, {work}"));
    }

    /// Prints a line above the bar.
    pub fn print(&self, text: &str) {
        self.bar.suspend(|| tell(format_args!("{text}")));
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// The bar of a pull, in bytes.
#[cfg(feature = "pull")]
#[derive(Debug, Default)]
pub struct PullBar {
    bar: Option<ProgressBar>,
    /// Why a source failed last: it is said once, not for every file.
    failure: String,
}

#[cfg(feature = "pull")]
impl PullBar {
    /// Shows what happened.
    pub fn show(&mut self, event: &PullEvent<'_>) {
        match *event {
            PullEvent::Waiting => tell(format_args!("another ragstone fetches this model, waiting for it")),
            PullEvent::Kept { .. } => {}
            PullEvent::Started { file, bytes, from } => self.start(file, bytes, from),
            PullEvent::Reached { bytes } => {
                if let Some(bar) = &self.bar {
                    bar.set_position(bytes);
                }
            }
            PullEvent::Failed { file, from, reason } => {
                self.clear();
                if reason != self.failure {
                    let line = reason.lines().next().unwrap_or_default();
                    tell(format_args!("  {file} not from {from}: {line}"));
                    reason.clone_into(&mut self.failure);
                }
            }
            PullEvent::Done { file } => {
                self.clear();
                tell(format_args!("  {file}: SHA-256 as pinned"));
            }
        }
    }

    fn start(&mut self, file: &str, bytes: u64, from: &str) {
        self.clear();
        let template = "  {msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        let style = ProgressStyle::with_template(template).expect("the template is constant");
        let bar = ProgressBar::new(bytes).with_style(style).with_message(format!("{file} from {from}"));
        if bar.is_hidden() {
            tell(format_args!("  {file}, {:.1} MB, from {from}", bytes as f64 / 1e6));
        }
        self.bar = Some(bar);
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
