//! Errors of starting servers and users.

use std::io;

use netflow_ipb::Error;

use crate::failure::Failure;

/// Returns the failure. Either the command line is wrong, or the system lacks a feature.
pub fn start_failure(error: Error) -> Failure {
    let help = match &error {
        Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            "another program listens there; choose another port with --port, or any free one with --port 0"
        }
        Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrNotAvailable => {
            "write an address of this machine, or 0.0.0.0 for all of its addresses"
        }
        Error::Workload(_) | Error::Option { .. } | Error::Congestion { .. } => {
            return Failure::usage(error.to_string());
        }
        _ => return Failure::Evaluation(error.to_string()),
    };
    Failure::Evaluation(format!("{error}\n  help: {help}"))
}
