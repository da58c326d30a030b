//! The scenario that a subcommand works on.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::results::Manifest;
use netflow::scenario::changes::Version;
use netflow::scenario::{Prepared, Reach};
use netflow_files::{Kind, read_text};
use serde::Deserialize;

use crate::failure::Failure;
use crate::problems::plain;

/// Which scenario, and what is different about it this time.
#[derive(Args)]
pub struct ScenarioArguments {
    /// The scenario's file; `-` is the standard input
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

    /// Let the scenario read tables and profiles that are not below its folder
    #[arg(long)]
    allow_outside: bool,
}

impl ScenarioArguments {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn overrides(&self) -> &[String] {
        &self.overrides
    }

    pub fn allow_outside(&self) -> bool {
        self.allow_outside
    }
}

/// A scenario ready to run.
pub type Scenario = Prepared;

/// Reads and validates it; every problem found is in the failure.
pub fn load(arguments: &ScenarioArguments) -> Result<Scenario, Failure> {
    // What stands on the command line comes after it, and counts.
    let mut overrides: Vec<String> = older_keeper(&arguments.path).into_iter().collect();
    overrides.extend_from_slice(&arguments.overrides);
    let reach = match arguments.allow_outside {
        true => Reach::Anywhere,
        false => Reach::Below,
    };
    netflow::scenario::load_within(&arguments.path, &overrides, reach)
        .map_err(|problems| Failure::Input(problems.into()))
}

/// The warnings as the summary keeps them.
pub fn warning_texts(scenario: &Scenario) -> Vec<String> {
    scenario.warnings.iter().map(plain).collect()
}

/// What the manifest of a run says of the copy of its scenario that it keeps.
#[derive(Deserialize)]
struct Keeper {
    version: String,
    kept: Option<PathBuf>,
}

/// As what the version is set that kept this file beside its results, if it was an older one:
/// defaults may have changed since.
fn older_keeper(path: &Path) -> Option<String> {
    path.ancestors().skip(1).find_map(|results| {
        let manifest = read_text(&results.join(Manifest::FILE), Kind::Summary).ok()?;
        let keeper: Keeper = serde_json::from_str(&manifest).ok()?;
        let is_older = keeper.version.parse::<Version>().ok()? < Version::current();
        let is_kept = results.join(keeper.kept?) == path;
        (is_older && is_kept).then(|| format!("simulation.written-for={:?}", keeper.version))
    })
}
