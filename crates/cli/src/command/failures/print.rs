//! Text output of failures.

use std::io::{self, Write};

use netflow::failures::{FailureReport, lost_goodput_text};
use netflow::number::{count, short};
use netflow::steady::rows::AffectedRow;

use crate::output::table::{Table, format_or, print_cells};

pub fn print(
    seen: &FailureReport<'_>,
    hurt: &[AffectedRow<'_>],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    print_cells(&seen.case_table(top), "case", &["worst affected"], out)?;
    writeln!(out)?;
    if !hurt.is_empty() {
        // Only connections of the printed cases.
        let of_top = hurt.iter().filter(|it| it.rank <= top);
        affected_table(of_top).print_top(usize::MAX, "connection", out)?;
        writeln!(out)?;
    }
    print_links(seen, top, out)?;
    writeln!(out)?;
    for line in seen.summary() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn affected_table<'a>(
    rows: impl IntoIterator<Item = &'a AffectedRow<'a>>,
) -> Table<'a, &'a AffectedRow<'a>> {
    Table::of(rows)
        .text("failure", |it| it.failure.clone())
        .text("connection", |it| it.connection)
        .text("effect", |it| it.effect)
        .number("lost goodput", |it| lost_goodput_text(it.lost_goodput))
        .number("delay [ms]", |it| short(it.intact_delay_s * 1e3))
        .number("delay then [ms]", |it| {
            format_or(it.delay_s, |delay_s| short(delay_s * 1e3), "-")
        })
        .number("demand [Mbit/s]", |it| short(it.offered_bps / 1e6))
}

fn print_links(report: &FailureReport<'_>, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let used = report.link_table(top);
    print_cells(&used, "link", &[], out)?;
    match report.links.len() - used.rows.len() - used.omitted_rows {
        0 => Ok(()),
        idle => writeln!(out, " {} without traffic in all cases", count(idle, "link")),
    }
}
