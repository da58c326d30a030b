//! Random networks of every scale: delays of 10 µs to 300 ms, 1 Mbit/s to 10 Gbit/s, every profile.

use crate::specs::{connection, link, link_loss};
use netflow_network::{
    Acks, ConnectionSpec, DropPolicy, LinkSpec, Network, NetworkBuilder, NodeId, Red, Source,
};
use netflow_profile::{builtin, builtin_names};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Network as rows, which can be built in any order.
#[derive(Clone, Debug)]
pub struct WideNetwork {
    /// Names of the nodes; specifications refer to them by index.
    pub nodes: Vec<String>,
    /// Links by their ends, with their specifications.
    pub links: Vec<(usize, usize, LinkSpec)>,
    /// Connections by their ends.
    pub connections: Vec<(usize, usize, ConnectionSpec)>,
    /// Duration in seconds, long compared with the delays.
    pub duration_s: f64,
}

/// Returns a placeholder for the ends of a row.
fn placeholder_node() -> NodeId {
    NetworkBuilder::new().node("")
}

fn log_uniform(rng: &mut impl Rng, range: std::ops::Range<f64>) -> f64 {
    rng.random_range(range.start.ln()..range.end.ln()).exp()
}

/// Returns the network of this seed: links of all scales around a random base scale.
pub fn wide_network(seed: u64) -> WideNetwork {
    let mut rng = ChaCha8Rng::seed_from_u64(crate::population_seed(seed));
    // A separate random stream, so that the other numbers do not depend on losses.
    let mut losses = rng.clone();
    losses.set_stream(1);
    let nodes = rng.random_range(2..8_usize);
    let mut pairs: std::collections::BTreeSet<(usize, usize)> =
        (1..nodes).map(|i| (rng.random_range(0..i), i)).collect();
    for _ in 0..rng.random_range(0..3) {
        let (a, b) = (rng.random_range(0..nodes), rng.random_range(0..nodes));
        if a != b {
            pairs.insert((a.min(b), a.max(b)));
        }
    }
    let delay_s = log_uniform(&mut rng, 1e-5..0.3);
    let bandwidth_bps = log_uniform(&mut rng, 1e6..1e10);
    let mut links = Vec::new();
    for &(a, b) in &pairs {
        let delay_s = (delay_s * log_uniform(&mut rng, 0.1..10.0)).clamp(1e-5, 0.3);
        let bandwidth_bps = (bandwidth_bps * log_uniform(&mut rng, 0.1..10.0)).clamp(1e6, 1e10);
        let product_pkts = bandwidth_bps * 4.0 * delay_s.max(1e-4) / 12_000.0;
        let room = (product_pkts * log_uniform(&mut rng, 0.1..3.0)).clamp(2.0, 1e4);
        let red = Red {
            min_pkts: 0.1 * room,
            max_pkts: 0.4 * room,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: false,
            hard_drop: true,
        };
        let link = LinkSpec {
            queue: if room > 20.0 && rng.random_bool(0.15) {
                DropPolicy::Red(red)
            } else {
                DropPolicy::DropTail
            },
            loss: link_loss(&mut losses),
            ..link(
                placeholder_node(),
                placeholder_node(),
                bandwidth_bps,
                delay_s,
                room.round(),
            )
        };
        links.push((a, b, link.clone()));
        links.push((b, a, link));
    }
    let longest_s = links.iter().map(|l| l.2.delay_s).fold(0.0, f64::max);
    let slowest_bps = links.iter().map(|l| l.2.bandwidth_bps).fold(1e12, f64::min);
    let duration_s = (200.0 * longest_s).clamp(0.5, 20.0);
    let connections = (0..rng.random_range(1..8_usize))
        .map(|i| {
            let from = rng.random_range(0..nodes);
            let to = (from + rng.random_range(1..nodes)) % nodes;
            let name = format!("c{i}");
            let spec = random_connection(&mut rng, name, duration_s, slowest_bps / 12_000.0);
            (from, to, spec)
        })
        .collect();
    WideNetwork {
        nodes: (0..nodes).map(|i| format!("n{i}")).collect(),
        links,
        connections,
        duration_s,
    }
}

fn random_connection(
    rng: &mut impl Rng,
    name: String,
    duration_s: f64,
    slowest_pps: f64,
) -> ConnectionSpec {
    let names = builtin_names();
    let profile = builtin(names[rng.random_range(0..names.len())]);
    let rate_pps = slowest_pps * rng.random_range(0.05..0.6);
    let source = match profile {
        Some(profile) if rng.random_bool(0.8) => Source::Profile(profile),
        _ if rng.random_bool(0.5) => Source::Constant { rate_pps },
        _ => Source::Poisson { rate_pps },
    };
    let start_s = if rng.random_bool(0.3) {
        0.0
    } else {
        duration_s * rng.random_range(0.0..0.5)
    };
    let acks = match source {
        Source::Profile(_) => Acks::EveryPacket,
        _ => Acks::None,
    };
    ConnectionSpec {
        start_s,
        stop_s: rng
            .random_bool(0.2)
            .then(|| start_s + duration_s * rng.random_range(0.1..0.4)),
        size_pkts: rng.random_bool(0.2).then(|| log_uniform(rng, 10.0..1e4)),
        count: if rng.random_bool(0.3) {
            rng.random_range(2..30)
        } else {
            1
        },
        max_window_pkts: rng.random_bool(0.4).then(|| log_uniform(rng, 4.0..2000.0)),
        packet_size_bytes: if rng.random_bool(0.5) { 1500.0 } else { 1000.0 },
        acks,
        ..connection(&name, placeholder_node(), placeholder_node(), source)
    }
}

impl WideNetwork {
    /// Builds the network with its rows in this order.
    pub fn build(&self) -> Network {
        let mut b = NetworkBuilder::new();
        let nodes: Vec<NodeId> = self.nodes.iter().map(|name| b.node(name)).collect();
        for (from, to, link) in &self.links {
            let (from, to) = (nodes[*from], nodes[*to]);
            b.link(LinkSpec {
                from,
                to,
                ..link.clone()
            });
        }
        for (from, to, connection) in &self.connections {
            let (from, to) = (nodes[*from], nodes[*to]);
            b.connection(ConnectionSpec {
                from,
                to,
                ..connection.clone()
            });
        }
        match b.build() {
            Ok(network) => network,
            Err(errors) => unreachable!("{errors:?}"),
        }
    }

    /// Returns the same network with its links, connections and nodes shuffled.
    pub fn shuffled(&self, seed: u64) -> WideNetwork {
        let mut rng = ChaCha8Rng::seed_from_u64(crate::population_seed(seed));
        let mut place: Vec<usize> = (0..self.nodes.len()).collect();
        place.shuffle(&mut rng);
        let mut other = self.clone();
        for (name, &at) in self.nodes.iter().zip(&place) {
            other.nodes[at].clone_from(name);
        }
        for (from, to, _) in &mut other.links {
            (*from, *to) = (place[*from], place[*to]);
        }
        for (from, to, _) in &mut other.connections {
            (*from, *to) = (place[*from], place[*to]);
        }
        other.links.shuffle(&mut rng);
        other.connections.shuffle(&mut rng);
        other
    }
}
