//! Text output of a steady state.

use std::io::{self, Write};

use netflow::number::{count, percent, plain, short};
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
        .number("load Mbit/s", |it| {
            mark_estimate(it.utilization_is_estimate, short(it.load_bps / 1e6))
        })
        .number("utilization", |it| {
            mark_estimate(it.utilization_is_estimate, percent(it.utilization))
        })
        .number("queue pkt", |it| {
            mark_estimate(it.queue_is_estimate, short(it.queue_pkts))
        })
        .number("delay ms", |it| {
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
    Table::of(sending)
        .text("connection", |it| match it.count {
            1 => it.connection.to_owned(),
            n => format!("{} ×{n}", it.connection),
        })
        .number("sent pkt/s", |it| short(it.rate_pps))
        .number("goodput pkt/s", |it| {
            mark_estimate(it.goodput_is_estimate, short(it.goodput_pps))
        })
        .number("goodput Mbit/s", |it| {
            mark_estimate(it.goodput_is_estimate, short(it.goodput_bps / 1e6))
        })
        .number("loss", |it| {
            mark_estimate(it.loss_is_estimate, percent(it.loss_probability))
        })
        .number("delay ms", |it| {
            mark_estimate(it.delay_is_estimate, short(it.delay_s * 1e3))
        })
        .number("rtt ms", |it| {
            let text = |rtt_s| mark_estimate(it.delay_is_estimate, short(rtt_s * 1e3));
            format_or(it.rtt_s, text, "-")
        })
        .text("held by", |it| it.held_by.unwrap_or(""))
        .text("outside profile", |it| it.profile_use)
        .print_top(top, "connection", out)?;
    match silent {
        0 => Ok(()),
        silent => writeln!(out, " {} not sending", count(silent, "connection")),
    }
}

/// Prints transfers in descending order of their slowdown by other traffic.
fn print_transfers(rows: &[TransferRow<'_>], top: usize, out: &mut dyn Write) -> io::Result<()> {
    let times_longer = |it: &TransferRow<'_>| it.mean_s.map_or(f64::INFINITY, |s| s / it.alone_s);
    let mut slowest: Vec<_> = rows.iter().collect();
    slowest.sort_by(|a, b| times_longer(b).total_cmp(&times_longer(a)));
    Table::of(slowest)
        .text("transfers of", |it| it.demand)
        .number("mean KB", |it| short(it.mean_bytes / 1e3))
        .number("alone ms", |it| short(it.alone_s * 1e3))
        .number("mean ms", |it| {
            format_or(it.mean_s, |mean_s| short(mean_s * 1e3), "ever more")
        })
        .print_top(top, "demand", out)
}

fn print_totals(seen: &SolvedState<'_>, out: &mut dyn Write) -> io::Result<()> {
    let totals = &seen.steady.totals;
    writeln!(
        out,
        "goodput {} Mbit/s, {} pkt/s; loss {}; mean delay {} ms",
        short(totals.goodput_bps / 1e6),
        short(totals.goodput_pps),
        percent(totals.loss_probability),
        short(totals.delay_s * 1e3),
    )
}

/// Prints how the steady state was found, and whether there are others.
pub fn print_convergence(seen: &SolvedState<'_>, out: &mut dyn Write) -> io::Result<()> {
    let steady = seen.steady;
    writeln!(
        out,
        "at rest with what sends just before {} s: {}, and no link is further off than {} of its load",
        plain(seen.at_s),
        count(steady.newton_steps, "Newton step"),
        if steady.residual < 1e-12 {
            "1e-12".to_owned()
        } else {
            format!("{:.0e}", steady.residual)
        },
    )?;
    let (starts, led) = (steady.starts as usize, steady.converged_starts as usize);
    if starts == 0 {
        return Ok(());
    }
    let besides = match steady.equilibria {
        1 => "to no other steady state".to_owned(),
        2 => {
            "to another steady state, too: which one a run comes to depends on its past".to_owned()
        }
        n => format!(
            "to {} other steady states, too: which one a run comes to depends on its past",
            n - 1
        ),
    };
    match starts - led {
        0 => writeln!(out, "{} led {besides}", count(starts, "random start")),
        lost => writeln!(
            out,
            "{} led {besides}; {lost} led nowhere",
            count(starts, "random start"),
        ),
    }
}
