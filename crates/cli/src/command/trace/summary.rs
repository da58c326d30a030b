//! The subcommand `netflow trace summary FILE…`.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use netflow::number::{count, percent, plain, short};
use netflow::trace::Reader;
use netflow::trace::analysis::Summary;
use netflow::trace::sender::{Flow, Options, Senders, Tracker};
use serde::Serialize;

use super::trace_files::{Files, check_flow_count, read, warn_about_capture_point};
use crate::failure::Failure;
use crate::output::csv;
use crate::output::format::Format;
use crate::output::table::{Table, format_or};

/// Summarize a trace
#[derive(Args)]
pub struct SummaryArguments {
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct JsonSummary<'a> {
    file: String,
    trace_format: String,
    compressed: bool,
    #[serde(flatten)]
    summary: &'a Summary,
    flows: usize,
    links: Vec<JsonLink>,
    tcp_senders: Vec<JsonSender>,
    malformed: u64,
    skipped: u64,
    truncated: bool,
}

#[derive(Default, Serialize)]
struct JsonLink {
    link: String,
    enqueued: u64,
    dropped: u64,
}

#[derive(Default, Serialize)]
struct JsonSender {
    connection: String,
    sent_pkts: u64,
    resent_pkts: u64,
    acked_pkts: u64,
    mean_rtt_s: Option<f64>,
    rtt_method: &'static str,
}

pub fn summary(arguments: &SummaryArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let format = arguments.files.format;
    if format == Format::Text {
        return arguments.files.for_each(out, |file, out| {
            let (summary, senders, reader) = gather(file)?;
            let mut senders = tcp_senders(&senders);
            senders.sort_by_key(|(_, tracker)| Reverse(tracker.totals().sent_pkts));
            let shown = json_summary(file, &summary, &reader);
            Ok(print(&shown, &senders, arguments.files.top, out)?)
        });
    }
    let file = arguments.files.single()?;
    let (summary, senders, reader) = gather(file)?;
    let mut shown = json_summary(file, &summary, &reader);
    let all = tcp_senders(&senders).into_iter();
    shown.tcp_senders = all
        .map(|(flow, tracker)| json_sender(flow, tracker))
        .collect();
    let csv = |out: &mut dyn Write| {
        csv::write_named_with_header("links", &shown.links, out)?;
        writeln!(out)?;
        csv::write_named_with_header("tcp_senders", &shown.tcp_senders, out)
    };
    Ok(format.print(out, &shown, csv, |_| Ok(()))?)
}

fn gather(file: &Path) -> Result<(Summary, Senders, Reader), Failure> {
    let mut summary = Summary::default();
    let mut senders = Senders::new(Options::default());
    let reader = read(file, |event| {
        summary.on_event(event);
        senders.on_event(event, |_, _| {});
    })?;
    check_flow_count(
        file,
        summary
            .events_of_omitted_flows()
            .max(senders.events_of_omitted_flows()),
    )?;
    warn_about_capture_point(file, &senders);
    Ok((summary, senders, reader))
}

fn tcp_senders(senders: &Senders) -> Vec<(&Flow, &Tracker)> {
    let is_sender = |(flow, _): &(&Flow, &Tracker)| senders.is_sender(flow);
    senders.flows().filter(is_sender).collect()
}

/// Returns the summary without the senders. There may be millions of them, of which only some are shown.
fn json_summary<'a>(file: &Path, summary: &'a Summary, reader: &Reader) -> JsonSummary<'a> {
    let links = summary.links.iter().map(|(&link, events)| JsonLink {
        link: reader.names().link(link),
        enqueued: events.enqueued,
        dropped: events.dropped,
    });
    JsonSummary {
        file: file.display().to_string(),
        trace_format: reader.format().to_string(),
        compressed: reader.is_compressed(),
        summary,
        flows: summary.flows(),
        links: links.collect(),
        tcp_senders: Vec::new(),
        malformed: reader.faults().count,
        skipped: reader.faults().skipped,
        truncated: reader.faults().truncated,
    }
}

fn json_sender(flow: &Flow, tracker: &Tracker) -> JsonSender {
    JsonSender {
        connection: flow.to_string(),
        sent_pkts: tracker.totals().sent_pkts,
        resent_pkts: tracker.totals().resent_pkts,
        acked_pkts: tracker.totals().acked_pkts,
        mean_rtt_s: tracker.totals().mean_rtt_s(),
        rtt_method: tracker.rtt_method().name(),
    }
}

fn print(
    shown: &JsonSummary<'_>,
    senders: &[(&Flow, &Tracker)],
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let summary = shown.summary;
    let compressed = if shown.compressed { ", gzip" } else { "" };
    writeln!(
        out,
        "{}{compressed}: {} events",
        shown.trace_format, summary.events
    )?;
    if let (Some(first_s), Some(last_s)) = (summary.first_s, summary.last_s) {
        let length = short(last_s - first_s);
        match summary.captured {
            0 => writeln!(
                out,
                "from {} s to {} s: {length} s",
                plain(first_s),
                plain(last_s)
            )?,
            _ => writeln!(out, "{length} s, from {first_s:.6} s after 1970 on")?,
        }
    }
    let kinds = [
        ("enqueued", summary.enqueued),
        ("dequeued", summary.dequeued),
        ("received", summary.received),
        ("dropped", summary.dropped),
        ("captured", summary.captured),
    ];
    let kinds = kinds.iter().filter(|(_, n)| *n > 0);
    let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} {kind}")).collect();
    writeln!(out, "packets: {}", kinds.join(", "))?;
    writeln!(
        out,
        "of TCP {}, of UDP {}, of others {}; {}",
        summary.tcp,
        summary.udp,
        summary.other,
        count(shown.flows, "flow"),
    )?;
    if shown.skipped > 0 {
        writeln!(out, "{} of other types, skipped", shown.skipped)?;
    }
    if !shown.links.is_empty() {
        writeln!(out)?;
        let mut links: Vec<&JsonLink> = shown.links.iter().collect();
        links.sort_by_key(|link| Reverse((link.dropped, link.enqueued)));
        Table::of(links)
            .text("link", |it| it.link.clone())
            .number("arrived pkt", |it| it.enqueued)
            .number("dropped pkt", |it| it.dropped)
            .number("dropped", |it| {
                percent(it.dropped as f64 / it.enqueued.max(1) as f64)
            })
            .print_top(top, "link", out)?;
    }
    if !senders.is_empty() {
        writeln!(out)?;
        Table::of(senders)
            .text("tcp sender", |(flow, _)| flow.to_string())
            .text("rtt by", |(_, it)| it.rtt_method().name())
            .number("sent pkt", |(_, it)| it.totals().sent_pkts)
            .number("resent pkt", |(_, it)| it.totals().resent_pkts)
            .number("acked pkt", |(_, it)| it.totals().acked_pkts)
            .number("rtt ms", |(_, it)| {
                format_or(it.totals().mean_rtt_s(), |rtt_s| short(rtt_s * 1e3), "?")
            })
            .print_top(top, "sender", out)?;
    }
    Ok(())
}
