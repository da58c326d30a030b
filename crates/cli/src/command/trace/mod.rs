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

/// Analyse packet traces of ns-2 and captures (pcap, pcapng)
///
/// Traces may be compressed with gzip; `-` is the standard input. Malformed records are counted and
/// reported, and reading continues where that is safe. Memory grows with the number of flows, not
/// with the length of a trace: about 0.5 KB per ns-2 flow and 1.2 KB per captured connection.
/// Traces with more than 4194304 flows are rejected.
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
