//! `ragstone report`: the scores of a run again, with no model at hand.

use super::args::ReportArgs;
use super::{Done, RAGAS_NOTE, print, tell};
use crate::error::Result;
use crate::report::Summary;
use crate::report::files::{self, RunFolder};
use crate::report::rescore::Rescore;
use crate::report::table::Table;
use crate::settings::Profile;

/// Prints the table of a run, in another profile if one is named, and writes it to a folder if one is.
pub fn report(args: &ReportArgs) -> Result<Done> {
    let (header, mut records) = files::read(&args.run)?;
    let rescore = Rescore::new(&header, args.profile)?;
    let header = rescore.header();
    let mut folder = args.out.as_deref().map(|out| RunFolder::create(out, header)).transpose()?;
    let (mut table, mut summary) = (Table::new(&header.metrics), Summary::new(&rescore.metrics()));
    for record in records.by_ref() {
        let record = rescore.record(record?)?;
        table.add(&record);
        summary.add(&record);
        if let Some(folder) = &mut folder {
            folder.add(&record)?;
        }
    }
    // A run writes its summary last.
    if records.is_cut() || !args.run.join("summary.json").exists() {
        let n_samples = summary.n_samples();
        tell(format_args!("warning: the run was not finished; these are its first {n_samples} samples"));
    }
    print(&table.render(&summary))?;
    if header.settings.profile == Profile::Ragas {
        print(RAGAS_NOTE)?;
    }
    if let Some(folder) = folder {
        let path = folder.finish(&summary, None)?;
        tell(format_args!("records, scores and summary are in {}", path.display()));
    }
    Ok(if summary.n_failed() > 0 { Done::WithFailures } else { Done::Well })
}
