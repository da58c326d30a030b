//! Results of a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use netflow::evaluate::{Directory, End, Error, Evaluation, Settings, evaluate_with};
use netflow::report::{PAGE_MARK, Report};
use netflow::results::{
    CLASSES, CONNECTIONS, ConnectionSummary, LINKS, LinkSummary, Manifest, Summary,
    Table as Layout, WAITS, wait_rows,
};
use netflow::scenario::CompiledScenario;
use netflow::simulation::ResponseEvent;
use netflow_files::{FileKind, read_text, write_unless_foreign};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::background_task::{InterruptibleResult, run_in_background};
use crate::errors::{self, EvaluationError, Interrupted};
use crate::names;
use crate::table::Table;

/// Directory to which a run was written.
#[derive(Clone)]
pub struct WrittenRun {
    directory: PathBuf,
    /// Text of its manifest, which identifies the run.
    manifest: String,
}

impl WrittenRun {
    /// Identifies the run just written to `directory`.
    pub fn at(directory: PathBuf) -> Option<WrittenRun> {
        let manifest = manifest(&directory)?;
        Some(WrittenRun {
            directory,
            manifest,
        })
    }

    /// Returns whether the directory still contains this run.
    fn exists(&self) -> bool {
        manifest(&self.directory).is_some_and(|it| it == self.manifest)
    }
}

fn manifest(directory: &Path) -> Option<String> {
    read_text(&directory.join(Manifest::FILE), FileKind::Summary).ok()
}

/// Summary and time series of a run.
#[pyclass(frozen, module = "netflow_evaluator")]
pub struct Results {
    prepared: Arc<CompiledScenario>,
    settings: Settings,
    evaluation: Evaluation,
    written: Option<WrittenRun>,
    links: OnceLock<Table>,
    connections: OnceLock<Table>,
}

impl Results {
    fn new(
        prepared: Arc<CompiledScenario>,
        settings: Settings,
        (evaluation, written): (Evaluation, Option<WrittenRun>),
    ) -> Results {
        Results {
            prepared,
            settings,
            evaluation,
            written,
            links: OnceLock::new(),
            connections: OnceLock::new(),
        }
    }

    /// Returns the results of a finished run. An interrupted run raises, with the results so far.
    pub fn of(
        py: Python<'_>,
        prepared: Arc<CompiledScenario>,
        settings: Settings,
        worked: InterruptibleResult<Result<(Evaluation, Option<WrittenRun>), Error>>,
    ) -> PyResult<Results> {
        let evaluation = match (worked.outcome, worked.interruption) {
            (Ok(evaluation), None) => evaluation,
            (Err(error), None) => return Err(errors::evaluation(&error)),
            (outcome, Some(error)) => {
                if !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
                    return Err(error);
                }
                let (text, results) = match outcome {
                    Ok(evaluation) => {
                        let text = match &evaluation.0.end {
                            End::Finished => "it had already finished".to_owned(),
                            End::Stopped(what) | End::Failed(what) => what.clone(),
                        };
                        let results = Results::new(prepared, settings, evaluation);
                        (text, Some(Py::new(py, results)?))
                    }
                    Err(error) => (error.to_string(), None),
                };
                return Err(interrupted(py, text, results));
            }
        };
        let failed = match &evaluation.0.end {
            End::Failed(what) => Some(what.clone()),
            _ => None,
        };
        let results = Results::new(prepared, settings, evaluation);
        match failed {
            None => Ok(results),
            Some(what) => {
                let error = EvaluationError::new_err(what);
                error.value(py).setattr("results", Py::new(py, results)?)?;
                Err(error)
            }
        }
    }

    fn summary(&self) -> &Summary {
        &self.evaluation.summary
    }

    /// Returns the table of one series: `names.len()` rows in every interval, after `before` other
    /// values.
    fn series(&self, layout: Layout, names: Vec<String>, before: usize) -> PyResult<Table> {
        let Some(series) = &self.evaluation.series else {
            return Err(errors::InternalError::new_err("no series were kept"));
        };
        let network = &self.prepared.network;
        let width = layout.values.len();
        let interval = network.link_count() * LINKS.values.len()
            + network.connection_count() * CONNECTIONS.values.len();
        let rows = series.times_s.len() * names.len();
        let mut times_s = Vec::with_capacity(rows);
        let mut places = Vec::with_capacity(rows);
        let mut values = vec![Vec::with_capacity(rows); width];
        let intervals = series.values.chunks_exact(interval.max(1));
        for (time_s, all) in series.times_s.iter().zip(intervals) {
            let own = &all[before..before + names.len() * width];
            for (place, row) in own.chunks_exact(width).enumerate() {
                // Rounded as in files.
                times_s.push((time_s * 1e9).round() / 1e9);
                places.push(place as i32);
                for (column, &value) in values.iter_mut().zip(row) {
                    column.push(value);
                }
            }
        }
        Table::series(layout, times_s, vec![(names, places)], values)
    }
}

/// Returns a KeyboardInterrupt with the results so far.
pub fn interrupted(py: Python<'_>, text: String, results: Option<Py<Results>>) -> PyErr {
    let error = Interrupted::new_err(text);
    match error.value(py).setattr("results", results) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Returns the result of a task that has none if it is stopped, or its error.
pub fn all_or_interrupted<T, E>(
    py: Python<'_>,
    worked: InterruptibleResult<Result<Option<T>, E>>,
    to_py_err: impl FnOnce(E) -> PyErr,
) -> PyResult<T> {
    let stopped = || interrupted(py, "interrupted; no results".to_owned(), None);
    match (worked.interruption, worked.outcome) {
        (Some(error), Err(_)) => Err(error),
        (Some(_), Ok(_)) | (None, Ok(None)) => Err(stopped()),
        (None, Err(error)) => Err(to_py_err(error)),
        (None, Ok(Some(found))) => Ok(found),
    }
}

#[pymethods]
impl Results {
    #[getter]
    fn summary_json(&self) -> String {
        self.summary().to_json()
    }

    #[getter]
    #[pyo3(name = "summary")]
    fn summary_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = py.import("json")?;
        json.getattr("loads")?.call1((self.summary().to_json(),))
    }

    #[getter]
    fn link_means(&self) -> PyResult<Table> {
        let links = &self.summary().links;
        Table::of(&LinkSummary::with_columns_of(links), links)
    }

    #[getter]
    fn connection_means(&self) -> PyResult<Table> {
        let connections = &self.summary().connections;
        Table::of(
            &ConnectionSummary::with_columns_of(connections),
            connections,
        )
    }

    #[getter]
    fn links(&self) -> PyResult<Table> {
        if let Some(table) = self.links.get() {
            return Ok(table.clone());
        }
        let table = self.series(LINKS, names::links(&self.prepared.network), 0)?;
        Ok(self.links.get_or_init(|| table).clone())
    }

    #[getter]
    fn connections(&self) -> PyResult<Table> {
        if let Some(table) = self.connections.get() {
            return Ok(table.clone());
        }
        let before = self.prepared.network.link_count() * LINKS.values.len();
        let table = self.series(
            CONNECTIONS,
            names::connections(&self.prepared.network),
            before,
        )?;
        Ok(self.connections.get_or_init(|| table).clone())
    }

    #[getter]
    fn classes(&self) -> PyResult<Table> {
        if !self.settings.keep_classes {
            let message = "the class series of this run were not recorded: use run(classes=True)";
            return Err(errors::value(message));
        }
        let all = &self.evaluation.classes;
        let times_s = all.iter().map(|(time_s, _)| (time_s * 1e9).round() / 1e9);
        let links = all.iter().map(|(_, it)| it.link.index() as i32);
        let connections = all.iter().map(|(_, it)| it.connection.index() as i32);
        let keys = vec![
            (names::links(&self.prepared.network), links.collect()),
            (
                names::connections(&self.prepared.network),
                connections.collect(),
            ),
        ];
        let queues = all.iter().map(|(_, it)| it.numbers.queue_pkts);
        let arrivals = all.iter().map(|(_, it)| it.numbers.arrival_pps);
        let values = vec![queues.collect(), arrivals.collect()];
        Table::series(CLASSES, times_s.collect(), keys, values)
    }

    #[getter]
    fn waits(&self) -> PyResult<Table> {
        let rows = wait_rows(&self.evaluation.response_times);
        let workloads = self.prepared.network.workloads();
        let names = workloads.map(|it| it.name.clone()).collect();
        let kinds = ResponseEvent::ALL
            .map(|kind| kind.name().to_owned())
            .to_vec();
        let place = |i: usize| rows.iter().map(move |(_, keys, _)| keys[i] as i32);
        let keys = vec![(names, place(0).collect()), (kinds, place(1).collect())];
        let times_s = rows.iter().map(|(time_s, ..)| *time_s).collect();
        let runs = rows.iter().map(|(_, _, it)| it.run).collect();
        let users = rows.iter().map(|(_, _, it)| it.user).collect();
        let waits = rows.iter().map(|(_, _, it)| it.wait_s).collect();
        Table::series(WAITS, times_s, keys, vec![runs, users, waits])
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.summary().warnings.clone()
    }

    #[getter]
    fn time_s(&self) -> f64 {
        self.evaluation.time_s
    }

    #[getter]
    fn steps(&self) -> u64 {
        self.evaluation.steps
    }

    #[getter]
    fn seeds(&self) -> u32 {
        self.summary().seeds
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.evaluation.end == End::Finished
    }

    /// Writes the report page of the run. Without a directory of this run, the run is repeated.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        errors::check_page(&path)?;
        let written = self.written.as_ref().filter(|it| it.exists());
        if written.is_none() && !self.is_complete() {
            let message = match &self.written {
                Some(it) => format!(
                    "{} no longer contains the results of this run, and an interrupted run cannot be repeated for its report",
                    it.directory.display()
                ),
                None => {
                    "an interrupted run has a report only if it was written to a directory: use run(out=…)"
                        .to_owned()
                }
            };
            return Err(errors::value(message));
        }
        let worked = run_in_background(
            py,
            self.settings.threads.map(|it| it as i64),
            None,
            |wish| {
                let report = match written {
                    Some(written) => report_of(&written.directory),
                    None => tempfile::tempdir()
                        .map_err(|error| error.to_string())
                        .and_then(|place| {
                            // The page names the run after its directory.
                            let place = place.path().join("results");
                            let settings = Settings {
                                directory: Some(Directory::at(&place)),
                                keep_series: false,
                                keep_classes: false,
                                ..self.settings.clone()
                            };
                            evaluate_with(&self.prepared, &settings, &mut |_| {}, &|| wish.stop())
                                .map_err(|error| error.to_string())?;
                            report_of(&place)
                        }),
                };
                let page = report?.html();
                write_unless_foreign(&path, page.as_bytes(), Some(PAGE_MARK))
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))
            },
        )?;
        worked.into_result()?.map_err(PyOSError::new_err)
    }

    fn __repr__(&self) -> String {
        let summary = self.summary();
        let (links, connections) = (summary.links.len(), summary.connections.len());
        let seeds = match summary.seeds {
            1 => String::new(),
            n => format!(", {n} seeds"),
        };
        let time_s = self.evaluation.time_s;
        format!("<Results of {links} links and {connections} connections over {time_s} s{seeds}>")
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("netflow_evaluator._html")?;
        html.getattr("results")?.call1((slf,))?.extract()
    }
}

fn report_of(directory: &Path) -> Result<Report, String> {
    Report::read(&[directory.to_owned()], None).map_err(|error| error.to_string())
}
