//! The command line; every subcommand's arguments stand beside what it does.

use clap::{Parser, Subcommand, ValueEnum};
use netflow::units::{Probability, Seconds, UnitError};
#[cfg(target_os = "linux")]
use netflow::units::{Rate, Size};

/// Evaluates networks: every link a queue, every TCP source its measured profile.
///
/// A network evaluator, not Cisco's NetFlow protocol. `netflow run scenario.toml` tells how long
/// the queues get, what is lost and how fast every connection is.
#[derive(Parser)]
#[command(name = "netflow", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 the evaluation failed; 2 the input or the command line is wrong;
3 a file could not be read or written; 130 interrupted.";

#[derive(Subcommand)]
pub enum Command {
    Run(crate::run::RunArguments),
    Check(crate::check::CheckArguments),
    Explain(crate::explain::ExplainArguments),
    New(crate::new::NewArguments),
    Profile(crate::profile::ProfileArguments),
    Latency(crate::latency::LatencyArguments),
    Mark(crate::mark::MarkArguments),
    Trace(crate::trace::TraceArguments),
    Ipb(crate::ipb::IpbArguments),
    Export(crate::export::ExportArguments),
    Compare(crate::compare::CompareArguments),
    Report(crate::report::ReportArguments),
    #[cfg(target_os = "linux")]
    Link(crate::link::LinkCommand),
    #[cfg(target_os = "linux")]
    Testbed(crate::testbed::TestbedArguments),
    Completions(crate::completions::CompletionsArguments),
    /// Print the JSON schema of scenario files
    Schema,
}

/// How a reporting command answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Tables to read.
    #[default]
    Text,
    /// JSON for other programs.
    Json,
}

/// A time with its unit, as an argument.
pub fn time(text: &str) -> Result<f64, String> {
    text.parse::<Seconds>()
        .map(|time| time.get())
        .map_err(|error| with_help(&error))
}

/// A time above zero.
pub fn positive_time(text: &str) -> Result<f64, String> {
    match time(text)? {
        time_s if time_s > 0.0 => Ok(time_s),
        _ => Err("it must be above 0 s".to_owned()),
    }
}

/// A time that is not negative.
pub fn time_from_zero(text: &str) -> Result<f64, String> {
    match time(text)? {
        time_s if time_s >= 0.0 => Ok(time_s),
        _ => Err("it must not be negative".to_owned()),
    }
}

/// A probability, as an argument: `0.05` or `5%`.
pub fn probability(text: &str) -> Result<f64, String> {
    let probability = text
        .parse::<Probability>()
        .map_err(|error| with_help(&error))?
        .get();
    match (0.0..=1.0).contains(&probability) {
        true => Ok(probability),
        false => Err("it must be from 0 to 1".to_owned()),
    }
}

/// A rate in bits or packets, as an argument.
#[cfg(target_os = "linux")]
pub fn rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|error| with_help(&error))
}

/// A size in bytes or packets, as an argument.
#[cfg(target_os = "linux")]
pub fn size(text: &str) -> Result<Size, String> {
    text.parse().map_err(|error| with_help(&error))
}

pub fn with_help(error: &UnitError) -> String {
    match error.help() {
        "" => error.to_string(),
        help => format!("{error}; {help}"),
    }
}
