//! Workloads of users: sessions of requests and replies between client and server nodes.

use std::sync::Arc;

use netflow_tcpmodel::{Stack, transfer_simulation::HEADER_BYTES};
use netflow_workload::{Application, ResponseEvent, Session, Sessions, Workload};

use crate::hash::fnv_hash;
use crate::{ConnectionId, FlowHash, Network, NodeId, WindowSource};

/// Maximum number of pairs of a client node and a server node per workload.
const MAX_PAIRS: usize = 10_000;

/// Users of one kind, between nodes of a network.
///
/// In the network each pair of nodes has two connections: `NAME/requests` and `NAME/replies` (with several
/// pairs `NAME/CLIENT-SERVER/requests` and so on). The packet model sends the users' packets on them; the
/// fluid models send their mean rate.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Unique name.
    pub name: String,
    /// Behaviour of its users.
    pub application: Application,
    /// Mean arrival rate of users, per second.
    pub users_per_s: f64,
    /// Nodes of clients: user i is at node i modulo their number.
    pub clients: Vec<NodeId>,
    /// Nodes of servers, assigned by the same rule.
    pub servers: Vec<NodeId>,
    /// Start of user arrivals in seconds.
    pub start_s: f64,
    /// End of user arrivals in seconds; `None`: the end of the run.
    pub stop_s: Option<f64>,
    /// TCP of both ends in the packet model, by the rules of ns-2's agents; `None`: by those of the stack.
    pub source: Option<WindowSource>,
    /// True if receivers of ns-2's agents delay acknowledgements in the packet model.
    pub delayed_ack: bool,
    /// Size of a full packet in IP bytes, 40 of them headers; above 40.
    pub packet_size_bytes: f64,
    /// TCP stack of both ends in the fluid models, and in the packet model without `source`.
    pub stack: Stack,
    /// ECMP hash that selects one of several paths of equal cost for all of its packets; `None`: the
    /// preferred path.
    pub flow: Option<FlowHash>,
    /// Nodes from the server to the client, for replies and for acknowledgements of requests. It requires one
    /// client and one server. `None`: the shortest path.
    pub path: Option<Vec<NodeId>>,
    /// Nodes from the client to the server, for requests and for acknowledgements of replies. It requires one
    /// client and one server. `None`: the return path of a connection on `path`, or the shortest path without
    /// one.
    pub return_path: Option<Vec<NodeId>>,
    /// Traffic class of all of its packets, as for [`classify`](crate::NetworkBuilder::classify); `None`: no
    /// class.
    pub class: Option<String>,
}

impl WorkloadSpec {
    /// Returns the payload of a full packet in bytes.
    pub fn payload_bytes(&self) -> f64 {
        self.packet_size_bytes - HEADER_BYTES
    }

    /// Returns the pairs of a client node and a server node; user i uses pair i modulo their number.
    pub fn pairs(&self) -> Vec<(NodeId, NodeId)> {
        let (clients, servers) = (self.clients.len(), self.servers.len());
        let all = clients * servers / gcd(clients, servers).max(1);
        let cycle = |nodes: &[NodeId], i: usize| nodes.get(i % nodes.len().max(1)).copied();
        (0..all.min(MAX_PAIRS + 1))
            .filter_map(|i| cycle(&self.clients, i).zip(cycle(&self.servers, i)))
            .collect()
    }

    pub(crate) fn too_many_pairs(&self) -> bool {
        self.pairs().len() > MAX_PAIRS
    }

    /// Returns the length in seconds of user arrivals in a run of this length.
    pub fn arrival_period_s(&self, duration_s: f64) -> f64 {
        let until_s = self
            .stop_s
            .map_or(duration_s, |stop_s| stop_s.min(duration_s));
        (until_s - self.start_s).max(0.0)
    }

    /// Returns the mean number of users in a run of this length.
    pub fn expected_users(&self, duration_s: f64) -> f64 {
        self.users_per_s * self.arrival_period_s(duration_s)
    }

    /// Returns the mean load of requests and of replies in steady state: packets/s, and the mean packet size
    /// in bytes.
    pub(crate) fn mean_load(&self) -> [(f64, f64); 2] {
        let both = self.application.mean_packets(self.payload_bytes());
        both.map(|(pkts, bytes)| (self.users_per_s * pkts, bytes + HEADER_BYTES))
    }

    /// Returns its user arrivals for one of the [`workload_seeds`](Network::workload_seeds) of a run.
    pub fn arrivals(&self, own_seed: u64) -> Arrivals {
        let workload = Workload {
            application: self.application.clone(),
            seed: own_seed,
        };
        Arrivals {
            // The network's builder has checked it.
            sessions: workload.sessions(self.users_per_s).ok(),
            start_s: self.start_s,
            stop_s: self.stop_s.unwrap_or(f64::INFINITY),
        }
    }
}

impl Network {
    /// Returns the seeds of each workload's users in a run with this seed, as [`Workload`] takes them. They
    /// depend on the workload's name.
    pub fn workload_seeds(&self, seed: u64) -> Vec<u64> {
        let names = self.inner.workloads.iter().map(|users| &users.spec.name);
        names.map(|name| fnv_hash((seed, name))).collect()
    }
}

/// Arrivals of users between start and stop.
#[derive(Clone, Debug)]
pub struct Arrivals {
    sessions: Option<Sessions>,
    start_s: f64,
    stop_s: f64,
}

impl Iterator for Arrivals {
    type Item = Session;

    fn next(&mut self) -> Option<Session> {
        let mut session = self.sessions.as_mut()?.next()?;
        session.start_s += self.start_s;
        (session.start_s < self.stop_s).then_some(session)
    }
}

/// Response time of one request of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseTime {
    /// Number of the user within the workload, from 0.
    pub user: u64,
    /// Arrival time of the user in seconds.
    pub arrival_s: f64,
    /// Kind of the event that the user waited for.
    pub kind: ResponseEvent,
    /// Response time in seconds.
    pub wait_s: f64,
    /// Unloaded round-trip time of a packet without payload between the user's nodes, in seconds.
    pub rtt_s: f64,
}

/// Response times and numbers of the users of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserStats {
    /// Number of users that arrived.
    pub arrived: u64,
    /// Number of users that left with everything done.
    pub finished: u64,
    /// Completed waits, by user.
    pub waits: Vec<ResponseTime>,
}

/// Returns the unloaded round-trip time of a packet without payload on a connection's paths, in seconds.
pub fn base_rtt_s(network: &Network, id: ConnectionId) -> f64 {
    let ways = network.path(id).into_iter().chain(network.return_path(id));
    ways.map(|link| network.link_spec(link))
        .map(|link| {
            link.delay_s + 8.0 * link.overhead.wire_bytes(HEADER_BYTES) / link.bandwidth_bps
        })
        .sum()
}

fn gcd(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        b => gcd(b, a % b),
    }
}

/// Workload in a network: its specification and its connections.
#[derive(Clone, Debug)]
pub struct Users {
    /// Specification of the workload.
    pub spec: Arc<WorkloadSpec>,
    /// Request and reply connections of each pair of nodes.
    pub pairs: Vec<[ConnectionId; 2]>,
}

/// Traffic of a workload's users in one direction.
#[derive(Clone, Debug)]
pub struct UserTraffic {
    /// Specification of the workload.
    pub workload: Arc<WorkloadSpec>,
    /// True for replies of servers, false for requests.
    pub replies: bool,
    /// Mean rate in packets/s in steady state.
    pub mean_pps: f64,
}
