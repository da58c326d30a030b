//! Feasibility check: whether a scenario can be emulated, and the packet rates that this requires.

use netflow_network::{
    Aqm, Change, ConnectionId, ConnectionSpec, DropPolicy, LinkSpec, Network, Overhead, Source,
    Tins,
};
use netflow_scenario::CompiledScenario;
use netflow_scenario::export::{LINUX_TCP_HEADERS_BYTES, linux_tcp};
use netflow_testbed::network::TcpRoute;

/// Reason for not emulating a scenario.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Infeasible {
    /// The link has an unsupported queue.
    #[error("link {link}: {what} is not emulated; use another queue discipline")]
    Queue {
        /// Name of the link.
        link: String,
        /// Unsupported feature of the link.
        what: &'static str,
    },
    /// The link has a shaper.
    #[error("link {0}: `shaper` is not emulated; use the shaper of a `cake` queue, or remove it")]
    Shaper(String),
    /// The link has an element that only netflow simulates: jitter, a delivery trace, a bandwidth of 0.
    #[error("link {link}: {element} is not emulated; remove it, or use `netflow run`")]
    LinkElement {
        /// Name of the link.
        link: String,
        /// Unsupported element.
        element: &'static str,
    },
    /// The aggregate has a marker or policer at the edge of the network.
    #[error("aggregate `{0}`: markers and policers are not emulated")]
    Marker(String),
    /// Real sockets cannot send the traffic of the connection.
    #[error("connection `{connection}`: {what}")]
    Traffic {
        /// Name of the connection.
        connection: String,
        /// Reason and alternative, as text.
        what: String,
    },
    /// The scenario has a workload of users.
    #[error(
        "workload `{0}`: users are not emulated in networks; use `netflow ipb` for users on one link"
    )]
    Users(String),
    /// The scenario has a demand of finite transfers, which the fluid model represents by its mean.
    #[error("demand `{0}`: finite transfers with Poisson arrivals are not emulated")]
    Demand(String),
    /// The scenario has too many hosts.
    #[error("{hosts} hosts; at most {most} can be emulated")]
    Hosts {
        /// Number of nodes where connections begin or end.
        hosts: usize,
        /// Maximum number of hosts, [`MAX_HOSTS`].
        most: usize,
    },
    /// The scenario has too many connections.
    #[error("{connections} connections, copies (`count`) included; at most {most} can be emulated")]
    Connections {
        /// Number of connections, each multiplied by its `count`.
        connections: u64,
        /// Maximum number of connections, [`MAX_CONNECTIONS`].
        most: u64,
    },
    /// The packet rates are too high.
    #[error(
        "about {pps:.0} packets/s at hosts and {hops_pps:.0} packets/s at links; at most {most_pps:.0} and {most_hops_pps:.0} can be emulated"
    )]
    RateTooHigh {
        /// Packet arrivals at hosts, in packets/s.
        pps: f64,
        /// Packet arrivals at links, in packets/s.
        hops_pps: f64,
        /// Maximum rate at hosts, in packets/s.
        most_pps: f64,
        /// Maximum rate at links, in packets/s.
        most_hops_pps: f64,
    },
}

impl Infeasible {
    /// Returns a remedy, if there is one.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Infeasible::RateTooHigh { .. } => Some(
                "reduce all bandwidths by the same factor, or use larger packets; keep buffers and windows",
            ),
            Infeasible::Hosts { .. } => {
                Some("remove connections, or use fewer nodes as senders and receivers")
            }
            _ => None,
        }
    }
}

/// Estimated load of the emulator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EstimatedLoad {
    /// Number of hosts.
    pub hosts: usize,
    /// Packet arrivals at hosts, in packets/s; acknowledgements included.
    pub pps: f64,
    /// Packet arrivals at links, in packets/s.
    pub hops_pps: f64,
}

/// Maximum number of hosts. Each is a network namespace, which costs some milliseconds and some hundred
/// KB of kernel memory.
pub const MAX_HOSTS: usize = 200;

/// Maximum number of connections, each counted with its copies.
pub const MAX_CONNECTIONS: u64 = 2000;

/// Maximum packet rate at hosts, in packets/s. Two processors sustained it with a p99 lateness below 1 ms
/// (`docs/guides/real-tcp.md`).
pub const MAX_HOST_PPS: f64 = 30_000.0;

/// Maximum packet rate at links, in packets/s.
pub const MAX_LINK_PPS: f64 = 200_000.0;

/// Checks whether a scenario can be emulated, and estimates its load.
///
/// # Errors
/// The first reason why the scenario cannot be emulated.
pub fn check_feasibility(scenario: &CompiledScenario) -> Result<EstimatedLoad, Infeasible> {
    let network = &scenario.network;
    if let Some(users) = network.workloads().next() {
        return Err(Infeasible::Users(users.name.clone()));
    }
    if let Some(demand) = scenario.demands.first() {
        return Err(Infeasible::Demand(demand.name.clone()));
    }
    if let Some(event) = network.events().find(|event| event.change == Change::Pause) {
        return Err(Infeasible::LinkElement {
            link: network.link_name(event.link).to_owned(),
            element: "bandwidth of 0",
        });
    }
    let queue = |link, what| Err(Infeasible::Queue { link, what });
    for id in network.links() {
        // Exhaustive, so that every new setting of a link must be emulated or rejected.
        let LinkSpec {
            from: _,          // in the routes
            to: _,            // in the routes
            circuit: _,       // in the name
            bandwidth_bps: _, // any value is emulated; in the load
            delay_s: _,       // any value is emulated
            overhead: _,      // any value is emulated; in the load
            buffer: _,        // any value is emulated
            queue: policy,
            policer: _, // any value is emulated
            shaper,
            loss: _, // any value is emulated
            trace,
            series,
            delay_line,
            metric: _,      // in the routes
            calibration: _, // of the fluid model
        } = network.link_spec(id);
        if shaper.is_some() {
            let link = network.link_name(id).to_owned();
            return Err(Infeasible::Shaper(link));
        }
        let trace = trace.as_ref().map(|_| "delivery trace");
        let series = series.as_ref().map(|_| "trace over time");
        let element = trace.or(series).or_else(|| delay_line.first_element());
        if let Some(element) = element {
            let link = network.link_name(id).to_owned();
            return Err(Infeasible::LinkElement { link, element });
        }
        if let DropPolicy::Rio(_) = policy {
            let link = network.link_name(id).to_owned();
            return queue(link, "a queue with drop precedences");
        }
        if let DropPolicy::Managed(Aqm::Cake(cake)) = policy
            && cake.tins != Tins::BestEffort
            && !network.tables().queue_class_of.is_empty()
        {
            let link = network.link_name(id).to_owned();
            return queue(link, "a tin of CAKE for the class of a connection");
        }
    }
    if let Some(id) = network.classed_links().next() {
        return queue(
            network.link_name(id).to_owned(),
            "a scheduler of several queues",
        );
    }
    if let Some(aggregate) = network.tables().aggregates.first() {
        return Err(Infeasible::Marker(aggregate.name.clone()));
    }
    for id in network.connections() {
        tcp_route(network, id)?;
    }
    let specs = || network.connections().map(|id| network.connection_spec(id));
    let connections = specs().map(|spec| u64::from(spec.count)).sum();
    if connections > MAX_CONNECTIONS {
        return Err(Infeasible::Connections {
            connections,
            most: MAX_CONNECTIONS,
        });
    }
    let mut hosts: Vec<usize> = specs()
        .flat_map(|spec| [spec.from.index(), spec.to.index()])
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let load = EstimatedLoad {
        hosts: hosts.len(),
        ..max_min_fair_load(network, scenario.options.duration_s)
    };
    if load.hosts > MAX_HOSTS {
        return Err(Infeasible::Hosts {
            hosts: load.hosts,
            most: MAX_HOSTS,
        });
    }
    if load.pps > MAX_HOST_PPS || load.hops_pps > MAX_LINK_PPS {
        return Err(Infeasible::RateTooHigh {
            pps: load.pps,
            hops_pps: load.hops_pps,
            most_pps: MAX_HOST_PPS,
            most_hops_pps: MAX_LINK_PPS,
        });
    }
    Ok(load)
}

/// Returns the bytes of data in a packet of a connection.
pub fn payload_bytes(spec: &ConnectionSpec) -> f64 {
    if spec.source.is_answered() {
        spec.packet_size_bytes - LINUX_TCP_HEADERS_BYTES
    } else {
        spec.packet_size_bytes
    }
}

/// Returns the TCP settings of a connection's route. A connection without TCP only sets the MTU.
pub(crate) fn tcp_route(network: &Network, id: ConnectionId) -> Result<TcpRoute, Infeasible> {
    let spec = network.connection_spec(id);
    let tcp = linux_tcp(spec).map_err(|what| Infeasible::Traffic {
        connection: spec.name.clone(),
        what,
    })?;
    Ok(TcpRoute {
        congestion: tcp.map(|tcp| tcp.congestion.linux().to_owned()),
        initial_window: tcp.and_then(|tcp| tcp.initial_window),
        receive_window_bytes: tcp
            .and_then(|tcp| tcp.max_window)
            .map(|pkts| (f64::from(pkts) * payload_bytes(spec)).round() as u32),
        ecn: tcp.is_some_and(|tcp| tcp.ecn),
        mtu: spec.packet_size_bytes.round().clamp(68.0, 65_535.0) as u16,
    })
}

/// Acknowledgements per data packet of TCP. Linux acknowledges every second packet, and every packet in
/// recovery.
const ACKS_PER_PACKET: f64 = 0.6;

/// Estimates the packet rates at hosts and links from the max-min fair allocation. Progressive filling
/// raises all rates together until a link is full or a connection reaches its maximum rate (Bertsekas and
/// Gallager, Data Networks, section 6.5.2).
fn max_min_fair_load(network: &Network, duration_s: f64) -> EstimatedLoad {
    let ids: Vec<ConnectionId> = network.connections().collect();
    let specs: Vec<&ConnectionSpec> = ids.iter().map(|&id| network.connection_spec(id)).collect();
    let max_rate_pps: Vec<f64> = ids.iter().map(|&id| max_rate_pps(network, id)).collect();
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
    let mut unfrozen: Vec<usize> = (0..ids.len()).filter(sends).collect();
    while !unfrozen.is_empty() {
        let mut unfrozen_bps = vec![0.0; left_bps.len()];
        for &c in &unfrozen {
            for &l in &paths[c] {
                let wire_bytes = overheads[l].wire_bytes(specs[c].packet_size_bytes);
                unfrozen_bps[l] += f64::from(specs[c].count) * 8.0 * wire_bytes;
            }
        }
        let links = left_bps
            .iter()
            .zip(&unfrozen_bps)
            .filter(|(_, unfrozen)| **unfrozen > 0.0);
        let headroom_pps = links.map(|(left, unfrozen)| left.max(0.0) / unfrozen);
        let remaining_pps = unfrozen.iter().map(|&c| max_rate_pps[c] - rates_pps[c]);
        let step_pps = headroom_pps
            .chain(remaining_pps)
            .fold(f64::INFINITY, f64::min);
        for (left, unfrozen) in left_bps.iter_mut().zip(&unfrozen_bps) {
            *left -= step_pps * unfrozen;
        }
        for &c in &unfrozen {
            rates_pps[c] += step_pps;
        }
        let full = |l: &usize| left_bps[*l] <= 1e-9 * unfrozen_bps[*l];
        let before = unfrozen.len();
        unfrozen.retain(|&c| {
            rates_pps[c] < max_rate_pps[c] * (1.0 - 1e-12) && !paths[c].iter().any(&full)
        });
        if unfrozen.len() == before {
            break;
        }
    }
    let mut load = EstimatedLoad::default();
    for (c, &id) in ids.iter().enumerate() {
        let pps = f64::from(specs[c].count) * rates_pps[c];
        let acks_pps = if specs[c].source.is_answered() {
            ACKS_PER_PACKET * pps
        } else {
            0.0
        };
        load.pps += pps + acks_pps;
        load.hops_pps +=
            pps * paths[c].len() as f64 + acks_pps * network.return_path(id).len() as f64;
    }
    load
}

/// Returns the maximum rate of one copy of a connection, in packets/s.
fn max_rate_pps(network: &Network, id: ConnectionId) -> f64 {
    let spec = network.connection_spec(id);
    match spec.source {
        Source::Constant { rate_pps } | Source::Poisson { rate_pps } => rate_pps,
        _ => {
            let forward_path = network.path(id);
            let links = forward_path
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
