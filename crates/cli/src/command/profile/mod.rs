//! The subcommands `netflow profile list`, `show`, `fit`, `measure` and `compare`.

pub mod by_name;
mod compare;
mod fit;
mod list;
#[cfg(target_os = "linux")]
mod measure;
mod show;
mod write_profile;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Show, compare, fit and measure TCP profiles: throughput over loss and round-trip time
#[derive(Args)]
pub struct ProfileArguments {
    #[command(subcommand)]
    command: ProfileCommand,
}

impl ProfileArguments {
    /// Returns whether the command measures over emulated links in its own namespaces.
    pub fn runs_measurement(&self) -> bool {
        #[cfg(target_os = "linux")]
        let measures = matches!(self.command, ProfileCommand::Measure(_));
        #[cfg(not(target_os = "linux"))]
        let measures = false;
        measures
    }
}

#[derive(Subcommand)]
enum ProfileCommand {
    List(list::ListArguments),
    Show(show::ShowArguments),
    Fit(fit::FitArguments),
    #[cfg(target_os = "linux")]
    Measure(measure::MeasureArguments),
    Compare(compare::CompareArguments),
}

pub fn profile(arguments: &ProfileArguments, out: &mut dyn Write) -> Result<(), Failure> {
    match &arguments.command {
        ProfileCommand::List(arguments) => list::list(arguments, out),
        ProfileCommand::Show(arguments) => show::show(arguments, out),
        ProfileCommand::Fit(arguments) => fit::fit(arguments, out),
        #[cfg(target_os = "linux")]
        ProfileCommand::Measure(arguments) => measure::measure(arguments, out),
        ProfileCommand::Compare(arguments) => compare::compare(arguments, out),
    }
}
