//! The subcommand `netflow link --self-test`.

use std::io::{self, Write};

use netflow_testbed::{Outcome, SelfTestResult, become_root};

use crate::failure::Failure;
use crate::output::csv;
use crate::output::format::Format;

pub fn self_test(need: bool, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    // Without the required rights, every row reports it.
    let _ = become_root();
    let (mut rows, mut written): (Vec<SelfTestResult>, io::Result<()>) = (Vec::new(), Ok(()));
    netflow_testbed::self_test(|row| {
        let mut row = row.clone();
        if need {
            row.outcome = row.outcome.skip_as_failure();
        }
        if format == Format::Text && written.is_ok() {
            written = line(&row, out);
        }
        rows.push(row);
    });
    written?;
    format.print(out, &rows, |out| csv::write(&rows, out), |_| Ok(()))?;
    let failed = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Failed(_)));
    match failed.count() {
        0 => Ok(()),
        failed => Err(Failure::Evaluation(format!(
            "{failed} of {} tests of the link failed",
            rows.len()
        ))),
    }
}

fn line(row: &SelfTestResult, out: &mut dyn Write) -> io::Result<()> {
    match row.measured.as_str() {
        "" => writeln!(out, "{}: {}", row.what, row.outcome)?,
        measured => writeln!(out, "{}: {} ({measured})", row.what, row.outcome)?,
    }
    out.flush()
}
