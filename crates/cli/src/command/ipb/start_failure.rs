//! Errors of starting servers and users.

use std::io;

use netflow_ipb::Error;

use crate::failure::Failure;

/// Returns the failure. Either the command line is wrong, or the system lacks a feature.
pub fn start_failure(error: Error) -> Failure {
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
