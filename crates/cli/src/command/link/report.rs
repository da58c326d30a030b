//! Report of an emulated link.

use std::io::{self, Write};

use netflow::number::{plain, short};
use netflow_testbed::{DirectionReport, LinkReport};
use serde::Serialize;

use crate::output::csv;
use crate::output::format::Format;
use crate::output::table::Table;

#[derive(Serialize)]
struct JsonReport<'a> {
    #[serde(flatten)]
    report: &'a LinkReport,
    /// Reason why results over this link are invalid.
    doubt: Option<String>,
}

/// A direction with its name.
#[derive(Clone, Copy, Serialize)]
struct Direction<'a> {
    link: &'static str,
    #[serde(flatten)]
    report: &'a DirectionReport,
}

pub fn print(report: &LinkReport, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let doubt = report.unreliable_reason();
    let directions = [("a->b", &report.out), ("b->a", &report.back)];
    let directions = directions.map(|(link, report)| Direction { link, report });
    format.print(
        out,
        &JsonReport {
            report,
            doubt: doubt.clone(),
        },
        |out| csv::write(directions, out),
        |out| {
            lines(report, directions, out)?;
            match &doubt {
                Some(doubt) => writeln!(out, "inconclusive: {doubt}"),
                None => Ok(()),
            }
        },
    )
}

fn lines(
    report: &LinkReport,
    directions: [Direction<'_>; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    let pkts = |pkts: u64| plain(pkts as f64);
    let late = |it: &Direction<'_>, us: f64| match it.report.delivered.pkts {
        0 => "-".to_owned(),
        _ => short(us),
    };
    Table::of(directions)
        .text("link", |it| it.link)
        .number("offered pkt", |it| pkts(it.report.offered.pkts))
        .number("delivered pkt", |it| pkts(it.report.delivered.pkts))
        .number("delivered Mbit/s", |it| {
            short(8e-6 * it.report.delivered.bytes as f64 / report.seconds)
        })
        .number("buffer full", |it| pkts(it.report.drops.buffer))
        .number("lost", |it| pkts(it.report.drops.loss))
        .number("in bursts", |it| pkts(it.report.drops.gilbert))
        .number("bit errors", |it| pkts(it.report.drops.bit_errors))
        .number("mean queue pkt", |it| short(it.report.mean_queue_pkts))
        .number("in flight", |it| pkts(it.report.in_flight_pkts))
        .number("late p50 us", |it| late(it, it.report.lateness.p50_us))
        .number("p90 us", |it| late(it, it.report.lateness.p90_us))
        .number("p99 us", |it| late(it, it.report.lateness.p99_us))
        .number("max us", |it| late(it, it.report.lateness.max_us))
        .print(out)?;
    writeln!(
        out,
        "{} s, {}",
        short(report.seconds),
        if report.realtime {
            "with a real-time priority"
        } else {
            "without a real-time priority"
        }
    )?;
    for Direction {
        link,
        report: direction,
    } in directions
    {
        let failures = [
            ("could not be written", direction.write_failures),
            (
                "were lost before the link read them",
                direction.unread_drops,
            ),
            (
                "exceeded the maximum number in flight",
                direction.drops.overflow,
            ),
        ];
        for (what, pkts) in failures.into_iter().filter(|&(_, pkts)| pkts > 0) {
            writeln!(out, "{link}: {pkts} packets {what}")?;
        }
    }
    match report.capture.missing_pkts {
        0 => Ok(()),
        pkts => writeln!(out, "the capture lacks {pkts} packets"),
    }
}
