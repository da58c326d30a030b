//! `netflow trace links FILE…`

use std::io::Write;
use std::path::Path;

use clap::Args;
use netflow::results;
use netflow::trace::analysis::{LinkBin, LinkSeries, Links, TraceTotals};
use netflow::trace::{NodeNames, Reader};
use netflow::units::{BitsPerSecond, Rate};
use serde::Serialize;

use super::summary::print_rest;
use super::{Files, SeriesFormat, complete, read};
use crate::args::positive_time;
use crate::failure::Failure;
use crate::number::{percent, short};
use crate::table;

/// The queue of every link of an ns-2 trace: arrivals, losses, utilization
///
/// A queue counts the packet in service, as in `links.csv`: its time follows from the link's
/// bandwidth, which the trace does not hold; it is found out from packets that follow each other
/// without a pause.
#[derive(Args)]
pub struct LinksArguments {
    #[command(flatten)]
    files: Files,

    /// Length of the intervals
    #[arg(long, value_name = "TIME", default_value = "0.5 s", value_parser = positive_time)]
    every: f64,

    /// A link's bandwidth, such as `N5->N7=8 Mbit/s`; may be given several times
    #[arg(long, value_name = "LINK=RATE", value_parser = bandwidth)]
    bandwidth: Vec<(String, f64)>,

    /// How many links to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: SeriesFormat,
}

#[derive(Serialize)]
struct Shown<'a> {
    link: String,
    #[serde(flatten)]
    totals: &'a TraceTotals,
    intervals: &'a [LinkBin],
}

fn bandwidth(text: &str) -> Result<(String, f64), String> {
    let (link, rate) = text
        .rsplit_once('=')
        .ok_or("write LINK=RATE, such as N5->N7=8 Mbit/s")?;
    match rate.trim().parse::<Rate>() {
        Ok(Rate::BitsPerSecond(BitsPerSecond(bps))) if bps > 0.0 => {
            Ok((link.trim().to_owned(), bps))
        }
        Ok(_) => Err("the rate must be above 0 and in bit/s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub fn links(arguments: &LinksArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.format {
        SeriesFormat::Text => arguments.files.each(out, |file, out| {
            let (series, reader) = gather(arguments, file)?;
            print(&series, reader.names(), arguments.top, out)
        }),
        SeriesFormat::Csv => {
            let (series, reader) = gather(arguments, arguments.files.single("csv")?)?;
            let rows = LinkSeries::rows(&series, reader.names());
            Ok(results::write_csv(rows, out)?)
        }
        SeriesFormat::Json => {
            let (series, reader) = gather(arguments, arguments.files.single("json")?)?;
            let shown: Vec<Shown<'_>> = series
                .iter()
                .map(|series| Shown {
                    link: reader.names().link(series.link),
                    totals: &series.totals,
                    intervals: &series.bins,
                })
                .collect();
            Ok(crate::json::write(&shown, out)?)
        }
    }
}

fn gather(arguments: &LinksArguments, file: &Path) -> Result<(Vec<LinkSeries>, Reader), Failure> {
    let mut links = Links::new(arguments.every);
    let reader = read(file, |event| links.on(event))?;
    complete(links.left_out(), arguments.every)?;
    let names = reader.names();
    for (name, bps) in &arguments.bandwidth {
        let Some(link) = links.links().find(|&link| names.link(link) == *name) else {
            let known: Vec<String> = links.links().map(|link| names.link(link)).collect();
            return Err(Failure::Usage {
                message: format!("the trace has no link `{name}`"),
                help: Some(format!("links: {}", known.join(", "))),
            });
        };
        links.bandwidth(link, *bps);
    }
    let series = links.finish();
    if series.is_empty() {
        return Err(Failure::usage(format!(
            "{} shows no queues: only ns-2 traces have links",
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
    let mut rows = table::table(&[
        "link",
        "Mbit/s",
        "utilization",
        "mean queue pkt",
        "max waiting pkt",
        "loss",
        "arrived pkt",
        "lost pkt",
        "lost on link",
        "departed pkt",
    ]);
    let unknown = |value: Option<String>| value.unwrap_or_else(|| "?".to_owned());
    for link in order.iter().take(top) {
        let totals = &link.totals;
        rows.add_row([
            names.link(link.link),
            unknown(totals.bandwidth_bps.map(|bps| short(bps / 1e6))),
            unknown(totals.utilization.map(percent)),
            unknown(totals.mean_queue_pkts.map(short)),
            totals.max_waiting_pkts.to_string(),
            percent(totals.loss_probability),
            totals.offered_pkts.to_string(),
            totals.lost_pkts.to_string(),
            totals.lost_on_link_pkts.to_string(),
            totals.departed_pkts.to_string(),
        ]);
    }
    table::print(&rows, out)?;
    print_rest(order.len(), top, "link", out)?;
    if order.iter().any(|link| link.totals.bandwidth_bps.is_none()) {
        writeln!(
            out,
            " ? no packets followed each other there: give the bandwidth with --bandwidth LINK=RATE"
        )?;
    }
    Ok(())
}
