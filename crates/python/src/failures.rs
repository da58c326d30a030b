//! Failure analysis.

use std::path::PathBuf;
use std::sync::Arc;

use netflow::failures::FailureReport;
use netflow::report::PAGE_MARK;
use netflow::scenario::CompiledScenario;
use netflow::steady::rows::{self, FailureRow, LinkUnderFailureRow};
use netflow::steady::{FailureOptions, Failures as Found, failures};
use netflow_files::write_unless_foreign;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::background_task::run_in_background;
use crate::errors;
use crate::results::all_or_interrupted;
use crate::table::Table;

/// Results of a failure analysis.
#[pyclass(frozen, module = "netflow_evaluator")]
pub struct Failures {
    /// Where the scenario was read from.
    path: PathBuf,
    prepared: Arc<CompiledScenario>,
    found: Found,
    #[pyo3(get)]
    at_s: f64,
    #[pyo3(get)]
    possible_cases: usize,
    #[pyo3(get)]
    cases_not_at_rest: usize,
    #[pyo3(get)]
    goodput_bps: f64,
    #[pyo3(get)]
    max_load: Option<f64>,
    #[pyo3(get)]
    cases: Table,
    #[pyo3(get)]
    links: Table,
    #[pyo3(get)]
    down_already: Vec<String>,
}

impl Failures {
    /// Analyses a scenario that was read from `path`.
    pub fn find(
        py: Python<'_>,
        path: PathBuf,
        prepared: Arc<CompiledScenario>,
        at_s: f64,
        options: &FailureOptions,
        threads: Option<i64>,
    ) -> PyResult<Failures> {
        let network = &prepared.network;
        let worked = run_in_background(py, threads, None, |wish| {
            failures(network, at_s, options, &|| wish.stop())
        })?;
        let found = all_or_interrupted(py, worked, |error| errors::steady(&error))?;
        let seen = FailureReport::new(network, &found, at_s);
        let intact = rows::intact(network, &found);
        let (goodput_bps, max_load) = (intact.goodput_bps, intact.max_load);
        let cases_not_at_rest = seen.without_steady_state();
        let cases = Table::of(&FailureRow::with_all_columns(), &seen.cases)?;
        let links = Table::of(&LinkUnderFailureRow::with_all_columns(), &seen.links)?;
        let down = found.down_already.iter().map(|it| it.name(network));
        let down_already = down.collect();
        Ok(Failures {
            path,
            at_s,
            possible_cases: found.possible,
            cases_not_at_rest,
            goodput_bps,
            max_load,
            cases,
            links,
            down_already,
            prepared,
            found,
        })
    }
}

#[pymethods]
impl Failures {
    fn __repr__(&self) -> String {
        format!(
            "<Failures: {} cases of {}, {} without a steady state>",
            self.cases.rows(),
            self.possible_cases,
            self.cases_not_at_rest
        )
    }

    /// Writes a page, as `netflow failures -o` does.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        errors::check_page(&path)?;
        let worked = run_in_background(py, Some(1), None, |_| {
            let seen = FailureReport::new(&self.prepared.network, &self.found, self.at_s);
            let page = seen
                .page(&self.path, &self.prepared.node_annotations)
                .html();
            write_unless_foreign(&path, page.as_bytes(), Some(PAGE_MARK))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))
        })?;
        worked.into_result()?.map_err(PyOSError::new_err)
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("netflow_evaluator._html")?;
        html.getattr("failures")?.call1((slf,))?.extract()
    }
}
