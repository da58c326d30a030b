//! `netflow completions SHELL`

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// Print a shell's completions
///
/// For bash: `netflow completions bash > ~/.local/share/bash-completion/completions/netflow`.
#[derive(Args)]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Of all that `command` takes.
pub fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // Made in memory first: clap_complete panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "netflow", &mut script);
    Ok(out.write_all(&script)?)
}
