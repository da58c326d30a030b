//! Scenarios: loading, changes and evaluations.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use netflow::evaluate::{Directory, Settings, evaluate_with};
use netflow::scenario::{CompiledScenario, FileAccess, for_steady_state};
use netflow::scenario_edit::ScenarioFile;
use netflow::simulation::ModelName;
use netflow::steady::{FailureOptions, PlanOptions};
use netflow::weights::MAX_ITERATIONS;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::announced_values::AllowedSettings;
use crate::availability::Availability;
use crate::background_task::run_in_background;
use crate::convert::{
    format as format_of, interval_s, items, number, positive_seconds, seconds_from_0,
    seeds as seeds_of, setting,
};
use crate::errors;
use crate::failures::Failures;
use crate::names;
use crate::planning::{HeadroomUnderFailures, Plan, WeightSearch, Weights};
use crate::results::{Results, WrittenRun};
use crate::scenario_source::{ReloadError, Source, Spec, StablePath, State, absolute};
use crate::simulation::Simulation;
use crate::steady::{Headroom, Sensitivities, SteadyState, bounds};

/// A network, its traffic and its model.
#[pyclass(frozen, module = "netflow_evaluator")]
pub struct Scenario {
    state: RwLock<State>,
    /// Held by the thread that changes it.
    changes: Mutex<()>,
}

/// Reads and checks a scenario file.
#[pyfunction]
#[pyo3(signature = (path, *, set = None, allow_outside = false))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    set: Option<&Bound<'_, PyDict>>,
    allow_outside: bool,
) -> PyResult<Scenario> {
    let file_access = if allow_outside {
        FileAccess::Unrestricted
    } else {
        FileAccess::BelowDirectory
    };
    let settings = settings_of(set)?;
    let spec = Spec {
        source: Source::at(py, path, file_access)?,
        file_access,
        settings,
    };
    Scenario::of(py, spec)
}

fn settings_of(set: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
    let mut settings = Vec::new();
    for (key, value) in items(set)? {
        settings.push(one_setting(&key.extract::<String>()?, &value)?);
    }
    Ok(settings)
}

fn one_setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if key.contains('=') {
        Err(errors::value(format!(
            "`{key}` is not a key: it contains a `=`"
        )))
    } else {
        Ok(format!("{key}={}", setting(key, value)?))
    }
}

impl From<State> for Scenario {
    fn from(state: State) -> Scenario {
        Scenario {
            state: RwLock::new(state),
            changes: Mutex::new(()),
        }
    }
}

impl Scenario {
    pub fn of(py: Python<'_>, spec: Spec) -> PyResult<Scenario> {
        State::read(py, spec).map(Scenario::from)
    }

    pub fn state(&self) -> State {
        // A poisoned lock is harmless, because the state is replaced as a whole.
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn prepared(&self) -> Arc<CompiledScenario> {
        self.state().prepared
    }

    /// Returns the scenario prepared for its steady state.
    fn for_steady(&self, py: Python<'_>) -> PyResult<Arc<CompiledScenario>> {
        let state = self.state();
        let prepared = Self::calibrated(py, state.prepared.clone())?;
        let mut changed = None;
        let steady = py.detach(|| {
            for_steady_state((*prepared).clone(), |more| {
                state.with(more).map_err(|refusal| match refusal {
                    // Sources that the fluid model does not support stay unchanged.
                    ReloadError::Invalid(_) => {}
                    ReloadError::Unreadable(_) | ReloadError::Changed(_) => changed = Some(refusal),
                })
            })
        });
        match changed {
            None => Ok(Arc::new(steady)),
            Some(refusal) => Err(refusal.to_py_err(py)),
        }
    }

    /// Returns the same with its text, for results that are written as a scenario.
    fn for_planning(&self, py: Python<'_>) -> PyResult<(ScenarioFile, Arc<CompiledScenario>)> {
        let State { spec, text, .. } = self.state();
        let prepared = self.for_steady(py)?;
        let path = match &spec.source {
            Source::File(place) => place.path().to_owned(),
            Source::Text {
                name, directory, ..
            } => directory.path().join(name),
        };
        let file = ScenarioFile::of_text(path, text.to_string(), &prepared);
        Ok((file, prepared))
    }

    /// Returns the scenario with another model, if one is given.
    fn with_model(&self, py: Python<'_>, model: Option<&str>) -> PyResult<Arc<CompiledScenario>> {
        let state = self.state();
        let Some(model) = model else {
            return Ok(state.prepared);
        };
        let model = [format!("simulation.model={model}")];
        let prepared = py.detach(|| state.with(&model));
        prepared
            .map(Arc::new)
            .map_err(|refusal| refusal.to_py_err(py))
    }

    /// Returns the calibrated scenario, if it has a calibration.
    fn calibrated(
        py: Python<'_>,
        prepared: Arc<CompiledScenario>,
    ) -> PyResult<Arc<CompiledScenario>> {
        if prepared.network.calibration_due().is_none() {
            return Ok(prepared);
        }
        let worked = run_in_background(py, None, None, |wish| {
            let ready = netflow::evaluate::calibrated(&prepared, &|| wish.stop());
            ready.map(|ready| ready.map(Cow::into_owned))
        })?;
        let ready = worked
            .into_result()?
            .map_err(|error| errors::evaluation(&error.into()))?;
        Ok(ready.map_or(prepared, Arc::new))
    }

    fn at_s(&self, at: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        match at {
            Some(at) => positive_seconds("at", at),
            None => Ok(self.prepared().options.duration_s),
        }
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, *, name = "scenario.toml", directory = PathBuf::from("."), set = None))]
    fn from_toml(
        py: Python<'_>,
        text: String,
        name: &str,
        directory: PathBuf,
        set: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let source = Source::Text {
            name: name.to_owned(),
            text: text.into(),
            directory: StablePath::new(directory),
        };
        let spec = Spec {
            source,
            file_access: FileAccess::BelowDirectory,
            settings: settings_of(set)?,
        };
        Scenario::of(py, spec)
    }

    fn set(&self, py: Python<'_>, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let setting = one_setting(key, value)?;
        py.detach(|| {
            // No other thread may change it between reading and writing.
            let _change = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            let mut state = self.state();
            let mut spec = state.spec.clone();
            // A repeated key replaces the earlier one, so that the list does not grow in loops.
            let start = format!("{key}=");
            spec.settings.retain(|it| !it.starts_with(&start));
            spec.settings.push(setting);
            state.prepared = Arc::new(state.reload_with(&spec, &[])?);
            state.spec = spec;
            *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
            Ok(())
        })
        .map_err(|refusal: ReloadError| refusal.to_py_err(py))
    }

    fn copy(&self) -> Scenario {
        self.state().into()
    }

    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let prepared = self.prepared();
        let list = PyList::empty(py);
        for problem in &prepared.warnings {
            list.append(errors::problem(py, problem)?)?;
        }
        Ok(list)
    }

    #[getter]
    fn nodes(&self) -> Vec<String> {
        let prepared = self.prepared();
        let network = &prepared.network;
        let nodes = network.nodes();
        nodes.map(|id| network.node_name(id).to_owned()).collect()
    }

    #[getter]
    fn links(&self) -> Vec<String> {
        names::links(&self.prepared().network)
    }

    #[getter]
    fn connections(&self) -> Vec<String> {
        names::connections(&self.prepared().network)
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.prepared().options.duration_s
    }

    #[getter]
    fn model(&self) -> &'static str {
        model_name(&self.prepared())
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.prepared().options.seed
    }

    #[getter]
    fn is_random(&self) -> bool {
        self.prepared().is_random()
    }

    #[getter]
    fn settings(&self) -> Vec<String> {
        self.state().spec.settings
    }

    #[getter]
    fn digest(&self) -> String {
        self.prepared().digest.clone()
    }

    #[getter]
    fn text(&self) -> String {
        self.state().text.to_string()
    }

    #[pyo3(signature = (*, model = None, seeds = 1, interval = None, start = None, end = None, by_event = false,
        classes = false, threads = None, progress = None, out = None, format = "csv", every = None))]
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        py: Python<'_>,
        model: Option<&str>,
        seeds: i64,
        interval: Option<&Bound<'_, PyAny>>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        by_event: bool,
        classes: bool,
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        out: Option<PathBuf>,
        format: &str,
        every: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Results> {
        let progress = crate::background_task::progress(progress)?;
        let prepared = self.with_model(py, model)?;
        let seeds = seeds_of(seeds)?;
        if seeds > 1 && !prepared.is_random() {
            let message = "`seeds` has no effect: only the packet model and users are random";
            return Err(errors::value(message));
        }
        if classes && seeds > 1 {
            let message = "`classes` requires a single run, not several seeds";
            return Err(errors::value(message));
        }
        let format = format_of(format)?;
        let defaults = Settings::default();
        let settings = Settings {
            seeds,
            every_s: interval_s(py, interval, every)?.unwrap_or(defaults.every_s),
            from_s: start.map(|it| seconds_from_0("start", it)).transpose()?,
            to_s: end.map(|it| positive_seconds("end", it)).transpose()?,
            by_event,
            threads: threads.and_then(|it| usize::try_from(it).ok()),
            keep_series: true,
            keep_classes: classes,
            directory: out.map(|path| Directory {
                format,
                classes,
                ..Directory::at(path)
            }),
        };
        let directory = settings.directory.as_ref().map(|it| absolute(&it.path));
        let worked = run_in_background(py, threads, progress.as_ref(), |wish| {
            let evaluation =
                evaluate_with(&prepared, &settings, &mut |part| wish.done(part), &|| {
                    wish.stop()
                })?;
            Ok((evaluation, directory.and_then(WrittenRun::at)))
        })?;
        Results::of(py, prepared, settings, worked)
    }

    #[pyo3(signature = (*, at = None, starts = 10, threads = None))]
    fn solve(
        &self,
        py: Python<'_>,
        at: Option<&Bound<'_, PyAny>>,
        starts: u32,
        threads: Option<i64>,
    ) -> PyResult<SteadyState> {
        SteadyState::find(py, &*self.for_steady(py)?, self.at_s(at)?, starts, threads)
    }

    #[pyo3(signature = (*, of = None, at = None, threads = None))]
    fn sensitivities(
        &self,
        py: Python<'_>,
        of: Option<&str>,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Sensitivities> {
        Sensitivities::find(py, &*self.for_steady(py)?, self.at_s(at)?, of, threads)
    }

    #[pyo3(signature = (*, max_utilization = None, max_delay = None, max_loss = None, scale = None, at = None,
        threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn headroom(
        &self,
        py: Python<'_>,
        max_utilization: Option<&Bound<'_, PyAny>>,
        max_delay: Option<&Bound<'_, PyAny>>,
        max_loss: Option<&Bound<'_, PyAny>>,
        scale: Option<&str>,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Headroom> {
        let asked = asked_bounds(max_utilization, max_delay, max_loss)?;
        let at_s = self.at_s(at)?;
        Headroom::find(py, &*self.for_steady(py)?, at_s, asked, scale, threads)
    }

    #[pyo3(signature = (*, links = None, nodes = None, srlgs = None, pairs = false, sample = None, seed = None, at = None,
        threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn failures(
        &self,
        py: Python<'_>,
        links: Option<bool>,
        nodes: Option<bool>,
        srlgs: Option<bool>,
        pairs: bool,
        sample: Option<usize>,
        seed: Option<u64>,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Failures> {
        let State { spec, .. } = self.state();
        let prepared = self.for_steady(py)?;
        let at_s = self.at_s(at)?;
        if sample == Some(0) {
            return Err(errors::value("`sample` must be 1 or more, not 0"));
        }
        let options = FailureOptions {
            sample,
            seed: seed.unwrap_or(prepared.options.seed),
            ..failure_options(links, nodes, srlgs, pairs)
        };
        let path = spec.path().to_owned();
        Failures::find(py, path, prepared, at_s, &options, threads)
    }

    #[pyo3(signature = (*, max_utilization = None, max_delay = None, max_loss = None, links = None, nodes = None,
        srlgs = None, pairs = false, at = None, threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn headroom_under_failures(
        &self,
        py: Python<'_>,
        max_utilization: Option<&Bound<'_, PyAny>>,
        max_delay: Option<&Bound<'_, PyAny>>,
        max_loss: Option<&Bound<'_, PyAny>>,
        links: Option<bool>,
        nodes: Option<bool>,
        srlgs: Option<bool>,
        pairs: bool,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<HeadroomUnderFailures> {
        let bounds = bounds(asked_bounds(max_utilization, max_delay, max_loss)?)?;
        let options = failure_options(links, nodes, srlgs, pairs);
        let prepared = self.for_steady(py)?;
        let at_s = self.at_s(at)?;
        HeadroomUnderFailures::find(py, &prepared, at_s, &bounds, &options, threads)
    }

    #[pyo3(signature = (modules, *, candidates = None, growth = 1.0, max_utilization = None,
        max_utilization_intact = None, max_delay = None, max_loss = None, failures = true, links = None, nodes = None,
        srlgs = None, pairs = false, at = None, threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn plan(
        &self,
        py: Python<'_>,
        modules: PathBuf,
        candidates: Option<PathBuf>,
        growth: f64,
        max_utilization: Option<&Bound<'_, PyAny>>,
        max_utilization_intact: Option<f64>,
        max_delay: Option<&Bound<'_, PyAny>>,
        max_loss: Option<&Bound<'_, PyAny>>,
        failures: bool,
        links: Option<bool>,
        nodes: Option<bool>,
        srlgs: Option<bool>,
        pairs: bool,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Plan> {
        if !(growth >= 1.0 && growth.is_finite()) {
            return Err(errors::value("`growth` must be a factor of 1 or more"));
        }
        if max_utilization_intact.is_some_and(|it| !(0.0..=1.0).contains(&it)) {
            return Err(errors::value(
                "`max_utilization_intact` must be from 0 to 1",
            ));
        }
        let mut asked = asked_bounds(max_utilization, max_delay, max_loss)?;
        if asked.iter().all(Option::is_none) {
            asked[0] = Some(1.0);
        }
        let options = PlanOptions {
            bounds: bounds(asked)?,
            intact_utilization: max_utilization_intact.unwrap_or(f64::INFINITY),
            failures: failures.then(|| failure_options(links, nodes, srlgs, pairs)),
            demand_factor: growth,
        };
        let scenario = self.for_planning(py)?;
        let at_s = self.at_s(at)?;
        Plan::find(py, scenario, at_s, (modules, candidates), &options, threads)
    }

    #[pyo3(signature = (*, max_changes = None, iterations = 500, seed = 1, failures = true, links = None, nodes = None,
        srlgs = None, pairs = false, at = None, threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn weights(
        &self,
        py: Python<'_>,
        max_changes: Option<usize>,
        iterations: usize,
        seed: u64,
        failures: bool,
        links: Option<bool>,
        nodes: Option<bool>,
        srlgs: Option<bool>,
        pairs: bool,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Weights> {
        if iterations > MAX_ITERATIONS {
            let message = format!("`iterations` must be at most {MAX_ITERATIONS}");
            return Err(errors::value(message));
        }
        let search = WeightSearch {
            failures: failures.then(|| failure_options(links, nodes, srlgs, pairs)),
            max_changes,
            iterations,
            seed,
        };
        Weights::find(py, self.for_planning(py)?, self.at_s(at)?, &search, threads)
    }

    #[pyo3(signature = (*, served = 0.99, slo = None, rest = 1e-6, states = 10_000, sample = 0, seed = None, at = None,
        threads = None))]
    #[allow(clippy::too_many_arguments)]
    fn availability(
        &self,
        py: Python<'_>,
        served: f64,
        slo: Option<f64>,
        rest: f64,
        states: usize,
        sample: usize,
        seed: Option<u64>,
        at: Option<&Bound<'_, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Availability> {
        let prepared = self.for_steady(py)?;
        let options = netflow::steady::AvailabilityOptions {
            served,
            rest,
            max_states: states,
            sample,
            seed: seed.unwrap_or(prepared.options.seed),
            ..netflow::steady::AvailabilityOptions::default()
        };
        if slo.is_some_and(|slo| !(0.0..=1.0).contains(&slo)) {
            return Err(errors::value("`slo` must be from 0 to 1"));
        }
        Availability::find(py, &prepared, self.at_s(at)?, &options, slo, threads)
    }

    #[pyo3(signature = (*, model = None, bandwidths = None, delays = None, routes = None, rates = None))]
    fn simulation(
        &self,
        py: Python<'_>,
        model: Option<&str>,
        bandwidths: Option<&Bound<'_, PyDict>>,
        delays: Option<&Bound<'_, PyDict>>,
        routes: Option<&Bound<'_, PyDict>>,
        rates: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Simulation> {
        let prepared = Self::calibrated(py, self.with_model(py, model)?)?;
        let settable = AllowedSettings::read(&prepared.network, bandwidths, delays, routes, rates)?;
        Simulation::begin(py, prepared, &settable)
    }

    fn __repr__(&self) -> String {
        let State { spec, prepared, .. } = self.state();
        let name = spec.path().display();
        let network = &prepared.network;
        format!(
            "<Scenario {name}: {} nodes, {} links, {} connections, {} s, {} model>",
            network.nodes().count(),
            network.link_count(),
            network.connection_count(),
            prepared.options.duration_s,
            model_name(&prepared),
        )
    }

    fn __copy__(&self) -> Scenario {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Scenario {
        self.copy()
    }

    /// Pickles the source and a digest of the files; changed files are rejected.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let State { spec, prepared, .. } = self.state();
        let again = py.get_type::<Scenario>().getattr("_again")?;
        let (path, text) = match spec.source {
            Source::File(place) => (place.absolute, None),
            Source::Text {
                name,
                text,
                directory,
            } => (directory.absolute, Some((name, text.to_string()))),
        };
        let outside = spec.file_access == FileAccess::Unrestricted;
        let arguments = (path, text, outside, spec.settings, prepared.digest.clone());
        (again, arguments.into_bound_py_any(py)?).into_pyobject(py)
    }

    #[staticmethod]
    fn _again(
        py: Python<'_>,
        path: PathBuf,
        text: Option<(String, String)>,
        outside: bool,
        settings: Vec<String>,
        digest: &str,
    ) -> PyResult<Scenario> {
        let source = match text {
            None => Source::File(StablePath::new(path.clone())),
            Some((name, text)) => Source::Text {
                name,
                text: text.into(),
                directory: StablePath::new(path.clone()),
            },
        };
        let file_access = if outside {
            FileAccess::Unrestricted
        } else {
            FileAccess::BelowDirectory
        };
        let spec = Spec {
            source,
            file_access,
            settings,
        };
        let scenario = Scenario::of(py, spec)?;
        if scenario.prepared().digest == digest {
            Ok(scenario)
        } else {
            Err(errors::value(format!(
                "{}, or a file named in it, has changed since the scenario was pickled",
                path.display()
            )))
        }
    }
}

fn model_name(prepared: &CompiledScenario) -> &'static str {
    match prepared.options.model.name() {
        ModelName::Fluid => "fluid",
        ModelName::FluidLiteral => "fluid-literal",
        ModelName::Packets => "packet",
    }
}

/// Reads the limits of load, delay and loss.
fn asked_bounds(
    max_utilization: Option<&Bound<'_, PyAny>>,
    max_delay: Option<&Bound<'_, PyAny>>,
    max_loss: Option<&Bound<'_, PyAny>>,
) -> PyResult<[Option<f64>; 3]> {
    let max_delay = max_delay
        .map(|it| positive_seconds("max_delay", it))
        .transpose()?;
    let part = |name, given: Option<&Bound<'_, PyAny>>| {
        let wanted = "a fraction such as 0.9";
        given.map(|it| number(name, it, wanted)).transpose()
    };
    let max_utilization = part("max_utilization", max_utilization)?;
    Ok([max_utilization, max_delay, part("max_loss", max_loss)?])
}

/// Returns the options of failures of these kinds; of all kinds if none is selected.
fn failure_options(
    links: Option<bool>,
    nodes: Option<bool>,
    srlgs: Option<bool>,
    pairs: bool,
) -> FailureOptions {
    let all = ![links, nodes, srlgs].contains(&Some(true));
    FailureOptions {
        links: links.unwrap_or(all),
        nodes: nodes.unwrap_or(all),
        groups: srlgs.unwrap_or(all),
        pairs,
        ..FailureOptions::default()
    }
}
