//! Availability of demands.

use std::sync::Arc;

use netflow::evaluate::steady_demands;
use netflow::scenario::CompiledScenario;
use netflow::steady::rows::{self, AvailabilityRow, NetworkAvailabilityRow};
use netflow::steady::{AvailabilityOptions, availability};
use pyo3::prelude::*;

use crate::background_task::run_in_background;
use crate::errors;
use crate::results::all_or_interrupted;
use crate::table::Table;

/// Results of an availability computation.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct Availability {
    at_s: f64,
    network: Table,
    demands: Table,
    down_already: Vec<String>,
}

impl Availability {
    /// Computes the availability of the demands of a scenario.
    pub fn find(
        py: Python<'_>,
        prepared: &Arc<CompiledScenario>,
        at_s: f64,
        options: &AvailabilityOptions,
        slo: Option<f64>,
        threads: Option<i64>,
    ) -> PyResult<Availability> {
        let network = &prepared.network;
        let demands = steady_demands(prepared);
        let worked = run_in_background(py, threads, None, |wish| {
            availability(network, at_s, &demands, options, &|| wish.stop())
        })?;
        let found = all_or_interrupted(py, worked, |error| errors::steady(&error))?;
        let rows = rows::availability(&demands, &found, slo);
        let all = rows::network_availability(at_s, options.served, slo, &found, &rows);
        let down = found.down_already.iter().map(|it| it.name(network));
        Ok(Availability {
            at_s,
            network: Table::of(&NetworkAvailabilityRow::with_all_columns(), &[all])?,
            demands: Table::of(&AvailabilityRow::with_all_columns(), &rows)?,
            down_already: down.collect(),
        })
    }
}

#[pymethods]
impl Availability {
    fn __repr__(&self) -> String {
        format!("<Availability: {} demands>", self.demands.rows())
    }
}
