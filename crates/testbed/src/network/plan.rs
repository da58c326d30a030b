//! Hosts of an emulated network and the paths between them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use netflow_network::{ConnectionId, ConnectionSpec, LinkId, Network, NodeId, Source};
use netflow_units::ns;

use super::NetworkError;
use super::network_simulation::PathSchedule;

/// Host of an emulated network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name of its node.
    pub name: String,
    /// Address of its name; traffic of connections has separate addresses.
    pub address: Ipv4Addr,
}

/// TCP settings of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpRoute {
    /// Congestion control; `None` for the host's default.
    pub congestion: Option<String>,
    /// Initial congestion window, in segments; `None` for the kernel's default.
    pub initial_window: Option<u32>,
    /// Largest window that the receiver announces, in bytes; `None` for no limit other than the buffer.
    /// Only a socket with a fixed receive buffer (`SO_RCVBUF`) obeys it.
    pub receive_window_bytes: Option<u32>,
    /// True if ECN is requested.
    pub ecn: bool,
    /// Largest IP packet, in bytes.
    pub mtu: u16,
}

/// Two hosts and the paths between them, with addresses that no other pair uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Indices of the hosts: sender and receiver.
    pub hosts: [usize; 2],
    /// Addresses of the hosts in this pair.
    pub addresses: [Ipv4Addr; 2],
    /// Forward path and return path.
    pub paths: [PathSchedule; 2],
    /// TCP settings of the paths.
    pub tcp: TcpRoute,
}

/// Hosts and pairs of hosts of an emulated network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Hosts.
    pub hosts: Vec<Host>,
    /// One pair for every connection of the network, in its order, followed by those between hosts.
    pub pairs: Vec<Pair>,
}

impl Plan {
    /// Plans the hosts where connections begin and end, and the nodes `also`, from each of which every
    /// host is reachable. `tcp` returns the TCP settings of a connection.
    ///
    /// # Errors
    /// If there are more hosts or connections than addresses, or no path between hosts.
    pub fn new(
        network: &Network,
        also: &[NodeId],
        mut tcp: impl FnMut(ConnectionId) -> TcpRoute,
    ) -> Result<Plan, NetworkError> {
        let specs = || network.connections().map(|id| network.connection_spec(id));
        let nodes: BTreeSet<usize> = specs()
            .flat_map(|spec| [spec.from, spec.to])
            .chain(also.iter().copied())
            .map(NodeId::index)
            .collect();
        let ids: Vec<NodeId> = network.nodes().collect();
        let place_of: BTreeMap<usize, usize> = nodes.iter().copied().zip(0..).collect();
        let places = |from: NodeId, to: NodeId| [place_of[&from.index()], place_of[&to.index()]];
        let mut plan = Plan::default();
        for (place, &node) in nodes.iter().enumerate() {
            let address = nth_address([10, 77, 0, 0], place as u32 + 1, 1 << 16);
            plan.hosts.push(Host {
                name: network.node_name(ids[node]).to_owned(),
                address: address.ok_or(NetworkError::TooFewAddresses("hosts", 1 << 16))?,
            });
        }
        for id in network.connections() {
            let spec = network.connection_spec(id);
            let number = 2 * (id.index() as u32 + 1);
            let address = |number| {
                nth_address([10, 128, 0, 0], number, 1 << 23)
                    .ok_or(NetworkError::TooFewAddresses("connections", 1 << 22))
            };
            plan.pairs.push(Pair {
                hosts: places(spec.from, spec.to),
                addresses: [address(number)?, address(number + 1)?],
                paths: paths(network, id),
                tcp: tcp(id),
            });
        }
        plan.join_hosts(
            network,
            also,
            &nodes.iter().map(|&node| ids[node]).collect::<Vec<_>>(),
        )?;
        Ok(plan)
    }

    /// Adds paths from these nodes to every host, routed like a connection between them.
    fn join_hosts(
        &mut self,
        network: &Network,
        also: &[NodeId],
        hosts: &[NodeId],
    ) -> Result<(), NetworkError> {
        if also.is_empty() {
            return Ok(());
        }
        let mut builder = network.to_builder();
        let mut reaches = builder.equal_paths();
        let mut joined = BTreeSet::new();
        let mut wanted = Vec::new();
        for &from in also {
            for &to in hosts {
                let both = (from.index().min(to.index()), from.index().max(to.index()));
                let new = from != to && joined.insert(both);
                if new
                    && !reaches.shares(from, to).is_empty()
                    && !reaches.shares(to, from).is_empty()
                {
                    wanted.push((from, to));
                }
            }
        }
        for &(from, to) in &wanted {
            builder.connection(placeholder_connection(network, from, to));
        }
        let with = builder.build().map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            NetworkError::NoPaths(first.unwrap_or_default())
        })?;
        let mtu = self.pairs.iter().map(|pair| pair.tcp.mtu).max();
        let place = |node: NodeId| hosts.iter().position(|&host| host == node).unwrap_or(0);
        let added = with.connections().skip(network.connection_count());
        for (id, (from, to)) in added.zip(wanted) {
            let hosts = [place(from), place(to)];
            self.pairs.push(Pair {
                hosts,
                addresses: hosts.map(|host| self.hosts[host].address),
                paths: paths(&with, id),
                tcp: TcpRoute {
                    congestion: None,
                    initial_window: None,
                    receive_window_bytes: None,
                    ecn: false,
                    mtu: mtu.unwrap_or(1500),
                },
            });
        }
        Ok(())
    }
}

/// Returns a connection between two nodes that only serves to find its paths.
fn placeholder_connection(network: &Network, from: NodeId, to: NodeId) -> ConnectionSpec {
    let [a, b] = [from, to].map(|node| network.node_name(node));
    ConnectionSpec {
        // No name in a file can contain a line break.
        name: format!("{a}\n{b}"),
        from,
        to,
        source: Source::Constant { rate_pps: 1.0 },
        application: netflow_network::Application::Bulk,
        start_s: 0.0,
        stop_s: None,
        size_pkts: None,
        count: 1,
        max_window_pkts: None,
        packet_size_bytes: netflow_network::PACKET_BYTES,
        path: None,
        return_path: None,
        flow: None,
        ecmp_share: None,
        transfers: None,
        acks: netflow_network::Acks::EveryPacket,
    }
}

/// Returns the forward and return paths of a connection, as functions of time.
fn paths(network: &Network, id: ConnectionId) -> [PathSchedule; 2] {
    let failures = network.events().filter(|event| event.change.reroutes());
    let mut times_s: Vec<f64> = std::iter::once(0.0)
        .chain(failures.map(|event| event.at_s))
        .collect();
    times_s.dedup();
    let path = |of: &dyn Fn(f64) -> Vec<LinkId>| {
        let mut path = PathSchedule::default();
        for &at_s in &times_s {
            let links: Arc<[u32]> = of(at_s).iter().map(|link| link.index() as u32).collect();
            if path
                .epochs
                .last()
                .is_none_or(|(_, before)| *before != links)
            {
                path.epochs.push((ns(at_s), links));
            }
        }
        path
    };
    let there = path(&|at_s| network.path_at(id, at_s));
    // Replies to unacknowledged traffic, for example to pings, use the links of the forward path.
    let back = path(&|at_s| network.return_path_at(id, at_s));
    [there, back]
}

/// Returns the address with index `number` of `count` addresses from `base` on.
fn nth_address(base: [u8; 4], number: u32, count: u32) -> Option<Ipv4Addr> {
    (number < count).then(|| Ipv4Addr::from(u32::from_be_bytes(base) + number))
}
