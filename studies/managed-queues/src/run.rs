//! Runs of an experiment in netflow and in reference systems.

use std::convert::Infallible;
use std::error::Error;

use netflow_compare::{Run, Runner, Settings};
use netflow_scenario::CompiledScenario;
use netflow_simulation::{Interval, Options, Recorder, Run as _, Simulation};

use crate::cell::{Cell, STARTS_S, WARMUP_S};
use crate::row::{Row, System, jain};

/// Number of seeds of each experiment.
pub const SEEDS: u32 = 5;

struct NullRecorder;

impl Recorder for NullRecorder {
    type Error = Infallible;

    fn interval(&mut self, _: &Interval<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Managed link.
const LINK: &str = "A->B";

/// Runs an experiment in netflow.
///
/// # Errors
/// If its scenario is invalid, or cannot be evaluated.
pub fn netflow(cell: &Cell, seed: u32) -> Result<Row, Box<dyn Error + Send + Sync>> {
    let prepared = cell.prepared(&cell.starts_s(seed))?;
    let options = Options {
        seed: seed.into(),
        ..prepared.options
    };
    let mut simulation = Simulation::new(prepared.network, options)?;
    simulation.set_threads(1);
    simulation.run_until(WARMUP_S, &mut NullRecorder, || false)?;
    simulation.begin_period();
    while !simulation.is_done() {
        simulation.step()?;
    }
    let network = simulation.network();
    let link = network.link_by_name(LINK).ok_or("there is no such link")?;
    let totals = simulation.link_totals(link);
    let connections: Vec<_> = network
        .connections()
        .map(|id| simulation.connection_totals(id))
        .collect();
    let goodputs: Vec<f64> = connections.iter().map(|it| it.mean_goodput_pps).collect();
    let delays = connections.iter().filter_map(|it| it.delay);
    let p95_s: Vec<f64> = delays.map(|it| it.p95_s).collect();
    let row = Row {
        cell: cell.name(),
        who: System::Netflow,
        seed,
        queue_pkts: totals.mean_queue_pkts,
        utilization: totals.utilization,
        loss: totals.lost_pkts / totals.offered_pkts,
        marks: totals.marked_pkts.unwrap_or(0.0) / totals.offered_pkts,
        jain: jain(&goodputs),
        delay_p95_ms: 1e3 * p95_s.iter().sum::<f64>() / p95_s.len() as f64,
    };
    Ok(row.rounded())
}

/// Returns the settings of ns-3 and Linux.
pub fn settings() -> Settings {
    Settings {
        seeds: SEEDS,
        jobs: 1,
        start_jitter_s: STARTS_S,
        every_s: WARMUP_S,
        delays_from_s: WARMUP_S,
        ..Settings::default()
    }
}

/// Runs an experiment in ns-3 or Linux; `None` if the machine was too slow.
///
/// # Errors
/// If the run fails, or has no results for the link.
pub fn run_reference(
    runner: &dyn Runner,
    who: System,
    cell: &Cell,
    scenario: &CompiledScenario,
    seed: u32,
) -> Result<Option<Row>, Box<dyn Error + Send + Sync>> {
    let run = runner.run_one(scenario, &settings(), seed, &|| false)?;
    match &run.doubt {
        Some(doubt) => {
            eprintln!("{}: {doubt}", cell.name());
            Ok(None)
        }
        None => Ok(Some(row_of(cell, who, seed, &run)?.rounded())),
    }
}

/// Returns the results without the first interval, which is the warm-up.
fn row_of(cell: &Cell, who: System, seed: u32, run: &Run) -> Result<Row, &'static str> {
    let links = run.links.iter().find(|(name, _)| name == LINK);
    let (_, all) = links.ok_or("there is no such link")?;
    let intervals = all.get(1..).unwrap_or_default();
    let n = intervals.len() as f64;
    let sum = |of: &dyn Fn(&netflow_compare::LinkInterval) -> f64| -> f64 {
        intervals.iter().map(of).sum()
    };
    let arrived = sum(&|it| it.arrived_pkts);
    let goodputs: Vec<f64> = run
        .connections
        .iter()
        .map(|(_, all)| all.iter().skip(1).map(|it| it.delivered_pkts).sum())
        .collect();
    let delays: Vec<f64> = run.delays.iter().map(|(_, it)| it.p95_s).collect();
    Ok(Row {
        cell: cell.name(),
        who,
        seed,
        queue_pkts: sum(&|it| it.queue_pkts) / n,
        utilization: sum(&|it| it.utilization) / n,
        loss: sum(&|it| it.lost_pkts) / arrived,
        marks: sum(&|it| it.marked_pkts.unwrap_or(f64::NAN)) / arrived,
        jain: jain(&goodputs),
        delay_p95_ms: 1e3 * delays.iter().sum::<f64>() / delays.len() as f64,
    })
}
