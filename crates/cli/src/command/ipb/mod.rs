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

/// Run the Internet Protocol Benchmark: what users of the web and of terminals wait for
///
/// `netflow ipb serve` answers at one end of a network, `netflow ipb run` plays users at the other,
/// over real sockets. `netflow ipb predict` plays the same users over simulated connections.
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
