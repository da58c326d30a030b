//! Input of subcommands: scenarios and files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
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

/// A scenario, and the model that evaluates it.
#[derive(Args)]
pub struct ModelledScenario {
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// Model of this evaluation, instead of the scenario's
    ///
    /// In the packet model, a connection with a built-in profile runs the TCP from which the profile was
    /// measured.
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelArgument>,
}

/// Model of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelArgument {
    /// Every packet and congestion window
    Packet,
    /// Rates and mean queues
    Fluid,
}

impl ModelArgument {
    /// Returns the setting as an override.
    pub fn as_override(self) -> &'static str {
        match self {
            ModelArgument::Packet => "simulation.model=packet",
            ModelArgument::Fluid => "simulation.model=fluid",
        }
    }
}

impl ModelledScenario {
    /// Reads and validates the scenario. The failure contains every problem.
    pub fn load(&self) -> Result<CompiledScenario, Failure> {
        let ScenarioArguments {
            path, overrides, ..
        } = &self.scenario;
        let mut all = overrides.clone();
        all.extend(self.model.map(|model| model.as_override().to_owned()));
        netflow::evaluate::load(path, &all, self.scenario.file_access())
            .map_err(|problems| Failure::Input(problems.into()))
    }

    /// Returns the command that evaluates this scenario in the packet model.
    pub fn packet_command(&self) -> String {
        let ScenarioArguments {
            path,
            overrides,
            allow_outside,
        } = &self.scenario;
        let mut command = format!("netflow run {}", shell_word(&path.to_string_lossy()));
        let is_model = |text: &&String| text.trim_start().starts_with("simulation.model");
        for text in overrides.iter().filter(|text| !is_model(text)) {
            command += &format!(" --set {}", shell_word(text));
        }
        if *allow_outside {
            command += " --allow-outside";
        }
        command + " --model packet"
    }
}

/// Quotes a word for a shell if it needs quotes.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
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
