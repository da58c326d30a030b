//! `netflow trace summary FILE…`

use std::cmp::Reverse;
use std::io::Write;
use std::path::Path;

use clap::Args;
use netflow::trace::analysis::Summary;
use netflow::trace::sender::{Flow, Options, Senders, Tracker};
use netflow::trace::{NodeNames, Reader};
use serde::Serialize;

use super::{Files, read};
use crate::args::ReportFormat;
use crate::failure::Failure;
use crate::number::{count, percent, plain, short};
use crate::table;

/// What is in a trace
#[derive(Args)]
pub struct SummaryArguments {
    #[command(flatten)]
    files: Files,

    /// How many links and connections to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

#[derive(Serialize)]
struct Shown<'a> {
    file: String,
    trace_format: String,
    compressed: bool,
    #[serde(flatten)]
    summary: &'a Summary,
    flows: usize,
    links: Vec<ShownLink>,
    tcp_senders: Vec<ShownSender>,
    malformed: u64,
    skipped: u64,
    truncated: bool,
}

#[derive(Serialize)]
struct ShownLink {
    link: String,
    enqueued: u64,
    dropped: u64,
}

#[derive(Serialize)]
struct ShownSender {
    connection: String,
    sent_pkts: u64,
    resent_pkts: u64,
    acked_pkts: u64,
    mean_rtt_s: Option<f64>,
    rtt_method: &'static str,
}

pub fn summary(arguments: &SummaryArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.format {
        ReportFormat::Json => {
            let file = arguments.files.single("json")?;
            let (summary, senders, reader) = gather(file)?;
            let shown = shown(file, &summary, &tcp_senders(&senders), &reader);
            Ok(crate::json::write(&shown, out)?)
        }
        ReportFormat::Text => arguments.files.each(out, |file, out| {
            let (summary, senders, reader) = gather(file)?;
            let mut senders = tcp_senders(&senders);
            senders.sort_by_key(|(_, tracker)| Reverse(tracker.totals().sent_pkts));
            // Of millions of them, only those that are shown get a name.
            let first = senders.get(..arguments.top).unwrap_or(&senders);
            let shown = shown(file, &summary, first, &reader);
            print(&shown, senders.len(), arguments.top, out)
        }),
    }
}

fn gather(file: &Path) -> Result<(Summary, Senders, Reader), Failure> {
    let mut summary = Summary::default();
    let mut senders = Senders::new(Options::default());
    let reader = read(file, |event| {
        summary.on(event);
        senders.on(event, |_, _| {});
    })?;
    super::few_flows(file, summary.flows_left_out().max(senders.flows_left_out()))?;
    super::warn_of_vantage(file, &senders);
    Ok((summary, senders, reader))
}

fn tcp_senders(senders: &Senders) -> Vec<(&Flow, &Tracker)> {
    let is_sender = |(flow, _): &(&Flow, &Tracker)| senders.is_sender(flow);
    senders.flows().filter(is_sender).collect()
}

fn shown<'a>(
    file: &Path,
    summary: &'a Summary,
    senders: &[(&Flow, &Tracker)],
    reader: &Reader,
) -> Shown<'a> {
    let names: &NodeNames = reader.names();
    let links = summary.links.iter().map(|(&link, events)| ShownLink {
        link: names.link(link),
        enqueued: events.enqueued,
        dropped: events.dropped,
    });
    let tcp_senders = senders.iter().map(|(flow, tracker)| ShownSender {
        connection: flow.to_string(),
        sent_pkts: tracker.totals().sent_pkts,
        resent_pkts: tracker.totals().resent_pkts,
        acked_pkts: tracker.totals().acked_pkts,
        mean_rtt_s: tracker.totals().mean_rtt_s(),
        rtt_method: tracker.rtt_method().name(),
    });
    Shown {
        file: file.display().to_string(),
        trace_format: reader.format().to_string(),
        compressed: reader.is_compressed(),
        summary,
        flows: summary.flows(),
        links: links.collect(),
        tcp_senders: tcp_senders.collect(),
        malformed: reader.faults().count,
        skipped: reader.faults().skipped,
        truncated: reader.faults().truncated,
    }
}

fn print(
    shown: &Shown<'_>,
    senders: usize,
    top: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
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
        writeln!(out, "{} of kinds that say nothing here", shown.skipped)?;
    }
    if !shown.links.is_empty() {
        writeln!(out)?;
        let mut links: Vec<&ShownLink> = shown.links.iter().collect();
        links.sort_by_key(|link| Reverse((link.dropped, link.enqueued)));
        let mut rows = table::table(&["link", "arrived pkt", "dropped pkt", "dropped"]);
        for link in links.iter().take(top) {
            rows.add_row([
                link.link.clone(),
                link.enqueued.to_string(),
                link.dropped.to_string(),
                percent(link.dropped as f64 / link.enqueued.max(1) as f64),
            ]);
        }
        table::print(&rows, out)?;
        print_rest(links.len(), top, "link", out)?;
    }
    if senders > 0 {
        writeln!(out)?;
        let titles = [
            "tcp sender",
            "rtt by",
            "sent pkt",
            "resent pkt",
            "acked pkt",
            "rtt ms",
        ];
        let mut rows = table::aligned(&titles, 2);
        for sender in &shown.tcp_senders {
            let rtt = sender
                .mean_rtt_s
                .map_or("?".to_owned(), |rtt_s| short(rtt_s * 1e3));
            rows.add_row([
                sender.connection.clone(),
                sender.rtt_method.to_owned(),
                sender.sent_pkts.to_string(),
                sender.resent_pkts.to_string(),
                sender.acked_pkts.to_string(),
                rtt,
            ]);
        }
        table::print(&rows, out)?;
        print_rest(senders, top, "sender", out)?;
    }
    Ok(())
}

/// Says how many rows a table does not show.
pub fn print_rest(
    all: usize,
    shown: usize,
    noun: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if all > shown {
        writeln!(
            out,
            " … and {} more; --top {all} shows all",
            count(all - shown, noun)
        )?;
    }
    Ok(())
}
