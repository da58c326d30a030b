//! Text output of a steady state.

use std::io::{self, Write};

use netflow::number::{count, percent, plain, short};
use netflow::profile::Provenance;
use netflow::steady::rows::{ConnectionRow, LinkRow, TransferRow};

use super::SolvedState;
use crate::output::table::{Table, format_or, mark_estimate};

pub fn print(
    seen: &SolvedState<'_>,
    links: &[LinkRow<'_>],
    connections: &[ConnectionRow<'_>],
    transfers: &[TransferRow<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    print_links(links, seen.top, out)?;
    writeln!(out)?;
    print_connections(connections, seen.top, out)?;
    writeln!(out)?;
    if !transfers.is_empty() {
        print_transfers(transfers, seen.top, out)?;
        writeln!(out)?;
    }
    print_totals(seen, out)?;
    print_convergence(seen, out)
}

fn print_links(links: &[LinkRow<'_>], top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut used: Vec<_> = links.iter().filter(|it| it.offered_pps > 0.0).collect();
    // Loads that are printed equal keep the order of the network.
    let steps = |it: &LinkRow<'_>| (it.load * 1e4).round();
    used.sort_by(|a, b| steps(b).total_cmp(&steps(a)));
    let idle = links.len() - used.len();
    Table::of(used)
        .text("link", |it| it.link)
        .number("load", |it| {
            mark_estimate(it.utilization_is_estimate, percent(it.load))
        })
        .number("load [Mbit/s]", |it| {
            mark_estimate(it.utilization_is_estimate, short(it.load_bps / 1e6))
        })
        .number("utilization", |it| {
            mark_estimate(it.utilization_is_estimate, percent(it.utilization))
        })
        .number("queue [pkt]", |it| {
            mark_estimate(it.queue_is_estimate, short(it.queue_pkts))
        })
        .number("sojourn [ms]", |it| {
            mark_estimate(it.queue_is_estimate, short(it.delay_s * 1e3))
        })
        .number("loss", |it| {
            mark_estimate(it.loss_is_estimate, percent(it.loss_probability))
        })
        .print_top(top, "link", out)?;
    match idle {
        0 => Ok(()),
        idle => writeln!(out, " {} without traffic", count(idle, "link")),
    }
}

fn print_connections(
    rows: &[ConnectionRow<'_>],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut sending: Vec<_> = rows.iter().filter(|it| it.sending).collect();
    sending.sort_by(|a, b| b.goodput_pps.total_cmp(&a.goodput_pps));
    let silent = rows.len() - sending.len();
    let is_extrapolated = sending.iter().any(|it| {
        let measured = Provenance::Measured.name();
        !it.profile_use.is_empty() && it.profile_use != measured
    });
    let table = Table::of(sending)
        .text("connection", |it| match it.count {
            1 => it.connection.to_owned(),
            n => format!("{} ×{n}", it.connection),
        })
        .number("delivered [Mbit/s]", |it| {
            mark_estimate(it.goodput_is_estimate, short(it.goodput_bps / 1e6))
        })
        .number("loss", |it| {
            mark_estimate(it.loss_is_estimate, percent(it.loss_probability))
        })
        .number("one-way delay [ms]", |it| {
            mark_estimate(it.delay_is_estimate, short(it.delay_s * 1e3))
        })
        .number("RTT [ms]", |it| {
            let text = |rtt_s| mark_estimate(it.delay_is_estimate, short(rtt_s * 1e3));
            format_or(it.rtt_s, text, "-")
        })
        .text("limited by", |it| it.limited_by.unwrap_or(""));
    let table = if is_extrapolated {
        table.text("profile", |it| it.profile_use)
    } else {
        table
    };
    table.print_top(top, "connection", out)?;
    match silent {
        0 => Ok(()),
        silent => writeln!(out, " {} not sending", count(silent, "connection")),
    }
}

/// Prints transfers in descending order of their slowdown by other traffic.
fn print_transfers(rows: &[TransferRow<'_>], top: usize, out: &mut dyn Write) -> io::Result<()> {
    let times_longer =
        |it: &TransferRow<'_>| it.mean_s.map_or(f64::INFINITY, |s| s / it.unloaded_s);
    let mut slowest: Vec<_> = rows.iter().collect();
    slowest.sort_by(|a, b| times_longer(b).total_cmp(&times_longer(a)));
    Table::of(slowest)
        .text("transfers of", |it| it.demand)
        .number("mean [KB]", |it| short(it.mean_bytes / 1e3))
        .number("unloaded time [ms]", |it| short(it.unloaded_s * 1e3))
        .number("mean time [ms]", |it| {
            format_or(it.mean_s, |mean_s| short(mean_s * 1e3), "overloaded")
        })
        .print_top(top, "demand", out)
}

fn print_totals(seen: &SolvedState<'_>, out: &mut dyn Write) -> io::Result<()> {
    let totals = &seen.steady.totals;
    writeln!(
        out,
        "total: {} Mbit/s delivered; loss {}; mean one-way delay {} ms",
        short(totals.goodput_bps / 1e6),
        percent(totals.loss_probability),
        short(totals.delay_s * 1e3),
    )
}

/// Prints how the steady state was found, and whether there are others.
pub fn print_convergence(seen: &SolvedState<'_>, out: &mut dyn Write) -> io::Result<()> {
    let steady = seen.steady;
    let residual = if steady.residual < 1e-12 {
        "below 1e-12".to_owned()
    } else {
        format!("{:.0e}", steady.residual)
    };
    writeln!(
        out,
        "steady state of the traffic active just before {} s; converged ({}, residual {residual})",
        plain(seen.at_s),
        count(steady.newton_steps, "Newton step"),
    )?;
    let (starts, converged) = (steady.starts as usize, steady.converged_starts as usize);
    if starts == 0 {
        return Ok(());
    }
    let from = count(starts, "random starting point");
    let lost = match starts - converged {
        0 => String::new(),
        lost => format!("; {lost} did not converge"),
    };
    match steady.equilibria {
        1 => writeln!(out, "no other steady state found ({from}){lost}"),
        n => {
            let others = count(n - 1, "other steady state");
            writeln!(
                out,
                "{others} found ({from}){lost}; the history of a run decides which one it reaches"
            )
        }
    }
}
