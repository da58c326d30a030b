//! The subcommand `netflow profile fit TRACE…`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use netflow::number::{count, percent, plain, short};
use netflow::profile::fit::{
    CellOrigin, Cluster, Condition, ConditionStatus, Fit, FitCell, FlowSamples, Method,
    ProfileLabel, Residual, ResidualSign, Slice, diagnose, fit as fit_samples, residuals,
};
use netflow::profile::to_toml;
use netflow::traces::fit_description;
use serde::Serialize;

use super::write_profile;
use crate::command::trace::samples::{Sampling, samples_of_files};
use crate::failure::Failure;
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::output::table::{Table, by_loss_and_rtt, format_or};
use crate::output::{csv, file};
use crate::parse::name_of;

/// Fit a profile to packet traces of a sender
///
/// Use one trace for each setting of the network, with a steady loss rate and round-trip time and
/// several hundred losses. Scenarios can use the profile file of -o as a `source`.
#[derive(Args)]
pub struct FitArguments {
    /// Traces (ns-2, pcap, pcapng) captured at the sender, or tables of samples named *.csv,
    /// printed by `netflow trace samples`
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,

    /// Fitting method
    #[arg(long, value_enum, default_value_t)]
    method: MethodArgument,

    #[command(flatten)]
    sampling: Sampling,

    /// Name of the profile
    #[arg(long, default_value = "fitted")]
    name: String,

    /// Write the profile to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write every sample with the throughput of the profile to this CSV file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    residuals: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum MethodArgument {
    /// Rate of a long transfer over the loss probability, on a grid
    #[default]
    LongRun,
    /// Method of Popescu & Shankar: means of samples in cells of 0.01 × 10 ms, one line for each
    /// loss
    Paper,
}

pub fn fit(arguments: &FitArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        write_profile::check_overwrite_profile(path)?;
    }
    if let Some(path) = &arguments.residuals {
        file::check_extension(path, "a table of samples", &["csv"])?;
    }
    let flows = samples_of_files(&arguments.traces, &arguments.sampling)?;
    let method = match arguments.method {
        MethodArgument::LongRun => Method::LongRun,
        MethodArgument::Paper => Method::Paper,
    };
    let names = ProfileLabel {
        name: &arguments.name,
        description: &fit_description(&flows, method),
    };
    let fit =
        fit_samples(&flows, method, &names).map_err(|error| Failure::usage(error.to_string()))?;
    // Both methods yield a profile: a grid, or the power law of the paper.
    let Some(profile) = fit.profile() else {
        return Err(Failure::Evaluation("the fit has no surface".to_owned()));
    };
    let residuals = residuals(&flows, &fit.conditions, profile);
    let clusters = diagnose(&residuals);
    if let (Some(path), Some(text)) = (&arguments.output, to_toml(profile)) {
        write_profile::write(path, &text)?;
    }
    if let Some(path) = &arguments.residuals {
        let mut text = Vec::new();
        let lines = residuals.iter().map(|it| residual_line(&flows, it));
        csv::write(lines, &mut text)?;
        file::table(path, &String::from_utf8_lossy(&text))?;
    }
    let clusters = clusters.iter().map(|it| JsonCluster::new(&flows, it));
    let clusters: Vec<JsonCluster<'_>> = clusters.collect();
    let (conditions, cells, slices) = (conditions(&flows, &fit), cells(&fit), slices(&fit));
    let flow = |flow: &FlowSamples| {
        object! {
            trace: flow.trace.clone(),
            flow: flow.flow.clone(),
            samples: flow.samples.len(),
            rtt_method: flow.rtt_method.clone(),
        }
    };
    let answer = object! {
        method: name_of(&arguments.method),
        flows: flows.iter().map(flow).collect::<Vec<_>>(),
        conditions: &conditions,
        cells: &cells,
        slices: &slices,
        interpolation_error: fit.interpolation_error,
        dropped_cells: fit.dropped_cells,
        clusters: &clusters,
    };
    let tables = |out: &mut dyn Write| {
        csv::write_named("conditions", &conditions, out)?;
        writeln!(out)?;
        csv::write_named("cells", &cells, out)?;
        writeln!(out)?;
        csv::write_named_with_header("slices", &slices, out)?;
        writeln!(out)?;
        csv::write_named_with_header("clusters", &clusters, out)
    };
    let text = |out: &mut dyn Write| {
        print(&flows, &fit, &names, out)?;
        print_clusters(&clusters, out)
    };
    Ok(arguments.format.print(out, &answer, tables, text)?)
}

fn print(
    flows: &[FlowSamples],
    fit: &Fit,
    names: &ProfileLabel<'_>,
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
            "\ncross-validation: r.m.s. error of interpolated cells {}",
            percent(error)
        )?;
    }
    match fit.dropped_cells {
        0 => Ok(()),
        cells => writeln!(
            out,
            "\n{} measured but left out, because the grid would be incomplete",
            count(cells, "cell")
        ),
    }
}

/// Prints only the conditions that are not used as they are.
fn print_conditions(flows: &[FlowSamples], fit: &Fit, out: &mut dyn Write) -> io::Result<()> {
    if fit.method == Method::Paper {
        return Ok(());
    }
    let of = |status: ConditionStatus| fit.conditions.iter().filter(move |c| c.status == status);
    writeln!(
        out,
        "{} with steady loss and round-trip time: {} used, {} left out as outliers, {} without loss",
        count(fit.conditions.len(), "period"),
        of(ConditionStatus::Used).count(),
        of(ConditionStatus::Outlier).count(),
        of(ConditionStatus::Lossless).count(),
    )?;
    for outlier in of(ConditionStatus::Outlier) {
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

/// Prints a line for every loss. ± is the standard error in percent.
pub fn print_cells(cells: &[FitCell], out: &mut dyn Write) -> io::Result<()> {
    let columns = cells
        .iter()
        .take_while(|cell| cells.first().is_some_and(|first| first.loss == cell.loss))
        .count();
    let filled = cells.iter().any(|cell| cell.origin == CellOrigin::Filled);
    writeln!(
        out,
        "\n throughput in pkt/s ± standard error in %{}",
        if filled {
            " (* interpolated from neighbours)"
        } else {
            ""
        }
    )?;
    let losses = cells.iter().step_by(columns.max(1));
    let losses = losses.map(|cell| percent(cell.loss));
    let rtts = cells.iter().take(columns);
    let rtts = rtts.map(|cell| format!("{} ms", short(1e3 * cell.rtt_s)));
    let shown = |row: usize, column: usize| {
        let Some(cell) = cells.get(row * columns + column) else {
            return String::new();
        };
        let mark = match cell.origin {
            CellOrigin::Measured => "",
            CellOrigin::Filled => "*",
        };
        let error = format_or(
            cell.relative_error,
            |error| format!(" ±{:.1}", 100.0 * error),
            "",
        );
        format!("{}{error}{mark}", short(cell.throughput_pps))
    };
    by_loss_and_rtt(losses.collect(), rtts.collect(), shown, out)
}

pub fn print_slices(slices: &[Slice], out: &mut dyn Write) -> io::Result<()> {
    if slices.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n F = B·rtt^-A in packets/ms, rtt in ms")?;
    Table::of(slices)
        .text("loss", |it| percent(it.loss))
        .number("A", |it| format!("{:.3}", it.a))
        .number("B", |it| short(it.b))
        .number("cells", |it| plain(it.cells as f64))
        .number("r²", |it| {
            format_or(it.r_squared, |it| format!("{it:.3}"), "-")
        })
        .print(out)
}

/// Maximum number of printed clusters; the others are only counted.
const MAX_PRINTED_CLUSTERS: usize = 12;

/// Prints clusters of samples that deviate from the surface.
pub fn print_clusters(clusters: &[JsonCluster<'_>], out: &mut dyn Write) -> io::Result<()> {
    if clusters.is_empty() {
        return writeln!(out, "\nno clusters of samples far from the surface");
    }
    writeln!(out, "\n clusters of samples far from the surface")?;
    // Captures have times since 1970.
    let first_s = (clusters.iter().map(|it| it.from_s)).fold(f64::INFINITY, f64::min);
    let since_s = if first_s > 1e6 { first_s.floor() } else { 0.0 };
    Table::of(clusters.iter().take(MAX_PRINTED_CLUSTERS))
        .text("trace", |it| it.trace)
        .text("flow", |it| it.flow)
        .text("", |it| {
            let side = it.side;
            format!("{side}{}", if it.startup { ", start-up" } else { "" })
        })
        .number("from s", |it| short(it.from_s - since_s))
        .number("to s", |it| short(it.to_s - since_s))
        .number("samples", |it| plain(it.samples as f64))
        .number("× surface", |it| short(it.factor))
        .number("loss", |it| percent(it.loss))
        .number("rtt ms", |it| short(1e3 * it.rtt_s))
        .print(out)?;
    match clusters.len().saturating_sub(MAX_PRINTED_CLUSTERS) {
        0 => {}
        rest => writeln!(out, " … and {rest} more")?,
    }
    if since_s > 0.0 {
        writeln!(
            out,
            " times in seconds after {since_s} on the clock of the captures"
        )
    } else {
        Ok(())
    }
}

fn residual_line<'a>(flows: &'a [FlowSamples], residual: &Residual) -> impl Serialize + 'a {
    let flow = &flows[residual.flow];
    object! {
        trace: &flow.trace,
        flow: &flow.flow,
        time_s: residual.time_s,
        loss: residual.loss,
        rtt_s: residual.rtt_s,
        throughput_pps: residual.throughput_pps,
        fitted_pps: residual.fitted_pps,
        factor: residual.factor(),
        startup: !residual.is_after_startup,
    }
}

/// A cluster in JSON.
#[derive(Default, Serialize)]
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
            side: match cluster.sign {
                ResidualSign::Slow => "slow",
                ResidualSign::Fast => "fast",
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

fn conditions<'a>(flows: &'a [FlowSamples], fit: &'a Fit) -> Vec<impl Serialize + 'a> {
    let condition = |it: &'a Condition| {
        object! {
            trace: &flows[it.flow].trace,
            flow: &flows[it.flow].flow,
            status: match it.status {
                ConditionStatus::Used => "used",
                ConditionStatus::Lossless => "lossless",
                ConditionStatus::Outlier => "outlier",
            },
            samples: it.samples.len(),
            packets: it.pkts,
            lost: it.lost_pkts,
            loss: it.loss(),
            rtt_s: it.rtt_s,
            throughput_pps: it.throughput_pps(),
        }
    };
    fit.conditions.iter().map(condition).collect()
}

fn cells(fit: &Fit) -> Vec<impl Serialize> {
    let cell = |it: &FitCell| {
        object! {
            loss: it.loss,
            rtt_s: it.rtt_s,
            throughput_pps: it.throughput_pps,
            relative_error: it.relative_error,
            samples: it.samples,
            filled: it.origin == CellOrigin::Filled,
        }
    };
    fit.cells.iter().map(cell).collect()
}

/// A line through the cells of one loss, in JSON.
#[derive(Default, Serialize)]
struct JsonSlice {
    loss: f64,
    a: f64,
    b: f64,
    cells: usize,
    r_squared: Option<f64>,
}

fn slices(fit: &Fit) -> Vec<JsonSlice> {
    let slice = |it: &Slice| JsonSlice {
        loss: it.loss,
        a: it.a,
        b: it.b,
        cells: it.cells,
        r_squared: it.r_squared,
    };
    fit.slices.iter().map(slice).collect()
}
