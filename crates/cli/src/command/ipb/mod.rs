//! The subcommands `netflow ipb serve`, `run` and `predict`.

mod predict;
mod print;
mod run;
mod serve;
mod start_failure;
mod users_arguments;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Run the Internet Protocol Benchmark: response times of web and terminal users
///
/// `netflow ipb serve` answers requests at one end of a network, and `netflow ipb run` plays users
/// at the other end, over real sockets. `netflow ipb predict` plays the same users over simulated
/// connections.
#[derive(Args)]
pub struct IpbArguments {
    #[command(subcommand)]
    command: IpbCommand,
}

#[derive(Subcommand)]
enum IpbCommand {
    Serve(serve::ServeArguments),
    Run(run::RunArguments),
    Predict(predict::PredictArguments),
}

pub fn ipb(arguments: &IpbArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.command {
        IpbCommand::Serve(arguments) => serve::serve(arguments, out),
        IpbCommand::Run(arguments) => run::run(arguments, out),
        IpbCommand::Predict(arguments) => predict::predict(arguments, out),
    }
}
