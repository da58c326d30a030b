//! Times of transfers as rows.

use netflow::scenario::DemandNote;
use netflow::steady::{Solver, Steady};
use serde::Serialize;

/// Transfers of a demand that come and go.
#[derive(Default, Serialize)]
pub struct TransferRow<'a> {
    pub demand: &'a str,
    pub mean_bytes: f64,
    pub alone_s: f64,
    /// `None` where ever more of them would be under way.
    pub mean_s: Option<f64>,
}

pub fn rows<'a>(
    demands: &'a [DemandNote],
    solver: &Solver,
    steady: &Steady,
) -> Vec<TransferRow<'a>> {
    let all: Vec<_> = demands
        .iter()
        .map(|it| (it.connection, &*it.transfers))
        .collect();
    let times = solver.transfer_times(steady, &all);
    let rows = demands.iter().zip(times).filter_map(|(it, times)| {
        let times = times?;
        Some(TransferRow {
            demand: &it.name,
            mean_bytes: it.transfers.size().mean(),
            alone_s: times.alone_s,
            mean_s: Some(times.mean_s).filter(|mean_s| mean_s.is_finite()),
        })
    });
    rows.collect()
}
