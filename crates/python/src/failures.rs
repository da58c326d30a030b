//! What failures do to a network.

use netflow::scenario::Prepared;
use netflow::steady::rows::{self, FailureRow, LinkUnderFailureRow};
use netflow::steady::{FailureOptions, failures};
use pyo3::prelude::*;

use crate::errors;
use crate::results::interrupted;
use crate::table::Table;
use crate::work::work;

/// A network under failures.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct Failures {
    at_s: f64,
    possible_cases: usize,
    cases_not_at_rest: usize,
    goodput_bps: f64,
    max_utilization: Option<f64>,
    cases: Table,
    links: Table,
    down_already: Vec<String>,
}

impl Failures {
    pub fn find(
        py: Python<'_>,
        scenario: &Prepared,
        at_s: f64,
        options: &FailureOptions,
        threads: Option<usize>,
    ) -> PyResult<Failures> {
        let network = &scenario.network;
        let worked = work(py, threads, None, |wish| {
            failures(network, at_s, options, &|| wish.stop())
        })?;
        if let Some(error) = worked.interruption {
            return Err(match worked.outcome {
                Ok(_) => interrupted(py, "nothing is told".to_owned(), None),
                Err(_) => error,
            });
        }
        let found = worked.outcome.map_err(|error| errors::steady(&error))?;
        let Some(found) = found else {
            return Err(interrupted(py, "nothing is told".to_owned(), None));
        };
        let cases = rows::failures(network, &found);
        let intact = rows::intact(network, &found);
        let down = found.down_already.iter().map(|it| it.name(network));
        Ok(Failures {
            at_s,
            possible_cases: found.possible,
            cases_not_at_rest: cases.iter().filter(|case| !case.rests).count(),
            goodput_bps: intact.goodput_bps,
            max_utilization: intact.max_utilization,
            cases: Table::of(&FailureRow::with_all_columns(), &cases)?,
            links: Table::of(
                &LinkUnderFailureRow::with_all_columns(),
                &rows::under_failures(network, &found),
            )?,
            down_already: down.collect(),
        })
    }
}

#[pymethods]
impl Failures {
    fn __repr__(&self) -> String {
        format!(
            "<Failures: {} cases of {}, {} not at rest>",
            self.cases.rows(),
            self.possible_cases,
            self.cases_not_at_rest
        )
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("netflow_evaluator._html")?;
        html.getattr("failures")?.call1((slf,))?.extract()
    }
}
