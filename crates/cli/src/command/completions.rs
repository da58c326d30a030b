//! The subcommand `netflow completions SHELL`.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// Print shell completions
///
/// For bash: `netflow completions bash > ~/.local/share/bash-completion/completions/netflow`.
#[derive(Args)]
pub struct CompletionsArguments {
    /// Shell
    shell: Shell,
}

/// Prints the completions of `command`.
pub fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // The script is generated in memory because clap_complete panics on write errors.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "netflow", &mut script);
    Ok(out.write_all(&script)?)
}
