//! Definition of a sweep, validated completely before the first case.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use netflow_document::replaces_all;
use netflow_network::Network;
use netflow_results::{Format, SweepColumns};
use netflow_scenario::{CompiledScenario, Problem, Problems, digest, for_steady_state};
use netflow_simulation::uncalibrated;
use netflow_steady::Solver;
use rayon::prelude::*;
use serde::Serialize;

use crate::cases::{Case, Cases, count};
use crate::chunks::Chunks;
use crate::evaluator::{CaseEvaluator, check_run};
use crate::tables::columns;
use crate::{Axis, Error};
use netflow_results::columns::Cell;

/// Loads the scenario with these settings, each `KEY=VALUE`; later ones replace earlier ones.
pub type ScenarioLoader<'a> = dyn Fn(&[String]) -> Result<CompiledScenario, Problems> + Sync + 'a;

/// Model that evaluates every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Steady state of the fluid model.
    #[default]
    Solve,
    /// Simulation with the fluid model.
    Fluid,
    /// Simulation with the packet model.
    Packets,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 3] = [Model::Solve, Model::Fluid, Model::Packets];

    /// Returns its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Model::Solve => "solve",
            Model::Fluid => "fluid",
            Model::Packets => "packet",
        }
    }

    /// Returns a description.
    pub fn description(self) -> &'static str {
        match self {
            Model::Solve => "Steady state, as from `netflow solve`",
            Model::Fluid => "Simulation with the fluid model, as by `netflow run`",
            Model::Packets => "Simulation with the packet model",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(name: &str) -> Result<Model, String> {
        // The former name.
        if name == "packets" {
            return Ok(Model::Packets);
        }
        let found = Model::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| format!("unknown model `{name}`; write solve, fluid or packet"))
    }
}

/// Specification of a sweep.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// Varied settings.
    pub axes: Vec<Axis>,
    /// Settings of all cases, each `KEY=VALUE`.
    pub settings: Vec<String>,
    /// True to add one case per link failure to the case of the intact network.
    pub each_link_fails: bool,
    /// Model of every case.
    pub model: Model,
    /// Time of the steady state in seconds; `None` for the end of the run.
    pub at_s: Option<f64>,
    /// Number of seeds, from the seed of the scenario on.
    pub seeds: u32,
    /// Recording interval of runs in seconds, over which peaks are measured.
    pub every_s: f64,
    /// File format of the tables.
    pub format: Format,
}

impl Default for SweepRequest {
    /// One case, in steady state.
    fn default() -> SweepRequest {
        SweepRequest {
            axes: Vec::new(),
            settings: Vec::new(),
            each_link_fails: false,
            model: Model::Solve,
            at_s: None,
            seeds: 1,
            every_s: 0.5,
            format: default_format(),
        }
    }
}

/// Returns Parquet if the build supports it, otherwise CSV.
pub fn default_format() -> Format {
    if Format::Parquet.is_available() {
        Format::Parquet
    } else {
        Format::Csv
    }
}

/// Result of the validation of all values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prechecked {
    /// Digest of the scenario files over all values.
    pub digest: String,
    /// True if some values name files.
    pub names_files: bool,
}

/// A validated sweep: its cases and its table columns.
#[derive(Clone, Debug)]
pub struct Sweep {
    request: SweepRequest,
    base: CompiledScenario,
    failures: Vec<String>,
    cases: Cases,
    tables: SweepColumns,
    /// Digest of the scenario files, over all values if these name files.
    digest: String,
    names_files: bool,
    warnings: Vec<Problem>,
}

impl Sweep {
    /// Counts the cases and validates every value once, with the first value of all other axes. It uses the
    /// threads of the current rayon pool and ends early if `stop` returns true. Numeric axes with more than
    /// 1000 values are validated at 1000 of them. If another value is invalid, its cases have no result but
    /// the reason.
    ///
    /// # Errors
    /// Any error that prevents the sweep.
    pub fn new(
        request: SweepRequest,
        load: &ScenarioLoader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Sweep, Error> {
        let mut sweep = Sweep::without_validation(request, load)?;
        sweep.check_values(load, stop)?;
        Ok(sweep)
    }

    /// Rebuilds the sweep in another process without repeating the validation.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), except for values that are not validated again.
    pub fn from_prechecked(
        request: SweepRequest,
        prechecked: Prechecked,
        load: &ScenarioLoader<'_>,
    ) -> Result<Sweep, Error> {
        let sweep = Sweep::without_validation(request, load)?;
        if !prechecked.names_files && sweep.digest != prechecked.digest {
            return Err(Error::Changed);
        }
        Ok(Sweep {
            digest: prechecked.digest,
            names_files: prechecked.names_files,
            ..sweep
        })
    }

    /// Returns the result of the validation, for [`from_prechecked`](Self::from_prechecked).
    pub fn prechecked(&self) -> Prechecked {
        Prechecked {
            digest: self.digest.clone(),
            names_files: self.names_files,
        }
    }

    fn without_validation(
        request: SweepRequest,
        load: &ScenarioLoader<'_>,
    ) -> Result<Sweep, Error> {
        check_keys(&request)?;
        if !request.format.is_available() {
            let error = netflow_results::Error::FormatMissing {
                format: request.format,
            };
            return Err(Error::Format(error.to_string()));
        }
        if request.format == Format::Jsonl {
            return Err(Error::Format(
                "tables cannot be written as jsonl; use csv or parquet".to_owned(),
            ));
        }
        let tables = columns(request.model, &request.axes);
        let mut sweep = Sweep {
            base: load_for_model(request.model, load, &first_settings(&request))
                .map_err(Error::Scenario)?,
            failures: Vec::new(),
            cases: Cases::new(&[], 0, 1).ok_or(Error::Changed)?,
            request,
            tables,
            digest: String::new(),
            names_files: false,
            warnings: Vec::new(),
        };
        sweep.digest = sweep.base.digest.clone();
        sweep.check_model()?;
        if sweep.request.each_link_fails {
            sweep.failures = link_names(&sweep.base.network);
        }
        let (axes, failures) = (&sweep.request.axes, sweep.failures.len());
        let Some(cases) = Cases::new(axes, failures, sweep.request.seeds) else {
            return Err(sweep.too_many(load));
        };
        sweep.cases = cases;
        Ok(sweep)
    }

    /// Checks that the model supports the scenario.
    fn check_model(&self) -> Result<(), Error> {
        let SweepRequest { model, seeds, .. } = self.request;
        if model == Model::Solve {
            if seeds > 1 {
                return Err(Error::NotRandom(
                    "steady states are not random; use `--model packet`",
                ));
            }
            let at_s = self.request.at_s.unwrap_or(self.base.options.duration_s);
            let network = uncalibrated(&self.base.network)
                .map_err(|error| Error::Unsupported(error.to_string()))?;
            return match Solver::new(&network, at_s) {
                Ok(_) => Ok(()),
                Err(error) => {
                    let runs = if error.needs_profile() {
                        "`--model packet`"
                    } else {
                        "`--model fluid` or `packet`"
                    };
                    Err(Error::Unsupported(format!("{error}; use {runs}")))
                }
            };
        }
        if self.request.at_s.is_some() {
            let message =
                "`--at` requires `--model solve`; runs are summarized from the end of `warmup`";
            return Err(Error::Unsupported(message.to_owned()));
        }
        if seeds > 1 && !self.base.is_random() {
            return Err(Error::NotRandom(
                "only the packet model and users are random",
            ));
        }
        check_run(&self.base, self.request.every_s).map_err(Error::Unsupported)
    }

    fn check_values(
        &mut self,
        load: &ScenarioLoader<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let axes = self.request.axes.iter().enumerate();
        let values = axes.flat_map(|(a, axis)| values_to_check(axis).map(move |v| (a, v)));
        let values: Vec<(usize, usize)> = values.collect();
        let cases = self.cases.count();
        let prechecked = values.par_iter().map(|&(axis, value)| {
            if stop() {
                return Err(Error::Stopped { done: 0, cases });
            }
            let mut which = vec![0; self.request.axes.len()];
            which[axis] = value;
            let scenario = load_for_model(self.request.model, load, &self.settings_with(&which));
            let scenario = scenario.map_err(Error::Scenario)?;
            if !self.failures.is_empty() && link_names(&scenario.network) != self.failures {
                let setting = self.request.axes[axis].setting(value);
                return Err(Error::OtherLinks { setting });
            }
            Ok((scenario.digest, scenario.warnings))
        });
        // The first error in order, independent of the threads.
        let prechecked: Vec<Result<(String, Vec<Problem>), Error>> = prechecked.collect();
        let mut digests = BTreeSet::from([self.base.digest.clone()]);
        for prechecked in prechecked {
            let (digest, warnings) = prechecked?;
            digests.insert(digest);
            for warning in warnings {
                if !self.base.warnings.contains(&warning) && !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
            }
        }
        if digests.len() > 1 {
            self.names_files = true;
            self.digest = digest(digests.iter().map(String::as_str));
        }
        Ok(())
    }

    fn too_many(&self, load: &ScenarioLoader<'_>) -> Error {
        let SweepRequest { axes, seeds, .. } = &self.request;
        let began = Instant::now();
        let first = CaseEvaluator::new(self, load, &|| false).evaluate(&Cases::first(axes));
        if let Err(error) = first {
            return error;
        }
        // One digit, because the measurement varies.
        let case_s: f64 = format!("{:.0e}", began.elapsed().as_secs_f64())
            .parse()
            .unwrap_or(1e-3);
        let count = count(axes, self.failures.len(), *seeds);
        let network = &self.base.network;
        let rows = (network.link_count() + network.connection_count() + 1) as u128;
        let beyond = || "more than 10^38".to_owned();
        Error::TooMany {
            cases: count.map_or_else(beyond, |count| count.to_string()),
            rows: count
                .and_then(|count| count.checked_mul(rows))
                .map_or_else(beyond, |rows| rows.to_string()),
            case_s,
            years: count.map_or(f64::INFINITY, |count| count as f64) * case_s / (365.25 * 86400.0),
        }
    }

    fn settings_with(&self, values: &[usize]) -> Vec<String> {
        settings(&self.request, values)
    }

    /// Returns the settings with which `--set` reproduces a case.
    pub fn settings_of(&self, case: &Case) -> Vec<String> {
        self.settings_with(&case.values)
    }

    /// Returns all cases.
    pub fn cases(&self) -> &Cases {
        &self.cases
    }

    /// Returns the chunks.
    pub fn chunks(&self) -> Chunks {
        Chunks::of(self.cases.count())
    }

    /// Returns the columns of the tables.
    pub fn tables(&self) -> &SweepColumns {
        &self.tables
    }

    /// Returns the specification.
    pub fn request(&self) -> &SweepRequest {
        &self.request
    }

    /// Returns the names of the links that fail, one per failure case, as in events.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Returns the scenario with the first value of every axis.
    pub fn base(&self) -> &CompiledScenario {
        &self.base
    }

    /// Returns the limitations of the results that hold for all values.
    pub fn notes(&self) -> Vec<String> {
        let is_solved = self.model() == Model::Solve;
        let at_s = self.at_s().filter(|_| is_solved).unwrap_or(f64::INFINITY);
        let mut notes = self.base.mean_traffic_notes(is_solved);
        notes.extend(self.base.model_warnings(is_solved, at_s));
        // Events may already have reported it.
        if self.request.each_link_fails && !self.base.has_link_failure_before(at_s) {
            notes.extend(self.base.failure_warnings(is_solved));
        }
        notes
    }

    /// Returns the warnings of values that the first case does not have.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Returns the digest of the scenario files.
    pub(crate) fn scenario_digest(&self) -> &str {
        &self.digest
    }

    /// Returns the model of every case.
    pub fn model(&self) -> Model {
        self.request.model
    }

    pub(crate) fn at_s(&self) -> Option<f64> {
        self.request.at_s
    }

    pub(crate) fn every_s(&self) -> f64 {
        self.request.every_s
    }

    /// Returns true if the scenario was loaded from other files than the first one.
    pub(crate) fn is_changed(&self, scenario: &CompiledScenario) -> bool {
        !self.names_files && scenario.digest != self.base.digest
    }

    /// Returns the case columns of a case.
    pub(crate) fn cells(&self, case: &Case) -> Vec<Cell<'_>> {
        let axes = self.request.axes.iter().zip(&case.values);
        let mut cells = vec![Cell::Whole(case.index)];
        cells.extend(axes.map(|(axis, &value)| match &axis.numbers {
            Some(numbers) if axis.is_integer() => Cell::Whole(numbers[value] as u64),
            Some(numbers) => Cell::Number(numbers[value]),
            None => Cell::Text(&axis.values[value]),
        }));
        cells.push(match case.failed {
            Some(failure) => Cell::Text(&self.failures[failure]),
            None => Cell::Nothing,
        });
        cells.push(Cell::Whole(self.base.options.seed.wrapping_add(case.seed)));
        cells
    }
}

/// Axes with up to this many numbers are validated completely before the sweep starts.
const MAX_PRECHECKED_VALUES: usize = 1000;

/// Returns the indices of the values to validate in addition to the first: all, or at most
/// [`MAX_PRECHECKED_VALUES`] evenly spaced numbers including the last. Validating a value costs as
/// much as preparing its cases.
fn values_to_check(axis: &Axis) -> impl Iterator<Item = usize> + use<> {
    let last = axis.values.len() - 1;
    let prechecked = match axis.numbers {
        Some(_) => last.min(MAX_PRECHECKED_VALUES),
        None => last,
    };
    (1..=prechecked).map(move |i| (i as u128 * last as u128 / prechecked as u128) as usize)
}

/// Checks that each key is given once and has an effect.
fn check_keys(request: &SweepRequest) -> Result<(), Error> {
    let same = |key: &str, how: &'static str| Error::SameKey {
        key: key.to_owned(),
        how,
    };
    let set = request
        .settings
        .iter()
        .filter_map(|it| Some(it.split_once('=')?.0.trim()));
    let set: Vec<&str> = set.collect();
    for (i, axis) in request.axes.iter().enumerate() {
        let key = axis.key.as_str();
        if request.axes[..i].iter().any(|other| other.key == key) {
            return Err(same(key, "varied twice"));
        }
        if set.contains(&key) {
            return Err(same(key, "both set and varied"));
        }
        let mut earlier = request.axes[..i].iter();
        if let Some(replaced) = earlier.find(|it| replaces_all(key, &it.key)) {
            return Err(Error::Replaced {
                key: replaced.key.clone(),
                by: key.to_owned(),
            });
        }
        if key == SEED {
            return Err(same(key, "varied by `--seeds`"));
        }
        if key == MODEL && request.model != Model::Solve {
            return Err(same(key, "set by `--model`"));
        }
    }
    if set.contains(&MODEL) && request.model != Model::Solve {
        Err(same(MODEL, "set by `--model`"))
    } else {
        Ok(())
    }
}

/// Loads the scenario with these settings, as required by the model.
pub(crate) fn load_for_model(
    model: Model,
    load: &ScenarioLoader<'_>,
    settings: &[String],
) -> Result<CompiledScenario, Problems> {
    let scenario = load(settings)?;
    Ok(match model {
        Model::Solve => for_steady_state(scenario, |more| load(&[settings, more].concat())),
        Model::Fluid | Model::Packets => scenario,
    })
}

const MODEL: &str = "simulation.model";
const SEED: &str = "simulation.seed";

fn first_settings(request: &SweepRequest) -> Vec<String> {
    settings(request, &vec![0; request.axes.len()])
}

fn settings(request: &SweepRequest, values: &[usize]) -> Vec<String> {
    let model = match request.model {
        Model::Solve => None,
        model => Some(format!("{MODEL}={model}")),
    };
    let axes = request.axes.iter().zip(values);
    model
        .into_iter()
        .chain(request.settings.iter().cloned())
        .chain(axes.map(|(axis, &value)| axis.setting(value)))
        .collect()
}

/// Returns the names of the physical links, one per `[[link]]`.
fn link_names(network: &Network) -> Vec<String> {
    let all = network.physical_links();
    all.map(|(id, _)| network.physical_link_name(id)).collect()
}
