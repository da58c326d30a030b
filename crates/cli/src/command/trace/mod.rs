//! The subcommands `netflow trace summary`, `links`, `connections`, `samples` and `burstiness`.

mod burstiness;
mod connections;
mod links;
pub mod samples;
mod summary;
pub mod trace_files;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Read packet traces of ns-2 and captures (pcap, pcapng)
///
/// Traces may be compressed by gzip; `-` is the standard input. What is malformed is counted and
/// reported, and reading goes on where that is safe. Memory does not grow with a trace's length but
/// with its flows: about 0.5 KB for a flow of ns-2, 1.2 KB for a captured connection. A trace of more
/// than 4194304 flows is refused.
#[derive(Args)]
pub struct TraceArguments {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Subcommand)]
enum TraceCommand {
    Summary(summary::SummaryArguments),
    Links(links::LinksArguments),
    Connections(connections::ConnectionsArguments),
    Samples(samples::SamplesArguments),
    Burstiness(burstiness::BurstinessArguments),
}

pub fn trace(arguments: &TraceArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.command {
        TraceCommand::Summary(arguments) => summary::summary(arguments, out),
        TraceCommand::Links(arguments) => links::links(arguments, out),
        TraceCommand::Connections(arguments) => connections::connections(arguments, out),
        TraceCommand::Samples(arguments) => samples::samples(arguments, out),
        TraceCommand::Burstiness(arguments) => burstiness::burstiness(arguments, out),
    }
}
