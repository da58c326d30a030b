//! Text output of a summary.

use std::io::{self, Write};

use netflow::number::{count, max_packets, packets, percent, plain, short};
use netflow::profile::Provenance;
use netflow::results::{ConnectionSummary, LinkSummary, Summary, TotalsSummary, seeds_of, std_of};
use netflow::simulation::{ConnectionSpec, Network};

use super::format_with_std::format_with_std;
use super::{diffserv, users};
use crate::output::table::{Table, format_or, mark_estimate};

/// The text of a missing value.
const NO_VALUE: &str = "-";

/// Utilization below which a link without losses is left out unless `--top` asks for it.
const MIN_SHOWN_UTILIZATION: f64 = 0.01;

/// Rows of a table, unless `--top` states another number.
const DEFAULT_ROWS: usize = 20;

pub fn print(
    network: &Network,
    summary: &Summary,
    top: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    print_links(&with_class_sums(network, &summary.links), top, out)?;
    writeln!(out)?;
    print_connections(network, summary, top, out)?;
    writeln!(out)?;
    let rows = top.unwrap_or(DEFAULT_ROWS);
    diffserv::print(summary, rows, out)?;
    users::print(&summary.workloads, rows, out)?;
    print_totals("packets", &summary.totals, out)?;
    let acks = &summary.acks;
    if acks.lost_pkts > 0.0 || acks.unrouted_pkts > 0.0 || acks.imbalance() > 1e-9 {
        print_totals("ACKs", acks, out)?;
    }
    Ok(())
}

/// Returns the rows of links. A link with classes gets the sums of its queues, and packets without a
/// class get their own row.
fn with_class_sums(network: &Network, links: &[LinkSummary]) -> Vec<LinkSummary> {
    let mut rows = links.to_vec();
    for link in network.classed_links() {
        let own = &links[link.index()];
        let queues = network.queues_of(link);
        let queues: Vec<&LinkSummary> = queues.iter().map(|it| &links[it.index()]).collect();
        let sum = |of: fn(&LinkSummary) -> f64| queues.iter().map(|it| of(it)).sum::<f64>();
        let known = |of: fn(&LinkSummary) -> Option<f64>| {
            let all: Option<Vec<f64>> = queues.iter().map(|it| of(it)).collect();
            all.map(|all| all.iter().sum::<f64>())
        };
        let (offered_pkts, lost_pkts) = (sum(|it| it.offered_pkts), sum(|it| it.lost_pkts));
        let departed = |it: &LinkSummary| it.offered_pkts - it.lost_pkts;
        let waited = sum(|it| it.sojourn_time_s.unwrap_or(0.0) * (it.offered_pkts - it.lost_pkts));
        let left_pkts: f64 = queues.iter().map(|it| departed(it)).sum();
        rows[link.index()] = LinkSummary {
            mean_queue_pkts: sum(|it| it.mean_queue_pkts),
            // The maxima of the queues are at different times.
            max_queue_pkts: f64::NAN,
            loss_probability: if offered_pkts > 0.0 {
                lost_pkts / offered_pkts
            } else {
                0.0
            },
            offered_load: known(|it| it.offered_load),
            sojourn_time_s: (left_pkts > 0.0).then(|| waited / left_pkts),
            utilization_is_estimate: queues.iter().any(|it| it.utilization_is_estimate),
            queue_is_estimate: queues.iter().any(|it| it.queue_is_estimate),
            loss_is_estimate: queues.iter().any(|it| it.loss_is_estimate),
            offered_pkts,
            lost_pkts,
            early_drop_pkts: known(|it| it.early_drop_pkts),
            marked_pkts: known(|it| it.marked_pkts),
            // The spread of a sum over seeds is not the sum of the spreads.
            spread: (own.spread.iter())
                .filter(|(name, _)| name.starts_with("utilization"))
                .map(|(name, it)| (name.clone(), it.clone()))
                .collect(),
            ..own.clone()
        };
        if own.offered_pkts > 0.0 {
            rows.push(LinkSummary {
                link: format!("{} (no class)", own.link),
                utilization: own.utilization
                    - queues[1..].iter().map(|it| it.utilization).sum::<f64>(),
                peak_utilization: None,
                at_capacity_s: None,
                throughput_bps: known(|it| it.throughput_bps)
                    .zip(own.throughput_bps)
                    .map(|(all, own)| own - (all - own)),
                ..own.clone()
            });
        }
    }
    rows
}

fn print_links(links: &[LinkSummary], top: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    // A link of class queues can be busy while its own queue is idle. A failed link loses its queued
    // packets.
    let used = (links.iter())
        .filter(|it| it.offered_pkts > 0.0 || it.utilization > 0.0 || it.lost_pkts > 0.0);
    let mut used: Vec<&LinkSummary> = used.collect();
    used.sort_by(|a, b| b.utilization.total_cmp(&a.utilization));
    let unused = links.len() - used.len();
    let all = used.len();
    let is_idle = |it: &&&LinkSummary| {
        it.utilization < MIN_SHOWN_UTILIZATION
            && it.lost_pkts == 0.0
            && it.link_lost_pkts.unwrap_or(0.0) == 0.0
    };
    let idle = match top {
        None => used.iter().filter(is_idle).count(),
        Some(_) => 0,
    };
    // If all links are idle, they are what there is to see.
    let idle = if idle == all { 0 } else { idle };
    if idle > 0 {
        used.retain(|it| !is_idle(&it));
    }
    let has = |of: &dyn Fn(&LinkSummary) -> Option<f64>| {
        used.iter()
            .any(|it| of(it).is_some_and(|value| value > 0.0))
    };
    let has_full = has(&|it| it.at_capacity_s);
    let has_transit_losses = has(&|it| it.link_lost_pkts);
    let has_marks = has(&|it| it.marked_pkts);
    let mut table = Table::of(used)
        .text("link", |it| it.link.clone())
        .number("throughput [Mbit/s]", |it| {
            let text = |bps| mark_estimate(it.utilization_is_estimate, short(bps / 1e6));
            format_or(it.throughput_bps, text, NO_VALUE)
        })
        .number("utilization", |it| {
            let std = std_of(&it.spread, "utilization");
            let text = format_with_std(it.utilization, std, percent);
            mark_estimate(it.utilization_is_estimate, text)
        })
        .number("peak", |it| {
            let text = |peak| mark_estimate(it.utilization_is_estimate, percent(peak));
            format_or(it.peak_utilization, text, NO_VALUE)
        });
    if has_full {
        table = table.number("at capacity [s]", |it| {
            format_or(it.at_capacity_s, short, NO_VALUE)
        });
    }
    table = table
        .number("queue [pkt]", |it| {
            let std = std_of(&it.spread, "mean_queue_pkts");
            mark_estimate(
                it.queue_is_estimate,
                format_with_std(it.mean_queue_pkts, std, short),
            )
        })
        .number("max [pkt]", |it| {
            if it.max_queue_pkts.is_nan() {
                NO_VALUE.to_owned()
            } else {
                mark_estimate(it.queue_is_estimate, max_packets(it.max_queue_pkts))
            }
        })
        .number("sojourn [ms]", |it| {
            let std = std_of(&it.spread, "sojourn_time_s");
            format_ms_with_std(it.queue_is_estimate, it.sojourn_time_s, std)
        })
        .number("loss", |it| {
            let std = std_of(&it.spread, "loss_probability");
            let loss = format_with_std(it.loss_probability, std, percent);
            mark_estimate(it.loss_is_estimate, loss)
        });
    if has_transit_losses {
        table = table.number("lost in transit [pkt]", |it| {
            format_or(it.link_lost_pkts, packets, NO_VALUE)
        });
    }
    if has_marks {
        table = table.number("marked [pkt]", |it| {
            let std = std_of(&it.spread, "marked_pkts");
            format_or(
                it.marked_pkts,
                |pkts| format_with_std(pkts, std, packets),
                NO_VALUE,
            )
        });
    }
    table.omit_if_wide(&["peak", "at capacity [s]"]).print_top(
        top.unwrap_or(DEFAULT_ROWS),
        "link",
        out,
    )?;
    if idle > 0 {
        let links = count(idle, "link");
        writeln!(
            out,
            " {links} below 1 % utilization not shown (--top {all})"
        )?;
    }
    match unused {
        0 => Ok(()),
        unused => writeln!(out, " {} without traffic", count(unused, "link")),
    }
}

fn print_connections(
    network: &Network,
    summary: &Summary,
    top: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let connections = &summary.connections;
    let specs = network.connections().map(|id| network.connection_spec(id));
    let mut rows: Vec<_> = specs.zip(connections).collect();
    let delivered_bps = |(spec, it): &(&ConnectionSpec, &ConnectionSummary)| {
        let whole_bps = it.mean_goodput_pps * spec.packet_size_bytes * 8.0;
        if it.active_s > 0.0 {
            whole_bps * summary.duration_s / it.active_s
        } else {
            whole_bps
        }
    };
    rows.sort_by(|a, b| delivered_bps(b).total_cmp(&delivered_bps(a)));
    let has = |of: &dyn Fn(&ConnectionSpec, &ConnectionSummary) -> bool| {
        rows.iter().any(|(spec, it)| of(spec, it))
    };
    let is_partly_active = has(&|_, it| (it.active_s - summary.duration_s).abs() > 1e-9);
    let is_outside = has(&|_, it| {
        let measured = Provenance::Measured.name();
        it.profile_use
            .as_deref()
            .is_some_and(|rests_on| rests_on != measured)
    });
    let is_sized = has(&|spec, _| spec.size_pkts.is_some());
    let has_several = has(&|spec, _| spec.size_pkts.is_some() && spec.count > 1);
    let mut table = Table::of(rows).text("connection", |(spec, it)| match spec.count {
        1 => it.connection.clone(),
        n => format!("{} ×{n}", it.connection),
    });
    if is_partly_active {
        table = table.number("active [s]", |(_, it)| short(it.active_s));
    }
    table = table
        .number("delivered [Mbit/s]", move |row| {
            let (_, it) = row;
            let mean = it.mean_goodput_pps;
            let bps = delivered_bps(row);
            let std = std_of(&it.spread, "mean_goodput_pps");
            let std = std.map(|std| if mean > 0.0 { bps * std / mean } else { 0.0 });
            let text = |bps: f64| short(bps / 1e6);
            mark_estimate(it.goodput_is_estimate, format_with_std(bps, std, text))
        })
        .number("loss", |(_, it)| {
            let std = std_of(&it.spread, "loss_probability");
            let text =
                |loss| mark_estimate(it.loss_is_estimate, format_with_std(loss, std, percent));
            format_or(it.loss_probability, text, NO_VALUE)
        })
        .number("one-way delay [ms]", |(_, it)| {
            let std = std_of(&it.spread, "mean_delay_s");
            format_ms_with_std(it.delay_is_estimate, it.mean_delay_s, std)
        })
        .number("p99 [ms]", |(_, it)| {
            let std = std_of(&it.spread, "delay_p99_s");
            format_ms_with_std(it.delay_is_estimate, it.delay_p99_s, std)
        })
        .number("RTT [ms]", |(_, it)| {
            let std = std_of(&it.spread, "mean_rtt_s");
            format_ms_with_std(it.delay_is_estimate, it.mean_rtt_s, std)
        });
    if is_outside {
        table = table.number("extrapolated", |(_, it)| outside_profile(it));
    }
    if has_several {
        table = table.number("mean finish [s]", |(_, it)| {
            let std = std_of(&it.spread, "mean_finished_s");
            format_or(
                it.mean_finished_s,
                |at_s| format_with_std(at_s, std, short),
                NO_VALUE,
            )
        });
    }
    if is_sized {
        table = table.number("finish [s]", |(_, it)| {
            let std = std_of(&it.spread, "finished_s");
            let time = format_or(
                it.finished_s,
                |at_s| format_with_std(at_s, std, short),
                NO_VALUE,
            );
            match seeds_of(&it.spread, "finished_s") {
                Some(seeds) => format!("{time} of {seeds} seeds"),
                None => time,
            }
        });
    }
    table.print_top(top.unwrap_or(DEFAULT_ROWS), "connection", out)?;
    for connection in connections {
        for outage in &connection.unrouted_intervals_s {
            writeln!(
                out,
                " {} has {}",
                connection.connection,
                format_outage(outage)
            )?;
        }
    }
    Ok(())
}

/// Formats a time range without a route.
pub fn format_outage(&(from_s, to_s): &(f64, f64)) -> String {
    format!("no route {}–{} s", plain(from_s), plain(to_s))
}

/// Formats a range of times in milliseconds.
pub fn format_range_ms((from_s, to_s): (f64, f64)) -> String {
    // Repeated halving produces many digits.
    let ms = |time_s: f64| {
        plain(
            format!("{:.4e}", 1e3 * time_s)
                .parse()
                .unwrap_or(1e3 * time_s),
        )
    };
    if from_s == to_s {
        format!("{} ms", ms(to_s))
    } else {
        format!("{} to {} ms", ms(from_s), ms(to_s))
    }
}

/// Formats the fraction of time outside the profile, and whether the rates are unusable.
fn outside_profile(connection: &ConnectionSummary) -> String {
    let outside = percent(connection.extrapolated_fraction);
    match connection.profile_use.as_deref() {
        Some(rests_on) if rests_on == Provenance::Unreliable.name() => {
            format!("{outside}; rate {rests_on}")
        }
        _ => outside,
    }
}

fn format_ms_with_std(is_estimate: bool, time_s: Option<f64>, std_s: Option<f64>) -> String {
    let text = |time_s: f64| format_with_std(1e3 * time_s, std_s.map(|std_s| 1e3 * std_s), short);
    format_or(
        time_s,
        |time_s| mark_estimate(is_estimate, text(time_s)),
        NO_VALUE,
    )
}

fn print_totals(kind: &str, totals: &TotalsSummary, out: &mut dyn Write) -> io::Result<()> {
    let before = match totals.before_pkts {
        0.0 => String::new(),
        before => format!("{} in flight before + ", packets(before)),
    };
    let lost = if totals.lost_pkts > 0.0 && totals.offered_pkts > 0.0 {
        let loss = percent(totals.lost_pkts / totals.offered_pkts);
        format!("{} lost ({loss})", packets(totals.lost_pkts))
    } else {
        "0 lost".to_owned()
    };
    let unrouted = match totals.unrouted_pkts {
        0.0 => String::new(),
        blocked => format!(" + {} without a route", packets(blocked)),
    };
    let gap = match totals.imbalance() {
        gap if gap <= 1e-9 => String::new(),
        gap => format!(" (imbalance: {})", percent(gap)),
    };
    writeln!(
        out,
        "{kind}: {before}{} sent = {} delivered + {lost}{unrouted} + {} in queues and in flight{gap}",
        packets(totals.offered_pkts),
        packets(totals.delivered_pkts),
        packets(totals.queued_pkts + totals.in_flight_pkts),
    )
}
