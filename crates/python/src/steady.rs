//! Steady states, sensitivities and headroom.

use netflow::evaluate::{steady_notes, steady_warnings};
use netflow::scenario::CompiledScenario;
use netflow::steady::rows::{
    self, ConnectionRow, DemandSensitivityRow, LinkRow, MeasureSensitivities, SensitivityRow,
    TransferRow,
};
use netflow::steady::{Bounds, ConnectionSelection, Solver, SteadyOptions};
use pyo3::prelude::*;

use crate::background_task::run_in_background;
use crate::errors;
use crate::names;
use crate::table::Table;

/// A network in steady state.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct SteadyState {
    at_s: f64,
    residual: f64,
    newton_steps: usize,
    starts: u32,
    starts_led_to_rest: u32,
    equilibria: usize,
    rate_pps: f64,
    goodput_pps: f64,
    goodput_bps: f64,
    loss_probability: f64,
    delay_s: f64,
    links: Table,
    connections: Table,
    transfers: Table,
    notes: Vec<String>,
}

impl SteadyState {
    pub fn find(
        py: Python<'_>,
        scenario: &CompiledScenario,
        at_s: f64,
        starts: u32,
        threads: Option<i64>,
    ) -> PyResult<SteadyState> {
        let options = SteadyOptions {
            starts,
            seed: scenario.options.seed,
            ..SteadyOptions::default()
        };
        let network = &scenario.network;
        let worked = run_in_background(py, threads, None, |wish| {
            let mut solver = Solver::new(network, at_s)?;
            let steady = solver.solve_until_stopped(&options, &|| wish.stop())?;
            Ok((solver, steady))
        })?;
        let (solver, steady) = worked
            .into_result()?
            .map_err(|error| errors::steady(&error))?;
        let demands = scenario.demands.iter();
        let demands = demands.map(|it| (it.name.as_str(), it.connection, &*it.transfers));
        let transfers = rows::transfers(&demands.collect::<Vec<_>>(), &solver, &steady);
        let totals = &steady.totals;
        Ok(SteadyState {
            at_s,
            residual: steady.residual,
            newton_steps: steady.newton_steps,
            starts: steady.starts,
            starts_led_to_rest: steady.converged_starts,
            equilibria: steady.equilibria,
            rate_pps: totals.rate_pps,
            goodput_pps: totals.goodput_pps,
            goodput_bps: totals.goodput_bps,
            loss_probability: totals.loss_probability,
            delay_s: totals.delay_s,
            links: Table::of(&LinkRow::default(), &rows::links(network, &steady))?,
            connections: Table::of(
                &ConnectionRow::with_all_columns(),
                &rows::connections(network, &steady),
            )?,
            transfers: Table::of(&TransferRow::default(), &transfers)?,
            notes: [
                steady_warnings(scenario, &steady, at_s),
                steady_notes(scenario, &steady),
            ]
            .concat(),
        })
    }
}

#[pymethods]
impl SteadyState {
    fn __repr__(&self) -> String {
        format!(
            "<SteadyState at {} s: {} Mbit/s of goodput, residual {:.1e}, {} steady states found>",
            self.at_s,
            netflow::number::short(self.goodput_bps / 1e6),
            self.residual,
            self.equilibria,
        )
    }
}

/// Sensitivities: derivatives of the results by the parameters of links and demands.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct Sensitivities {
    at_s: f64,
    of: Option<String>,
    goodput_bps: f64,
    delay_s: Option<f64>,
    delay_p95_s: f64,
    loss_probability: f64,
    one_sided_because_of: Vec<String>,
    links: Table,
    connections: Table,
}

impl Sensitivities {
    pub fn find(
        py: Python<'_>,
        scenario: &CompiledScenario,
        at_s: f64,
        of: Option<&str>,
        threads: Option<i64>,
    ) -> PyResult<Sensitivities> {
        let network = &scenario.network;
        let only = match of {
            None => None,
            Some(name) => Some(names::connections_named(scenario, name)?),
        };
        let which = only
            .as_deref()
            .map_or(ConnectionSelection::All, ConnectionSelection::Only);
        let options = SteadyOptions {
            seed: scenario.options.seed,
            ..SteadyOptions::default()
        };
        let worked = run_in_background(py, threads, None, |_| {
            let mut solver = Solver::new(network, at_s)?;
            let steady = solver.solve(&options)?;
            let gains = MeasureSensitivities::at(&mut solver, &steady, which)?;
            Ok((steady, gains))
        })?;
        let (steady, found) = worked
            .into_result()?
            .map_err(|error| errors::steady(&error))?;
        let bends = found.one_sided_because_of(network).into_iter();
        Ok(Sensitivities {
            at_s,
            of: of.map(str::to_owned),
            goodput_bps: found.goodput.value,
            delay_s: found.delay.as_ref().map(|it| it.value),
            delay_p95_s: found.delay_p95.value,
            loss_probability: found.loss.value,
            one_sided_because_of: bends.map(str::to_owned).collect(),
            links: Table::of(
                &SensitivityRow::with_all_columns(),
                &rows::link_sensitivities(network, &found),
            )?,
            connections: Table::of(
                &DemandSensitivityRow::with_all_columns(),
                &rows::demand_sensitivities(network, &steady, &found),
            )?,
        })
    }
}

/// Returns the limits of load, delay and loss, of which one is given.
pub fn bounds(asked: [Option<f64>; 3]) -> PyResult<Bounds> {
    if asked.iter().all(Option::is_none) {
        let message = "headroom needs a limit: give max_utilization, max_delay or max_loss";
        return Err(errors::value(message));
    }
    for (name, bound) in [("max_utilization", asked[0]), ("max_loss", asked[2])] {
        if let Some(bound) = bound.filter(|bound| !(0.0..=1.0).contains(bound)) {
            let message = format!("`{name}` must be a fraction from 0 to 1, not {bound}");
            return Err(errors::value(message));
        }
    }
    let endless = |bound: Option<f64>| bound.unwrap_or(f64::INFINITY);
    Ok(Bounds {
        utilization: endless(asked[0]),
        delay_s: endless(asked[1]),
        loss: endless(asked[2]),
    })
}

/// The largest factor of demands within given limits.
#[pyclass(frozen, get_all, module = "netflow_evaluator")]
pub struct Headroom {
    at_s: f64,
    factor: Option<f64>,
    scaled: String,
    rate_pps: f64,
    goodput_bps: f64,
    loss_probability: f64,
    binding: Option<String>,
    binding_at: Option<String>,
    links: Table,
    connections: Table,
}

impl Headroom {
    /// Computes the headroom within optional bounds for utilization, delay and loss.
    pub fn find(
        py: Python<'_>,
        scenario: &CompiledScenario,
        at_s: f64,
        asked: [Option<f64>; 3],
        scale: Option<&str>,
        threads: Option<i64>,
    ) -> PyResult<Headroom> {
        let network = &scenario.network;
        let bounds = bounds(asked)?;
        let only = match scale {
            None => None,
            Some(name) => Some(names::connections_named(scenario, name)?),
        };
        let demands = only
            .as_deref()
            .map_or(ConnectionSelection::All, ConnectionSelection::Only);
        let options = SteadyOptions::default();
        let worked = run_in_background(py, threads, None, |_| {
            Solver::new(network, at_s)?.headroom(&bounds, demands, &options)
        })?;
        let found = worked
            .into_result()?
            .map_err(|error| errors::steady(&error))?;
        let row = rows::headroom(network, at_s, &bounds, scale, &found);
        Ok(Headroom {
            at_s,
            factor: row.factor,
            scaled: row.scaled.to_owned(),
            rate_pps: row.rate_pps,
            goodput_bps: row.goodput_bps,
            loss_probability: row.loss_probability,
            binding: row.binding.map(|kind| kind.name().to_owned()),
            binding_at: row.binding_at.map(str::to_owned),
            links: Table::of(&LinkRow::default(), &rows::links(network, &found.steady))?,
            connections: Table::of(
                &ConnectionRow::with_all_columns(),
                &rows::connections(network, &found.steady),
            )?,
        })
    }
}

#[pymethods]
impl Headroom {
    fn __repr__(&self) -> String {
        match (self.factor, &self.binding, &self.binding_at) {
            (Some(factor), Some(binding), Some(at)) => {
                format!("<Headroom: factor {factor:.4}, limited by {binding} of {at}>")
            }
            (Some(factor), ..) => format!(
                "<Headroom: factor {factor:.4} or more, no limit is reached, loss {}>",
                netflow::number::percent(self.loss_probability)
            ),
            (None, _, Some(at)) => format!("<Headroom: none, {at} exceeds its limit>"),
            (None, ..) => "<Headroom: none>".to_owned(),
        }
    }
}
