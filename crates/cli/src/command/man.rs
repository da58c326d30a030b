//! The subcommand `netflow man`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command, ValueHint};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::output::file;

/// Write manual pages, one per command
///
/// For example: `netflow man -o ~/.local/share/man/man1`; then `man netflow-run` shows one page.
#[derive(Args)]
pub struct ManArguments {
    /// Output directory, created if missing
    #[arg(short, long, value_name = "DIR", value_parser = crate::parse::directory, value_hint = ValueHint::DirPath)]
    output: PathBuf,
}

/// The marker in the head of every page.
const MARK: &str = ".TH netflow";

/// Writes the pages of `command` and all its subcommands.
pub fn man(arguments: &ManArguments, command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    let directory = &arguments.output;
    std::fs::create_dir_all(directory).map_err(|source| Failure::File {
        action: "create",
        path: directory.clone(),
        source,
    })?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let written = pages(&command, directory)?;
    Ok(writeln!(out, "{written} pages in {}", directory.display())?)
}

/// Writes the pages of a command and its subcommands. Returns the number of pages.
fn pages(command: &Command, directory: &Path) -> Result<usize, Failure> {
    let page = Man::new(command.clone());
    let name = page.get_filename();
    let mut text = Vec::new();
    page.render(&mut text)?;
    file::write(&directory.join(name), text, Some(MARK))?;
    let below = command.get_subcommands().map(|it| pages(it, directory));
    below.sum::<Result<usize, Failure>>().map(|below| 1 + below)
}
