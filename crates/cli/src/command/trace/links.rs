//! The subcommand `netflow trace links FILE…`.

use std::io::Write;
use std::path::Path;

use clap::Args;
use netflow::number::{percent, short};
use netflow::results;
use netflow::trace::analysis::{LinkSeries, LinkTraceInterval, Links, TraceTotals};
use netflow::trace::{NodeNames, Reader};
use serde::Serialize;

use super::trace_files::{Files, check_intervals, read};
use crate::failure::Failure;
use crate::output::format::Format;
use crate::output::table::{Table, format_or};
use crate::parse::{link_bandwidth, positive_time};

/// Print the queue of every link of an ns-2 trace: arrivals, losses, utilization
///
/// As in `links.csv`, a queue includes the packet in service. Its time in service follows from the
/// bandwidth of the link, which the trace does not contain. netflow estimates the bandwidth from
/// packets that leave a queue without a pause between them.
#[derive(Args)]
pub struct LinksArguments {
    #[command(flatten)]
    files: Files,

    /// Length of a recording interval
    #[arg(long, alias = "every", value_name = "TIME", default_value = "0.5 s", value_parser = positive_time)]
    interval: f64,

    /// Bandwidth of a link, such as `N5->N7=8 Mbit/s`; may be given several times
    #[arg(long, value_name = "LINK=RATE", value_parser = link_bandwidth)]
    bandwidth: Vec<(String, f64)>,
}

#[derive(Serialize)]
struct JsonLinks<'a> {
    link: String,
    #[serde(flatten)]
    totals: &'a TraceTotals,
    intervals: &'a [LinkTraceInterval],
}

pub fn links(arguments: &LinksArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let format = arguments.files.format;
    if format == Format::Text {
        return arguments.files.for_each(out, |file, out| {
            let (series, reader) = gather(arguments, file)?;
            print(&series, reader.names(), arguments.files.top, out)
        });
    }
    let (series, reader) = gather(arguments, arguments.files.single()?)?;
    let shown = series.iter().map(|series| JsonLinks {
        link: reader.names().link(series.link),
        totals: &series.totals,
        intervals: &series.bins,
    });
    let shown: Vec<JsonLinks<'_>> = shown.collect();
    let csv =
        |out: &mut dyn Write| results::write_csv(LinkSeries::rows(&series, reader.names()), out);
    Ok(format.print(out, &shown, csv, |_| Ok(()))?)
}

fn gather(arguments: &LinksArguments, file: &Path) -> Result<(Vec<LinkSeries>, Reader), Failure> {
    let mut links = Links::new(arguments.interval);
    let reader = read(file, |event| links.on_event(event))?;
    check_intervals(links.omitted_events(), arguments.interval)?;
    let names = reader.names();
    for (name, bps) in &arguments.bandwidth {
        let Some(link) = links.links().find(|&link| names.link(link) == *name) else {
            let known: Vec<String> = links.links().map(|link| names.link(link)).collect();
            return Err(Failure::Usage {
                message: format!("the trace has no link `{name}`"),
                help: Some(format!("links: {}", known.join(", "))),
            });
        };
        links.set_bandwidth(link, *bps);
    }
    let series = links.finish();
    if series.is_empty() {
        return Err(Failure::usage(format!(
            "{} contains no queues: only ns-2 traces have links",
            file.display()
        )));
    }
    Ok((series, reader))
}

fn print(
    series: &[LinkSeries],
    names: &NodeNames,
    top: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut order: Vec<&LinkSeries> = series.iter().collect();
    order.sort_by(|a, b| {
        let key = |s: &LinkSeries| {
            s.totals
                .mean_queue_pkts
                .unwrap_or(s.totals.mean_waiting_pkts)
        };
        key(b).total_cmp(&key(a))
    });
    let no_bandwidth = order.iter().any(|link| link.totals.bandwidth_bps.is_none());
    Table::of(order)
        .text("link", |it| names.link(it.link))
        .number("Mbit/s", |it| {
            format_or(it.totals.bandwidth_bps, |bps| short(bps / 1e6), "?")
        })
        .number("utilization", |it| {
            format_or(it.totals.utilization, percent, "?")
        })
        .number("mean queue pkt", |it| {
            format_or(it.totals.mean_queue_pkts, short, "?")
        })
        .number("max waiting pkt", |it| it.totals.max_waiting_pkts)
        .number("loss", |it| percent(it.totals.loss_probability))
        .number("arrived pkt", |it| it.totals.offered_pkts)
        .number("lost pkt", |it| it.totals.lost_pkts)
        .number("lost on link", |it| it.totals.lost_on_link_pkts)
        .number("departed pkt", |it| it.totals.departed_pkts)
        .print_top(top, "link", out)?;
    if no_bandwidth {
        writeln!(
            out,
            " ? unknown, because no packets left without a pause: give the bandwidth with --bandwidth LINK=RATE"
        )?;
    }
    Ok(())
}
