//! The scenario that a subcommand works on.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::scenario::Prepared;

use crate::failure::Failure;
use crate::problems::plain;

/// Which scenario, and what is different about it this time.
#[derive(Args)]
pub struct ScenarioArguments {
    /// The scenario's file
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    path: PathBuf,

    /// Change a setting, such as `simulation.duration=5 s`; may be given several times
    ///
    /// Elements are called as tables print them, and `*` stands for anything in a name:
    /// `connection.*.count=2`, `link.R*.buffer=50 pkt`. The name that a duplex link has in the file
    /// is both of its directions, the other name the other one alone. A table is written in braces:
    /// `link.A->B.queue={ discipline = "red", min = "5 pkt", max = "15 pkt" }`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

impl ScenarioArguments {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn overrides(&self) -> &[String] {
        &self.overrides
    }
}

/// A scenario ready to run.
pub type Scenario = Prepared;

/// Reads and validates it; every problem found is in the failure.
pub fn load(arguments: &ScenarioArguments) -> Result<Scenario, Failure> {
    netflow::scenario::load(&arguments.path, &arguments.overrides)
        .map_err(|problems| Failure::Input((&problems).into()))
}

/// The warnings as the summary keeps them.
pub fn warning_texts(scenario: &Scenario) -> Vec<String> {
    scenario
        .warnings
        .iter()
        .map(|warning| plain(&warning.into()))
        .collect()
}
