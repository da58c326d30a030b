//! Output of measured response times as text and JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use netflow::number::{count, duration, percent, short};
use netflow::report::{Drawing, distribution_figure};
use netflow::units::Seconds;
use netflow_ipb::{MAX_P99_LATENESS_S, Measured, RunOptions, Users};
use netflow_workload::{ResponseTimes, RttCluster, Summary, TimeSample};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::json::object;
use crate::output::table::Table;
use crate::output::{csv, file};

/// The response times of users of one name.
type NamedWaits<'a> = (&'a str, &'a ResponseTimes);

pub fn text(
    measured: &Measured,
    options: &RunOptions,
    names: &[String],
    rtt_s: Option<f64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let users = || names.iter().map(String::as_str).zip(&measured.users);
    for (name, users) in users() {
        write_users(name, users, out)?;
    }
    let waits: Vec<NamedWaits<'_>> = users().map(|(name, users)| (name, &users.waits)).collect();
    write_waits(&waits, rtt_s, out)?;
    write_caveats(measured, options, out)
}

/// A row of the table of response times.
#[derive(Default, Serialize)]
struct Row<'a> {
    users: &'a str,
    wait: &'static str,
    #[serde(flatten)]
    times: Summary,
}

fn rows<'a>(waits: &[NamedWaits<'a>]) -> Vec<Row<'a>> {
    let of_name = |&(users, waits): &NamedWaits<'a>| {
        let all = waits.samples().into_iter();
        all.filter_map(move |(wait, times)| {
            let times = times.summary()?;
            Some(Row { users, wait, times })
        })
    };
    waits.iter().flat_map(of_name).collect()
}

/// The marker near the beginning of every file with an answer.
pub const MARK: &str = "\"think_scale\":";

pub fn csv(waits: &[NamedWaits<'_>], out: &mut dyn Write) -> io::Result<()> {
    csv::write_with_header(&rows(waits), out)
}

/// Prints the table of response times. With a round-trip time, it includes the share of integer multiples
/// of it.
pub fn write_waits(
    waits: &[NamedWaits<'_>],
    rtt_s: Option<f64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = rows(waits);
    if !rows.is_empty() {
        writeln!(out)?;
        let ms = |time_s: f64| short(1e3 * time_s);
        Table::of(rows)
            .text("users", |it| it.users)
            .text("event", |it| it.wait)
            .number("count", |it| it.times.count)
            .number("mean ms", |it| ms(it.times.mean_s))
            .number("min", |it| ms(it.times.min_s))
            .number("median", |it| ms(it.times.median_s))
            .number("p70", |it| ms(it.times.p70_s))
            .number("p80", |it| ms(it.times.p80_s))
            .number("p90", |it| ms(it.times.p90_s))
            .number("p95", |it| ms(it.times.p95_s))
            .number("p99", |it| ms(it.times.p99_s))
            .number("max", |it| ms(it.times.max_s))
            .print(out)?;
    }
    match rtt_s {
        Some(rtt_s) => write_rtt_multiples(waits, rtt_s, out),
        None => Ok(()),
    }
}

/// Number of points of a drawn distribution.
const POINTS: usize = 500;

/// Draws the distributions of all response times as SVG.
pub fn figure(waits: &[NamedWaits<'_>]) -> Result<String, Failure> {
    let mut curves = Vec::new();
    for (who, waits) in waits {
        for (name, times) in waits.samples() {
            curves.push((format!("{who}: {name}"), times.cdf(POINTS)));
        }
    }
    distribution_figure(&curves).map_err(|error| Failure::Evaluation(error.to_string()))
}

/// Rejects the path of a figure before anything is measured.
pub fn check_figure_path(path: &Path) -> Result<(), Failure> {
    file::check_extension(path, "this figure", &["svg"])?;
    file::check_overwrite(path, Some(Drawing::MARK))
}

fn write_users(name: &str, users: &Users, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "{name}: {}, {} finished",
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
        "; {} of {} bytes, replies of {} bytes",
        count(users.requests as usize, "request"),
        users.request_bytes,
        users.reply_bytes
    )
}

/// Prints integer multiples of the round-trip time, with the share of response times at each.
fn write_rtt_multiples(
    waits: &[NamedWaits<'_>],
    rtt_s: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "\nresponse times in whole RTTs of {} (tolerance {}):",
        Seconds(rtt_s),
        duration(tolerance_s(rtt_s))
    )?;
    for (who, waits) in waits {
        for (name, times) in waits.samples() {
            let steps = times.rtt_clusters(rtt_s, tolerance_s(rtt_s));
            let steps: Vec<String> = steps
                .iter()
                .map(|step| format!("{} at {}", percent(step.share), step.round_trips))
                .collect();
            let steps = if steps.is_empty() {
                "none".to_owned()
            } else {
                steps.join(", ")
            };
            writeln!(out, " {who} {name}: {steps}")?;
        }
    }
    Ok(())
}

/// Returns the tolerance for counting a response time as an integer number of RTTs.
fn tolerance_s(rtt_s: f64) -> f64 {
    (0.25 * rtt_s).min(2e-3)
}

fn write_caveats(measured: &Measured, options: &RunOptions, out: &mut dyn Write) -> io::Result<()> {
    let lengthened: u64 = measured
        .users
        .iter()
        .map(|users| users.padded_messages)
        .sum();
    if lengthened > 0 {
        let requests = count(lengthened as usize, "request");
        writeln!(
            out,
            "\n{requests} or their replies were longer than drawn, because of their headers"
        )?;
    }
    let held = &measured.queued_users;
    if held.users > 0 {
        writeln!(
            out,
            "\n{} waited for a free connection (limit: {}): {} on average, {} at most; {} without success",
            count(held.users as usize, "user"),
            count(options.connections, "connection"),
            duration(held.mean_s),
            duration(held.longest_s),
            held.turned_away
        )?;
    }
    let answered = measured.users.iter().any(|users| users.reply_bytes > 0);
    if answered && !measured.is_conclusive() {
        let late = TimeSample::new(measured.late_s.clone());
        writeln!(
            out,
            "\ninconclusive: 1 % of the timers of this run were more than {} late (limit: {}): \
             the machine was too busy",
            duration(late.quantile(0.99)),
            duration(MAX_P99_LATENESS_S)
        )?;
    }
    Ok(())
}

/// Response times of one kind.
#[derive(Serialize)]
pub struct Wait {
    #[serde(flatten)]
    summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<RttCluster>>,
    /// Points of the distribution: time in seconds, and the share of response times up to it.
    cdf: Vec<(f64, f64)>,
}

/// Returns the JSON answer with all measurements.
pub fn answer(
    measured: &Measured,
    options: &RunOptions,
    names: &[String],
    seed: u64,
    rtt_s: Option<f64>,
) -> impl Serialize {
    let all = measured.users.iter().zip(&options.loads).zip(names);
    let users = all.map(|((users, load), name)| {
        object! {
            name: name.clone(),
            kind: users.kind.name(),
            users_per_s: load.users_per_s,
            come: users.come,
            finished: users.finished,
            left: users.left,
            failed: users.failures().map(|(why, n)| (why.name(), n)).collect::<BTreeMap<_, _>>(),
            requests: users.requests,
            request_bytes: users.request_bytes,
            reply_bytes: users.reply_bytes,
            script_bytes: users.script_bytes,
            lengthened: users.padded_messages,
            waits: wait_summaries(&users.waits, rtt_s),
        }
    });
    object! {
        server: options.server.to_string(),
        seed: seed,
        think_scale: options.think_scale,
        wall_s: measured.wall_s,
        interrupted: measured.interrupted,
        conclusive: measured.is_conclusive(),
        lateness: TimeSample::new(measured.late_s.clone()).summary(),
        held_back: measured.queued_users,
        users: users.collect::<Vec<_>>(),
    }
}

/// Returns the response times by the name of their kind.
pub fn wait_summaries(waits: &ResponseTimes, rtt_s: Option<f64>) -> BTreeMap<&'static str, Wait> {
    let wait = |(name, times): (&'static str, TimeSample)| {
        let wait = Wait {
            summary: times.summary(),
            steps: rtt_s.map(|rtt_s| times.rtt_clusters(rtt_s, tolerance_s(rtt_s))),
            cdf: times.cdf(100),
        };
        (name, wait)
    };
    waits.samples().into_iter().map(wait).collect()
}
