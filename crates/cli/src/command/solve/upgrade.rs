//! The subcommand `netflow solve SCENARIO --sensitivity --upgrade RATE`.

use std::io::{self, Write};

use netflow::number::{percent, short};
use netflow::steady::rows::{self, UpgradeRow};
use netflow::steady::{Solver, SteadyOptions};
use netflow::units::BitsPerSecond;

use super::sensitivity::{NO_LINK_LIMITS, describe_busiest, format_change};
use super::{SolvedState, print, steady_failure};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::csv;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::output::table::Table;

/// Change below which a gain counts as zero, as a fraction of the total goodput.
const NEGLIGIBLE_GAIN: f64 = 1e-9;

/// Increases the bandwidth of every used link by `more_bps`, one at a time, and solves again.
pub(super) fn answer(
    seen: &SolvedState<'_>,
    solver: &mut Solver,
    more_bps: f64,
    options: &SteadyOptions,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let with = solver
        .upgrades(more_bps, seen.steady, options, &interrupt::requested)
        .map_err(steady_failure)?
        .ok_or_else(|| Failure::Interrupted("no results".to_owned()))?;
    let rows = rows::upgrades(seen.network, seen.steady, &with);
    let totals = &seen.steady.totals;
    let answer = object! {
        at_s: seen.at_s,
        more_bps: more_bps,
        goodput_bps: totals.goodput_bps,
        delay_s: totals.delay_s,
        loss_probability: totals.loss_probability,
        links: &rows,
    };
    Ok(seen.format.print(
        out,
        &answer,
        |out| csv::write_with_header(&rows, out),
        |out| print_text(seen, more_bps, &rows, out),
    )?)
}

fn print_text(
    seen: &SolvedState<'_>,
    more_bps: f64,
    rows: &[UpgradeRow<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let more = BitsPerSecond(more_bps);
    let gains =
        |row: &&UpgradeRow<'_>| row.goodput_bps > NEGLIGIBLE_GAIN * seen.steady.totals.goodput_bps;
    match rows.first().filter(gains) {
        Some(first) => writeln!(
            out,
            "best link for {more} more bandwidth: {}, +{} Mbit/s goodput",
            first.link,
            short(first.goodput_bps / 1e6),
        )?,
        None => writeln!(out, "{NO_LINK_LIMITS}{}", describe_busiest(seen))?,
    }
    writeln!(out)?;
    writeln!(
        out,
        "changes with {more} more bandwidth at each link in turn: goodput in Mbit/s, mean delay in ms, loss in %"
    )?;
    Table::of(rows)
        .text("link", |it| it.link)
        .number("goodput", |it| format_change(it.goodput_bps / 1e6))
        .number("delay", |it| format_change(it.delay_s * 1e3))
        .number("loss", |it| format_change(it.loss_probability * 1e2))
        .number("new load", |it| percent(it.load))
        .print_top(seen.top, "link", out)?;
    writeln!(out)?;
    print::print_convergence(seen, out)?;
    print_notes(seen.notes, out)
}
