//! Rows of transfer times.

use netflow_network::ConnectionId;
use netflow_workload::TransferSizes;
use serde::Serialize;

use crate::{Solver, Steady};

/// Row of a demand with finite transfers, from [`TransferTimes`](crate::TransferTimes).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TransferRow<'a> {
    /// Name of the demand.
    pub demand: &'a str,
    /// Mean size in bytes.
    pub mean_bytes: f64,
    /// Mean unloaded time: without other traffic.
    pub unloaded_s: f64,
    /// Mean time with all traffic; `None` if transfers would accumulate without bound.
    pub mean_s: Option<f64>,
}

/// Returns the rows of demands, given their connections and transfers; inactive ones have no row.
pub fn transfers<'a>(
    demands: &[(&'a str, ConnectionId, &TransferSizes)],
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
                unloaded_s: times.unloaded_s,
                mean_s: Some(times.mean_s).filter(|mean_s| mean_s.is_finite()),
            })
        });
    rows.collect()
}
