//! What was measured, as text and JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use netflow::units::Seconds;
use netflow_ipb::{MOST_LATENESS_S, Measured, RunOptions, Users};
use netflow_workload::{Step, Summary, Times};
use serde::Serialize;

use crate::number::{count, duration, percent, short};
use crate::table;

pub fn text(
    measured: &Measured,
    options: &RunOptions,
    rtt_s: Option<f64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for users in &measured.users {
        write_users(users, out)?;
    }
    let titles = [
        "waits", "for", "count", "mean ms", "min", "median", "70 %", "80 %", "90 %", "95 %",
        "99 %", "max",
    ];
    let mut table = table::aligned(&titles, 2);
    for users in &measured.users {
        for (name, times) in users.waits.times() {
            let Some(summary) = times.summary() else {
                continue;
            };
            let start = [
                users.kind.name().to_owned(),
                name.to_owned(),
                summary.count.to_string(),
            ];
            let times_s = in_order(&summary).map(|time_s| short(1e3 * time_s));
            table.add_row(start.into_iter().chain(times_s));
        }
    }
    if table.row_count() > 0 {
        writeln!(out)?;
        table::print(&table, out)?;
    }
    if let Some(rtt_s) = rtt_s {
        write_steps(measured, rtt_s, out)?;
    }
    write_caveats(measured, options, out)
}

/// As in the titles.
fn in_order(summary: &Summary) -> [f64; 9] {
    [
        summary.mean_s,
        summary.min_s,
        summary.median_s,
        summary.p70_s,
        summary.p80_s,
        summary.p90_s,
        summary.p95_s,
        summary.p99_s,
        summary.max_s,
    ]
}

fn write_users(users: &Users, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "{}: {}, {} finished",
        users.kind.name(),
        count(users.come as usize, "user"),
        users.finished
    )?;
    if users.left > 0 {
        write!(out, ", {} left at the end", users.left)?;
    }
    for (failure, failed) in users.failures() {
        write!(out, ", {failed} failed: {}", failure.name())?;
    }
    writeln!(
        out,
        "; {} of {} bytes, answered with {} bytes",
        count(users.requests as usize, "request"),
        users.request_bytes,
        users.reply_bytes
    )
}

/// Multiples of the round-trip time, and the share of all waits at each.
fn write_steps(measured: &Measured, rtt_s: f64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\nwaits of whole round trips of {} (up to {} more):",
        Seconds(rtt_s),
        duration(tolerance_s(rtt_s))
    )?;
    for users in &measured.users {
        for (name, times) in users.waits.times() {
            let steps = times.steps(rtt_s, tolerance_s(rtt_s));
            let steps: Vec<String> = steps
                .iter()
                .map(|step| format!("{} of {}", percent(step.share), step.round_trips))
                .collect();
            let steps = match steps.is_empty() {
                true => "none".to_owned(),
                false => steps.join(", "),
            };
            writeln!(out, " {} {name}: {steps}", users.kind.name())?;
        }
    }
    Ok(())
}

/// What is still a whole round trip.
fn tolerance_s(rtt_s: f64) -> f64 {
    (0.25 * rtt_s).min(2e-3)
}

fn write_caveats(measured: &Measured, options: &RunOptions, out: &mut dyn Write) -> io::Result<()> {
    let lengthened: u64 = measured.users.iter().map(|users| users.lengthened).sum();
    if lengthened > 0 {
        let requests = count(lengthened as usize, "request");
        writeln!(
            out,
            "\n{requests} or their replies were longer than drawn: their heads are"
        )?;
    }
    let held = &measured.held_back;
    if held.users > 0 {
        writeln!(
            out,
            "\n{} waited for one of {} to become free: {} on average, {} at most; {} in vain",
            count(held.users as usize, "user"),
            count(options.connections, "connection"),
            duration(held.mean_s),
            duration(held.longest_s),
            held.turned_away
        )?;
    }
    let answered = measured.users.iter().any(|users| users.reply_bytes > 0);
    if answered && !measured.is_conclusive() {
        let late = Times::new(measured.late_s.clone());
        writeln!(
            out,
            "\ninconclusive: 1 % of this run's own timers were more than {} late ({} is allowed): \
             the machine was too busy",
            duration(late.quantile(0.99)),
            duration(MOST_LATENESS_S)
        )?;
    }
    Ok(())
}

#[derive(Serialize)]
pub struct Answer {
    server: String,
    seed: u64,
    think_scale: f64,
    wall_s: f64,
    interrupted: bool,
    conclusive: bool,
    lateness: Option<Summary>,
    held_back: HeldBack,
    users: Vec<OfKind>,
}

#[derive(Serialize)]
struct HeldBack {
    users: u64,
    turned_away: u64,
    mean_s: f64,
    longest_s: f64,
}

/// Users of one kind.
#[derive(Serialize)]
struct OfKind {
    kind: &'static str,
    users_per_s: f64,
    come: u64,
    finished: u64,
    left: u64,
    failed: BTreeMap<&'static str, u64>,
    requests: u64,
    request_bytes: u64,
    reply_bytes: u64,
    script_bytes: u64,
    lengthened: u64,
    waits: BTreeMap<&'static str, Wait>,
}

#[derive(Serialize)]
struct Wait {
    #[serde(flatten)]
    summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<Step>>,
    /// Seconds, and the share of waits up to them.
    cdf: Vec<(f64, f64)>,
}

impl Answer {
    pub fn of(measured: &Measured, options: &RunOptions, seed: u64, rtt_s: Option<f64>) -> Answer {
        let held = &measured.held_back;
        let of_kind = |(users, load): (&Users, &netflow_ipb::Load)| OfKind {
            kind: users.kind.name(),
            users_per_s: load.users_per_s,
            come: users.come,
            finished: users.finished,
            left: users.left,
            failed: users.failures().map(|(why, n)| (why.name(), n)).collect(),
            requests: users.requests,
            request_bytes: users.request_bytes,
            reply_bytes: users.reply_bytes,
            script_bytes: users.script_bytes,
            lengthened: users.lengthened,
            waits: waits(users, rtt_s),
        };
        Answer {
            server: options.server.to_string(),
            seed,
            think_scale: options.think_scale,
            wall_s: measured.wall_s,
            interrupted: measured.interrupted,
            conclusive: measured.is_conclusive(),
            lateness: Times::new(measured.late_s.clone()).summary(),
            held_back: HeldBack {
                users: held.users,
                turned_away: held.turned_away,
                mean_s: held.mean_s,
                longest_s: held.longest_s,
            },
            users: measured
                .users
                .iter()
                .zip(&options.loads)
                .map(of_kind)
                .collect(),
        }
    }
}

fn waits(users: &Users, rtt_s: Option<f64>) -> BTreeMap<&'static str, Wait> {
    let wait = |(name, times): (&'static str, Times)| {
        let wait = Wait {
            summary: times.summary(),
            steps: rtt_s.map(|rtt_s| times.steps(rtt_s, tolerance_s(rtt_s))),
            cdf: times.cdf(100),
        };
        (name, wait)
    };
    users.waits.times().into_iter().map(wait).collect()
}
