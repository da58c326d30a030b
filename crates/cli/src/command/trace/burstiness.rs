//! The subcommand `netflow trace burstiness FILE…`.

use std::io::Write;
use std::path::Path;

use clap::Args;
use netflow::number::{plain, short};
use netflow::trace::NodeNames;
use netflow::trace::analysis::{Burstiness, IntervalVariation};
use serde::Serialize;

use super::trace_files::{Files, check_intervals, read};
use crate::failure::Failure;
use crate::output::csv;
use crate::output::format::Format;
use crate::output::table::Table;
use crate::parse::{positive_time, time_from_zero};

/// Compute the burstiness of packet arrivals at links
///
/// Prints the coefficient of variation (standard deviation / mean) of the number of arrivals in an
/// interval, and its value for Poisson arrivals with the same mean. Packets that a queue drops
/// count as arrivals.
#[derive(Args)]
pub struct BurstinessArguments {
    #[command(flatten)]
    files: Files,

    /// Length of the intervals
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = positive_time)]
    interval: f64,

    /// Restrict the output to this link, such as `N5->N7`
    #[arg(long, value_name = "LINK")]
    link: Option<String>,

    /// Start of the analysed period
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = time_from_zero)]
    from: f64,

    /// End of the analysed period
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    until: Option<f64>,
}

#[derive(Default, Serialize)]
struct JsonBurstiness {
    file: String,
    link: Option<String>,
    interval_s: f64,
    #[serde(flatten)]
    spread: IntervalVariation,
}

pub fn burstiness(arguments: &BurstinessArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.until.is_some_and(|until| until <= arguments.from) {
        return Err(Failure::usage("--until must be later than --from"));
    }
    if arguments.files.format == Format::Text {
        return arguments.files.for_each(out, |file, out| {
            print(&gather(arguments, file)?, arguments, out)
        });
    }
    let rows = gather_all(arguments)?;
    let csv = |out: &mut dyn Write| csv::write_with_header(&rows, out);
    Ok(arguments.files.format.print(out, &rows, csv, |_| Ok(()))?)
}

fn gather_all(arguments: &BurstinessArguments) -> Result<Vec<JsonBurstiness>, Failure> {
    let mut rows = Vec::new();
    for file in &arguments.files.files {
        rows.extend(gather(arguments, file)?);
    }
    Ok(rows)
}

fn gather(arguments: &BurstinessArguments, file: &Path) -> Result<Vec<JsonBurstiness>, Failure> {
    let mut counting = Burstiness::new(arguments.interval, arguments.from, arguments.until);
    let reader = read(file, |event| counting.on_event(event))?;
    check_intervals(counting.omitted_events(), arguments.interval)?;
    let names: &NodeNames = reader.names();
    let spreads = counting.finish().into_iter();
    let rows = spreads.map(|spread| JsonBurstiness {
        file: file.display().to_string(),
        link: spread.link.map(|link| names.link(link)),
        interval_s: arguments.interval,
        spread,
    });
    let mut rows: Vec<JsonBurstiness> = rows.collect();
    if let Some(wanted) = &arguments.link {
        let known: Vec<String> = rows.iter().filter_map(|row| row.link.clone()).collect();
        rows.retain(|row| row.link.as_ref() == Some(wanted));
        if rows.is_empty() {
            return Err(Failure::Usage {
                message: format!("no packets arrive at link `{wanted}` in this period"),
                help: Some(format!("links: {}", known.join(", "))),
            });
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.spread.packets));
    Ok(rows)
}

fn print(
    rows: &[JsonBurstiness],
    arguments: &BurstinessArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(out, "packets in {} ms:", plain(arguments.interval * 1e3))?;
    Table::of(rows)
        .text("link", |it| {
            it.link.clone().unwrap_or_else(|| "all captured".to_owned())
        })
        .number("mean", |it| short(it.spread.mean))
        .number("c.o.v.", |it| short(it.spread.cov))
        .number("Poisson", |it| short(it.spread.poisson_cov))
        .number("ratio", |it| short(it.spread.cov / it.spread.poisson_cov))
        .number("intervals", |it| it.spread.intervals)
        .print_top(arguments.files.top, "link", out)?;
    Ok(())
}
