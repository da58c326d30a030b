//! Random networks of any size.

use std::sync::Arc;

use crate::specs::{link, link_loss, some_loss};
use netflow_network::{
    Acks, Application, Change, ConnectionSpec, DropPolicy, EventSpec, LinkLoss, LinkSpec, Network,
    NetworkBuilder, NodeId, Red, Source, TcpVariant, WindowSource,
};
use netflow_profile::builtin;
use netflow_tcpmodel::{CongestionControl, Stack};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Parameters of a random network.
#[derive(Clone, Copy, Debug)]
pub struct RandomNetwork {
    /// Number of nodes, at least 2.
    pub nodes: usize,
    /// Number of duplex links, at least `nodes` − 1 (a random tree first).
    pub links: usize,
    /// Number of connections.
    pub connections: usize,
    /// Number of events: changes of bandwidth, loss and delay, failures and repairs.
    pub events: usize,
    /// Seconds within which connections start and events happen.
    pub duration_s: f64,
    /// Random seed.
    pub seed: u64,
    /// If true: one kind of source and packet size, drop-tail, no link loss, no size limits. The
    /// fastest case.
    pub plain: bool,
    /// If true, half of the TCP sources have congestion windows, which requires the packet model.
    pub windows: bool,
}

/// Returns a random network that depends on the parameters only.
pub fn random_network(r: RandomNetwork) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(crate::population_seed(r.seed));
    // Separate random streams, so that the other numbers do not depend on losses and delay changes.
    let mut losses = rng.clone();
    losses.set_stream(1);
    let mut delays = rng.clone();
    delays.set_stream(2);
    let mut b = NetworkBuilder::new();
    let nodes: Vec<NodeId> = (0..r.nodes).map(|i| b.node(&format!("n{i}"))).collect();
    let mut pairs = std::collections::BTreeSet::new();
    for i in 1..r.nodes {
        pairs.insert((rng.random_range(0..i), i));
    }
    let most = r.nodes * (r.nodes - 1) / 2;
    while pairs.len() < r.links.min(most) {
        let (a, c) = (rng.random_range(0..r.nodes), rng.random_range(0..r.nodes));
        if a != c {
            pairs.insert((a.min(c), a.max(c)));
        }
    }
    let mut links = Vec::new();
    for &(a, c) in &pairs {
        let scale = if r.plain {
            1e3 * r.connections as f64 / r.links as f64
        } else {
            100.0
        };
        let room: f64 = 10.0_f64.powf(rng.random_range(0.0..4.0));
        let red = Red {
            min_pkts: room * 0.1,
            max_pkts: room * 0.4,
            max_p: 0.1,
            weight: 0.002,
            gentle: rng.random(),
            ecn: false,
            hard_drop: true,
        };
        let spec = LinkSpec {
            queue: if !r.plain && rng.random_bool(0.2) {
                DropPolicy::Red(red)
            } else {
                DropPolicy::DropTail
            },
            loss: if r.plain {
                LinkLoss::NONE
            } else {
                link_loss(&mut losses)
            },
            ..link(
                nodes[a],
                nodes[c],
                8000.0 * scale * rng.random_range(1.0..10.0),
                1e-3 * rng.random_range(0..100) as f64,
                room,
            )
        };
        let back = LinkSpec {
            from: nodes[c],
            to: nodes[a],
            ..spec.clone()
        };
        links.push(b.link(spec));
        links.push(b.link(back));
    }
    for i in 0..r.connections {
        let mut spec = connection(&mut rng, &r, &nodes, i);
        if r.windows && i.is_multiple_of(2) {
            carry_window(&mut spec, &mut rng);
        }
        b.connection(spec);
    }
    for _ in 0..r.events {
        b.event(EventSpec {
            at_s: rng.random_range(0.0..r.duration_s),
            link: links[rng.random_range(0..links.len())],
            change: match rng.random_range(0..4) {
                0 => Change::Down,
                1 => Change::Up,
                _ => {
                    let bps = 8e4 * rng.random_range(1.0..20.0);
                    let loses = !r.plain && losses.random_bool(0.3);
                    let takes = !r.plain && delays.random_bool(0.3);
                    match (loses, takes) {
                        (true, _) => Change::Loss(some_loss(&mut losses)),
                        (false, true) => Change::Delay(1e-3 * delays.random_range(0..150) as f64),
                        (false, false) => Change::Bandwidth(bps),
                    }
                }
            },
        });
    }
    match b.build() {
        Ok(network) => network,
        Err(errors) => unreachable!("{errors:?}"),
    }
}

/// Replaces the profile of a TCP source by a congestion window.
fn carry_window(spec: &mut ConnectionSpec, rng: &mut impl Rng) {
    let Source::Profile(_) = spec.source else {
        return;
    };
    if rng.random_bool(0.3)
        && let Some(mut stack) = Stack::builtin("linux-6")
    {
        let all: Vec<_> = CongestionControl::all().collect();
        stack.set_congestion(all[rng.random_range(0..all.len())]);
        spec.source = Source::Tcp(Arc::new(stack));
        return;
    }
    spec.source = Source::Ns2Tcp(WindowSource {
        variant: TcpVariant::ALL[rng.random_range(0..TcpVariant::ALL.len())],
        ..WindowSource::default()
    });
    if rng.random_bool(0.3) {
        spec.application = Application::OnOff {
            rate_pps: rng.random_range(1.0..300.0),
            on_s: rng.random_range(0.1..2.0),
            off_s: rng.random_range(0.1..2.0),
        };
    }
}

fn connection(rng: &mut impl Rng, r: &RandomNetwork, nodes: &[NodeId], i: usize) -> ConnectionSpec {
    let from = rng.random_range(0..nodes.len());
    let to = (from + rng.random_range(1..nodes.len())) % nodes.len();
    let profiles = ["nt", "sun", "bsd", "ns-reno"];
    let kind = if r.plain { 0 } else { rng.random_range(0..6) };
    let source = match builtin(profiles[kind.min(3)]) {
        Some(p) if kind < 4 => Source::Profile(p),
        _ if kind == 4 => Source::Constant {
            rate_pps: rng.random_range(1.0..300.0),
        },
        _ => Source::Poisson {
            rate_pps: rng.random_range(1.0..300.0),
        },
    };
    let start_s = if r.plain {
        0.0
    } else {
        rng.random_range(0.0..0.5 * r.duration_s)
    };
    let feedback = matches!(source, Source::Profile(_));
    let mut maybe = |p: f64, range: std::ops::Range<f64>| {
        (!r.plain && rng.random_bool(p)).then(|| rng.random_range(range))
    };
    ConnectionSpec {
        name: format!("c{i}"),
        from: nodes[from],
        to: nodes[to],
        application: maybe(0.2, 1.0..300.0).map_or(Application::Bulk, |rate_pps| {
            Application::Poisson { rate_pps }
        }),
        source,
        start_s,
        stop_s: maybe(0.4, 0.1..0.5 * r.duration_s).map(|d| start_s + d),
        size_pkts: maybe(0.3, 1.0..1000.0),
        count: maybe(0.3, 1.0..50.0).map_or(1, |n| n as u32),
        // Different windows put plain connections into different classes.
        max_window_pkts: maybe(0.3, 2.0..64.0).or(r.plain.then_some(20.0 + 1e-5 * i as f64)),
        packet_size_bytes: maybe(0.3, 64.0..1500.0).unwrap_or(1000.0),
        path: None,
        return_path: None,
        flow: None,
        ecmp_share: None,
        transfers: None,
        acks: match maybe(1.0, 0.0..3.0).map_or(9, |x| x as u32) {
            _ if !feedback => Acks::None,
            0 => Acks::None,
            1 => Acks::EverySecond,
            _ => Acks::EveryPacket,
        },
    }
}
