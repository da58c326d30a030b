//! The subcommand `netflow ipb predict`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use netflow::number::{count, percent};
use netflow::report::Drawing;
use netflow::tcpmodel::Stack;
use netflow::tcpmodel::transfer_simulation::{Direction, HEADER_BYTES, Path, SessionRuns};
use netflow::units::{BitsPerSecond, Seconds, Size};
use netflow_ipb::{Arrivals, Load};
use netflow_workload::{ResponseTimes, Session};

use super::print;
use super::start_failure::start_failure;
use super::users_arguments::{NamedLoad, UsersArguments};
use crate::command::latency::stack;
use crate::failure::Failure;
use crate::output::file;
use crate::output::format::{Format, HELP};
use crate::output::json::object;
use crate::parse::{probability, quantity, time_from_zero};

/// Predict response times of users over simulated connections
///
/// The users are the same as in `netflow ipb run` with the same seed. Each connection is simulated
/// packet by packet with the rules of a TCP implementation, over a path without other traffic.
#[derive(Args)]
pub struct PredictArguments {
    /// One-way delay, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = time_from_zero, allow_hyphen_values = true)]
    delay: f64,

    /// Loss probability in each direction
    #[arg(long, value_parser = probability, allow_hyphen_values = true, default_value = "0%")]
    loss: f64,

    /// Bit error rate in each direction; a packet with an error is lost
    #[arg(long, value_name = "RATE", value_parser = probability, allow_hyphen_values = true)]
    #[arg(default_value = "0")]
    ber: f64,

    /// Bandwidth in each direction [default: no transmission time]
    #[arg(long, value_name = "RATE", value_parser = quantity::<BitsPerSecond>)]
    bandwidth: Option<BitsPerSecond>,

    /// Buffer size, including the packet in transmission, such as 100pkt or 64KB
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Size>, default_value = "1000 pkt")]
    buffer: Size,

    /// Time that the server needs for a reply
    #[arg(long, value_name = "TIME", value_parser = time_from_zero, allow_hyphen_values = true)]
    #[arg(default_value = "0s")]
    service_time: f64,

    #[arg(long, value_name = "NAME", default_value = "linux-6", help = stack::help())]
    stack: String,

    #[command(flatten)]
    changes: stack::StackChanges,

    /// Largest packet in bytes, including headers
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    #[arg(value_parser = clap::value_parser!(u32).range(68..=65_535))]
    mtu: u32,

    /// Total number of users; each of them completes its session
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    users: u64,

    /// Number of repetitions with the same users and different losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    repeat: u64,

    #[command(flatten)]
    played: UsersArguments,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,

    /// Also draw the distribution of response times to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

/// Bytes that TCP timestamps add to the headers of a packet.
const TIMESTAMPS_BYTES: u32 = 12;

pub fn predict(arguments: &PredictArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.svg {
        print::check_figure_path(path)?;
    }
    let conversations = session_runs(arguments)?;
    let path = path(arguments);
    let played = sessions(arguments)?;
    let mut waits = Vec::new();
    let mut given_up = 0;
    for (name, sessions) in &played {
        let mut of_all = ResponseTimes::default();
        for time in 0..arguments.repeat {
            let seed = arguments.played.seed.wrapping_add(time << 32);
            let of_one = conversations.simulate(sessions, seed, |_| path);
            let of_one = of_one.map_err(|error| Failure::usage(error.to_string()))?;
            of_all.extend(of_one.response_times);
            given_up += of_one.given_up;
        }
        waits.push((name.as_str(), sessions.len(), of_all));
    }
    let borrowed: Vec<(&str, &ResponseTimes)> =
        waits.iter().map(|(name, _, w)| (*name, w)).collect();
    let rtt_s = Some(2.0 * arguments.delay).filter(|rtt_s| *rtt_s > 0.0);
    let users = waits.iter().map(|(name, come, waits)| {
        object! { name: *name, users: *come, waits: print::wait_summaries(waits, rtt_s) }
    });
    let answer = object! {
        stack: &conversations.stack.name,
        delay_s: arguments.delay,
        loss: arguments.loss,
        bit_error_rate: arguments.ber,
        seed: arguments.played.seed,
        repeat: arguments.repeat,
        given_up: given_up,
        users: users.collect::<Vec<_>>(),
    };
    let text = |out: &mut dyn Write| {
        write_inputs(arguments, &conversations.stack, &waits, out)?;
        if given_up > 0 {
            let users = count(given_up as usize, "user");
            writeln!(out, "{users} gave up after 15 consecutive timeouts")?;
        }
        print::write_waits(&borrowed, rtt_s, out)
    };
    let csv = |out: &mut dyn Write| print::csv(&borrowed, out);
    arguments.format.print(out, &answer, csv, text)?;
    if let Some(path) = &arguments.svg {
        file::write(path, print::figure(&borrowed)?, Some(Drawing::MARK))?;
    }
    Ok(())
}

fn session_runs(arguments: &PredictArguments) -> Result<SessionRuns, Failure> {
    let stack = stack::find(&arguments.stack, &arguments.changes)?;
    let options_bytes = if stack.timestamps {
        TIMESTAMPS_BYTES
    } else {
        0
    };
    Ok(SessionRuns {
        mss_bytes: arguments.mtu - HEADER_BYTES as u32 - options_bytes,
        service_s: arguments.service_time,
        stack,
    })
}

fn path(arguments: &PredictArguments) -> Path {
    let direction = Direction {
        delay_s: arguments.delay,
        loss: arguments.loss,
        bit_error_rate: arguments.ber,
        bandwidth_bps: arguments.bandwidth.map(BitsPerSecond::get),
        buffer: Some(arguments.buffer),
    };
    Path {
        to_server: direction,
        to_client: direction,
    }
}

/// Returns the first sessions to start, with the names of their kinds of users.
fn sessions(arguments: &PredictArguments) -> Result<Vec<(String, Vec<Session>)>, Failure> {
    let scale = arguments.played.think_scale;
    if !(0.0..=1e3).contains(&scale) {
        let message = format!("the scale of think times is {scale}, allowed is 0 to 1000");
        return Err(Failure::usage(message));
    }
    let (mut played, loads): (Vec<(String, Vec<Session>)>, Vec<Load>) = arguments
        .played
        .loads()?
        .into_iter()
        .map(|NamedLoad { name, load }| ((name, Vec::new()), load))
        .unzip();
    let arrivals = Arrivals::new(&loads).map_err(start_failure)?;
    for (which, mut user) in arrivals.take(arguments.users as usize) {
        if let Some((_, users)) = played.get_mut(which) {
            user.turns.iter_mut().for_each(|turn| turn.pause_s *= scale);
            users.push(user);
        }
    }
    Ok(played)
}

fn write_inputs(
    arguments: &PredictArguments,
    stack: &Stack,
    waits: &[(&str, usize, ResponseTimes)],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let users: Vec<String> = waits
        .iter()
        .map(|(name, come, _)| format!("{} of {name}", count(*come, "user")))
        .collect();
    write!(
        out,
        "{}, simulated packet by packet with {}; one-way delay {}, loss {} in each direction",
        users.join(", "),
        stack.name,
        Seconds(arguments.delay),
        percent(arguments.loss),
    )?;
    if arguments.ber > 0.0 {
        write!(out, ", bit error rate {}", arguments.ber)?;
    }
    if let Some(bandwidth) = arguments.bandwidth {
        write!(out, ", {bandwidth}")?;
    }
    writeln!(out)
}
