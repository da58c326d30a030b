//! Failures of commands: messages and exit codes.

use std::io::{self, Write};
use std::path::PathBuf;

use netflow::scenario_edit::EditError;
use netflow::{results, trace};

use crate::interrupt;
use crate::output::escape_control_characters::EscapingWriter;
use crate::problems::{self, Report};

/// A failure of a command.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The evaluation failed: exit code 1.
    #[error("{0}")]
    Evaluation(String),
    /// The command line is invalid in a way that clap does not detect: exit code 2.
    #[error("{message}")]
    Usage {
        /// The error.
        message: String,
        /// The suggested correction.
        help: Option<String>,
    },
    /// A scenario or a profile file is invalid: exit code 2, or 3 if it cannot be read.
    #[error("{} problem(s)", .0.problems.len())]
    Input(Report),
    /// A file could not be read or written: exit code 3.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write` …
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The results directory could not be written or read: exit code 3. A malformed file, or a format
    /// that this build does not support: exit code 2.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// The standard output could not be written: exit code 3. If its reader has closed it: exit code 0.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
    /// A trace could not be read: exit code 3; 2 if it is not a trace.
    #[error(transparent)]
    Trace(#[from] netflow::trace::Error),
    /// Another program failed: its exit code. The program itself has reported the error.
    #[cfg(target_os = "linux")]
    #[error("exit code {0}")]
    Status(u8),
    /// Interrupted: exit code 130.
    #[error("{0}")]
    Interrupted(String),
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        let help = match &error {
            EditError::StandardInput => Some("write the scenario to a file".to_owned()),
            EditError::Write(_) | EditError::Invalid(_) => None,
        };
        match error {
            EditError::Invalid(problems) => Failure::Input(problems.into()),
            other => Failure::Usage {
                message: other.to_string(),
                help,
            },
        }
    }
}

#[cfg(target_os = "linux")]
impl From<netflow_testbed::Error> for Failure {
    fn from(error: netflow_testbed::Error) -> Failure {
        use netflow_testbed::Error;
        match error {
            Error::File { path, source } => Failure::File {
                action: "write",
                path,
                source,
            },
            Error::UnknownCongestionControl { .. } | Error::Option(_) | Error::Network(_) => {
                Failure::Usage {
                    message: error.to_string(),
                    help: error.help(),
                }
            }
            Error::Unavailable { .. } | Error::System { .. } => {
                let help = error.help().map(|help| format!("\n  help: {help}"));
                Failure::Evaluation(format!("{error}{}", help.unwrap_or_default()))
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl From<netflow_emulation::Error> for Failure {
    fn from(error: netflow_emulation::Error) -> Failure {
        use netflow_emulation::Error;
        match error {
            Error::Infeasible(infeasible) => Failure::Usage {
                message: format!("this scenario cannot be emulated: {infeasible}"),
                help: infeasible.help().map(str::to_owned),
            },
            Error::Testbed(error) => error.into(),
            Error::Stopped => Failure::Interrupted(error.to_string()),
            _ => Failure::Evaluation(error.to_string()),
        }
    }
}

impl Failure {
    /// Returns the failure of an invalid command line, without help.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage {
            message: message.into(),
            help: None,
        }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Evaluation(_) => 1,
            Failure::Usage { .. }
            | Failure::Results(
                results::Error::FormatMissing { .. } | results::Error::Malformed { .. },
            )
            | Failure::Trace(trace::Error::NotATrace { .. } | trace::Error::LinkLayer { .. }) => 2,
            Failure::Input(report) if report.unreadable => 3,
            Failure::Input(_) => 2,
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Failure::File { .. } | Failure::Results(_) | Failure::Output(_) | Failure::Trace(_) => {
                3
            }
            #[cfg(target_os = "linux")]
            Failure::Status(code) => *code,
            Failure::Interrupted(_) => interrupt::CODE,
        }
    }

    /// Reports the failure on the standard error.
    pub fn report(&self) {
        // An error of the standard error cannot be reported anywhere.
        let mut raw = io::stderr().lock();
        if let Failure::Input(report) = self {
            let _ = problems::print(report, &mut raw);
            return;
        }
        let mut stderr = EscapingWriter::new(raw);
        let _ = match self {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            #[cfg(target_os = "linux")]
            Failure::Status(_) => Ok(()),
            Failure::Interrupted(what) => writeln!(stderr, "interrupted: {what}"),
            Failure::Usage {
                message,
                help: Some(help),
            } => writeln!(stderr, "error: {message}\n  help: {help}"),
            other => writeln!(stderr, "error: {other}"),
        };
    }
}
