//! Whether a scenario can be emulated, and what that would take.

use netflow_network::{ConnectionId, ConnectionSpec, DropPolicy, Network, Overhead, Source};
use netflow_scenario::Prepared;
use netflow_scenario::export::{REAL_TCP_HEADERS_BYTES, real_tcp};
use netflow_testbed::network::TcpRoute;

/// Why a scenario is not emulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// A link that real packets cannot have.
    #[error("link {link}: {what} is not emulated; drop-tail, RED, CoDel, FQ-CoDel and PIE are")]
    Queue {
        /// Which.
        link: String,
        /// What it has.
        what: &'static str,
    },
    /// Markers at the edge of the network.
    #[error("aggregate `{0}`: markers and policers are not emulated")]
    Marker(String),
    /// Traffic that no socket sends.
    #[error("connection `{connection}`: {what}")]
    Traffic {
        /// Which.
        connection: String,
        /// What it is, and what there is instead.
        what: String,
    },
    /// Users.
    #[error(
        "workload `{0}`: users are not emulated in networks yet; `netflow ipb` has them on one link"
    )]
    Users(String),
    /// Transfers that come and go, of which a fluid has the mean.
    #[error("demand `{0}`: transfers that come and go are not emulated")]
    Demand(String),
    /// Too many hosts.
    #[error("it has {hosts} hosts; at most {most} are emulated")]
    Hosts {
        /// Nodes where connections begin or end.
        hosts: usize,
        /// Namespaces that are made at most.
        most: usize,
    },
    /// Too many connections.
    #[error("it has {connections} connections with all their copies; at most {most} are emulated")]
    Connections {
        /// With their `count`.
        connections: u64,
        /// Sockets that are made at most.
        most: u64,
    },
    /// Too fast.
    #[error(
        "about {pps:.0} packets would arrive at hosts and {hops_pps:.0} at links each second; at most {most_pps:.0} and {most_hops_pps:.0} are emulated"
    )]
    Fast {
        /// Packets/s that come to hosts.
        pps: f64,
        /// Packets/s that come to links.
        hops_pps: f64,
        /// The most packets/s.
        most_pps: f64,
        /// The most packets/s at links.
        most_hops_pps: f64,
    },
}

impl Unfit {
    /// What to do about it, if that is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Unfit::Fast { .. } => Some(
                "make all bandwidths smaller by the same factor, or larger packets; buffers and windows stay",
            ),
            Unfit::Hosts { .. } => {
                Some("leave connections out, or let them begin and end at fewer nodes")
            }
            _ => None,
        }
    }
}

/// What the emulator is expected to have to carry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Hosts.
    pub hosts: usize,
    /// Packets/s that arrive at hosts, acknowledgements included.
    pub pps: f64,
    /// Packets/s that arrive at links.
    pub hops_pps: f64,
}

/// Namespaces that are made at most: each takes some milliseconds and some hundred KB of the kernel.
pub const MOST_HOSTS: usize = 200;

/// Connections, with all their copies, at most.
pub const MOST_CONNECTIONS: u64 = 2000;

/// Packets/s at hosts at most: what two processors were found to carry with p99 below 1 ms, `docs/testbed.md`.
pub const MOST_PPS: f64 = 30_000.0;

/// Packets/s at links at most.
pub const MOST_HOPS_PPS: f64 = 200_000.0;

/// Whether a scenario can be emulated, and what it would take.
///
/// # Errors
/// The first thing that cannot.
pub fn fit(scenario: &Prepared) -> Result<Expected, Unfit> {
    let network = &scenario.network;
    if let Some(users) = network.workloads().next() {
        return Err(Unfit::Users(users.name.clone()));
    }
    if let Some(demand) = scenario.demands.first() {
        return Err(Unfit::Demand(demand.name.clone()));
    }
    let queue = |link, what| Err(Unfit::Queue { link, what });
    for id in network.links() {
        let link = || network.link_name(id).to_owned();
        if let DropPolicy::Rio(_) = network.link_spec(id).queue {
            return queue(link(), "a queue with drop precedences");
        }
    }
    if let Some(id) = network.classed_links().next() {
        return queue(
            network.link_name(id).to_owned(),
            "a scheduler of several queues",
        );
    }
    if let Some(aggregate) = network.tables().aggregates.first() {
        return Err(Unfit::Marker(aggregate.name.clone()));
    }
    for id in network.connections() {
        tcp_of(network, id)?;
    }
    let specs = || network.connections().map(|id| network.connection_spec(id));
    let connections = specs().map(|spec| u64::from(spec.count)).sum();
    if connections > MOST_CONNECTIONS {
        return Err(Unfit::Connections {
            connections,
            most: MOST_CONNECTIONS,
        });
    }
    let mut hosts: Vec<usize> = specs()
        .flat_map(|spec| [spec.from.index(), spec.to.index()])
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let expected = Expected {
        hosts: hosts.len(),
        ..load(network, scenario.options.duration_s)
    };
    if expected.hosts > MOST_HOSTS {
        return Err(Unfit::Hosts {
            hosts: expected.hosts,
            most: MOST_HOSTS,
        });
    }
    if expected.pps > MOST_PPS || expected.hops_pps > MOST_HOPS_PPS {
        return Err(Unfit::Fast {
            pps: expected.pps,
            hops_pps: expected.hops_pps,
            most_pps: MOST_PPS,
            most_hops_pps: MOST_HOPS_PPS,
        });
    }
    Ok(expected)
}

/// Bytes of data in a packet of a connection.
pub fn data_bytes(spec: &ConnectionSpec) -> f64 {
    match spec.source.is_answered() {
        true => spec.packet_size_bytes - REAL_TCP_HEADERS_BYTES,
        false => spec.packet_size_bytes,
    }
}

/// What TCP does for a connection; of one without TCP, what its route does.
pub(crate) fn tcp_of(network: &Network, id: ConnectionId) -> Result<TcpRoute, Unfit> {
    let spec = network.connection_spec(id);
    let tcp = real_tcp(spec).map_err(|what| Unfit::Traffic {
        connection: spec.name.clone(),
        what,
    })?;
    Ok(TcpRoute {
        congestion: tcp.map(|tcp| tcp.congestion.linux().to_owned()),
        initial_window: tcp.and_then(|tcp| tcp.initial_window),
        receive_window_bytes: tcp
            .and_then(|tcp| tcp.largest_window)
            .map(|pkts| (f64::from(pkts) * data_bytes(spec)).round() as u32),
        ecn: tcp.is_some_and(|tcp| tcp.ecn),
        mtu: spec.packet_size_bytes.round().clamp(68.0, 65_535.0) as u16,
    })
}

/// Acknowledgements for each packet of TCP: Linux answers every second one, and in recovery all.
const ACKS_PER_PACKET: f64 = 0.6;

/// Packets at hosts and links if everybody gets what is fair: rates are raised together until a link is full
/// or somebody has all that he wants (Bertsekas and Gallager, Data Networks, section 6.5.2).
fn load(network: &Network, duration_s: f64) -> Expected {
    let ids: Vec<ConnectionId> = network.connections().collect();
    let specs: Vec<&ConnectionSpec> = ids.iter().map(|&id| network.connection_spec(id)).collect();
    let wanted_pps: Vec<f64> = ids.iter().map(|&id| wanted_pps(network, id)).collect();
    let paths: Vec<Vec<usize>> = ids
        .iter()
        .map(|&id| network.path(id).iter().map(|link| link.index()).collect())
        .collect();
    let overheads: Vec<Overhead> = network
        .links()
        .map(|id| network.link_spec(id).overhead)
        .collect();
    let mut left_bps: Vec<f64> = network
        .links()
        .map(|id| network.bandwidths_bps(id).1)
        .collect();
    let mut rates_pps = vec![0.0; ids.len()];
    let sends = |&c: &usize| !paths[c].is_empty() && specs[c].start_s < duration_s;
    let mut rising: Vec<usize> = (0..ids.len()).filter(sends).collect();
    while !rising.is_empty() {
        let mut rising_bps = vec![0.0; left_bps.len()];
        for &c in &rising {
            for &l in &paths[c] {
                let wire_bytes = overheads[l].wire_bytes(specs[c].packet_size_bytes);
                rising_bps[l] += f64::from(specs[c].count) * 8.0 * wire_bytes;
            }
        }
        let links = left_bps
            .iter()
            .zip(&rising_bps)
            .filter(|(_, rising)| **rising > 0.0);
        let room = links.map(|(left, rising)| left.max(0.0) / rising);
        let wishes = rising.iter().map(|&c| wanted_pps[c] - rates_pps[c]);
        let step_pps = room.chain(wishes).fold(f64::INFINITY, f64::min);
        for (left, rising) in left_bps.iter_mut().zip(&rising_bps) {
            *left -= step_pps * rising;
        }
        for &c in &rising {
            rates_pps[c] += step_pps;
        }
        let full = |l: &usize| left_bps[*l] <= 1e-9 * rising_bps[*l];
        let before = rising.len();
        rising.retain(|&c| {
            rates_pps[c] < wanted_pps[c] * (1.0 - 1e-12) && !paths[c].iter().any(&full)
        });
        if rising.len() == before {
            break;
        }
    }
    let mut expected = Expected::default();
    for (c, &id) in ids.iter().enumerate() {
        let pps = f64::from(specs[c].count) * rates_pps[c];
        let acks_pps = match specs[c].source.is_answered() {
            true => ACKS_PER_PACKET * pps,
            false => 0.0,
        };
        expected.pps += pps + acks_pps;
        expected.hops_pps +=
            pps * paths[c].len() as f64 + acks_pps * network.return_path(id).len() as f64;
    }
    expected
}

/// Packets/s that one of a connection sends at most.
fn wanted_pps(network: &Network, id: ConnectionId) -> f64 {
    let spec = network.connection_spec(id);
    match spec.source {
        Source::Constant { rate_pps } | Source::Poisson { rate_pps } => rate_pps,
        _ => {
            let there = network.path(id);
            let links = there
                .iter()
                .chain(&network.return_path(id))
                .copied()
                .collect::<Vec<_>>();
            let rtt_s: f64 = links.iter().map(|&link| network.delays_s(link).0).sum();
            spec.max_window_pkts
                .map_or(f64::INFINITY, |window| window / rtt_s)
        }
    }
}
