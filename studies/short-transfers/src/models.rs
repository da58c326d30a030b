//! Results of the models.

use netflow_tcpmodel::csa::Csa;
use netflow_tcpmodel::model_c::ModelC;
use netflow_tcpmodel::rto::ExactMoments;
use netflow_tcpmodel::short::{Exponent, Short};
use netflow_tcpmodel::transfer_simulation::{self, Distribution, Options, TransferSimulation};
use netflow_tcpmodel::{Error, Transfer};

use crate::reference::Row;

/// Number of simulated transfers of every row.
pub const TRIALS: u64 = 100_000;

/// Row with the results of every model.
pub struct EvaluatedRow {
    pub row: Row,
    pub delivered: SimulatedTimes,
    pub acknowledged: Option<SimulatedTimes>,
    pub formulas: Formulas,
}

/// Results of the packet-by-packet simulation, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedTimes {
    pub mean_s: f64,
    pub std_s: f64,
    pub median_s: f64,
}

/// Means in seconds; `None` if a model has no value.
#[derive(Clone, Copy, Debug)]
pub struct Formulas {
    pub short_s: f64,
    pub c_low_s: f64,
    pub c_high_s: Option<f64>,
    pub csa_s: Option<f64>,
}

pub fn evaluate_row(row: Row, trials: u64) -> Result<EvaluatedRow, Error> {
    let delivered = simulate(&row, row.transfer.clone(), trials)?;
    let acknowledged = match row.acknowledged {
        Some(_) => Some(simulate(&row, row.until_acknowledged(), trials)?),
        None => None,
    };
    Ok(EvaluatedRow {
        formulas: formulas(&row)?,
        delivered,
        acknowledged,
        row,
    })
}

fn simulate(
    row: &Row,
    transfer: transfer_simulation::Transfer,
    trials: u64,
) -> Result<SimulatedTimes, Error> {
    let simulation = TransferSimulation {
        stack: row.stack.clone(),
        transfer,
    };
    let options = Options {
        trials,
        ..Options::default()
    };
    let played: Distribution = simulation.solve(&options)?;
    Ok(SimulatedTimes {
        mean_s: played.mean_s(),
        std_s: played.std_s(),
        median_s: played.quantile(0.5),
    })
}

pub fn formulas(row: &Row) -> Result<Formulas, Error> {
    let transfer = Transfer {
        packets: row.packets,
        loss: row.loss,
        delay_s: row.delay_s,
    };
    let high = transfer.effective_loss();
    let short = Short::new(&row.stack, &transfer, Exponent::Printed)?.latency(&ExactMoments)?;
    let c = |loss| ModelC::new(&row.stack, &transfer, loss).solve();
    Ok(Formulas {
        short_s: short.mean_s,
        c_low_s: c(row.loss)?.total_s(),
        c_high_s: c(high).ok().map(|latency| latency.total_s()),
        csa_s: Csa::new(&row.stack, &transfer, high)
            .solve()
            .ok()
            .map(|latency| latency.total_s()),
    })
}
