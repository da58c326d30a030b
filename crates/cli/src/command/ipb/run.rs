//! The subcommand `netflow ipb run`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::number::{count, duration};
use netflow::report::Drawing;
use netflow_ipb::{Load, Measured, RunOptions, StopCondition, Users};

use super::print;
use super::start_failure::start_failure;
use super::users_arguments::UsersArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::file;
use crate::output::format::{Format, HELP};
use crate::output::progress::Progress;
use crate::parse::{positive_time, server};

/// Play users against a server and measure their response times
///
/// Web users (http) read pages of files; terminal users (telnet) type. Each user has its own
/// connection and arrives at random. Equal seeds play the same users.
#[derive(Args)]
pub struct RunArguments {
    /// Server, such as 10.0.0.2 or 10.0.0.2:4050
    #[arg(value_name = "ADDRESS", value_parser = server, default_value = "127.0.0.1:4050")]
    server: SocketAddr,

    /// Number of users of both kinds together; the run ends when they have finished
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    users: Option<u64>,

    /// Time in which users arrive; remaining users leave after their current page
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    #[arg(default_value = "60s")]
    duration: f64,

    #[command(flatten)]
    played: UsersArguments,

    /// Maximum number of simultaneous connections; further users wait and are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,

    /// Maximum time to wait for a connection or a reply
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    #[arg(default_value = "60s")]
    timeout: f64,

    /// Congestion control of the requests, such as reno [default: the default of the system]
    #[arg(long, alias = "cc", value_name = "NAME")]
    congestion: Option<String>,

    /// Also print the share of response times at whole multiples of this round-trip time
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    rtt: Option<f64>,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    /// Also write the JSON output to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Also draw the distribution of response times to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        file::check_overwrite(path, Some(print::MARK))?;
    }
    if let Some(path) = &arguments.svg {
        print::check_figure_path(path)?;
    }
    let (names, loads): (Vec<String>, Vec<Load>) = arguments
        .played
        .loads()?
        .into_iter()
        .map(|named| (named.name, named.load))
        .unzip();
    let options = RunOptions {
        until: match arguments.users {
            Some(users) => StopCondition::Users(users),
            None => StopCondition::Seconds(arguments.duration),
        },
        think_scale: arguments.played.think_scale,
        connections: arguments.connections as usize,
        timeout_s: arguments.timeout,
        congestion: arguments.congestion.clone(),
        ..RunOptions::new(arguments.server, loads)
    };
    let measured = run_benchmark(&options)?;
    let answer = print::answer(
        &measured,
        &options,
        &names,
        arguments.played.seed,
        arguments.rtt,
    );
    let waits = names.iter().zip(&measured.users);
    let waits: Vec<_> = waits
        .map(|(name, users)| (name.as_str(), &users.waits))
        .collect();
    arguments.format.print(
        out,
        &answer,
        |out| print::csv(&waits, out),
        |out| print::text(&measured, &options, &names, arguments.rtt, out),
    )?;
    if let Some(path) = &arguments.output {
        file::json(path, &answer, print::MARK)?;
    }
    if let Some(path) = &arguments.svg {
        file::write(path, print::figure(&waits)?, Some(Drawing::MARK))?;
    }
    check_measurement(&measured, &options)
}

fn run_benchmark(options: &RunOptions) -> Result<Measured, Failure> {
    let mut bar = Progress::new("the benchmark", true);
    let measured = netflow_ipb::run(options, &mut |progress| {
        bar.set(progress.share);
        !interrupt::requested()
    });
    bar.finish();
    measured.map_err(start_failure)
}

/// Returns a failure if no request succeeded, or if most failed.
fn check_measurement(measured: &Measured, options: &RunOptions) -> Result<(), Failure> {
    if measured.interrupted {
        return Err(Failure::Interrupted(format!(
            "stopped after {}",
            duration(measured.wall_s)
        )));
    }
    let sum = |of: fn(&Users) -> u64| measured.users.iter().map(of).sum::<u64>();
    let (come, failed) = (sum(|users| users.come), sum(Users::failed));
    let nobody = failed > 0 && sum(|users| users.reply_bytes) == 0;
    if !nobody && 2 * failed <= come {
        return Ok(());
    }
    let mut failures = measured.users.iter().flat_map(|users| users.failures());
    let why = failures.next().map_or("", |(failure, _)| failure.name());
    let users = count(come as usize, "user");
    Err(Failure::Evaluation(if nobody {
        format!(
            "the server {} answered no user: {why} ({users})",
            options.server
        )
    } else {
        format!("{failed} of {users} failed, so the response times are not valid: {why}")
    }))
}
