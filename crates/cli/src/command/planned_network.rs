//! Options of the commands that change a network: its time, failures, threads and the written scenario.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use netflow::scenario::CompiledScenario;
use netflow::scenario_edit::{EditError, ScenarioFile};
use netflow::simulation::Network;
use netflow::steady::FailureOptions;
use netflow_files::STANDARD_INPUT;

use super::failures::kinds::FailureKinds;
use crate::failure::Failure;
use crate::input::ScenarioArguments;
use crate::output::file;
use crate::parse::positive_time;

/// Options of `plan` and `weights`.
#[derive(Args)]
pub(super) struct PlannedNetwork {
    /// Time of the traffic [default: the end of the run]
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    at: Option<f64>,

    #[command(flatten)]
    kinds: FailureKinds,

    /// Consider the network without failures only
    #[arg(long, conflicts_with_all = ["links", "nodes", "srlgs", "pairs"])]
    no_failures: bool,

    /// Maximum number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Write the changed scenario to this file, and its table of links next to it
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

impl PlannedNetwork {
    /// Checks early whether the scenario can be written. A file that exists must begin with `mark`.
    pub fn check_output(&self, scenario: &ScenarioArguments, mark: &str) -> Result<(), Failure> {
        if scenario.path == Path::new(STANDARD_INPUT) {
            return Err(EditError::StandardInput.into());
        }
        let Some(path) = &self.output else {
            return Ok(());
        };
        file::check_extension(path, "a scenario", &["toml"])?;
        file::check_overwrite(path, Some(mark))
    }

    /// Reads the file of the scenario again, to change it.
    pub fn file(
        &self,
        arguments: &ScenarioArguments,
        scenario: &CompiledScenario,
    ) -> Result<ScenarioFile, Failure> {
        let file = ScenarioFile::read(&arguments.path, scenario)?;
        if let Some(path) = &self.output {
            file.check_directory(scenario, path)?;
        }
        Ok(file)
    }

    /// Returns the time in seconds.
    pub fn at_s(&self, scenario: &CompiledScenario) -> f64 {
        self.at.unwrap_or(scenario.options.duration_s)
    }

    /// Returns the failures to evaluate; `None` without failures.
    pub fn failures(&self, network: &Network) -> Result<Option<FailureOptions>, Failure> {
        if self.no_failures {
            return Ok(None);
        }
        self.kinds.options(network).map(Some)
    }
}
