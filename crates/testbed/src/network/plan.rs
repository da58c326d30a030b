//! Who is there, and which ways packets take between whom.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use netflow_network::{ConnectionId, ConnectionSpec, LinkId, Network, NodeId, Source};
use netflow_units::ns;

use super::NetworkError;
use super::fabric::Way;

/// A host of an emulated network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name of its node.
    pub name: String,
    /// Where it is reached by name; traffic of connections has addresses of its own.
    pub address: Ipv4Addr,
}

/// What TCP does on a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpRoute {
    /// The congestion control; `None`: that of the host.
    pub congestion: Option<String>,
    /// Window of the data's first round trip, in segments; `None`: the kernel's.
    pub initial_window: Option<u32>,
    /// The largest window that the receiver announces, in bytes; `None`: no limit but that of buffers. Only
    /// a socket with a receive buffer of its own (`SO_RCVBUF`) keeps to it.
    pub receive_window_bytes: Option<u32>,
    /// Whether ECN is asked for.
    pub ecn: bool,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
}

/// Two hosts and the ways between them, with addresses that are theirs alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The hosts, by their places: who sends and who answers.
    pub hosts: [usize; 2],
    /// Their addresses here.
    pub addresses: [Ipv4Addr; 2],
    /// The way there and the way back.
    pub ways: [Way; 2],
    /// What TCP does on them.
    pub tcp: TcpRoute,
}

/// Who is there, and who has ways to whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The hosts.
    pub hosts: Vec<Host>,
    /// First one for every connection of the network, in its order; then those between hosts.
    pub pairs: Vec<Pair>,
}

impl Plan {
    /// The hosts where connections begin and end, and these nodes, from each of which every host is to be
    /// reached. `tcp` says what TCP does for each connection.
    ///
    /// # Errors
    /// More hosts or connections than there are addresses.
    pub fn of(
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
            let address = numbered([10, 77, 0, 0], place as u32 + 1, 1 << 16);
            plan.hosts.push(Host {
                name: network.node_name(ids[node]).to_owned(),
                address: address.ok_or(NetworkError::TooMany("hosts", 1 << 16))?,
            });
        }
        for id in network.connections() {
            let spec = network.connection_spec(id);
            let number = 2 * (id.index() as u32 + 1);
            let address = |number| {
                numbered([10, 128, 0, 0], number, 1 << 23)
                    .ok_or(NetworkError::TooMany("connections", 1 << 22))
            };
            plan.pairs.push(Pair {
                hosts: places(spec.from, spec.to),
                addresses: [address(number)?, address(number + 1)?],
                ways: ways(network, id),
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

    /// Ways from these nodes to every host, as a connection between them has them.
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
            builder.connection(between(network, from, to));
        }
        let with = builder.build().map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            NetworkError::NoWays(first.unwrap_or_default())
        })?;
        let mtu = self.pairs.iter().map(|pair| pair.tcp.mtu).max();
        let place = |node: NodeId| hosts.iter().position(|&host| host == node).unwrap_or(0);
        let added = with.connections().skip(network.connection_count());
        for (id, (from, to)) in added.zip(wanted) {
            let hosts = [place(from), place(to)];
            self.pairs.push(Pair {
                hosts,
                addresses: hosts.map(|host| self.hosts[host].address),
                ways: ways(&with, id),
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

/// Something between two nodes that has a way, and does nothing.
fn between(network: &Network, from: NodeId, to: NodeId) -> ConnectionSpec {
    let [a, b] = [from, to].map(|node| network.node_name(node));
    ConnectionSpec {
        // No name in a file can have a line break.
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
        divides: None,
        transfers: None,
        acks: netflow_network::Acks::EveryPacket,
    }
}

/// The way of a connection's data and the way back, over time.
fn ways(network: &Network, id: ConnectionId) -> [Way; 2] {
    let failures = network.events().filter(|event| event.change.reroutes());
    let mut times_s: Vec<f64> = std::iter::once(0.0)
        .chain(failures.map(|event| event.at_s))
        .collect();
    times_s.dedup();
    let way = |of: &dyn Fn(f64) -> Vec<LinkId>| {
        let mut way = Way::default();
        for &at_s in &times_s {
            let links: Arc<[u32]> = of(at_s).iter().map(|link| link.index() as u32).collect();
            if way.epochs.last().is_none_or(|(_, before)| *before != links) {
                way.epochs.push((ns(at_s), links));
            }
        }
        way
    };
    let there = way(&|at_s| network.path_at(id, at_s));
    // What nobody acknowledges still may be answered by somebody's ping: by the links of the way there.
    let back = way(&|at_s| network.return_path_at(id, at_s));
    [there, back]
}

/// The address with this number among so many.
fn numbered(base: [u8; 4], number: u32, count: u32) -> Option<Ipv4Addr> {
    (number < count).then(|| Ipv4Addr::from(u32::from_be_bytes(base) + number))
}
