//! The subcommand `netflow solve SCENARIO --sensitivity`.

use std::io::{self, Write};

use netflow::number::{percent, short};
use netflow::simulation::LinkId;
use netflow::steady::rows::{self, DemandSensitivityRow, MeasureSensitivities, SensitivityRow};
use netflow::steady::{ConnectionSelection, Solver};

use super::{SolvedState, print, steady_failure};
use crate::failure::Failure;
use crate::output::csv;
use crate::output::json::object;
use crate::output::notes::print_notes;
use crate::output::table::Table;

/// Prints the sensitivities of these connections. `of` is their name, or `None` for all.
pub(super) fn answer(
    seen: &SolvedState<'_>,
    solver: &mut Solver,
    which: ConnectionSelection<'_>,
    of: Option<&str>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let gains = MeasureSensitivities::at(solver, seen.steady, which).map_err(steady_failure)?;
    let rows = rows::link_sensitivities(seen.network, &gains);
    let demands = rows::demand_sensitivities(seen.network, seen.steady, &gains);
    let bends = gains.one_sided_because_of(seen.network);
    let answer = object! {
        at_s: seen.at_s,
        of: of,
        goodput_bps: gains.goodput.value,
        delay_s: gains.delay.as_ref().map(|it| it.value),
        delay_p95_s: gains.delay_p95.value,
        loss_probability: gains.loss.value,
        one_sided_because_of: &bends,
        links: &rows,
        connections: &demands,
    };
    Ok(seen.format.print(
        out,
        &answer,
        |out| {
            csv::write_named_with_header("links", &rows, out)?;
            csv::write_named_with_header("connections", &demands, out)
        },
        |out| print_text(seen, of, &gains, &rows, &demands, &bends, out),
    )?)
}

fn print_text(
    seen: &SolvedState<'_>,
    of: Option<&str>,
    gains: &MeasureSensitivities,
    rows: &[SensitivityRow<'_>],
    demands: &[DemandSensitivityRow<'_>],
    bends: &[&str],
    out: &mut dyn Write,
) -> io::Result<()> {
    let its = of.map_or_else(String::new, |name| format!(" of {name}"));
    if let Some(of) = of {
        let delay = gains.delay.as_ref().map_or_else(String::new, |it| {
            format!("mean delay {} ms, ", short(it.value * 1e3))
        });
        writeln!(
            out,
            "{of}: goodput {} Mbit/s, {delay}95th percentile {} ms, loss {}",
            short(gains.goodput.value * 1e-6),
            short(gains.delay_p95.value * 1e3),
            percent(gains.loss.value),
        )?;
    }
    match rows
        .first()
        .filter(|row| row.goodput_bps_per_bps * 1e3 >= NEGLIGIBLE_CHANGE)
    {
        Some(first) => writeln!(
            out,
            "best link to upgrade: {}, +{} kbit/s goodput{its} per additional Mbit/s",
            first.link,
            short(first.goodput_bps_per_bps * 1e3),
        )?,
        None if of.is_some() => writeln!(
            out,
            "no link limits it: more bandwidth does not increase the goodput{its} at any link"
        )?,
        None => writeln!(out, "{NO_LINK_LIMITS}{}", describe_busiest(seen))?,
    }
    writeln!(out)?;
    writeln!(
        out,
        "sensitivities{}: goodput in kbit/s, mean delay and 95th percentile of delay in ms, loss in %",
        of.map_or_else(String::new, |name| format!(" for {name}")),
    )?;
    let none = |change: Option<f64>, unit: f64| {
        change.map_or_else(|| "-".to_owned(), |it| format_change(it * unit))
    };
    Table::of(rows)
        .text("link", |it| it.link)
        .number("+1 Mbit/s: goodput", |it| {
            format_change(it.goodput_bps_per_bps * 1e3)
        })
        .number("delay", |it| none(it.delay_s_per_bps, 1e9))
        .number("p95", |it| format_change(it.delay_p95_s_per_bps * 1e9))
        .number("loss", |it| format_change(it.loss_per_bps * 1e8))
        .number("+1 ms delay: goodput", |it| {
            format_change(it.goodput_bps_per_s * 1e-6)
        })
        .number("delay", |it| none(it.delay_s_per_s, 1.0))
        .number("loss", |it| format_change(it.loss_per_s * 0.1))
        .number("+1 pkt buffer: goodput", |it| {
            format_change(it.goodput_bps_per_pkt * 1e-3)
        })
        .number("delay", |it| none(it.delay_s_per_pkt, 1e3))
        .number("loss", |it| format_change(it.loss_per_pkt * 1e2))
        .print_top(seen.top, "link", out)?;
    writeln!(out)?;
    Table::of(demands)
        .text("connection", |it| it.connection)
        .number("+1 % demand: goodput", |it| {
            format_change(it.goodput_bps_per_factor * 1e-5)
        })
        .number("delay", |it| none(it.delay_s_per_factor, 10.0))
        .number("p95", |it| format_change(it.delay_p95_s_per_factor * 10.0))
        .number("loss", |it| format_change(it.loss_per_factor))
        .print_top(seen.top, "connection", out)?;
    writeln!(out)?;
    if !bends.is_empty() {
        writeln!(
            out,
            "sensitivities are one-sided, because the response has a kink at {}; for the effect of more bandwidth, use `--upgrade`",
            list_first(bends),
        )?;
    }
    print::print_convergence(seen, out)?;
    print_notes(seen.notes, out)
}

/// Lists the first names.
fn list_first(names: &[&str]) -> String {
    const MAX_NAMED: usize = 3;
    match names.len().saturating_sub(MAX_NAMED) {
        0 => names.join(", "),
        more => format!("{} or one of {more} more", names[..MAX_NAMED].join(", ")),
    }
}

/// The message if more bandwidth has no benefit.
pub(super) const NO_LINK_LIMITS: &str =
    "no link is a bottleneck: more bandwidth does not increase the goodput at any link";

/// Describes the link with the highest load, as the end of a sentence.
pub(super) fn describe_busiest(seen: &SolvedState<'_>) -> String {
    let of = |id: LinkId| seen.steady.link(id).load;
    // Of equal loads, the first is taken.
    let steps = |id: LinkId| (of(id) * 1e6).round();
    let most = seen
        .network
        .links()
        .reduce(|a, b| if steps(b) > steps(a) { b } else { a });
    most.filter(|&id| of(id) > 0.0)
        .map_or_else(String::new, |id| {
            let (name, part) = (seen.network.link_name(id), percent(of(id)));
            format!("; the highest load is {part}, at {name}")
        })
}

/// Threshold below which a printed change counts as zero.
const NEGLIGIBLE_CHANGE: f64 = 1e-6;

/// Formats a change, or `0` if it is negligible.
pub(super) fn format_change(change: f64) -> String {
    if change.abs() < NEGLIGIBLE_CHANGE {
        "0".to_owned()
    } else {
        short(change)
    }
}
