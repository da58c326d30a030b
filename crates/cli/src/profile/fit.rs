//! `netflow profile fit TRACE…`

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use netflow::profile::fit::{
    Cell, Cluster, Fit, FlowSamples, Method, Names, Origin, Residual, Side, Slice, Status,
    diagnose, fit as fit_samples, residuals,
};
use netflow::profile::to_toml;
use netflow::results::write_whole;
use serde::Serialize;

use crate::args::ReportFormat;
use crate::failure::Failure;
use crate::number::{count, percent, plain, short};
use crate::trace::samples::{Sampling, of_files};
use crate::{json, table};

/// Fit a profile to packet traces of a sender
///
/// Best is one trace for each setting of the network, with steady loss and round-trip time and
/// some hundred losses each. The profile file that -o writes is a `source` for scenarios.
#[derive(Args)]
pub struct FitArguments {
    /// Traces (ns-2, pcap, pcapng) made at the sender, or samples that `netflow trace samples`
    /// printed into a file named *.csv
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,

    /// How samples become a surface
    #[arg(long, value_enum, default_value_t)]
    method: MethodArgument,

    #[command(flatten)]
    sampling: Sampling,

    /// What the profile is called
    #[arg(long, default_value = "fitted")]
    name: String,

    /// Write the profile into this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write every sample with what the profile says at its place into this CSV file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    residuals: Option<PathBuf>,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum MethodArgument {
    /// The rate of a long transfer over the loss probability, on a grid
    #[default]
    LongRun,
    /// As Popescu & Shankar did: means of samples by cells of 0.01 × 10 ms, a line for every loss
    Paper,
}

pub fn fit(arguments: &FitArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let flows = of_files(&arguments.traces, &arguments.sampling)?;
    let (method, how) = match arguments.method {
        MethodArgument::LongRun => (Method::LongRun, "long-run rate"),
        MethodArgument::Paper => (Method::Paper, "means of samples"),
    };
    let samples: usize = flows.iter().map(|flow| flow.samples.len()).sum();
    let names = Names {
        name: &arguments.name,
        description: &format!(
            "{how}, fitted to {} of {}",
            count(samples, "sample"),
            count(flows.len(), "flow")
        ),
    };
    let fit =
        fit_samples(&flows, method, &names).map_err(|error| Failure::usage(error.to_string()))?;
    // There always is one: a grid, or the paper's power law.
    let Some(profile) = fit.profile() else {
        return Err(Failure::Evaluation("the fit has no surface".to_owned()));
    };
    let residuals = residuals(&flows, &fit.conditions, profile);
    let clusters = diagnose(&residuals);
    if let (Some(path), Some(text)) = (&arguments.output, to_toml(profile)) {
        write_whole(path, text.as_bytes())?;
    }
    if let Some(path) = &arguments.residuals {
        let text = residual_lines(&flows, &residuals).map_err(io::Error::other)?;
        write_whole(path, &text)?;
    }
    match arguments.format {
        ReportFormat::Json => json::write(&JsonFit::new(&flows, &fit, &clusters), out)?,
        ReportFormat::Text => {
            print(&flows, &fit, &names, out)?;
            print_clusters(&flows, &clusters, out)?;
        }
    }
    Ok(())
}

fn print(
    flows: &[FlowSamples],
    fit: &Fit,
    names: &Names<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}: {}", names.name, names.description)?;
    let mut methods: Vec<&str> = flows.iter().map(|flow| flow.rtt_method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    writeln!(out, "round-trip times by {}", methods.join(", "))?;
    print_conditions(flows, fit, out)?;
    match fit.method {
        Method::LongRun => print_cells(&fit.cells, out)?,
        Method::Paper => {}
    }
    print_slices(&fit.slices, out)?;
    if let Some(error) = fit.interpolation_error {
        writeln!(
            out,
            "\na cell that is left out and interpolated is met within {} (r.m.s.)",
            percent(error)
        )?;
    }
    match fit.dropped_cells {
        0 => Ok(()),
        cells => writeln!(
            out,
            "\n{} measured but not in the grid, which would have holes there",
            count(cells, "cell")
        ),
    }
}

/// Only what is not simply used.
fn print_conditions(flows: &[FlowSamples], fit: &Fit, out: &mut dyn Write) -> io::Result<()> {
    if fit.method == Method::Paper {
        return Ok(());
    }
    let of = |status: Status| fit.conditions.iter().filter(move |c| c.status == status);
    writeln!(
        out,
        "{} of steady loss and round-trip time: {} used, {} left out as outliers, {} without loss",
        count(fit.conditions.len(), "period"),
        of(Status::Used).count(),
        of(Status::Outlier).count(),
        of(Status::Lossless).count(),
    )?;
    for outlier in of(Status::Outlier) {
        let flow = &flows[outlier.flow];
        writeln!(
            out,
            "outlier: {} {}: loss {}, rtt {} ms, {} pkt/s",
            flow.trace,
            flow.flow,
            percent(outlier.loss()),
            short(1e3 * outlier.rtt_s),
            short(outlier.throughput_pps()),
        )?;
    }
    Ok(())
}

/// A line for every loss; ± is the standard error in percent.
pub fn print_cells(cells: &[Cell], out: &mut dyn Write) -> io::Result<()> {
    let columns = cells
        .iter()
        .take_while(|cell| cells.first().is_some_and(|first| first.loss == cell.loss))
        .count();
    let titles: Vec<String> = std::iter::once("loss \\ rtt".to_owned())
        .chain(
            cells
                .iter()
                .take(columns)
                .map(|cell| format!("{} ms", short(1e3 * cell.rtt_s))),
        )
        .collect();
    let mut table = table::table(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for row in cells.chunks(columns.max(1)) {
        let shown = row.iter().map(|cell| {
            let mark = match cell.origin {
                Origin::Measured => "",
                Origin::Filled => "*",
            };
            let error = match cell.relative_error {
                Some(error) => format!(" ±{:.1}", 100.0 * error),
                None => String::new(),
            };
            format!("{}{error}{mark}", short(cell.throughput_pps))
        });
        let loss = row.first().map(|cell| percent(cell.loss));
        table.add_row(loss.into_iter().chain(shown));
    }
    let filled = cells.iter().any(|cell| cell.origin == Origin::Filled);
    writeln!(
        out,
        "\n throughput in pkt/s ± standard error in %{}",
        if filled {
            " (* filled from its neighbours)"
        } else {
            ""
        }
    )?;
    table::print(&table, out)
}

pub fn print_slices(slices: &[Slice], out: &mut dyn Write) -> io::Result<()> {
    if slices.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n F = B·rtt^-A in packets/ms, rtt in ms")?;
    let mut table = table::table(&["loss", "A", "B", "cells", "r²"]);
    for slice in slices {
        table.add_row([
            percent(slice.loss),
            format!("{:.3}", slice.a),
            short(slice.b),
            plain(slice.cells as f64),
            slice
                .r_squared
                .map_or("-".to_owned(), |it| format!("{it:.3}")),
        ]);
    }
    table::print(&table, out)
}

/// Clusters that are told; the rest are counted.
const CLUSTERS: usize = 12;

/// What stands together far off the surface.
pub fn print_clusters(
    flows: &[FlowSamples],
    clusters: &[Cluster],
    out: &mut dyn Write,
) -> io::Result<()> {
    if clusters.is_empty() {
        return writeln!(out, "\nno samples together far off the surface");
    }
    writeln!(out, "\n samples together far off the surface")?;
    let titles = [
        "trace",
        "flow",
        "",
        "from s",
        "to s",
        "samples",
        "× surface",
        "loss",
        "rtt ms",
    ];
    let mut table = table::aligned(&titles, 3);
    for cluster in clusters.iter().take(CLUSTERS) {
        let flow = &flows[cluster.flow];
        let side = match cluster.side {
            Side::Slow => "slow",
            Side::Fast => "fast",
        };
        table.add_row([
            flow.trace.clone(),
            flow.flow.clone(),
            format!("{side}{}", if cluster.startup { ", start-up" } else { "" }),
            short(cluster.time_s.0),
            short(cluster.time_s.1),
            plain(cluster.samples as f64),
            short(cluster.factor),
            percent(cluster.loss),
            short(1e3 * cluster.rtt_s),
        ]);
    }
    table::print(&table, out)?;
    match clusters.len().saturating_sub(CLUSTERS) {
        0 => Ok(()),
        rest => writeln!(out, " … and {rest} more"),
    }
}

#[derive(Serialize)]
struct ResidualLine<'a> {
    trace: &'a str,
    flow: &'a str,
    time_s: f64,
    loss: f64,
    rtt_s: f64,
    throughput_pps: f64,
    fitted_pps: f64,
    factor: f64,
    startup: bool,
}

fn residual_lines(flows: &[FlowSamples], residuals: &[Residual]) -> Result<Vec<u8>, csv::Error> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    for residual in residuals {
        let flow = &flows[residual.flow];
        lines.serialize(ResidualLine {
            trace: &flow.trace,
            flow: &flow.flow,
            time_s: residual.time_s,
            loss: residual.loss,
            rtt_s: residual.rtt_s,
            throughput_pps: residual.throughput_pps,
            fitted_pps: residual.fitted_pps,
            factor: residual.factor(),
            startup: !residual.settled,
        })?;
    }
    lines
        .into_inner()
        .map_err(|error| error.into_error().into())
}

#[derive(Serialize)]
struct JsonFit<'a> {
    method: &'static str,
    flows: Vec<JsonFlow<'a>>,
    conditions: Vec<JsonCondition<'a>>,
    cells: Vec<JsonCell>,
    slices: Vec<JsonSlice>,
    interpolation_error: Option<f64>,
    dropped_cells: usize,
    clusters: Vec<JsonCluster<'a>>,
}

#[derive(Serialize)]
struct JsonFlow<'a> {
    trace: &'a str,
    flow: &'a str,
    samples: usize,
    rtt_method: &'a str,
}

#[derive(Serialize)]
struct JsonCondition<'a> {
    trace: &'a str,
    flow: &'a str,
    status: &'static str,
    samples: usize,
    packets: f64,
    lost: f64,
    loss: f64,
    rtt_s: f64,
    throughput_pps: f64,
}

#[derive(Serialize)]
struct JsonCell {
    loss: f64,
    rtt_s: f64,
    throughput_pps: f64,
    relative_error: Option<f64>,
    samples: usize,
    filled: bool,
}

#[derive(Serialize)]
struct JsonSlice {
    loss: f64,
    a: f64,
    b: f64,
    cells: usize,
    r_squared: Option<f64>,
}

/// A cluster as other programs read it.
#[derive(Serialize)]
pub struct JsonCluster<'a> {
    trace: &'a str,
    flow: &'a str,
    side: &'static str,
    from_s: f64,
    to_s: f64,
    samples: usize,
    factor: f64,
    loss: f64,
    rtt_s: f64,
    startup: bool,
}

impl<'a> JsonCluster<'a> {
    pub fn new(flows: &'a [FlowSamples], cluster: &Cluster) -> JsonCluster<'a> {
        let flow = &flows[cluster.flow];
        JsonCluster {
            trace: &flow.trace,
            flow: &flow.flow,
            side: match cluster.side {
                Side::Slow => "slow",
                Side::Fast => "fast",
            },
            from_s: cluster.time_s.0,
            to_s: cluster.time_s.1,
            samples: cluster.samples,
            factor: cluster.factor,
            loss: cluster.loss,
            rtt_s: cluster.rtt_s,
            startup: cluster.startup,
        }
    }
}

impl<'a> JsonFit<'a> {
    fn new(flows: &'a [FlowSamples], fit: &Fit, clusters: &[Cluster]) -> JsonFit<'a> {
        let flow = |flow: &'a FlowSamples| JsonFlow {
            trace: &flow.trace,
            flow: &flow.flow,
            samples: flow.samples.len(),
            rtt_method: &flow.rtt_method,
        };
        let conditions = fit.conditions.iter().map(|condition| JsonCondition {
            trace: &flows[condition.flow].trace,
            flow: &flows[condition.flow].flow,
            status: match condition.status {
                Status::Used => "used",
                Status::Lossless => "lossless",
                Status::Outlier => "outlier",
            },
            samples: condition.samples.len(),
            packets: condition.pkts,
            lost: condition.lost_pkts,
            loss: condition.loss(),
            rtt_s: condition.rtt_s,
            throughput_pps: condition.throughput_pps(),
        });
        let cell = |cell: &Cell| JsonCell {
            loss: cell.loss,
            rtt_s: cell.rtt_s,
            throughput_pps: cell.throughput_pps,
            relative_error: cell.relative_error,
            samples: cell.samples,
            filled: cell.origin == Origin::Filled,
        };
        let slice = |slice: &Slice| JsonSlice {
            loss: slice.loss,
            a: slice.a,
            b: slice.b,
            cells: slice.cells,
            r_squared: slice.r_squared,
        };
        JsonFit {
            method: match fit.method {
                Method::LongRun => "long-run",
                Method::Paper => "paper",
            },
            flows: flows.iter().map(flow).collect(),
            conditions: conditions.collect(),
            cells: fit.cells.iter().map(cell).collect(),
            slices: fit.slices.iter().map(slice).collect(),
            interpolation_error: fit.interpolation_error,
            dropped_cells: fit.dropped_cells,
            clusters: clusters
                .iter()
                .map(|cluster| JsonCluster::new(flows, cluster))
                .collect(),
        }
    }
}
