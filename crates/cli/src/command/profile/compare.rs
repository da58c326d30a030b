//! The subcommand `netflow profile compare A B`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::number::{plain, plural, short};
use netflow::profile::fit::{conditions, diagnose, residuals};
use netflow::profile::{
    Comparison, FRIENDLY_FACTOR, Faster, MaxRatio, Profile, REASONABLY_FAIR_FACTOR, Region,
    common_axes, compare as compare_profiles,
};
use serde::Serialize;

use super::by_name::find;
use super::fit::{JsonCluster, print_clusters};
use crate::command::trace::samples::{Sampling, samples_of_files};
use crate::failure::Failure;
use crate::output::csv;
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::output::table::{Table, by_loss_and_rtt};
use crate::parse::{positive_time, probability};

/// Compare two profiles: where each is faster, and by how much
///
/// The profiles are compared on a grid over their common range; the output shows a coarser grid. A
/// is TCP-friendly towards B if its long-run throughput exceeds the throughput of B by at most 10 %
/// at every loss and round-trip time (Floyd & Fall 1999, with 10 % for measurement errors).
#[derive(Args)]
pub struct CompareArguments {
    /// Name of a built-in profile, or path of a profile file
    a: String,

    /// Name or path of the other profile
    b: String,

    /// Loss probabilities of the comparison, such as 1%,5%
    #[arg(long, value_name = "LOSS,…", value_delimiter = ',', value_parser = probability)]
    loss: Vec<f64>,

    /// Round-trip times of the comparison, such as 60ms,1s
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = positive_time)]
    rtt: Vec<f64>,

    /// Traces, or samples in a *.csv file: print clusters of samples far from A
    #[arg(long, value_name = "TRACE", num_args = 1.., value_hint = ValueHint::FilePath)]
    samples: Vec<PathBuf>,

    #[command(flatten)]
    sampling: Sampling,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

/// Number of grid points per axis: `FINE_GRID_POINTS` for finding regions, `COARSE_GRID_POINTS` for the printed table.
const FINE_GRID_POINTS: usize = 61;
const COARSE_GRID_POINTS: usize = 8;

/// Maximum number of printed regions; the others are negligibly small.
const MAX_PRINTED_REGIONS: usize = 6;

pub fn compare(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let (a, b) = (find(&arguments.a)?, find(&arguments.b)?);
    let fine = compare_on_grid(&*a, &*b, arguments, FINE_GRID_POINTS)?;
    let flows = samples_of_files(&arguments.samples, &arguments.sampling)?;
    let clusters = diagnose(&residuals(&flows, &conditions(&flows), &*a));
    let clusters = clusters.iter().map(|it| JsonCluster::new(&flows, it));
    let clusters: Vec<JsonCluster<'_>> = clusters.collect();
    let answer = json_answer(&*a, &*b, &fine, &clusters);
    let coarse = compare_on_grid(&*a, &*b, arguments, COARSE_GRID_POINTS)?;
    let text = |out: &mut dyn Write| {
        print(&*a, &*b, &fine, &coarse, out)?;
        if arguments.samples.is_empty() {
            Ok(())
        } else {
            print_clusters(&clusters, out)
        }
    };
    let csv = |out: &mut dyn Write| csv::write(points(&fine), out);
    Ok(arguments.format.print(out, &answer, csv, text)?)
}

/// Returns a row for every loss and round-trip time.
fn points(comparison: &Comparison) -> impl Iterator<Item = impl Serialize> {
    let times = comparison.rtts_s.len().max(1);
    comparison
        .ratios
        .iter()
        .enumerate()
        .map(move |(at, ratio)| {
            object! {
                loss: comparison.losses[at / times],
                rtt_s: comparison.rtts_s[at % times],
                ratio: *ratio,
                outside: comparison.outside[at],
            }
        })
}

fn compare_on_grid(
    a: &dyn Profile,
    b: &dyn Profile,
    asked: &CompareArguments,
    points: usize,
) -> Result<Comparison, Failure> {
    let sorted = |asked: &[f64]| {
        let mut values = asked.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (losses, rtts_s) = match common_axes(a, b, points, points) {
        _ if !asked.loss.is_empty() && !asked.rtt.is_empty() => {
            (sorted(&asked.loss), sorted(&asked.rtt))
        }
        Some((losses, rtts_s)) => match (asked.loss.is_empty(), asked.rtt.is_empty()) {
            (true, true) => (losses, rtts_s),
            (false, _) => (sorted(&asked.loss), rtts_s),
            (true, false) => (losses, sorted(&asked.rtt)),
        },
        None => {
            return Err(Failure::Usage {
                message: format!("the ranges of {} and {} do not overlap", a.name(), b.name()),
                help: Some(
                    "give the points of the comparison: --loss 1%,5% --rtt 100ms,1s".to_owned(),
                ),
            });
        }
    };
    Ok(compare_profiles(a, b, &losses, &rtts_s))
}

fn print(
    a: &dyn Profile,
    b: &dyn Profile,
    fine: &Comparison,
    coarse: &Comparison,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "a: {}: {}", a.name(), a.description())?;
    writeln!(out, "b: {}: {}\n", b.name(), b.description())?;
    for (faster, name) in [(Faster::A, a.name()), (Faster::B, b.name())] {
        match fine.max_ratio(faster) {
            None => writeln!(out, "{name} is nowhere faster")?,
            Some(most) => writeln!(
                out,
                "{name} is faster on {} % of the grid, at most by a factor of {} at {}",
                plain((100.0 * fine.share(faster)).round()),
                short(most.factor),
                format_location(&most),
            )?,
        }
    }
    print_friendliness(a, b, fine, out)?;
    print_regions(a, b, fine, out)?;
    writeln!(
        out,
        "\n a / b (above 1: a is faster{})",
        if coarse.outside.contains(&true) {
            "; * extrapolated"
        } else {
            ""
        }
    )?;
    let losses = coarse.losses.iter().map(|&loss| percent(loss));
    let rtts = coarse.rtts_s.iter();
    let rtts = rtts.map(|rtt_s| format!("{} ms", plain((1e3 * rtt_s * 10.0).round() / 10.0)));
    let cell = |row: usize, column: usize| {
        let at = row * coarse.rtts_s.len() + column;
        let mark = if coarse.outside[at] { "*" } else { "" };
        format!("{}{mark}", short(coarse.ratios[at]))
    };
    by_loss_and_rtt(losses.collect(), rtts.collect(), cell, out)
}

fn print_friendliness(
    a: &dyn Profile,
    b: &dyn Profile,
    fine: &Comparison,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (a, b) = (a.name(), b.name());
    let known = fine.share_inside_domains();
    if known < 1.0 {
        writeln!(
            out,
            "{} % of the grid is within the measured range of both profiles; the rest is extrapolated",
            plain((100.0 * known).round())
        )?;
    }
    match fine.exceedance(FRIENDLY_FACTOR) {
        _ if known == 0.0 => writeln!(
            out,
            "it is unknown whether {a} is TCP-friendly towards {b}: their measured ranges do not overlap here"
        ),
        None => writeln!(
            out,
            "{a} is TCP-friendly towards {b}: nowhere more than 10 % faster"
        ),
        Some(excess) => writeln!(
            out,
            "{a} is not TCP-friendly towards {b}: more than 10 % faster on {} % of {}{}",
            plain((100.0 * excess.share).round()),
            if known < 1.0 {
                "the common measured range"
            } else {
                "the grid"
            },
            match fine.exceedance(REASONABLY_FAIR_FACTOR) {
                None => ", never twice as fast",
                Some(_) => "",
            }
        ),
    }
}

fn print_regions(
    a: &dyn Profile,
    b: &dyn Profile,
    fine: &Comparison,
    out: &mut dyn Write,
) -> io::Result<()> {
    if fine.regions.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let range = |(low, high): (f64, f64)| (plain(round(low)), plain(round(high)));
    Table::of(fine.regions.iter().take(MAX_PRINTED_REGIONS))
        .text("faster", |it| faster_name(it.faster, a, b))
        .text("loss", |it| {
            let (low, high) = range((100.0 * it.loss.0, 100.0 * it.loss.1));
            format!("{low}–{high} %")
        })
        .text("rtt ms", |it| {
            let (low, high) = range((1e3 * it.rtt_s.0, 1e3 * it.rtt_s.1));
            format!("{low}–{high}")
        })
        .number("mean factor", |it| short(it.mean_factor))
        .number("max factor", |it| short(it.max_ratio.factor))
        .number("at", |it| format_location(&it.max_ratio))
        .print(out)?;
    match fine.regions.len().saturating_sub(MAX_PRINTED_REGIONS) {
        0 => Ok(()),
        rest => writeln!(out, " … and {rest} smaller {}", plural(rest, "region")),
    }
}

fn faster_name<'a>(faster: Faster, a: &'a dyn Profile, b: &'a dyn Profile) -> &'a str {
    match faster {
        Faster::A => a.name(),
        Faster::B => b.name(),
    }
}

fn format_location(extreme: &MaxRatio) -> String {
    format!(
        "loss {}, rtt {} ms",
        percent(extreme.loss),
        plain(round(1e3 * extreme.rtt_s))
    )
}

fn percent(fraction: f64) -> String {
    format!("{} %", plain(round(100.0 * fraction)))
}

/// Rounds to two decimals.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Returns the JSON answer. `clusters` contains samples that deviate from `a` together.
fn json_answer<'a>(
    a: &'a dyn Profile,
    b: &'a dyn Profile,
    comparison: &'a Comparison,
    clusters: &'a [JsonCluster<'a>],
) -> impl Serialize + 'a {
    let excess = comparison.exceedance(FRIENDLY_FACTOR);
    let region = |it: &Region| {
        object! {
            faster: faster_name(it.faster, a, b),
            points: it.points,
            loss_min: it.loss.0,
            loss_max: it.loss.1,
            rtt_min_s: it.rtt_s.0,
            rtt_max_s: it.rtt_s.1,
            mean_factor: it.mean_factor,
            most_factor: it.max_ratio.factor,
            most_loss: it.max_ratio.loss,
            most_rtt_s: it.max_ratio.rtt_s,
        }
    };
    let columns = comparison.rtts_s.len().max(1);
    object! {
        a: a.name(),
        b: b.name(),
        a_ahead_share: comparison.share(Faster::A),
        b_ahead_share: comparison.share(Faster::B),
        known_share: comparison.share_inside_domains(),
        a_is_tcp_friendly: (comparison.share_inside_domains() > 0.0).then_some(excess.is_none()),
        excess: excess.map(|it| object! {
            share: it.share,
            most_factor: it.max_ratio.factor,
            most_loss: it.max_ratio.loss,
            most_rtt_s: it.max_ratio.rtt_s,
        }),
        regions: comparison.regions.iter().map(region).collect::<Vec<_>>(),
        loss: &comparison.losses,
        rtt_s: &comparison.rtts_s,
        ratio: comparison.ratios.chunks(columns).collect::<Vec<_>>(),
        outside: comparison.outside.chunks(columns).collect::<Vec<_>>(),
        clusters: clusters,
    }
}
