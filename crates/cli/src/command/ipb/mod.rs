//! `netflow ipb serve|run|predict`

mod predict;
mod print;
mod run;
mod serve;
mod users;

use std::io::{self, Write};

use clap::{Args, Subcommand};
use netflow_ipb::Error;

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

/// What the command line asks for may be wrong, or the system not have it.
fn cannot_start(error: Error) -> Failure {
    let help = match &error {
        Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            "another program listens there; --port takes another port, 0 any that is free"
        }
        Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrNotAvailable => {
            "it must be an address of this machine; 0.0.0.0 is all of them"
        }
        Error::Workload(_) | Error::Option { .. } | Error::Congestion { .. } => {
            return Failure::usage(error.to_string());
        }
        _ => return Failure::Evaluation(error.to_string()),
    };
    Failure::Evaluation(format!("{error}\n  help: {help}"))
}
