//! The command line; every subcommand's arguments stand beside what it does.

use clap::{Parser, Subcommand};

use crate::command;

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
    Run(command::run::RunArguments),
    Check(command::check::CheckArguments),
    Explain(command::explain::ExplainArguments),
    Solve(command::solve::SolveArguments),
    Failures(command::failures::FailuresArguments),
    Sweep(command::sweep::SweepArguments),
    New(command::new::NewArguments),
    Import(command::import::ImportArguments),
    Profile(command::profile::ProfileArguments),
    Latency(command::latency::LatencyArguments),
    Mark(command::mark::MarkArguments),
    Trace(command::trace::TraceArguments),
    Ipb(command::ipb::IpbArguments),
    Export(command::export::ExportArguments),
    Compare(command::compare::CompareArguments),
    Report(command::report::ReportArguments),
    #[cfg(target_os = "linux")]
    Link(command::link::LinkCommand),
    #[cfg(target_os = "linux")]
    Testbed(command::testbed::TestbedArguments),
    Completions(command::completions::CompletionsArguments),
    /// Print the JSON schema of scenario files
    Schema,
}
