//! Reference problems shared by tests and benches.
//!
//! An independent program has computed trajectories of the cases A1, A4, A400, B3 and CBR
//! (`tests/reference/math/fluid_*.csv`); [`random_network`] makes networks of any size.

mod clamped_profile;
mod modified_connections;
mod page;
mod population;
mod queues;
mod random;
mod random_of_all_scales;
mod scenario;
mod shared_queue;
mod shipped;
mod specs;
mod with_parallel_links;

use std::sync::Arc;

use netflow_network::{
    ConnectionId, ConnectionSpec, LinkId, Network, NetworkBuilder, NodeId, Source,
};
use netflow_profile::{Profile, builtin};

pub use clamped_profile::ClampedProfile;
pub use modified_connections::with_modified_connections;
pub use page::fill_page;
pub use population::population_seed;
pub use queues::m_d_1_k;
pub use random::{RandomNetwork, random_network};
pub use random_of_all_scales::{WideNetwork, wide_network};
pub use scenario::{RandomScenario, random_scenario};
pub use shared_queue::SHARED_QUEUE;
pub use shipped::shipped_scenarios;
pub use specs::{connection, constant_users, link, one_way, some_loss, workload};
pub use with_parallel_links::with_parallel_links;

/// Packet size in the reference cases, in bits.
const PACKET_BITS: f64 = 8000.0;

/// Reference case: links in a row, numbered in order, and connections over parts of the row.
pub struct Case {
    /// Name, as in the file names.
    pub name: &'static str,
    /// The network.
    pub network: Network,
    /// Links in the order of the columns.
    pub links: Vec<LinkId>,
    /// Connections in the order of the columns, with the names of their columns.
    pub connections: Vec<(&'static str, ConnectionId)>,
    /// Simulated time in seconds.
    pub duration_s: f64,
}

enum SenderKind {
    Profile(&'static str),
    /// Packets/ms.
    Constant(f64),
}

/// Source: kind, first and last link, base round-trip time in ms, start and stop in ms.
struct Sender {
    name: &'static str,
    kind: SenderKind,
    links: (usize, usize),
    base_ms: f64,
    start_ms: f64,
    stop_ms: Option<f64>,
}

fn sender(
    name: &'static str,
    profile: &'static str,
    links: (usize, usize),
    base_ms: f64,
    start_ms: f64,
    stop_ms: Option<f64>,
) -> Sender {
    Sender {
        name,
        kind: SenderKind::Profile(profile),
        links,
        base_ms,
        start_ms,
        stop_ms,
    }
}

fn constant(name: &'static str, rate: f64, link: usize, start_ms: f64, stop_ms: f64) -> Sender {
    Sender {
        name,
        kind: SenderKind::Constant(rate),
        links: (link, link),
        base_ms: 0.0,
        start_ms,
        stop_ms: Some(stop_ms),
    }
}

/// Returns the case of one slow link with one NT source: μ = 0.02 packets/ms, K = 8.
pub fn a1() -> Case {
    let senders = [sender("nt", "nt", (0, 0), 60.0, 0.0, None)];
    link_chain("A1", &[(0.02, 8.0)], &senders, 1, 20.0)
}

/// Returns the case of one link with four sources that start and stop.
pub fn a4() -> Case {
    a4_scaled("A4", (0.1, 20.0), 1)
}

/// Returns A4 with 100 times the sources and capacity.
pub fn a400() -> Case {
    a4_scaled("A400", (10.0, 1000.0), 100)
}

fn a4_scaled(name: &'static str, link: (f64, f64), count: u32) -> Case {
    let senders = [
        sender("nt60", "nt", (0, 0), 60.0, 0.0, None),
        sender("bsd80", "bsd", (0, 0), 80.0, 5000.0, None),
        sender("sun120", "sun", (0, 0), 120.0, 10_000.0, None),
        sender("nt200", "nt", (0, 0), 200.0, 15_000.0, Some(30_000.0)),
    ];
    link_chain(name, &[link], &senders, count, 40.0)
}

/// Returns the case of three links in a row, TCP over all of them, and cross traffic.
pub fn b3() -> Case {
    let senders = [
        sender("nt", "nt", (0, 2), 100.0, 0.0, None),
        sender("bsd", "bsd", (0, 2), 150.0, 2000.0, None),
        sender("sun", "sun", (1, 1), 80.0, 5000.0, Some(25_000.0)),
        constant("cbr0", 0.2, 0, 10_000.0, 20_000.0),
        constant("cbr2", 0.3, 2, 15_000.0, 30_000.0),
    ];
    link_chain(
        "B3",
        &[(0.3, 30.0), (0.2, 20.0), (0.25, 30.0)],
        &senders,
        1,
        40.0,
    )
}

/// Returns the case of one link in temporary overload.
pub fn cbr() -> Case {
    let senders = [constant("cbr", 1.5, 0, 1000.0, 6000.0)];
    link_chain("CBR", &[(1.0, 20.0)], &senders, 1, 10.0)
}

/// Returns links in a row, (μ in packets/ms, K) each. The return path is a pure delay.
fn link_chain(
    name: &'static str,
    links: &[(f64, f64)],
    senders: &[Sender],
    count: u32,
    duration_s: f64,
) -> Case {
    let mut b = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (0..=links.len())
        .map(|i| b.node(&format!("n{i}")))
        .collect();
    let add = |b: &mut NetworkBuilder, from, to, bandwidth_bps, delay_s, room| {
        b.link(link(from, to, bandwidth_bps, delay_s, room))
    };
    let forward: Vec<LinkId> = links
        .iter()
        .enumerate()
        .map(|(i, &(mu, room))| {
            add(
                &mut b,
                nodes[i],
                nodes[i + 1],
                mu * 1000.0 * PACKET_BITS,
                0.0,
                room,
            )
        })
        .collect();
    let profiles: Vec<(&str, Arc<dyn Profile>)> = ["nt", "bsd", "sun"]
        .into_iter()
        .filter_map(|p| builtin(p).map(|profile| (p, Arc::new(ClampedProfile(profile)) as _)))
        .collect();
    let mut connections = Vec::new();
    for s in senders {
        // Separate return path: no queue, and the base round-trip time as its delay.
        let (from, to) = (nodes[s.links.0], nodes[s.links.1 + 1]);
        let turn = b.node(&format!("{} back", s.name));
        add(&mut b, to, turn, 1e30, s.base_ms / 1000.0, 1e6);
        add(&mut b, turn, from, 1e30, 0.0, 1e6);
        let source = match s.kind {
            SenderKind::Constant(rate) => Source::Constant {
                rate_pps: rate * 1000.0,
            },
            SenderKind::Profile(p) => match profiles.iter().find(|(name, _)| *name == p) {
                Some((_, profile)) => Source::Profile(profile.clone()),
                None => unreachable!("built-in profile {p}"),
            },
        };
        let id = b.connection(ConnectionSpec {
            start_s: s.start_ms / 1000.0,
            stop_s: s.stop_ms.map(|t| t / 1000.0),
            count,
            packet_size_bytes: PACKET_BITS / 8.0,
            path: Some(nodes[s.links.0..=s.links.1 + 1].to_vec()),
            return_path: Some(vec![to, turn, from]),
            ..one_way(s.name, from, to, source)
        });
        connections.push((s.name, id));
    }
    let network = match b.build() {
        Ok(network) => network,
        Err(errors) => unreachable!("{errors:?}"),
    };
    Case {
        name,
        network,
        links: forward,
        connections,
        duration_s,
    }
}

/// Returns one link of `mu_pps` packets/s with a buffer of `room` packets and a Poisson source.
pub fn poisson_queue(mu_pps: f64, room: f64, rate_pps: f64) -> Network {
    poisson_starts(mu_pps, 0.0, room, rate_pps, &[0.0])
}

/// Returns one link with this delay and Poisson sources that start one after the other.
pub fn poisson_starts(
    mu_pps: f64,
    delay_s: f64,
    room: f64,
    rate_pps: f64,
    starts_s: &[f64],
) -> Network {
    let mut b = NetworkBuilder::new();
    let (from, to) = (b.node("a"), b.node("b"));
    b.link(link(from, to, mu_pps * PACKET_BITS, delay_s, room));
    for (i, &start_s) in starts_s.iter().enumerate() {
        b.connection(ConnectionSpec {
            start_s,
            packet_size_bytes: PACKET_BITS / 8.0,
            ..one_way(
                &format!("poisson-{i}"),
                from,
                to,
                Source::Poisson { rate_pps },
            )
        });
    }
    match b.build() {
        Ok(network) => network,
        Err(errors) => unreachable!("{errors:?}"),
    }
}
