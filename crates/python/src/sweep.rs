//! Sweep of one scenario over many variants.

use std::path::PathBuf;

use netflow::sweep::{
    Axis, Error, Model, Prechecked, Shard, Sweep as Library, SweepRequest, WriteOptions,
    WriteSummary,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::background_task::{InterruptibleResult, progress as progress_of, run_in_background};
use crate::convert::{self, positive_seconds, setting};
use crate::errors::{self, EvaluationError};
use crate::results::interrupted;
use crate::scenario::Scenario;
use crate::scenario_source::Spec;

/// A sweep with checked values.
#[pyclass(frozen, module = "netflow_evaluator._native")]
pub struct Sweep {
    spec: Spec,
    sweep: Library,
}

#[pymethods]
impl Sweep {
    #[new]
    #[pyo3(signature = (scenario, vary, *, fail = None, model = "solve", at = None, seeds = 1, interval = None,
        format = "parquet", threads = None, tried = None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, Scenario>,
        vary: &Bound<'_, PyDict>,
        fail: Option<&str>,
        model: &str,
        at: Option<&Bound<'_, PyAny>>,
        seeds: i64,
        interval: Option<&Bound<'_, PyAny>>,
        format: &str,
        threads: Option<i64>,
        tried: Option<(String, bool)>,
    ) -> PyResult<Sweep> {
        let state = scenario.get().state();
        let mut axes = Vec::new();
        for (key, values) in convert::items(Some(vary))? {
            axes.push(axis(&key.extract::<String>()?, &values)?);
        }
        let each_link_fails = match fail {
            None => false,
            Some("each-link") => true,
            Some(other) => {
                let message = format!("`fail` must be \"each-link\", not {other:?}");
                return Err(errors::value(message));
            }
        };
        let defaults = SweepRequest::default();
        let request = SweepRequest {
            axes,
            settings: state.spec.settings.clone(),
            each_link_fails,
            model: model.parse::<Model>().map_err(errors::value)?,
            at_s: at.map(|at| positive_seconds("at", at)).transpose()?,
            seeds: convert::seeds(seeds)?,
            every_s: convert::interval_s(py, interval, None)?.unwrap_or(defaults.every_s),
            format: convert::format(format)?,
        };
        // The request contains the settings.
        let spec = Spec {
            settings: Vec::new(),
            ..state.spec.clone()
        };
        py.detach(|| state.is_unchanged())
            .map_err(|refusal| refusal.to_py_err(py))?;
        let worked = run_in_background(py, threads, None, |wish| {
            let load = |settings: &[String]| spec.load(settings);
            match tried {
                None => Library::new(request, &load, &|| wish.stop()),
                Some((digest, names_files)) => {
                    let tried = Prechecked {
                        digest,
                        names_files,
                    };
                    Library::from_prechecked(request, tried, &load)
                }
            }
        })?;
        let sweep = worked
            .into_result()?
            .map_err(|error| sweep_error(py, &error))?;
        Ok(Sweep { spec, sweep })
    }

    /// Result of checking every value, for a copy in another process.
    #[getter]
    fn tried(&self) -> (String, bool) {
        let tried = self.sweep.prechecked();
        (tried.digest, tried.names_files)
    }

    /// Number of cases.
    #[getter]
    fn cases(&self) -> u64 {
        self.sweep.cases().count()
    }

    /// Number of chunks.
    #[getter]
    fn chunks(&self) -> u64 {
        self.sweep.chunks().count()
    }

    /// Estimates the seconds of one processor for all cases from a few of them.
    fn estimate_s(&self, py: Python<'_>) -> PyResult<f64> {
        let load = |settings: &[String]| self.spec.load(settings);
        let worked = run_in_background(py, Some(1), None, |wish| {
            self.sweep
                .estimate(Shard::default(), &load, &|| wish.stop())
        })?;
        let estimate = worked
            .into_result()?
            .map_err(|error| sweep_error(py, &error))?;
        Ok(estimate.time_s)
    }

    /// Prepares the directory, if necessary. Returns the number of complete cases.
    #[pyo3(signature = (directory, *, force = false))]
    fn prepare(&self, py: Python<'_>, directory: PathBuf, force: bool) -> PyResult<u64> {
        let complete = self.complete(py, directory, force)?;
        let chunks = self.sweep.chunks();
        let cases = complete.into_iter().map(|chunk| chunks.cases(chunk));
        Ok(cases.map(|cases| cases.end - cases.start).sum())
    }

    /// Returns the complete chunks of the directory.
    fn complete_chunks(&self, py: Python<'_>, directory: PathBuf) -> PyResult<Vec<u64>> {
        self.complete(py, directory, false)
    }

    /// Evaluates the missing cases.
    #[pyo3(signature = (directory, *, force = false, threads = None, progress = None))]
    fn write<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        force: bool,
        threads: Option<i64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let progress = progress_of(progress)?;
        let writing = WriteOptions {
            shard: Shard::default(),
            force,
        };
        let load = |settings: &[String]| self.spec.load(settings);
        let worked = run_in_background(py, threads, progress.as_ref(), |wish| {
            let mut on_progress = |part| wish.done(part);
            let stop = || wish.stop();
            self.sweep
                .write(&directory, &writing, &load, &mut on_progress, &stop)
        })?;
        let written = written(py, worked)?;
        let dict = PyDict::new(py);
        dict.set_item("cases", written.cases)?;
        dict.set_item("reused", written.reused)?;
        dict.set_item("without_answer", written.without_result)?;
        dict.set_item("rows", written.rows)?;
        Ok(dict)
    }

    /// Evaluates the missing ones of these chunks.
    #[pyo3(signature = (directory, chunks, *, threads = None))]
    fn write_chunks(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        chunks: Vec<u64>,
        threads: Option<i64>,
    ) -> PyResult<()> {
        let load = |settings: &[String]| self.spec.load(settings);
        let worked = run_in_background(py, threads, None, |wish| {
            let stop = || wish.stop();
            self.sweep
                .write_chunks(&directory, &chunks, &load, &mut |_| {}, &stop)
        })?;
        written(py, worked).map(drop)
    }
}

impl Sweep {
    fn complete(&self, py: Python<'_>, directory: PathBuf, force: bool) -> PyResult<Vec<u64>> {
        let worked = run_in_background(py, None, None, |_| self.sweep.prepare(&directory, force))?;
        worked
            .into_result()?
            .map_err(|error| sweep_error(py, &error))
    }
}

/// Converts the outcome of writing, or of its interruption.
fn written(
    py: Python<'_>,
    worked: InterruptibleResult<Result<WriteSummary, Error>>,
) -> PyResult<WriteSummary> {
    match (worked.outcome, worked.interruption) {
        (Err(error @ Error::Stopped { .. }), Some(why))
            if why.is_instance_of::<PyKeyboardInterrupt>(py) =>
        {
            Err(interrupted(py, error.to_string(), None))
        }
        (_, Some(why)) => Err(why),
        (written, None) => written.map_err(|error| sweep_error(py, &error)),
    }
}

/// Reads an axis: an iterable of values, or a text with a range or a list, as for `--vary`.
fn axis(key: &str, values: &Bound<'_, PyAny>) -> PyResult<Axis> {
    let axis = match values.extract::<String>() {
        Ok(text) => Axis::parse(&format!("{key}={text}")),
        Err(_) => {
            let mut all = Vec::new();
            for value in values.try_iter()? {
                all.push(setting(key, &value?)?);
            }
            Axis::from_values(key, all)
        }
    };
    axis.map_err(|error| {
        let message = format!("`vary`: {}: {}", error.option, error.message);
        errors::value_with(&message, Some(&error.help))
    })
}

fn sweep_error(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Scenario(problems) => errors::scenario(py, problems),
        Error::Write { .. } | Error::Read { .. } | Error::InUse { .. } => {
            PyOSError::new_err(error.to_string())
        }
        Error::Changed | Error::Stopped { .. } => EvaluationError::new_err(error.to_string()),
        _ => errors::value_with(&error.to_string(), error.help().as_deref()),
    }
}
