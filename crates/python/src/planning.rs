//! Headroom under failures, capacity plans and routing metrics.

use std::path::PathBuf;
use std::sync::Arc;

use netflow::plan::{Error as PlanFailure, ScenarioVariants};
use netflow::scenario::CompiledScenario;
use netflow::scenario::planning_tables::{read_candidates, read_modules};
use netflow::scenario_edit::{EditError, ScenarioFile};
use netflow::steady::rows::{self, PlanRow, WeightRow, WeightSettingRow};
use netflow::steady::{
    Bounds, FailureOptions, Failures, Plan as FoundPlan, PlanOptions, PlanVariants, WeightOptions,
    WeightSetting, failures, headroom_under_failures, optimize_weights, plan,
};
use netflow::weights::{Error as WeightsFailure, ScenarioMetrics};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::background_task::run_in_background;
use crate::errors::{self, EvaluationError};
use crate::results::all_or_interrupted;
use crate::table::Table;

/// The largest factor of all demands within given limits, without failures and after each failure.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct HeadroomUnderFailures {
    at_s: f64,
    factor: Option<f64>,
    failure: Option<String>,
    binding: Option<String>,
    binding_at: Option<String>,
    intact_factor: Option<f64>,
    intact_binding: Option<String>,
    intact_binding_at: Option<String>,
    cases: usize,
    possible_cases: usize,
    disconnecting_cases: usize,
    cases_without_steady_state: usize,
    cases_rerouted_unsplit: usize,
}

impl HeadroomUnderFailures {
    pub fn find(
        py: Python<'_>,
        scenario: &CompiledScenario,
        at_s: f64,
        bounds: &Bounds,
        options: &FailureOptions,
        threads: Option<i64>,
    ) -> PyResult<HeadroomUnderFailures> {
        let network = &scenario.network;
        let worked = run_in_background(py, threads, None, |wish| {
            headroom_under_failures(network, at_s, bounds, options, &|| wish.stop())
        })?;
        let found = all_or_interrupted(py, worked, |error| errors::steady(&error))?;
        let row = rows::headroom_under_failures(network, at_s, bounds, &found);
        let name = |kind: Option<netflow::steady::BindingKind>| kind.map(|it| it.name().to_owned());
        Ok(HeadroomUnderFailures {
            at_s,
            factor: row.least.factor,
            binding: name(row.least.binding),
            binding_at: row.least.binding_at.map(str::to_owned),
            intact_factor: row.intact_factor,
            intact_binding: name(row.intact_binding),
            intact_binding_at: row.intact_binding_at.map(str::to_owned),
            cases: row.cases,
            possible_cases: row.possible_cases,
            disconnecting_cases: row.disconnecting_cases,
            cases_without_steady_state: row.cases_without_steady_state,
            cases_rerouted_unsplit: row.cases_rerouted_unsplit,
            failure: row.failure,
        })
    }
}

#[pymethods]
impl HeadroomUnderFailures {
    fn __repr__(&self) -> String {
        match self.factor {
            Some(factor) => format!("<HeadroomUnderFailures: factor {factor:.4}>"),
            None => "<HeadroomUnderFailures: none>".to_owned(),
        }
    }
}

/// The cheapest upgrades and new links.
#[pyclass(frozen, module = "netflow_evaluator")]
pub struct Plan {
    scenario: Arc<CompiledScenario>,
    variants: ScenarioVariants,
    found: FoundPlan,
    #[pyo3(get)]
    at_s: f64,
    #[pyo3(get)]
    cost: f64,
    #[pyo3(get)]
    lower_bound: f64,
    #[pyo3(get)]
    is_optimal: bool,
    #[pyo3(get)]
    cases: usize,
    #[pyo3(get)]
    links: Table,
}

impl Plan {
    /// Finds a plan with the modules and candidates of two CSV tables.
    pub fn find(
        py: Python<'_>,
        (file, scenario): (ScenarioFile, Arc<CompiledScenario>),
        at_s: f64,
        (modules, candidates): (PathBuf, Option<PathBuf>),
        options: &PlanOptions,
        threads: Option<i64>,
    ) -> PyResult<Plan> {
        let invalid = |problems| errors::scenario(py, &problems);
        let modules = read_modules(&modules).map_err(invalid)?;
        let candidates = candidates.map(|path| read_candidates(&path)).transpose();
        let candidates = candidates.map_err(invalid)?.unwrap_or_default();
        let variants = ScenarioVariants::new(file, &scenario, &modules, candidates)
            .map_err(|error| plan_failure(py, error))?;
        let worked = run_in_background(py, threads, None, |wish| {
            plan(&variants, at_s, options, &|| wish.stop(), &mut |_| ())
        })?;
        let found = all_or_interrupted(py, worked, |error| plan_failure(py, error))?;
        let new_cost = |link: &str| {
            let candidates = variants.candidates().iter();
            candidates
                .clone()
                .find(|it| it.name == link)
                .map(|it| it.cost)
        };
        let links = rows::plan(&found, |link| variants.modules_of(link), new_cost);
        Ok(Plan {
            at_s,
            cost: found.cost,
            lower_bound: found.lower_bound,
            is_optimal: found.is_optimal(),
            cases: found.failures.cases.len(),
            links: Table::of(&PlanRow::with_all_columns(), &links)?,
            scenario,
            variants,
            found,
        })
    }
}

#[pymethods]
impl Plan {
    /// Writes the scenario with the plan, as `netflow plan -o` does.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
        let written = py.detach(|| self.variants.write(&self.scenario, &self.found, &path));
        written.map_err(|error| plan_failure(py, error))
    }

    fn __repr__(&self) -> String {
        format!("<Plan: cost {}, {} links>", self.cost, self.links.rows())
    }
}

/// Routing metrics that lower the largest load.
#[pyclass(frozen, module = "netflow_evaluator")]
pub struct Weights {
    scenario: Arc<CompiledScenario>,
    metrics_of_scenario: ScenarioMetrics,
    chosen: WeightSetting,
    #[pyo3(get)]
    at_s: f64,
    #[pyo3(get)]
    cases: usize,
    #[pyo3(get)]
    max_load: f64,
    #[pyo3(get)]
    changes: usize,
    #[pyo3(get)]
    lower_bound: f64,
    #[pyo3(get)]
    bounding_failure: Option<String>,
    #[pyo3(get)]
    settings: Table,
    #[pyo3(get)]
    metrics: Table,
}

/// Settings of a weight search.
pub struct WeightSearch {
    pub failures: Option<FailureOptions>,
    pub max_changes: Option<usize>,
    pub iterations: usize,
    pub seed: u64,
}

impl Weights {
    pub fn find(
        py: Python<'_>,
        (file, scenario): (ScenarioFile, Arc<CompiledScenario>),
        at_s: f64,
        search: &WeightSearch,
        threads: Option<i64>,
    ) -> PyResult<Weights> {
        let network = &scenario.network;
        let metrics = ScenarioMetrics::new(file, &scenario);
        let metrics = metrics.map_err(|error| weights_failure(py, error))?;
        let options = metrics.options(
            search.failures,
            search.max_changes,
            search.iterations,
            search.seed,
        );
        let worked = run_in_background(py, threads, None, |wish| {
            let stop = || wish.stop();
            let found =
                optimize_weights(network, at_s, &options, &stop, &mut |part| wish.done(part))?;
            let changed = metrics.load(network, found.chosen())?;
            let before = analyse(&scenario, at_s, &options, &stop)?;
            let after = analyse(&changed, at_s, &options, &stop)?;
            Ok(before.zip(after).map(|both| (found, both, changed)))
        })?;
        let (found, (before, after), changed) =
            all_or_interrupted(py, worked, |error| weights_failure(py, error))?;
        let chosen = found.chosen().clone();
        let links = rows::weights(
            network,
            metrics.groups(),
            (&options.metrics, &before),
            (&chosen.metrics, &after, &changed.network),
        );
        let settings: Vec<_> = found.settings.iter().map(WeightSettingRow::new).collect();
        Ok(Weights {
            at_s,
            cases: before.cases.len(),
            max_load: chosen.max_load,
            changes: chosen.changes,
            lower_bound: found.lower_bound,
            bounding_failure: found.bounding_case,
            settings: Table::of(&WeightSettingRow::default(), &settings)?,
            metrics: Table::of(&WeightRow::with_all_columns(), &links)?,
            metrics_of_scenario: metrics,
            chosen,
            scenario,
        })
    }
}

#[pymethods]
impl Weights {
    /// Writes the scenario with the new metrics, as `netflow weights -o` does.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
        let metrics = &self.metrics_of_scenario;
        let written = py.detach(|| metrics.write(&self.scenario, &self.chosen, &path));
        written.map_err(|error| weights_failure(py, error))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Weights: largest load {:.4} with {} changes>",
            self.max_load, self.changes
        )
    }
}

fn analyse(
    scenario: &CompiledScenario,
    at_s: f64,
    options: &WeightOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Failures>, WeightsFailure> {
    let network = &scenario.network;
    let found = match &options.failures {
        Some(of_failures) => failures(network, at_s, of_failures, stop),
        None => Failures::of_intact(network, at_s, 1.0).map(Some),
    };
    found.map_err(|error| WeightsFailure::Search(error.into()))
}

fn plan_failure(py: Python<'_>, error: PlanFailure) -> PyErr {
    match error {
        PlanFailure::Edit(error) => edit_failure(py, error),
        PlanFailure::Plan(error) => EvaluationError::new_err(error.to_string()),
        PlanFailure::UnknownLink(_) | PlanFailure::UnknownNode { .. } => {
            errors::value(error.to_string())
        }
    }
}

fn weights_failure(py: Python<'_>, error: WeightsFailure) -> PyErr {
    match error {
        WeightsFailure::Edit(error) => edit_failure(py, error),
        WeightsFailure::Search(error) => EvaluationError::new_err(error.to_string()),
        WeightsFailure::WithoutEcmp => {
            errors::value(format!("{error}; set `simulation.ecmp` to true"))
        }
        WeightsFailure::Metric { .. } => errors::value(error.to_string()),
    }
}

fn edit_failure(py: Python<'_>, error: EditError) -> PyErr {
    match error {
        EditError::Invalid(problems) => errors::scenario(py, &problems),
        EditError::StandardInput => errors::value(error.to_string()),
        EditError::Write(message) => PyOSError::new_err(message),
    }
}
