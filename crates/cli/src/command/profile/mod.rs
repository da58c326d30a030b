//! `netflow profile list|show|fit|measure|compare`

mod compare;
mod fit;
mod list;
#[cfg(target_os = "linux")]
mod measure;
mod show;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use netflow::profile::{Profile, aliases, builtin, builtin_names, load};

use crate::failure::Failure;
use crate::input::unknown;

/// Show and compare TCP profiles: throughput from loss and round-trip time
#[derive(Args)]
pub struct ProfileArguments {
    #[command(subcommand)]
    command: ProfileCommand,
}

impl ProfileArguments {
    /// Whether it measures over emulated links, in namespaces of its own.
    pub fn measures(&self) -> bool {
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

/// A built-in profile's name or alias, or a profile file's path.
pub fn find(name: &str) -> Result<Arc<dyn Profile>, Failure> {
    if let Some(profile) = builtin(name) {
        return Ok(profile);
    }
    let path = Path::new(name);
    if path.exists()
        || path.extension().is_some() && path.components().count() > 1
        || name.ends_with(".toml")
    {
        return load(path).map_err(|error| Failure::Input(error.into()));
    }
    let names = builtin_names()
        .iter()
        .chain(aliases().iter().map(|(alias, _)| alias))
        .copied();
    let more = "`netflow profile list` shows all; or give a profile file's path";
    let message = format!("there is no profile `{name}`");
    Err(unknown(message, name, names, Some(more.to_owned())))
}
