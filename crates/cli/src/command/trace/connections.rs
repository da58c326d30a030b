//! The subcommand `netflow trace connections FILE…`.

use std::io::Write;
use std::path::Path;

use clap::Args;
use netflow::number::{percent, short};
use netflow::results;
use netflow::trace::analysis::{ConnectionSeries, Connections};
use netflow::trace::sender::Options;
use netflow::trace::{NodeNames, Reader};

use super::trace_files::{Files, check_flow_count, check_intervals, read};
use crate::failure::Failure;
use crate::output::format::Format;
use crate::output::json::object;
use crate::output::table::{Table, format_or};
use crate::parse::positive_time;

/// Print sent, delivered and lost packets and round-trip times of every sender
///
/// If a trace does not contain arrivals of packets (captures, traces of the first link), goodput is
/// the acknowledged data, and losses are the retransmitted packets.
#[derive(Args)]
pub struct ConnectionsArguments {
    #[command(flatten)]
    files: Files,

    /// Length of a recording interval
    #[arg(long, alias = "every", value_name = "TIME", default_value = "0.5 s", value_parser = positive_time)]
    interval: f64,
}

pub fn connections(arguments: &ConnectionsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let format = arguments.files.format;
    if format == Format::Text {
        return arguments.files.for_each(out, |file, out| {
            // Only totals are shown, so there is one interval.
            let (series, reader) = gather(f64::INFINITY, file)?;
            print(&series, reader.names(), arguments.files.top, out)
        });
    }
    let (series, reader) = gather(arguments.interval, arguments.files.single()?)?;
    let name = ConnectionSeries::unique_names(&series, reader.names());
    let shown = series.iter().map(|series| {
        object! {
            connection: name(series),
            flow_id: series.flow_id,
            whole_network: series.whole_network,
            rtt_method: series.rtt_method.map(|method| method.name()),
            totals: &series.totals,
            intervals: &series.bins,
        }
    });
    let shown: Vec<_> = shown.collect();
    let csv = |out: &mut dyn Write| {
        results::write_csv(ConnectionSeries::rows(&series, reader.names()), out)
    };
    Ok(format.print(out, &shown, csv, |_| Ok(()))?)
}

fn gather(every_s: f64, file: &Path) -> Result<(Vec<ConnectionSeries>, Reader), Failure> {
    let mut connections = Connections::new(every_s, Options::default());
    let reader = read(file, |event| connections.on_event(event))?;
    check_flow_count(file, connections.events_of_omitted_flows())?;
    check_intervals(connections.omitted_events(), every_s)?;
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
    let name = ConnectionSeries::unique_names(series, names);
    Table::of(&order)
        .text("connection", |it| name(it))
        .text("rtt by", |it| {
            it.rtt_method.map_or("", |method| method.name())
        })
        .number("sent pkt/s", |it| {
            short(it.totals.sent_pkts as f64 / it.totals.length_s)
        })
        .number("goodput pkt/s", |it| {
            short(it.totals.delivered_pkts as f64 / it.totals.length_s)
        })
        .number("loss", |it| percent(it.totals.loss_probability()))
        .number("rtt ms", |it| {
            format_or(it.totals.rtt_s, |rtt_s| short(rtt_s * 1e3), "?")
        })
        .number("sent pkt", |it| it.totals.sent_pkts)
        .number("delivered pkt", |it| it.totals.delivered_pkts)
        .number("lost pkt", |it| it.totals.lost_pkts)
        .print_top(top, "connection", out)?;
    if order.iter().any(|series| !series.whole_network) {
        writeln!(
            out,
            " as seen by the sender if the trace has no arrivals: delivered packets are acknowledged ones, lost packets are retransmitted ones"
        )?;
    }
    Ok(())
}
