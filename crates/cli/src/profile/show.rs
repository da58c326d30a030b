//! `netflow profile show NAME`

use std::io::{self, Write};

use clap::Args;
use netflow::profile::{Domain, Profile, ProfileUse};
use serde::Serialize;

use super::{find, json};
use crate::args::{ReportFormat, positive_time, probability};
use crate::failure::Failure;
use crate::number::{plain, short};
use crate::table;

/// Show a profile's throughput over loss and round-trip time
#[derive(Args)]
pub struct ShowArguments {
    /// A built-in profile's name or a profile file's path
    #[arg(value_name = "PROFILE")]
    name: String,

    /// Loss probabilities, such as 1%,5%
    #[arg(long, value_name = "LOSS,…", value_delimiter = ',', value_parser = probability)]
    loss: Vec<f64>,

    /// Round-trip times, such as 60ms,1s
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = positive_time)]
    rtt: Vec<f64>,

    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

/// Where a profile is shown unless something else is asked for, as far as it is defined there.
const LOSSES: [f64; 10] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3];
const RTTS_S: [f64; 9] = [0.01, 0.02, 0.06, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

#[derive(Serialize)]
struct Shown<'a> {
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
    match arguments.format {
        ReportFormat::Json => json(&shown, out)?,
        ReportFormat::Text => print(&*profile, &shown, out)?,
    }
    Ok(())
}

fn evaluate<'a>(profile: &'a dyn Profile, arguments: &ShowArguments) -> Shown<'a> {
    let domain = profile.domain();
    let losses = chosen(&arguments.loss, &LOSSES, domain.loss_min, domain.loss_max);
    let rtt_s = chosen(&arguments.rtt, &RTTS_S, domain.rtt_min_s, domain.rtt_max_s);
    let row = |&loss: &f64| Row {
        loss,
        throughput_pps: rtt_s
            .iter()
            .map(|&rtt_s| profile.throughput(loss, rtt_s))
            .collect(),
        outside: rtt_s
            .iter()
            .map(|&rtt_s| profile.outside(loss, rtt_s))
            .collect(),
        rests_on: rtt_s
            .iter()
            .map(|&rtt_s| profile.rests_on(loss, rtt_s).name())
            .collect(),
    };
    let rows = losses.iter().map(row).collect();
    Shown {
        name: profile.name(),
        description: profile.description(),
        rtt_s,
        rows,
    }
}

/// What was asked for, or else what is usual and inside the domain.
fn chosen(asked: &[f64], usual: &[f64], min: f64, max: f64) -> Vec<f64> {
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

fn print(profile: &dyn Profile, shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", shown.name, shown.description)?;
    let Domain {
        loss_min,
        loss_max,
        rtt_min_s,
        rtt_max_s,
    } = profile.domain();
    writeln!(
        out,
        "known for a loss of {}–{} % and a round-trip time of {}–{} ms{}",
        plain(100.0 * loss_min),
        plain(100.0 * loss_max),
        plain(1e3 * rtt_min_s),
        plain(1e3 * rtt_max_s),
        match profile.window_limit_pkts() {
            Some(window) => format!(", with a window of at most {} packets", plain(window)),
            None => String::new(),
        },
    )?;
    writeln!(
        out,
        "\n throughput in pkt/s{}",
        if outside(shown) {
            " (* outside, extended; ! too far outside to be usable)"
        } else {
            ""
        }
    )?;
    let rtts = shown
        .rtt_s
        .iter()
        .map(|rtt_s| format!("{} ms", plain(1e3 * rtt_s)));
    let titles: Vec<String> = std::iter::once("loss \\ rtt".to_owned())
        .chain(rtts)
        .collect();
    let mut table = table::table(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &shown.rows {
        let cells = row.throughput_pps.iter().zip(&shown.rtt_s);
        let cells = cells.map(|(&pps, &rtt_s)| {
            let sign = match profile.rests_on(row.loss, rtt_s) {
                ProfileUse::Measured => "",
                ProfileUse::Extended => "*",
                ProfileUse::NotUsable => "!",
            };
            format!("{}{sign}", short(pps))
        });
        table.add_row(std::iter::once(format!("{} %", plain(100.0 * row.loss))).chain(cells));
    }
    table::print(&table, out)
}

fn outside(shown: &Shown<'_>) -> bool {
    shown.rows.iter().any(|row| row.outside.contains(&true))
}
