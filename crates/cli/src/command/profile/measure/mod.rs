//! The subcommand `netflow profile measure`.

mod no_profile;
mod parallel_transfers;

use std::fs;
use std::io::Write;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use netflow::number::{count, percent, plain, short};
use netflow::profile::fit::{ExperimentCell, Fit, ProfileLabel, extend_cubic, fit_grid_experiment};
use netflow::profile::{Grid, to_toml};
use netflow_files::create_dirs_inside;
use netflow_testbed::{become_root, check_congestion_control, control_fault};

use super::fit::{print_cells, print_slices};
use super::write_profile;
use crate::command::trace::samples::{Sampling, samples_of_trace};
use crate::failure::Failure;
use crate::output::table::{by_loss_and_rtt, format_or};
use crate::parse::{self, from_1, positive_time, probability, round_trip};
use no_profile::{mean_rate_pps, no_loss_dependence, no_profile};
use parallel_transfers::{BUDGET_PPS, MeasuredTransfer, MeasurementPlan, TransferSetting};

/// Measure TCP profiles of this machine over emulated links
///
/// For every congestion control, round-trip time and loss probability, TCP sends as fast as
/// possible over a link with a buffer of 100 packets, between two network namespaces. Many links
/// run in parallel. netflow captures packets at the senders and fits the surface as `netflow
/// profile fit` does, at the configured loss probabilities. It writes a profile for each congestion
/// control, usable as a `source` in scenarios, and the captures to DIR.
///
/// If a congestion control fills the link at any loss, its throughput is not a function of loss and
/// round-trip time: netflow prints the measured rates and writes no profile. Settings without
/// usable transfers, because the link was full or too few packets were lost, are extrapolated from
/// the others and listed in the profile.
#[derive(Args)]
pub struct MeasureArguments {
    /// Congestion controls of this kernel
    #[arg(
        long,
        alias = "cc",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "reno,cubic"
    )]
    congestion: Vec<String>,

    /// Round-trip times
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = round_trip,
          default_value = "60ms,100ms,200ms")]
    rtt: Vec<f64>,

    /// Loss probabilities of the direction that carries data
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = probability,
          default_value = "1%,2%,5%,10%")]
    loss: Vec<f64>,

    /// Rate of a link in packets/s; it must exceed the rate of TCP at the lowest loss probability
    #[arg(long, value_name = "PKT/S", value_parser = |text: &str| parse::link_rate(text, BUDGET_PPS), default_value = "2000")]
    link_rate: f64,

    /// Minimum number of lost packets per setting, summed over its transfers; other settings are
    /// left out
    #[arg(long, value_name = "N", default_value_t = 1)]
    least_losses: u64,

    /// Duration of a transfer
    #[arg(long, value_name = "TIME", value_parser = positive_time, default_value = "12 s")]
    transfer: f64,

    /// Number of transfers per setting, with different losses
    #[arg(long, value_name = "N", default_value = "4", value_parser = from_1::<NonZeroUsize>)]
    repeat: NonZeroUsize,

    /// Maximum number of parallel links; it is lower if they carry more than 50000 packets/s in
    /// total
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_1::<NonZeroUsize>)]
    parallel: NonZeroUsize,

    /// Random seed of losses; results still vary, because times are real
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write profiles and captures to this directory
    #[arg(short, long, value_name = "DIR", value_parser = crate::parse::directory, value_hint = ValueHint::DirPath)]
    output: PathBuf,
}

/// Minimum number of packets that a link sends in one round-trip time.
const MIN_PKTS_PER_RTT: f64 = 4.0;

/// Packets per sample: few, so that short transfers have samples after slow start.
const SAMPLE_PKTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

impl MeasureArguments {
    /// Returns the path of the profile of a congestion control.
    fn file(&self, name: &str) -> PathBuf {
        self.output.join(format!("{name}.toml"))
    }
}

pub fn measure(arguments: &MeasureArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let least_s = MIN_PKTS_PER_RTT / arguments.link_rate;
    if let Some(&rtt_s) = arguments.rtt.iter().find(|&&rtt_s| rtt_s < least_s) {
        return Err(Failure::Usage {
            message: format!(
                "a round-trip time of {} ms is too short for a link of {} packets/s",
                plain(1e3 * rtt_s),
                plain(arguments.link_rate)
            ),
            help: Some(format!(
                "use at least {} ms, or a faster link with --link-rate",
                plain(1e3 * least_s)
            )),
        });
    }
    for name in &arguments.congestion {
        check_congestion_control(name)?;
    }
    for name in &arguments.congestion {
        write_profile::check_overwrite_profile(&arguments.file(name))?;
    }
    become_root()?;
    let captures = arguments.output.join("captures");
    let cannot = |(path, source)| Failure::File {
        action: "create",
        path,
        source,
    };
    fs::create_dir_all(&arguments.output)
        .map_err(|source| cannot((arguments.output.clone(), source)))?;
    create_dirs_inside(&arguments.output, "captures".as_ref()).map_err(cannot)?;
    let plan = MeasurementPlan {
        transfer: Duration::from_secs_f64(arguments.transfer),
        parallel: arguments.parallel.get(),
        captures,
    };
    let (measured, controls_s) = plan.run(cells(arguments), &arguments.rtt)?;
    for (&rtt_s, control_s) in arguments.rtt.iter().zip(controls_s) {
        if let Some(doubt) = control_fault(control_s, rtt_s) {
            writeln!(out, "inconclusive: {doubt}")?;
        }
    }
    let mut failed = Vec::new();
    for (place, name) in arguments.congestion.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        let of_this = measured
            .iter()
            .filter(|run| run.cell.congestion_control == *name);
        let runs: Vec<&MeasuredTransfer> = of_this.collect();
        if let Err(failure) = profile(name, &runs, arguments, out) {
            failure.report();
            failed.push(name.as_str());
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(Failure::Evaluation(format!(
            "not measured: {}",
            names.join(", ")
        ))),
    }
}

fn cells(arguments: &MeasureArguments) -> Vec<TransferSetting> {
    let mut cells = Vec::new();
    for congestion_control in &arguments.congestion {
        for &rtt_s in &arguments.rtt {
            for &loss in &arguments.loss {
                for repetition in 0..arguments.repeat.get() {
                    cells.push(TransferSetting {
                        congestion_control: congestion_control.clone(),
                        rtt_s,
                        loss,
                        link_pps: arguments.link_rate,
                        repetition,
                        seed: arguments.seed.wrapping_add(cells.len() as u64),
                    });
                }
            }
        }
    }
    cells
}

/// Computes the profile of one congestion control from its transfers, or the reason why it has none.
fn profile(
    name: &str,
    runs: &[&MeasuredTransfer],
    arguments: &MeasureArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut good = Vec::new();
    for run in runs {
        match run.report.unreliable_reason() {
            Some(doubt) => writeln!(out, "inconclusive, left out: {}: {doubt}", run.cell.name())?,
            None => good.push(*run),
        }
    }
    if good.is_empty() {
        let reason = format!("{name}: every transfer was inconclusive; the machine is too busy");
        return Err(Failure::Evaluation(reason));
    }
    if let Some(why) = no_profile(&good) {
        writeln!(out, "{name}: no profile: {why}")?;
        return Ok(print_rates(&good, arguments, out)?);
    }
    let (bound, free): (Vec<&MeasuredTransfer>, Vec<&MeasuredTransfer>) =
        good.iter().copied().partition(|run| run.is_link_limited());
    if !bound.is_empty() {
        let transfers = count(bound.len(), "transfer");
        writeln!(out, "{name}: left out {transfers} that filled the link")?;
    }
    let losses_at = |cell: &TransferSetting| -> u64 {
        let there = free
            .iter()
            .filter(|run| (run.cell.loss, run.cell.rtt_s) == (cell.loss, cell.rtt_s));
        there.map(|run| run.losses()).sum()
    };
    let (free, unseen): (Vec<&MeasuredTransfer>, Vec<&MeasuredTransfer>) = free
        .iter()
        .copied()
        .partition(|run| losses_at(&run.cell) >= arguments.least_losses);
    if !unseen.is_empty() {
        let transfers = count(unseen.len(), "transfer");
        writeln!(
            out,
            "{name}: left out {transfers}: fewer than {} lost at the settings in total",
            count(arguments.least_losses as usize, "packet")
        )?;
    }
    let cells = experiment_cells(&free)?;
    let samples = cells
        .iter()
        .flat_map(|cell| &cell.transfers)
        .map(Vec::len)
        .sum();
    let named = format!("linux-{name}");
    let names = ProfileLabel {
        name: &named,
        description: &format!(
            "TCP {name} of Linux {}, measured over emulated links: {} of {} s, {}",
            kernel_release(),
            count(free.len(), "transfer"),
            plain(arguments.transfer),
            count(samples, "sample"),
        ),
    };
    let failure = |error: &dyn std::fmt::Display| Failure::Evaluation(format!("{name}: {error}"));
    let mut fit = fit_grid_experiment(&cells, &names).map_err(|error| failure(&error))?;
    if name == "cubic"
        && let Some(grid) = &fit.grid
    {
        let mut spec = grid.spec().clone();
        extend_cubic(&mut spec.rows, &spec.rtts_s);
        fit.grid = Some(Grid::new(spec).map_err(|error| failure(&error))?);
    }
    if let Some(why) = no_loss_dependence(&fit.cells) {
        writeln!(out, "{name}: no profile: {why}")?;
        return Ok(print_rates(&good, arguments, out)?);
    }
    let Some(text) = fit.profile().and_then(to_toml) else {
        return Err(Failure::Evaluation(format!(
            "{name}: the fit has no surface"
        )));
    };
    let path = arguments.file(name);
    write_profile::write(&path, &text)?;
    writeln!(out, "{named}: {}", names.description)?;
    print(&fit, out)?;
    Ok(writeln!(out, "{}", path.display())?)
}

fn print(fit: &Fit, out: &mut dyn Write) -> std::io::Result<()> {
    print_cells(&fit.cells, out)?;
    print_slices(&fit.slices, out)?;
    let slopes = fit.slices.iter().map(|slice| slice.a);
    match fit.slices.len() {
        0 => writeln!(out),
        slices => writeln!(
            out,
            "\nmean slope A: {:.3}",
            slopes.sum::<f64>() / slices as f64
        ),
    }
}

/// Reads the measurements of the senders, by setting.
fn experiment_cells(runs: &[&MeasuredTransfer]) -> Result<Vec<ExperimentCell>, Failure> {
    let mut cells: Vec<ExperimentCell> = Vec::new();
    for run in runs {
        let flows = samples_of_trace(&run.capture, &Sampling::with_k(SAMPLE_PKTS))?;
        let transfers = flows.into_iter().map(|flow| flow.samples);
        let (loss, rtt_s) = (run.cell.loss, run.cell.rtt_s);
        let known = cells
            .iter_mut()
            .find(|cell| cell.loss == loss && cell.rtt_s == rtt_s);
        match known {
            Some(known) => known.transfers.extend(transfers),
            None => cells.push(ExperimentCell {
                loss,
                rtt_s,
                transfers: transfers.collect(),
            }),
        }
    }
    let seen = measured_rtts_s(&cells);
    for cell in &mut cells {
        let seen = seen.iter().find(|(set_s, _)| *set_s == cell.rtt_s);
        cell.rtt_s = seen.map_or(cell.rtt_s, |&(_, seen_s)| seen_s);
    }
    Ok(cells)
}

/// Returns, for every nominal round-trip time, the mean measured one, to three digits. It is larger
/// because of processing times and queueing of bursts.
fn measured_rtts_s(cells: &[ExperimentCell]) -> Vec<(f64, f64)> {
    let mut set_s: Vec<f64> = cells.iter().map(|cell| cell.rtt_s).collect();
    set_s.sort_by(f64::total_cmp);
    set_s.dedup();
    let seen = |set_s: f64| {
        let there = cells.iter().filter(|cell| cell.rtt_s == set_s);
        // A sample without a timed packet has none.
        let times = there.flat_map(|cell| cell.transfers.iter().flatten());
        let times: Vec<f64> = times.map(|it| it.rtt_s).filter(|it| *it > 0.0).collect();
        let mean_s = times.iter().sum::<f64>() / times.len() as f64;
        let rounded = format!("{mean_s:.2e}").parse().unwrap_or(set_s);
        (set_s, if rounded > 0.0 { rounded } else { set_s })
    };
    set_s.into_iter().map(seen).collect()
}

/// Prints the rates of whole transfers.
fn print_rates(
    runs: &[&MeasuredTransfer],
    arguments: &MeasureArguments,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let losses = arguments.loss.iter().map(|&loss| percent(loss));
    let rtts = arguments
        .rtt
        .iter()
        .map(|rtt_s| format!("{} ms", plain(1e3 * rtt_s)));
    let rate = |row: usize, column: usize| {
        let setting = (arguments.loss[row], arguments.rtt[column]);
        let here = runs
            .iter()
            .filter(|run| (run.cell.loss, run.cell.rtt_s) == setting);
        format_or(mean_rate_pps(here), short, "-")
    };
    writeln!(out, "\n mean rates of transfers in pkt/s")?;
    by_loss_and_rtt(losses.collect(), rtts.collect(), rate, out)
}

fn kernel_release() -> String {
    let text = fs::read_to_string(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    text.trim().to_owned()
}
