//! Text output of a summary.

use std::io::{self, Write};

use netflow::number::{count, percent, plain, short};
use netflow::profile::Provenance;
use netflow::results::{ConnectionSummary, LinkSummary, Summary, TotalsSummary, seeds_of, std_of};
use netflow::simulation::Network;

use super::mean_and_std::with_std;
use super::{diffserv, users};
use crate::output::table::{Table, format_or, mark_estimate};

/// The text of a missing value.
const NO_VALUE: &str = "-";

pub fn print(
    network: &Network,
    summary: &Summary,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    print_links(&with_class_sums(network, &summary.links), top, out)?;
    for note in summary.estimate_notes() {
        writeln!(out, " {note}")?;
    }
    writeln!(out)?;
    print_connections(network, &summary.connections, top, out)?;
    if let Some(note) = summary.goodput_note() {
        writeln!(out, " {note}")?;
    }
    writeln!(out)?;
    diffserv::print(summary, top, out)?;
    users::print(&summary.workloads, top, out)?;
    print_totals("packets", &summary.totals, out)?;
    if summary.acks.offered_pkts > 0.0 {
        print_totals("acknowledgements", &summary.acks, out)?;
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
        let waited =
            sum(|it| it.queueing_delay_s.unwrap_or(0.0) * (it.offered_pkts - it.lost_pkts));
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
            queueing_delay_s: (left_pkts > 0.0).then(|| waited / left_pkts),
            utilization_is_estimate: queues.iter().any(|it| it.utilization_is_estimate),
            queue_is_estimate: queues.iter().any(|it| it.queue_is_estimate),
            loss_is_estimate: queues.iter().any(|it| it.loss_is_estimate),
            offered_pkts,
            lost_pkts,
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
                saturated_s: None,
                throughput_bps: known(|it| it.throughput_bps)
                    .zip(own.throughput_bps)
                    .map(|(all, own)| own - (all - own)),
                ..own.clone()
            });
        }
    }
    rows
}

fn print_links(links: &[LinkSummary], top: usize, out: &mut dyn Write) -> io::Result<()> {
    // A link of class queues can be busy while its own queue is idle. A failed link loses its queued
    // packets.
    let used = (links.iter())
        .filter(|it| it.offered_pkts > 0.0 || it.utilization > 0.0 || it.lost_pkts > 0.0);
    let mut used: Vec<&LinkSummary> = used.collect();
    used.sort_by(|a, b| b.utilization.total_cmp(&a.utilization));
    let idle = links.len() - used.len();
    let has_marks = (used.iter()).any(|it| it.marked_pkts.is_some_and(|pkts| pkts > 0.0));
    let mut table = Table::of(used)
        .text("link", |it| it.link.clone())
        .number("utilization", |it| {
            let std = std_of(&it.spread, "utilization");
            let text = with_std(it.utilization, std, percent);
            mark_estimate(it.utilization_is_estimate, text)
        })
        .number("peak", |it| {
            let text = |peak| mark_estimate(it.utilization_is_estimate, percent(peak));
            format_or(it.peak_utilization, text, NO_VALUE)
        })
        .number("saturated s", |it| {
            format_or(it.saturated_s, short, NO_VALUE)
        })
        .number("offered load", |it| {
            format_or(it.offered_load, percent, "unlimited")
        })
        .number("Mbit/s", |it| {
            let text = |bps| mark_estimate(it.utilization_is_estimate, short(bps / 1e6));
            format_or(it.throughput_bps, text, NO_VALUE)
        })
        .number("mean queue pkt", |it| {
            let std = std_of(&it.spread, "mean_queue_pkts");
            mark_estimate(
                it.queue_is_estimate,
                with_std(it.mean_queue_pkts, std, short),
            )
        })
        .number("max queue pkt", |it| {
            if it.max_queue_pkts.is_nan() {
                NO_VALUE.to_owned()
            } else {
                mark_estimate(it.queue_is_estimate, short(it.max_queue_pkts))
            }
        })
        .number("queueing ms", |it| {
            let std = std_of(&it.spread, "queueing_delay_s");
            format_ms_with_std(it.queue_is_estimate, it.queueing_delay_s, std)
        })
        .number("loss", |it| {
            let std = std_of(&it.spread, "loss_probability");
            let loss = with_std(it.loss_probability, std, percent);
            mark_estimate(it.loss_is_estimate, loss)
        })
        .number("offered pkt", |it| short(it.offered_pkts))
        .number("lost pkt", |it| {
            let queue = with_std(it.lost_pkts, std_of(&it.spread, "lost_pkts"), short);
            let queue = mark_estimate(it.loss_is_estimate, queue);
            match it.link_lost_pkts {
                None => queue,
                Some(pkts) => format!("{queue} + {} on the way", short(pkts)),
            }
        });
    if has_marks {
        table = table.number("marked pkt", |it| {
            let std = std_of(&it.spread, "marked_pkts");
            format_or(it.marked_pkts, |pkts| with_std(pkts, std, short), NO_VALUE)
        });
    }
    table.print_top(top, "link", out)?;
    match idle {
        0 => Ok(()),
        idle => writeln!(out, " {} without traffic", count(idle, "link")),
    }
}

fn print_connections(
    network: &Network,
    connections: &[ConnectionSummary],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let specs = network.connections().map(|id| network.connection_spec(id));
    let mut rows: Vec<_> = specs.zip(connections).collect();
    rows.sort_by(|(_, a), (_, b)| b.mean_goodput_pps.total_cmp(&a.mean_goodput_pps));
    let mut sized = rows.iter().filter(|(spec, _)| spec.size_pkts.is_some());
    let is_sized = sized.clone().next().is_some();
    let has_several = sized.any(|(spec, _)| spec.count > 1);
    let mut table = Table::of(rows)
        .text("connection", |(spec, it)| match spec.count {
            1 => it.connection.clone(),
            n => format!("{} ×{n}", it.connection),
        })
        .number("sent pkt/s", |(_, it)| short(it.mean_send_pps))
        .number("goodput pkt/s", |(_, it)| {
            let std = std_of(&it.spread, "mean_goodput_pps");
            let goodput = with_std(it.mean_goodput_pps, std, short);
            mark_estimate(it.goodput_is_estimate, goodput)
        })
        .number("goodput Mbit/s", |(spec, it)| {
            let goodput = short(it.mean_goodput_pps * spec.packet_size_bytes * 8.0 / 1e6);
            mark_estimate(it.goodput_is_estimate, goodput)
        })
        .number("loss", |(_, it)| {
            let std = std_of(&it.spread, "loss_probability");
            let text = |loss| mark_estimate(it.loss_is_estimate, with_std(loss, std, percent));
            format_or(it.loss_probability, text, NO_VALUE)
        })
        .number("delay ms", |(_, it)| {
            let std = std_of(&it.spread, "mean_delay_s");
            format_ms_with_std(it.delay_is_estimate, it.mean_delay_s, std)
        })
        .number("p99 ms", |(_, it)| {
            let std = std_of(&it.spread, "delay_p99_s");
            format_ms_with_std(it.delay_is_estimate, it.delay_p99_s, std)
        })
        .number("rtt ms", |(_, it)| {
            let std = std_of(&it.spread, "mean_rtt_s");
            format_ms_with_std(it.delay_is_estimate, it.mean_rtt_s, std)
        })
        .number("delivered pkt", |(_, it)| short(it.delivered_pkts))
        .number("outside profile", |(_, it)| outside_profile(it));
    if has_several {
        table = table.number("mean finished s", |(_, it)| {
            let std = std_of(&it.spread, "mean_finished_s");
            format_or(
                it.mean_finished_s,
                |at_s| with_std(at_s, std, short),
                NO_VALUE,
            )
        });
    }
    if is_sized {
        table = table.number("finished s", |(_, it)| {
            let std = std_of(&it.spread, "finished_s");
            let time = format_or(it.finished_s, |at_s| with_std(at_s, std, short), NO_VALUE);
            match seeds_of(&it.spread, "finished_s") {
                Some(seeds) => format!("{time} of {seeds} seeds"),
                None => time,
            }
        });
    }
    table.print_top(top, "connection", out)?;
    if connections.iter().any(|it| it.delay_p999_s.is_some()) {
        writeln!(
            out,
            " p50, p95 and p99.9 of delays and round-trip times: --format json"
        )?;
    }
    for connection in connections {
        for outage in &connection.no_route_s {
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
    let outside = percent(connection.outside_profile_fraction);
    match connection.profile_use.as_deref() {
        Some(rests_on) if rests_on == Provenance::Unreliable.name() => {
            format!("{outside}; rate {rests_on}")
        }
        _ => outside,
    }
}

fn format_ms_with_std(is_estimate: bool, time_s: Option<f64>, std_s: Option<f64>) -> String {
    let text = |time_s: f64| with_std(1e3 * time_s, std_s.map(|std_s| 1e3 * std_s), short);
    format_or(
        time_s,
        |time_s| mark_estimate(is_estimate, text(time_s)),
        NO_VALUE,
    )
}

fn print_totals(kind: &str, totals: &TotalsSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{kind}: {}{} offered = {} delivered + {} lost{} + {} queued + {} in flight{}",
        match totals.before_pkts {
            0.0 => String::new(),
            before => format!("{} under way before + ", short(before)),
        },
        short(totals.offered_pkts),
        short(totals.delivered_pkts),
        short(totals.lost_pkts),
        match totals.blocked_pkts {
            0.0 => String::new(),
            blocked => format!(" + {} without a route", short(blocked)),
        },
        short(totals.queued_pkts),
        short(totals.in_flight_pkts),
        match totals.imbalance() {
            gap if gap <= 1e-9 => String::new(),
            gap => format!(" (they miss balance by {})", percent(gap)),
        }
    )
}
