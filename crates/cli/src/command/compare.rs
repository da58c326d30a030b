//! The subcommands `netflow compare SCENARIO` and `netflow compare RESULTS TRACE…`.

use std::io::{self, Write};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
#[cfg(target_os = "linux")]
use netflow::compare::Linux;
use netflow::compare::{
    ComparedValue, Comparison, Costs, Ensemble, Error, MAX_BUSIEST_LINKS, NetflowRun, Ns2, Ns3,
    ReferenceSystem, Runner, Settings, from_traces, write_ensemble,
};
use netflow::evaluate::{self, warning_texts};
use netflow::number::{count, duration, percent, plain, short};
use netflow::scenario::FileAccess;
use netflow::scenario::export::Ns2Tcp;
use serde::Serialize;

use crate::failure::Failure;
use crate::input::ModelArgument;
use crate::output::format::{Format, HELP};
use crate::output::progress::Progress;
use crate::output::table::{Table, format_or};
use crate::output::{csv, file};
use crate::parse::{directory, from_1, positive_time, tcp, time_from_zero};
use crate::{interrupt, problems};

/// Compare a scenario with ns-2, ns-3 or Linux, or results with packet traces
///
/// `netflow compare scenario.toml` runs ns-2 once per seed, with the scenario as written by
/// `netflow export`, and netflow once. With `--with ns3`, it runs ns-3. With `--with linux`,
/// connections are sockets of this machine's kernel, between network namespaces and over emulated
/// links; each seed takes as long as the scenario.
///
/// `netflow compare RESULTS TRACE…` compares a results directory with ns-2 traces of the same
/// network. A queue includes the packet in service on both sides.
#[derive(Args)]
pub struct CompareArguments {
    /// Scenario file or results directory
    #[arg(value_name = "SCENARIO|RESULTS", value_hint = ValueHint::AnyPath)]
    what: PathBuf,

    /// ns-2 traces, one per seed, for a comparison with results
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,

    /// Reference that runs the scenario
    #[arg(long, value_enum, default_value_t)]
    with: ReferenceArgument,

    /// Number of runs of the reference, each with another seed (default: 10; Linux: 3)
    #[arg(long, value_name = "N", value_parser = from_1::<NonZeroU32>)]
    seeds: Option<NonZeroU32>,

    /// Number of parallel runs (default: one per core; Linux: one, because parallel runs delay each
    /// other)
    #[arg(long, value_name = "N", value_parser = from_1::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,

    /// Maximum random delay of connection starts in the reference; netflow uses half of it
    #[arg(long, value_name = "TIME", default_value = "0.5 s", value_parser = time_from_zero)]
    start_jitter: f64,

    /// Maximum random time that TCP in ns-2 waits before it sends a packet
    #[arg(long, value_name = "TIME", value_parser = time_from_zero)]
    overhead: Option<f64>,

    /// TCP variant of all connections in ns-2, instead of the variants of their profiles
    #[arg(long, value_name = "VARIANT", value_parser = tcp())]
    tcp: Option<Ns2Tcp>,

    /// Length of a recording interval
    #[arg(long, alias = "every", value_name = "TIME", default_value = "0.5 s", value_parser = positive_time)]
    interval: f64,

    /// Skip the timed run of ns-2 that traces every packet, which can take ten times as long
    #[arg(long)]
    no_trace_run: bool,

    /// Change a setting of the scenario; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// Model of netflow's side, instead of the scenario's
    #[arg(long, value_enum, value_name = "MODEL")]
    model: Option<ModelArgument>,

    /// Write comparison.json and the series of the reference to this directory
    #[arg(short, long, value_name = "DIR", value_parser = directory, value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// Maximum number of printed links and connections
    #[arg(allow_negative_numbers = true, long, value_name = "N", default_value_t = MAX_BUSIEST_LINKS)]
    top: usize,

    /// Print only results and errors
    #[arg(short, long)]
    quiet: bool,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReferenceArgument {
    /// ns-2
    #[default]
    Ns2,
    /// ns-3
    Ns3,
    /// TCP of the kernel of this machine, over an emulated network
    #[cfg(target_os = "linux")]
    Linux,
}

impl ReferenceArgument {
    fn runner(self) -> Result<Box<dyn Runner>, Error> {
        Ok(match self {
            ReferenceArgument::Ns2 => Box::new(Ns2::find()?),
            ReferenceArgument::Ns3 => Box::new(Ns3::find()?),
            #[cfg(target_os = "linux")]
            ReferenceArgument::Linux => Box::new(Linux),
        })
    }

    /// Returns the default number of runs, and the default number of parallel runs.
    fn runs(self) -> (u32, usize) {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            ReferenceArgument::Ns2 | ReferenceArgument::Ns3 => (10, cores()),
            #[cfg(target_os = "linux")]
            ReferenceArgument::Linux => (3, 1),
        }
    }
}

/// Durations of the runs.
#[derive(Serialize)]
struct RunTimes {
    /// Evaluation by netflow, in seconds of wall-clock time.
    netflow_s: f64,
    /// CPU seconds of ns-2, or wall-clock seconds of Linux.
    referee: Costs,
    /// Reference / netflow.
    ratio: f64,
    ratio_with_trace: Option<f64>,
}

#[derive(Serialize)]
struct JsonComparison<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    times: Option<&'a RunTimes>,
}

impl CompareArguments {
    /// Returns whether the command creates namespaces.
    pub fn makes_namespaces(&self) -> bool {
        !matches!(self.with, ReferenceArgument::Ns2 | ReferenceArgument::Ns3)
    }

    /// Returns an option that was given and only applies to ns-2.
    fn ns2_only_option(&self) -> Option<&'static str> {
        let overhead = self.overhead.map(|_| "--overhead");
        let tcp = self.tcp.map(|_| "--tcp");
        overhead
            .or(tcp)
            .or(self.no_trace_run.then_some("--no-trace-run"))
    }
}

/// Name of the result file in the output directory.
const COMPARISON: &str = "comparison.json";
/// The first key of the file, which identifies it.
const MARK: &str = "\"referee\":";

pub fn compare(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(directory) = &arguments.output {
        file::check_overwrite(&directory.join(COMPARISON), Some(MARK))?;
    }
    let (side, ensemble, times) = match arguments.traces.as_slice() {
        [] => run_both(arguments)?,
        traces => read_both(&arguments.what, traces)?,
    };
    let comparison = Comparison::new(&side, &ensemble);
    if !arguments.quiet {
        comparison
            .untold
            .iter()
            .for_each(|it| problems::warn_message(it));
    }
    let answer = JsonComparison {
        comparison: &comparison,
        times: times.as_ref(),
    };
    if let Some(directory) = &arguments.output {
        write_ensemble(&ensemble, directory)?;
        file::json(&directory.join(COMPARISON), &answer, MARK)?;
    }
    Ok(arguments.format.print(
        out,
        &answer,
        |out| {
            csv::write_named("links", &comparison.links, out)?;
            writeln!(out)?;
            csv::write_named("connections", &comparison.connections, out)
        },
        |out| print(arguments.top, &comparison, times.as_ref(), out),
    )?)
}

fn run_both(
    arguments: &CompareArguments,
) -> Result<(NetflowRun, Ensemble, Option<RunTimes>), Failure> {
    if arguments.what.is_dir() {
        return Err(Failure::Usage {
            message: format!("{} is a results directory", arguments.what.display()),
            help: Some("add traces for the comparison, or give a scenario file".to_owned()),
        });
    }
    let mut overrides = arguments.overrides.clone();
    overrides.extend(arguments.model.map(|it| it.as_override().to_owned()));
    let scenario = evaluate::load(&arguments.what, &overrides, FileAccess::BelowDirectory)
        .map_err(|problems| Failure::Input(problems.into()))?;
    if !arguments.quiet {
        for warning in warning_texts(&scenario) {
            problems::warn_message(&warning);
        }
        if scenario.warmup_s > 0.0 {
            problems::warn_message(
                "`warmup` is ignored: both sides are compared over the whole run",
            );
        }
    }
    if arguments.with != ReferenceArgument::Ns2
        && let Some(option) = arguments.ns2_only_option()
    {
        return Err(Failure::Usage {
            message: format!("{option} applies to ns-2 only"),
            help: Some("leave it out".to_owned()),
        });
    }
    let (seeds, jobs) = arguments.with.runs();
    let settings = Settings {
        seeds: arguments.seeds.map_or(seeds, NonZeroU32::get),
        jobs: arguments.jobs.map_or(jobs, usize::from),
        start_jitter_s: arguments.start_jitter,
        overhead_s: arguments.overhead.unwrap_or(0.0),
        tcp: arguments.tcp,
        every_s: arguments.interval,
        ..Settings::default()
    };
    let runner = match arguments.with {
        // Export errors are reported even if ns-2 is not installed.
        ReferenceArgument::Ns2 => {
            Ns2::check_export(&scenario, &settings)?;
            arguments.with.runner()?
        }
        ReferenceArgument::Ns3 => {
            Ns3::check_export(&scenario, &settings)?;
            arguments.with.runner()?
        }
        #[cfg(target_os = "linux")]
        ReferenceArgument::Linux => {
            let runner = arguments.with.runner()?;
            runner.check(&scenario, &settings)?;
            // This must happen before a second thread starts.
            netflow_testbed::become_root()?;
            interrupt::listen();
            runner
        }
    };
    let side = NetflowRun::evaluate(&scenario, &settings)?;
    let traced = !arguments.no_trace_run && runner.has_traces();
    // A traced run takes about as long as six others.
    let work = f64::from(settings.seeds) + if traced { 6.0 } else { 0.0 };
    let progress = Progress::new("the runs", !arguments.quiet);
    let progress = std::sync::Mutex::new(progress);
    let at = |done: f64| {
        if let Ok(mut progress) = progress.lock() {
            progress.set(done / work);
        }
    };
    at(0.0);
    let runs = runner.run_seeds(
        &scenario,
        &settings,
        &|done| at(f64::from(done)),
        &interrupt::requested,
    )?;
    let with_trace_s = if traced {
        runner.time_with_trace(&scenario, &settings, &interrupt::requested)?
    } else {
        None
    };
    if let Ok(progress) = progress.into_inner() {
        progress.finish();
    }
    let plain: Vec<f64> = runs.iter().filter_map(|run| run.cost_s).collect();
    let plain_s = plain.iter().sum::<f64>() / plain.len().max(1) as f64;
    let netflow_s = side.took_s.unwrap_or(f64::NAN);
    let times = RunTimes {
        netflow_s,
        referee: Costs {
            plain_s,
            with_trace_s,
        },
        ratio: plain_s / netflow_s,
        ratio_with_trace: with_trace_s.map(|traced_s| traced_s / netflow_s),
    };
    Ok((
        side,
        Ensemble::of(runner.reference_system(), &runs),
        Some(times),
    ))
}

fn read_both(
    results: &Path,
    traces: &[PathBuf],
) -> Result<(NetflowRun, Ensemble, Option<RunTimes>), Failure> {
    if results.is_file() {
        return Err(Failure::Usage {
            message: format!("{} is not a results directory", results.display()),
            help: Some("write results with `netflow run SCENARIO -o DIR`".to_owned()),
        });
    }
    let (side, runs) = from_traces(traces, NetflowRun::from_results(results)?)?;
    Ok((side, Ensemble::of(ReferenceSystem::Ns2, &runs), None))
}

fn print(
    top: usize,
    comparison: &Comparison,
    times: Option<&RunTimes>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = comparison.referee.name();
    Table::of(comparison.busiest(comparison.links.len()))
        .text("link", |it| it.link.clone())
        .number(format!("queue [pkt]: {name}"), |it| {
            format_with_std(&it.queue_pkts)
        })
        .number("netflow", |it| short(it.queue_pkts.netflow))
        .number("error", |it| format_relative_error(&it.queue_pkts))
        .number("error over time", |it| {
            format_or(it.trajectory_error, percent, "")
        })
        .number("in σ", |it| format_or(it.trajectory_sigmas, short, ""))
        .number(format!("lost [pkt]: {name}"), |it| {
            format_with_std(&it.lost_pkts)
        })
        .number("netflow", |it| short(it.lost_pkts.netflow))
        .number(format!("utilization: {name}"), |it| {
            format_or(finite(it.utilization.referee.mean), percent, "?")
        })
        .number("netflow", |it| percent(it.utilization.netflow))
        .print_top(top, "link", out)?;
    writeln!(out)?;
    let mut order: Vec<_> = comparison.connections.iter().collect();
    order.sort_by(|a, b| {
        b.goodput_pps
            .referee
            .mean
            .total_cmp(&a.goodput_pps.referee.mean)
    });
    let table = Table::of(order)
        .text("connection", |it| it.connection.clone())
        .number(format!("goodput [pkt/s]: {name}"), |it| {
            format_with_std(&it.goodput_pps)
        })
        .number("netflow", |it| short(it.goodput_pps.netflow))
        .number("error", |it| format_relative_error(&it.goodput_pps));
    let table = match comparison.totals.median_delay_p95_error {
        None => table,
        Some(_) => {
            const MS: f64 = 1e3;
            table
                .number(format!("p95 delay [ms]: {name}"), |it| {
                    format_or(it.delay_p95_s, |it| format_with_std(&it.scaled(MS)), "")
                })
                .number("netflow", |it| {
                    format_or(it.delay_p95_s, |it| short(it.scaled(MS).netflow), "")
                })
                .number("error", |it| {
                    format_or(it.delay_p95_s, |it| format_relative_error(&it), "")
                })
        }
    };
    if !comparison.connections.is_empty() {
        table.print_top(top, "connection", out)?;
        writeln!(out)?;
    }
    let totals = &comparison.totals;
    let own = |error: Option<f64>| {
        format_or(
            error.and_then(finite),
            |error| format!(" (one run of {name}: {})", percent(error)),
            "",
        )
    };
    let error = |error| format_or(finite(error), percent, "?");
    writeln!(
        out,
        "queues, Σ|error|/Σ: {} of the {MAX_BUSIEST_LINKS} longest{}, {} of all",
        error(totals.busiest_queue_error),
        own(totals.referee_busiest_queue_error),
        error(totals.queue_error),
    )?;
    if !comparison.connections.is_empty() {
        writeln!(
            out,
            "goodput per connection: median error {}{}, 90th percentile {}; Σ|error|/Σ {}; total {} of {name}",
            error(totals.median_goodput_error),
            own(totals.referee_median_goodput_error),
            error(totals.p90_goodput_error),
            error(totals.goodput_error),
            error(totals.goodput_ratio),
        )?;
    }
    if let Some(ratio) = totals.lost_ratio {
        writeln!(out, "packets lost: {} of {name}", percent(ratio))?;
    }
    if let Some(error) = totals.median_delay_p95_error {
        let error = percent(error);
        writeln!(
            out,
            "95th percentile of delay per connection: median error {error}"
        )?;
    }
    writeln!(
        out,
        "{} of {name} over {} s",
        count(comparison.runs, "run"),
        plain(comparison.duration_s)
    )?;
    if let Some(times) = times {
        let traced = match (times.referee.with_trace_s, times.ratio_with_trace) {
            (Some(time_s), Some(ratio)) => {
                format!(
                    "; with a trace {} (factor {})",
                    duration(time_s),
                    short(ratio)
                )
            }
            _ => String::new(),
        };
        writeln!(
            out,
            "run time: netflow {}, one run of {name} {} (factor {}){traced}",
            duration(times.netflow_s),
            duration(times.referee.plain_s),
            short(times.ratio),
        )?;
    }
    for doubt in &comparison.doubts {
        writeln!(out, "inconclusive: {doubt}")?;
    }
    Ok(())
}

fn format_with_std(estimate: &ComparedValue) -> String {
    match (finite(estimate.referee.mean), estimate.referee.std) {
        (None, _) => "?".to_owned(),
        (Some(mean), Some(std)) => format!("{} ± {}", short(mean), short(std)),
        (Some(mean), None) => short(mean),
    }
}

/// Maps NaN, which is an unknown value, to `None`.
fn finite(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

fn format_relative_error(estimate: &ComparedValue) -> String {
    let text = |error| format!("{:+.1} %", 100.0 * error);
    format_or(estimate.relative_error(), text, "")
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::NotInstalled => Failure::Usage {
                message: error.to_string(),
                help: Some("on Debian and Ubuntu: apt-get install ns2".to_owned()),
            },
            Error::Mismatch { what, help } => Failure::Usage {
                message: what,
                help: Some(help),
            },
            Error::NoNs3(_) => Failure::Usage {
                message: error.to_string(),
                help: Some("on Debian and Ubuntu: apt-get install libns3-dev g++".to_owned()),
            },
            Error::Export(_) => Failure::usage(error.to_string()),
            Error::ExportNs3(error) => Failure::usage(error.to_string()),
            #[cfg(target_os = "linux")]
            Error::Emulation(error) => error.into(),
            Error::Trace(error) => Failure::Trace(error),
            Error::Results(error) => Failure::Results(error),
            Error::File {
                action,
                path,
                source,
            } => Failure::File {
                action,
                path,
                source,
            },
            Error::Stopped => Failure::Interrupted(error.to_string()),
            _ => Failure::Evaluation(error.to_string()),
        }
    }
}
