//! Stepwise simulation with access between steps.

use std::convert::Infallible;
use std::sync::Arc;

use netflow::results::{CONNECTIONS, LINKS};
use netflow::scenario::CompiledScenario;
use netflow::simulation::{
    Columns as _, ConnectionId, ConnectionInterval, Interval, LinkId, LinkInterval, MarkerRates,
    Network, NodeId, Recorder, Run, RunError, Simulation as Library,
};
use pyo3::prelude::*;

use crate::announced_values::{self, AllowedSettings};
use crate::background_task::run_in_background;
use crate::convert::{self, positive_seconds};
use crate::errors::{self, EvaluationError};
use crate::names;
use crate::table::Table;

/// A simulation in progress.
#[pyclass(module = "netflow_evaluator")]
#[derive(Clone)]
pub struct Simulation {
    scenario: Arc<CompiledScenario>,
    simulation: Library,
    last: LastInterval,
}

/// Values of the last interval, as rows of the series.
#[derive(Clone, Default)]
struct LastInterval {
    time_s: f64,
    links: Vec<Vec<f64>>,
    connections: Vec<Vec<f64>>,
}

impl Recorder for LastInterval {
    type Error = Infallible;

    fn interval(&mut self, interval: &Interval<'_>) -> Result<(), Infallible> {
        let network = interval.network;
        self.time_s = interval.time_s;
        self.links = network
            .links()
            .map(|id| interval.link(id).numbers())
            .collect();
        let connections = network.connections();
        self.connections = connections
            .map(|id| interval.connection(id).numbers())
            .collect();
        Ok(())
    }
}

impl Simulation {
    /// Creates a simulation at time 0 with the announced settable values.
    pub fn begin(
        py: Python<'_>,
        scenario: Arc<CompiledScenario>,
        settable: &AllowedSettings,
    ) -> PyResult<Simulation> {
        let network = settable.announce(&scenario.network)?;
        let made = py.detach(|| Library::new(network, scenario.options));
        let simulation = made.map_err(|error| EvaluationError::new_err(error.to_string()))?;
        let mut it = Simulation {
            scenario,
            simulation,
            last: LastInterval::default(),
        };
        it.last.links = vec![LinkInterval::default().numbers(); it.network().link_count()];
        it.last.connections =
            vec![ConnectionInterval::default().numbers(); it.network().connection_count()];
        Ok(it)
    }

    fn network(&self) -> &Network {
        self.simulation.engine().network()
    }

    fn link(&self, name: &str) -> PyResult<LinkId> {
        names::link(self.network(), name)
    }

    fn connection(&self, name: &str) -> PyResult<ConnectionId> {
        names::connection(self.network(), name)
    }

    fn names(&self, nodes: &[NodeId]) -> Vec<String> {
        let names = nodes.iter().map(|&node| self.network().node_name(node));
        names.map(str::to_owned).collect()
    }

    fn to(&mut self, py: Python<'_>, time_s: f64) -> PyResult<()> {
        let Simulation {
            simulation, last, ..
        } = self;
        let worked = run_in_background(py, None, None, |wish| {
            simulation.run_until(time_s, last, || wish.stop())
        })?;
        let outcome: Result<_, RunError> = worked.into_result()?;
        outcome
            .map(drop)
            .map_err(|error| EvaluationError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Simulation {
    fn step(&mut self, py: Python<'_>) -> PyResult<()> {
        let stepped = py.detach(|| self.simulation.step());
        stepped.map_err(|error| EvaluationError::new_err(error.to_string()))
    }

    fn advance(&mut self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<f64> {
        let time_s = positive_seconds("time", time)?;
        self.to(py, self.simulation.engine().time_s() + time_s)?;
        Ok(self.simulation.engine().time_s())
    }

    fn run_until(&mut self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<f64> {
        let time_s = positive_seconds("time", time)?;
        let now_s = self.simulation.engine().time_s();
        if time_s < now_s {
            let message = format!("{time_s} s is in the past: the current time is {now_s} s");
            return Err(errors::value(message));
        }
        self.to(py, time_s)?;
        Ok(self.simulation.engine().time_s())
    }

    fn set_bandwidth(&mut self, link: &str, bandwidth: &Bound<'_, PyAny>) -> PyResult<()> {
        let bps = convert::bandwidth("bandwidth", bandwidth)?;
        let id = self.link(link)?;
        let set = self.simulation.set_bandwidth(id, bps);
        set.map_err(|error| {
            let help = "declare the range in simulation(bandwidths={LINK: [MIN, MAX]})";
            run_error(&error, Some(help))
        })
    }

    fn set_route(&mut self, connection: &str, path: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let id = self.connection(connection)?;
        let path = match path {
            Some(path) => Some(announced_values::path(self.network(), path)?),
            None => None,
        };
        let set = self.simulation.set_route(id, path.as_deref());
        set.map_err(|error| {
            let help = "declare paths in simulation(routes={CONNECTION: [[NODE, NODE, ...], ...]})";
            let is_announced = path.is_some_and(|path| self.network().paths(id).contains(&path));
            run_error(&error, Some(help).filter(|_| !is_announced))
        })
    }

    fn path(&self, connection: &str) -> PyResult<Vec<String>> {
        let nodes = self.simulation.path(self.connection(connection)?);
        Ok(self.names(&nodes))
    }

    fn paths(&self, connection: &str) -> PyResult<Vec<Vec<String>>> {
        let paths = self.network().paths(self.connection(connection)?);
        Ok(paths.iter().map(|path| self.names(path)).collect())
    }

    fn set_rate(&mut self, connection: &str, rate: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.connection(connection)?;
        let pps = announced_values::rate_pps("rate", self.network(), id, rate)?;
        let set = self.simulation.set_rate(id, pps);
        set.map_err(|error| {
            let help = "declare the range in simulation(rates={CONNECTION: [MIN, MAX]})";
            let may_have = self.network().own_rate_pps(id).is_ok();
            run_error(&error, Some(help).filter(|_| may_have))
        })
    }

    fn rates_pps(&self, connection: &str) -> PyResult<Option<(f64, f64)>> {
        Ok(self.network().rates_pps(self.connection(connection)?))
    }

    #[pyo3(signature = (aggregate, committed, *, peak = None))]
    fn set_marker(
        &mut self,
        aggregate: &str,
        committed: &Bound<'_, PyAny>,
        peak: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let id = names::aggregate(self.network(), aggregate)?;
        let peak_bps = peak.map(|peak| convert::bandwidth("peak", peak));
        let rates = MarkerRates {
            committed_bps: convert::bandwidth("committed", committed)?,
            peak_bps: peak_bps.transpose()?,
        };
        let set = self.simulation.set_marker(id, rates);
        set.map_err(|error| run_error(&error, None))
    }

    fn marker_rates_bps(&self, aggregate: &str) -> PyResult<(f64, Option<f64>)> {
        let id = names::aggregate(self.network(), aggregate)?;
        let rates = self.simulation.marker_rates(id);
        Ok((rates.committed_bps, rates.peak_bps))
    }

    fn set_loss(&mut self, link: &str, loss: &Bound<'_, PyAny>) -> PyResult<()> {
        let loss = convert::number("loss", loss, "a number from 0 to 1")?;
        let id = self.link(link)?;
        let set = self.simulation.set_loss(id, &loss.into());
        set.map_err(|error| errors::value(error.to_string()))
    }

    fn set_delay(&mut self, link: &str, delay: &Bound<'_, PyAny>) -> PyResult<()> {
        let delay_s = convert::seconds("delay", delay)?;
        let id = self.link(link)?;
        let set = self.simulation.set_delay(id, delay_s);
        set.map_err(|error| {
            let help = "declare the range in simulation(delays={LINK: [MIN, MAX]})";
            run_error(&error, Some(help))
        })
    }

    fn delays_s(&self, link: &str) -> PyResult<(f64, f64)> {
        Ok(self.network().delays_s(self.link(link)?))
    }

    fn bandwidths_bps(&self, link: &str) -> PyResult<(f64, f64)> {
        Ok(self.network().bandwidths_bps(self.link(link)?))
    }

    fn copy(&self) -> Simulation {
        self.clone()
    }

    fn __copy__(&self) -> Simulation {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Simulation {
        self.clone()
    }

    #[getter]
    fn time_s(&self) -> f64 {
        self.simulation.engine().time_s()
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario.options.duration_s
    }

    #[getter]
    fn is_done(&self) -> bool {
        self.simulation.is_done()
    }

    #[getter]
    fn steps(&self) -> u64 {
        self.simulation.steps()
    }

    fn queue_pkts(&self, link: &str) -> PyResult<f64> {
        Ok(self.simulation.queue_pkts(self.link(link)?))
    }

    fn blocking(&self, link: &str) -> PyResult<f64> {
        Ok(self.simulation.blocking(self.link(link)?))
    }

    fn utilization(&self, link: &str) -> PyResult<f64> {
        Ok(self.simulation.utilization(self.link(link)?))
    }

    fn rate_pps(&self, connection: &str) -> PyResult<f64> {
        Ok(self.simulation.send_pps(self.connection(connection)?))
    }

    #[getter]
    fn links(&self) -> PyResult<Table> {
        let names = names::links(self.network());
        last(LINKS, self.last.time_s, names, &self.last.links)
    }

    #[getter]
    fn connections(&self) -> PyResult<Table> {
        let names = names::connections(self.network());
        last(CONNECTIONS, self.last.time_s, names, &self.last.connections)
    }

    /// Numbers of data packets sent, delivered and lost so far.
    #[getter]
    fn totals(&self) -> (f64, f64, f64) {
        let totals = self.simulation.totals();
        (totals.offered_pkts, totals.delivered_pkts, totals.lost_pkts)
    }

    fn __repr__(&self) -> String {
        let (time_s, duration_s) = (self.time_s(), self.duration_s());
        format!("<Simulation at {time_s} s of {duration_s} s>")
    }
}

/// Returns the error of a setter, without option names that Python does not have.
fn run_error(error: &RunError, help: Option<&str>) -> PyErr {
    match error {
        RunError::BadOption { reason, .. } => errors::value_with(reason, help),
        other => errors::value_with(&other.to_string(), help),
    }
}

fn last(
    layout: netflow::results::Table,
    time_s: f64,
    names: Vec<String>,
    rows: &[Vec<f64>],
) -> PyResult<Table> {
    let values = (0..layout.values.len()).map(|i| rows.iter().map(|row| row[i]).collect());
    let places = (0..names.len() as i32).collect();
    let times_s = vec![time_s; names.len()];
    Table::series(layout, times_s, vec![(names, places)], values.collect())
}
