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

/// Play users against a server, and measure what they wait for
///
/// Users of the web (http) read pages of files, users of terminals (telnet) type; each has a
/// connection of its own, and comes at random. The same seed plays the same users.
#[derive(Args)]
pub struct RunArguments {
    /// The server, such as 10.0.0.2 or 10.0.0.2:4050
    #[arg(value_name = "ADDRESS", value_parser = server, default_value = "127.0.0.1:4050")]
    server: SocketAddr,

    /// End when so many users, of both kinds together, have done all they had to do
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    users: Option<u64>,

    /// Let users come for so long; who is there then leaves after the page
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    #[arg(default_value = "60s")]
    duration: f64,

    #[command(flatten)]
    played: UsersArguments,

    /// Connections at a time; users who come when there are so many have to wait, and are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,

    /// Give up after waiting so long for a connection or a reply
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    #[arg(default_value = "60s")]
    timeout: f64,

    /// Congestion control of the requests, such as reno [default: the system's]
    #[arg(long, alias = "cc", value_name = "NAME")]
    congestion: Option<String>,

    /// Also show how many waits are whole multiples of this round-trip time
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    rtt: Option<f64>,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    /// Also write the JSON to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Also draw the distribution of the waits to this file
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
            "no user was answered by {}: {why} ({users})",
            options.server
        )
    } else {
        format!("{failed} of {users} failed, so this is not what users wait: {why}")
    }))
}
