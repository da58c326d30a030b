//! Evaluation of experiments in the packet model.

use std::error::Error;
use std::sync::Arc;

use netflow_problems::{connection, link};
use netflow_simulation::{
    ConnectionSpec, LinkId, Model, Network, NetworkBuilder, Options, PACKET_BYTES, Run, Simulation,
    Source,
};
use netflow_tcpmodel::{CongestionControl, Stack};
use rayon::prelude::*;

use crate::cell::{Cell, OVERSHOOT_S, PAYLOAD_BYTES};
use crate::row::{Measurement, Row};

/// Number of seeds of each experiment.
pub const SEEDS: u32 = 5;

/// Bandwidth in bit/s at which queueing is negligible.
const FAST_BPS: f64 = 1e11;

/// Buffer size in packets that is never full.
const ROOM_PKTS: f64 = 1e5;

/// Evaluates every experiment with every seed.
///
/// # Errors
/// If an experiment is not a valid network.
pub fn model(cells: &[Cell]) -> Result<Vec<Row>, Box<dyn Error + Send + Sync>> {
    let runs: Vec<(&Cell, u32)> = cells
        .iter()
        .flat_map(|cell| (0..SEEDS).map(move |seed| (cell, seed)))
        .collect();
    runs.into_par_iter()
        .map(|(cell, seed)| run(cell, seed))
        .collect()
}

/// Evaluates an experiment with one seed.
///
/// # Errors
/// If it is not a valid network.
pub fn run(cell: &Cell, seed: u32) -> Result<Row, Box<dyn Error + Send + Sync>> {
    let (network, bottleneck) = network(cell)?;
    let options = Options {
        duration_s: f64::from(cell.seconds),
        model: Model::PACKETS,
        seed: seed.into(),
    };
    let mut simulation = Simulation::new(network, options)?;
    let mut early_drops_pkts = 0.0;
    while !simulation.is_done() {
        simulation.step()?;
        if simulation.time_s() <= OVERSHOOT_S {
            early_drops_pkts = simulation.link_totals(bottleneck).lost_pkts;
        }
    }
    let link = simulation.link_totals(bottleneck);
    let connections = simulation.network().connections();
    let totals: Vec<_> = connections
        .map(|id| simulation.connection_totals(id))
        .collect();
    let timeouts: f64 = totals.iter().filter_map(|it| it.timeouts).sum();
    let found = Measurement {
        repetition: seed,
        utilization: link.utilization,
        queue_pkts: link.mean_queue_pkts,
        offered_pkts: link.offered_pkts as u64,
        dropped_pkts: link.lost_pkts as u64,
        early_drops_pkts: early_drops_pkts as u64,
        retransmitted_pkts: None,
        timeouts: timeouts as u64,
        goodput_mbps: String::new(),
    };
    let received = totals.iter().map(|it| PAYLOAD_BYTES * it.delivered_pkts);
    let received: Vec<f64> = received.collect();
    Ok(Row::of(cell, found, &received))
}

/// Returns the network and its bottleneck from A to B. Senders are at A; the last is at F if its
/// return path is longer.
fn network(cell: &Cell) -> Result<(Network, LinkId), Box<dyn Error + Send + Sync>> {
    let mut b = NetworkBuilder::new();
    let (near, far, to) = (b.node("A"), b.node("F"), b.node("B"));
    let oneway_s = 0.5e-3 * f64::from(cell.rtt_ms);
    let rate_bps = 1e6 * f64::from(cell.link_mbps);
    let room_pkts = f64::from(cell.buffer_pkts);
    let bottleneck = b.link(link(near, to, rate_bps, oneway_s, room_pkts));
    b.link(link(to, near, FAST_BPS, oneway_s, ROOM_PKTS));
    b.link(link(far, near, FAST_BPS, 0.0, ROOM_PKTS));
    let detour_s = 1e-3 * f64::from(cell.detour_ms);
    b.link(link(near, far, FAST_BPS, detour_s, ROOM_PKTS));
    let senders = cell.senders();
    let last = senders.len() - 1;
    for (i, &congestion) in senders.iter().enumerate() {
        let is_far = cell.detour_ms > 0 && i == last;
        let from = if is_far { far } else { near };
        b.connection(ConnectionSpec {
            start_s: Cell::start_s(i),
            packet_size_bytes: PACKET_BYTES,
            ..connection(&format!("c{i}"), from, to, linux(congestion)?)
        });
    }
    let told = |problems: Vec<_>| format!("{problems:?}");
    Ok((b.build().map_err(told)?, bottleneck))
}

fn linux(congestion: CongestionControl) -> Result<Source, Box<dyn Error + Send + Sync>> {
    let mut stack = Stack::builtin("linux-6").ok_or("linux-6 is no stack")?;
    stack.set_congestion(congestion);
    Ok(Source::Tcp(Arc::new(stack)))
}
