//! The `netflow` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    netflow_cli::main_with(std::env::args_os()).into()
}
