//! Another profile: which scores follow from what was judged?

use crate::error::{Error, Result};
use crate::metrics::rubric::OwnMetric;
use crate::metrics::{self, Case, Metric};
use crate::record::{Evidence, Header, Record};
use crate::settings::Profile;

/// The metrics of a run, to compute its scores again.
#[derive(Debug)]
pub struct Rescore {
    header: Header,
    own: Vec<OwnMetric>,
}

impl Rescore {
    /// Of the run with this header, in its own profile or another.
    ///
    /// # Errors
    /// If this version of the program does not know one of the metrics, or its settings are such as no run has.
    pub fn new(header: &Header, profile: Option<Profile>) -> Result<Self> {
        if !header.settings.are_sound() {
            let message = "the run has a `beta` or `weights` with which there is no score";
            return Err(Error::usage(message, "a header is written by `ragstone eval` and not edited"));
        }
        let mut header = header.clone();
        header.settings.profile = profile.unwrap_or(header.settings.profile);
        let own = header.rubrics.iter().cloned().map(OwnMetric::new).collect();
        let rescore = Self { header, own };
        rescore.header.metrics.iter().try_for_each(|name| rescore.metric(name).map(|_| ()))?;
        Ok(rescore)
    }

    /// The header of the scores.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The metrics, in the order of the header.
    pub fn metrics(&self) -> Vec<&dyn Metric> {
        let metric = |name: &String| self.metric(name).expect("the names were checked");
        self.header.metrics.iter().map(metric).collect()
    }

    /// The record with the scores that follow from its evidence. A cell without evidence stays as it is.
    ///
    /// # Errors
    /// If it is not as a run with this header writes it.
    pub fn record(&self, mut record: Record) -> Result<Record> {
        let changed = |what: String| {
            let help = "a record is written by `ragstone eval` and not edited";
            Err(Error::usage(format!("the record of `{}` {what}", record.sample.id), help))
        };
        if !record.cells.iter().map(|cell| &cell.metric).eq(&self.header.metrics) {
            return changed("has other metrics than the header".to_owned());
        }
        for (cell, metric) in record.cells.iter_mut().zip(self.metrics()) {
            let Some(evidence) = &cell.evidence else { continue };
            let about = metric.about();
            if let Some(missing) = about.columns.iter().find(|column| !column.is_present(&record.sample)) {
                return changed(format!("has no `{}`, from which `{}` was judged", missing.name(), about.name));
            }
            if !evidence.iter().all(is_sound) {
                return changed(format!("has figures of `{}` that are out of their range", about.name));
            }
            let case = Case { sample: &record.sample, evidence, settings: &self.header.settings };
            cell.outcome = metrics::compute(metric, &case);
        }
        Ok(record)
    }

    fn metric(&self, name: &str) -> Result<&dyn Metric> {
        let own = self.own.iter().find(|metric| metric.about().name == name);
        match own {
            Some(metric) => Ok(metric),
            None => metrics::find(name).map_err(|_| {
                let (theirs, ours) = (&self.header.ragstone, env!("CARGO_PKG_VERSION"));
                let help = format!("the run was made by ragstone {theirs}, and this is {ours}");
                Error::usage(format!("the run has a metric `{name}`, which this version does not know"), help)
            }),
        }
    }
}

/// Whether its figures are such as a run writes: a score follows from them that is a number.
fn is_sound(part: &Evidence) -> bool {
    let is_cosine = |cosine: f64| (-1.0..=1.0).contains(&cosine);
    match part {
        Evidence::Rating(rating) => {
            let n = rating.levels.len();
            n > 1 && rating.most_likely < n && (0.0..=n as f64).contains(&rating.expected)
        }
        Evidence::Question { cosine, .. } => cosine.is_none_or(is_cosine),
        Evidence::Similarity { cosine } => is_cosine(*cosine),
        Evidence::Claim(_)
        | Evidence::Statement(_)
        | Evidence::Sentence(_)
        | Evidence::Answered(_)
        | Evidence::Context { .. }
        | Evidence::Noncommittal(_)
        | Evidence::Criterion(_)
        | Evidence::ReferenceEntity { .. }
        | Evidence::ContextEntity { .. } => true,
    }
}
