//! Input of subcommands: scenarios and files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::scenario::{CompiledScenario, FileAccess, for_steady_state};
use netflow::units::nearest_name;
use netflow_files::FileKind;

use crate::failure::Failure;
use crate::interrupt;

/// Which scenario, and what is different about it this time.
#[derive(Args)]
pub struct ScenarioArguments {
    /// Scenario file; `-` is the standard input
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,

    /// Change a setting, such as `simulation.duration=5 s`; may be given several times
    ///
    /// Elements have the names that the tables print, and `*` matches any text:
    /// `connection.*.count=2`, `link.R*.buffer=50 pkt`. `link.A<->B` selects both directions. For a
    /// duplex link, the name used in the file also selects both directions; the reversed name
    /// selects only the reverse direction. Write a table in braces: `link.A->B.queue={ discipline =
    /// "red", min = "5 pkt", max = "15 pkt" }`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// Allow tables and profiles outside the folder of the scenario
    #[arg(long)]
    pub allow_outside: bool,
}

impl ScenarioArguments {
    /// Reads and validates the scenario. The failure contains every problem.
    pub fn load(&self) -> Result<CompiledScenario, Failure> {
        netflow::evaluate::load(&self.path, &self.overrides, self.file_access())
            .map_err(|problems| Failure::Input(problems.into()))
    }

    /// Reads the scenario and, if it requests it, calibrates it with the packet model.
    pub fn load_calibrated(&self) -> Result<CompiledScenario, Failure> {
        let scenario = self.load()?;
        let ready = netflow::evaluate::calibrated(&scenario, &interrupt::requested);
        let ready = ready.map_err(|error| Failure::Evaluation(error.to_string()))?;
        ready
            .map(Cow::into_owned)
            .ok_or_else(|| Failure::Interrupted("calibration was not finished".to_owned()))
    }

    /// Reads the scenario and prepares it for its steady state.
    pub fn load_for_steady(&self) -> Result<CompiledScenario, Failure> {
        let scenario = self.load_calibrated()?;
        Ok(for_steady_state(scenario, |more| {
            let all = [&*self.overrides, more].concat();
            netflow::evaluate::load(&self.path, &all, self.file_access())
        }))
    }

    /// Returns the set of files that the scenario may refer to.
    pub fn file_access(&self) -> FileAccess {
        if self.allow_outside {
            FileAccess::Unrestricted
        } else {
            FileAccess::BelowDirectory
        }
    }
}

/// Reads a whole file of this kind.
pub fn read(path: &Path, kind: FileKind) -> Result<Vec<u8>, Failure> {
    netflow_files::read(path, kind).map_err(|refusal| Failure::File {
        action: "read",
        path: path.to_owned(),
        source: refusal.into(),
    })
}

/// Maximum number of names that are listed.
const MAX_LISTED_NAMES: usize = 20;

/// Lists the known names.
fn list_names(known: Vec<&str>) -> Option<String> {
    let rest = known.len().saturating_sub(MAX_LISTED_NAMES);
    let names = known
        .into_iter()
        .take(MAX_LISTED_NAMES)
        .collect::<Vec<_>>()
        .join(", ");
    match (names.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(format!("known names: {names}")),
        (false, rest) => Some(format!("known names: {names} and {rest} more")),
    }
}

/// Returns the failure of an unknown name. `more` replaces the list of known names in the help.
pub fn unknown_name<'a>(
    message: String,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    more: Option<String>,
) -> Failure {
    let known: Vec<&str> = known.collect();
    let nearest = nearest_name(name, known.iter().copied(), &[]);
    let nearest = nearest.map(|nearest| format!("the nearest name is `{nearest}`"));
    let more = more.or_else(|| list_names(known));
    let help: Vec<String> = nearest.into_iter().chain(more).collect();
    Failure::Usage {
        message,
        help: (!help.is_empty()).then(|| help.join("; ")),
    }
}
