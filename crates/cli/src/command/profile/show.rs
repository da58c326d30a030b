//! The subcommand `netflow profile show NAME`.

use std::io::{self, Write};

use clap::Args;
use netflow::number::{plain, short};
use netflow::profile::{Domain, Profile, Provenance};
use serde::Serialize;

use super::by_name::find;
use crate::failure::Failure;
use crate::output::csv;
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::output::table::by_loss_and_rtt;
use crate::parse::{positive_time, probability};

/// Show the throughput of a profile over loss and round-trip time
#[derive(Args)]
pub struct ShowArguments {
    /// Name of a built-in profile, or path of a profile file
    #[arg(value_name = "PROFILE")]
    name: String,

    /// Loss probabilities, such as 1%,5%
    #[arg(long, value_name = "LOSS,…", value_delimiter = ',', value_parser = probability)]
    loss: Vec<f64>,

    /// Round-trip times, such as 60ms,1s
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = positive_time)]
    rtt: Vec<f64>,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

/// Default losses and round-trip times of the table, limited to the domain of the profile.
const LOSSES: [f64; 10] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3];
const RTTS_S: [f64; 9] = [0.01, 0.02, 0.06, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

#[derive(Serialize)]
struct JsonProfile<'a> {
    name: &'a str,
    description: &'a str,
    rtt_s: Vec<f64>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    loss: f64,
    throughput_pps: Vec<f64>,
    outside: Vec<bool>,
    rests_on: Vec<&'static str>,
}

pub fn show(arguments: &ShowArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let profile = find(&arguments.name)?;
    let shown = evaluate(&*profile, arguments);
    let csv = |out: &mut dyn Write| csv::write(points(&shown), out);
    let text = |out: &mut dyn Write| print(&*profile, &shown, out);
    Ok(arguments.format.print(out, &shown, csv, text)?)
}

/// Returns a row for every loss and round-trip time.
fn points<'a>(shown: &'a JsonProfile<'_>) -> impl Iterator<Item = impl Serialize> + 'a {
    shown.rows.iter().flat_map(|row| {
        let times = shown.rtt_s.iter().enumerate();
        times.map(|(at, rtt_s)| {
            object! {
                loss: row.loss,
                rtt_s: *rtt_s,
                throughput_pps: row.throughput_pps[at],
                outside: row.outside[at],
                rests_on: row.rests_on[at],
            }
        })
    })
}

fn evaluate<'a>(profile: &'a dyn Profile, arguments: &ShowArguments) -> JsonProfile<'a> {
    let domain = profile.domain();
    let losses = requested_or_default(&arguments.loss, &LOSSES, domain.loss_min, domain.loss_max);
    let rtt_s = requested_or_default(&arguments.rtt, &RTTS_S, domain.rtt_min_s, domain.rtt_max_s);
    let row = |&loss: &f64| Row {
        loss,
        throughput_pps: rtt_s
            .iter()
            .map(|&rtt_s| profile.throughput(loss, rtt_s))
            .collect(),
        outside: rtt_s
            .iter()
            .map(|&rtt_s| profile.is_outside_domain(loss, rtt_s))
            .collect(),
        rests_on: rtt_s
            .iter()
            .map(|&rtt_s| profile.provenance(loss, rtt_s).name())
            .collect(),
    };
    let rows = losses.iter().map(row).collect();
    JsonProfile {
        name: profile.name(),
        description: profile.description(),
        rtt_s,
        rows,
    }
}

/// Returns the requested values, or the default ones within the domain.
fn requested_or_default(asked: &[f64], usual: &[f64], min: f64, max: f64) -> Vec<f64> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let inside: Vec<f64> = usual
        .iter()
        .copied()
        .filter(|value| (min..=max).contains(value))
        .collect();
    if inside.is_empty() {
        vec![min, max]
    } else {
        inside
    }
}

fn print(profile: &dyn Profile, shown: &JsonProfile<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", shown.name, shown.description)?;
    let Domain {
        loss_min,
        loss_max,
        rtt_min_s,
        rtt_max_s,
    } = profile.domain();
    writeln!(
        out,
        "range: loss {}–{} %, round-trip time {}–{} ms{}",
        plain(100.0 * loss_min),
        plain(100.0 * loss_max),
        plain(1e3 * rtt_min_s),
        plain(1e3 * rtt_max_s),
        match profile.window_limit_pkts() {
            Some(window) => format!(", window of at most {} packets", plain(window)),
            None => String::new(),
        },
    )?;
    writeln!(
        out,
        "\n throughput in pkt/s{}",
        if has_extrapolation(shown) {
            " (* extrapolated; ! unreliable)"
        } else {
            ""
        }
    )?;
    let cell = |row: usize, column: usize| {
        let row = &shown.rows[row];
        let sign = match profile.provenance(row.loss, shown.rtt_s[column]) {
            Provenance::Measured => "",
            Provenance::Extrapolated => "*",
            Provenance::Unreliable => "!",
        };
        format!("{}{sign}", short(row.throughput_pps[column]))
    };
    let losses = shown
        .rows
        .iter()
        .map(|row| format!("{} %", plain(100.0 * row.loss)));
    let rtts = shown
        .rtt_s
        .iter()
        .map(|rtt_s| format!("{} ms", plain(1e3 * rtt_s)));
    by_loss_and_rtt(losses.collect(), rtts.collect(), cell, out)
}

fn has_extrapolation(shown: &JsonProfile<'_>) -> bool {
    shown.rows.iter().any(|row| row.outside.contains(&true))
}
