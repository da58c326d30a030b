//! Comparison of the fluid and packet models with ns-2, on every tenth network.

use netflow_compare::{Comparison, Ensemble, Ns2, ReferenceSystem, Runner, Settings};

use crate::family::{Draw, Family, ModelKind, Set};

/// Errors of one network relative to ns-2: Σ|error|/Σ of the twelve longest queues, median error of
/// goodput, and ratio of lost packets; and the spread of ns-2 in the first two.
#[derive(Clone, Copy, Debug)]
pub struct NetworkComparison {
    pub family: Family,
    pub fluid: Ns2Errors,
    pub packets: Ns2Errors,
    pub own_queues: f64,
    pub own_goodput: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Ns2Errors {
    pub queues: f64,
    pub goodput: f64,
    pub lost: Option<f64>,
}

/// Interval between compared networks of a family.
const NETWORK_STRIDE: usize = 10;

/// Compares every tenth of the `networks` networks of each family with ns-2.
///
/// # Errors
/// The error of ns-2 or of the comparison, as text.
pub fn compare_with_ns2(
    ns: &Ns2,
    set: Set,
    networks: u64,
    seeds: u32,
) -> Result<Vec<NetworkComparison>, String> {
    let mut all = Vec::new();
    for family in Family::ALL {
        for number in (0..networks).step_by(NETWORK_STRIDE) {
            let draw = Draw::new(family, set, number);
            all.push(
                compare_network(ns, &draw, seeds)
                    .map_err(|error| format!("{}: {error}", draw.name))?,
            );
            eprintln!("{} beside ns-2", draw.name);
        }
    }
    Ok(all)
}

fn compare_network(
    ns: &Ns2,
    draw: &Draw,
    seeds: u32,
) -> Result<NetworkComparison, netflow_compare::Error> {
    let settings = Settings {
        seeds,
        ..Settings::default()
    };
    let fluid = draw.prepared(ModelKind::Fluid);
    let runs = ns.run_seeds(&fluid, &settings, &|_| {}, &|| false)?;
    let runs = Ensemble::of(ReferenceSystem::Ns2, &runs);
    let totals = |side: ModelKind| -> Result<_, netflow_compare::Error> {
        let side = netflow_compare::NetflowRun::evaluate(&draw.prepared(side), &settings)?;
        Ok(Comparison::new(&side, &runs).totals)
    };
    let (of_fluid, of_packets) = (totals(ModelKind::Fluid)?, totals(ModelKind::Packets)?);
    let beside = |totals: &netflow_compare::Totals| Ns2Errors {
        queues: totals.busiest_queue_error,
        goodput: totals.median_goodput_error,
        lost: totals.lost_ratio,
    };
    Ok(NetworkComparison {
        family: draw.family,
        fluid: beside(&of_fluid),
        packets: beside(&of_packets),
        own_queues: of_fluid.referee_busiest_queue_error.unwrap_or(0.0),
        own_goodput: of_fluid.referee_median_goodput_error.unwrap_or(0.0),
    })
}
