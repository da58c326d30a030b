//! `netflow trace connections FILE…`

use std::io::Write;
use std::path::Path;

use clap::Args;
use netflow::results;
use netflow::trace::analysis::{ConnectionBin, ConnectionSeries, Connections};
use netflow::trace::sender::Options;
use netflow::trace::{NodeNames, Reader};
use serde::Serialize;

use super::summary::print_rest;
use super::{Files, SeriesFormat, complete, few_flows, read};
use crate::args::positive_time;
use crate::failure::Failure;
use crate::number::{percent, short};
use crate::table;

/// What every sender sent, what arrived, what was lost, and round-trip times
///
/// Where a trace does not show packets arrive (captures, traces of the first link), goodput is what
/// is acknowledged, and lost is what had to be sent again.
#[derive(Args)]
pub struct ConnectionsArguments {
    #[command(flatten)]
    files: Files,

    /// Length of the intervals
    #[arg(long, value_name = "TIME", default_value = "0.5 s", value_parser = positive_time)]
    every: f64,

    /// How many connections to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: SeriesFormat,
}

#[derive(Serialize)]
struct Shown<'a> {
    connection: String,
    flow_id: u32,
    whole_network: bool,
    rtt_method: Option<&'static str>,
    totals: &'a ConnectionBin,
    intervals: &'a [ConnectionBin],
}

pub fn connections(arguments: &ConnectionsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.format {
        SeriesFormat::Text => arguments.files.each(out, |file, out| {
            // Only totals are shown.
            let (series, reader) = gather(f64::INFINITY, file)?;
            print(&series, reader.names(), arguments.top, out)
        }),
        SeriesFormat::Csv => {
            let (series, reader) = gather(arguments.every, arguments.files.single("csv")?)?;
            let rows = ConnectionSeries::rows(&series, reader.names());
            Ok(results::write_csv(rows, out)?)
        }
        SeriesFormat::Json => {
            let (series, reader) = gather(arguments.every, arguments.files.single("json")?)?;
            let name = ConnectionSeries::namer(&series, reader.names());
            let shown: Vec<Shown<'_>> = series
                .iter()
                .map(|series| Shown {
                    connection: name(series),
                    flow_id: series.flow_id,
                    whole_network: series.whole_network,
                    rtt_method: series.rtt_method.map(|method| method.name()),
                    totals: &series.totals,
                    intervals: &series.bins,
                })
                .collect();
            Ok(crate::json::write(&shown, out)?)
        }
    }
}

fn gather(every_s: f64, file: &Path) -> Result<(Vec<ConnectionSeries>, Reader), Failure> {
    let mut connections = Connections::new(every_s, Options::default());
    let reader = read(file, |event| connections.on(event))?;
    few_flows(file, connections.flows_left_out())?;
    complete(connections.left_out(), every_s)?;
    Ok((connections.finish(), reader))
}

fn print(
    series: &[ConnectionSeries],
    names: &NodeNames,
    top: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut order: Vec<&ConnectionSeries> = series.iter().collect();
    order.sort_by_key(|series| std::cmp::Reverse(series.totals.sent_pkts));
    let name = ConnectionSeries::namer(series, names);
    let titles = [
        "connection",
        "rtt by",
        "sent pkt/s",
        "goodput pkt/s",
        "loss",
        "rtt ms",
        "sent pkt",
        "delivered pkt",
        "lost pkt",
    ];
    let mut rows = table::aligned(&titles, 2);
    for series in order.iter().take(top) {
        let totals = &series.totals;
        rows.add_row([
            name(series),
            series
                .rtt_method
                .map_or("", |method| method.name())
                .to_owned(),
            short(totals.sent_pkts as f64 / totals.length_s),
            short(totals.delivered_pkts as f64 / totals.length_s),
            percent(totals.loss_probability()),
            totals
                .rtt_s
                .map_or("?".to_owned(), |rtt_s| short(rtt_s * 1e3)),
            totals.sent_pkts.to_string(),
            totals.delivered_pkts.to_string(),
            totals.lost_pkts.to_string(),
        ]);
    }
    table::print(&rows, out)?;
    print_rest(order.len(), top, "connection", out)?;
    if order.iter().any(|series| !series.whole_network) {
        writeln!(
            out,
            " by the sender's view where no packet is seen to arrive: delivered is what was acknowledged, lost what was sent again"
        )?;
    }
    Ok(())
}
