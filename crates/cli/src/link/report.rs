//! A link's account of itself.

use std::io::{self, Write};

use netflow_testbed::{DirectionReport, LinkReport};
use serde::Serialize;

use crate::args::ReportFormat;
use crate::number::{plain, short};
use crate::{json, table};

#[derive(Serialize)]
struct JsonReport<'a> {
    #[serde(flatten)]
    report: &'a LinkReport,
    /// Why results over this link do not count.
    doubt: Option<String>,
}

pub fn print(report: &LinkReport, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
    let doubt = report.doubt();
    match format {
        ReportFormat::Json => json::write(&JsonReport { report, doubt }, out),
        ReportFormat::Text => {
            lines(report, out)?;
            match doubt {
                Some(doubt) => writeln!(out, "inconclusive: {doubt}"),
                None => Ok(()),
            }
        }
    }
}

fn lines(report: &LinkReport, out: &mut dyn Write) -> io::Result<()> {
    let titles = [
        "link",
        "offered pkt",
        "delivered pkt",
        "delivered Mbit/s",
        "buffer full",
        "lost",
        "in bursts",
        "bit errors",
        "under way",
        "late p50 us",
        "p90 us",
        "p99 us",
        "max us",
    ];
    let mut table = table::table(&titles);
    for (name, direction) in [("a->b", &report.out), ("b->a", &report.back)] {
        table.add_row(std::iter::once(name.to_owned()).chain(cells(direction, report.seconds)));
    }
    table::print(&table, out)?;
    writeln!(
        out,
        "{} s, {}",
        short(report.seconds),
        match report.realtime {
            true => "with a real-time priority",
            false => "without a real-time priority",
        }
    )?;
    for (name, direction) in [("a->b", &report.out), ("b->a", &report.back)] {
        let failures = [
            ("could not be written", direction.write_failures),
            (
                "were lost before the link read them",
                direction.unread_drops,
            ),
            ("were more than can be under way", direction.drops.overflow),
        ];
        for (what, pkts) in failures.into_iter().filter(|&(_, pkts)| pkts > 0) {
            writeln!(out, "{name}: {pkts} packets {what}")?;
        }
    }
    match report.capture_failures {
        0 => Ok(()),
        pkts => writeln!(out, "the capture lacks {pkts} packets"),
    }
}

fn cells(direction: &DirectionReport, seconds: f64) -> [String; 12] {
    let pkts = |pkts: u64| plain(pkts as f64);
    let lateness = &direction.lateness;
    let late = |us: f64| match direction.delivered.pkts {
        0 => "-".to_owned(),
        _ => short(us),
    };
    [
        pkts(direction.offered.pkts),
        pkts(direction.delivered.pkts),
        short(8e-6 * direction.delivered.bytes as f64 / seconds),
        pkts(direction.drops.buffer),
        pkts(direction.drops.loss),
        pkts(direction.drops.gilbert),
        pkts(direction.drops.bit_errors),
        pkts(direction.in_flight_pkts),
        late(lateness.p50_us),
        late(lateness.p90_us),
        late(lateness.p99_us),
        late(lateness.max_us),
    ]
}
