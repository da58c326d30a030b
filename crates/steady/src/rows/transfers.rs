//! How long transfers take.

use netflow_network::ConnectionId;
use netflow_workload::Transfers;
use serde::Serialize;

use crate::{Solver, Steady};

/// Transfers of a demand that come and go, as [`TransferTimes`](crate::TransferTimes) has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TransferRow<'a> {
    /// Which demand.
    pub demand: &'a str,
    /// Mean length in bytes.
    pub mean_bytes: f64,
    /// Mean time where nobody else sends.
    pub alone_s: f64,
    /// Mean time beside all others; nothing where ever more of them would be under way.
    pub mean_s: Option<f64>,
}

/// The rows of demands, each with what carries it, and its transfers; those that do not send have none.
pub fn transfers<'a>(
    demands: &[(&'a str, ConnectionId, &Transfers)],
    solver: &Solver,
    steady: &Steady,
) -> Vec<TransferRow<'a>> {
    let all: Vec<_> = demands.iter().map(|&(_, id, it)| (id, it)).collect();
    let times = solver.transfer_times(steady, &all);
    let rows = demands
        .iter()
        .zip(times)
        .filter_map(|(&(demand, _, it), times)| {
            let times = times?;
            Some(TransferRow {
                demand,
                mean_bytes: it.size().mean(),
                alone_s: times.alone_s,
                mean_s: Some(times.mean_s).filter(|mean_s| mean_s.is_finite()),
            })
        });
    rows.collect()
}
