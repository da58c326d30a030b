//! Users: those who come, ask for something, wait for it and go.

use std::sync::Arc;

use netflow_tcpmodel::{Stack, rounds::HEADER_BYTES};
use netflow_workload::{Application, Session, Sessions, WaitFor, Workload};

use crate::hash::hash_of;
use crate::{ConnectionId, FlowHash, Network, NodeId, WindowSource};

/// Pairs of a client's and a server's node that a workload may have.
const MOST_PAIRS: usize = 10_000;

/// Users of one kind, between nodes of a network.
///
/// In the network each pair of nodes has two connections: `NAME/requests` and `NAME/replies` (with
/// several pairs `NAME/CLIENT-SERVER/requests` and so on). With the window model, what users send
/// travels on them packet by packet; with the fluid models, the mean of it does.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Its name, unique.
    pub name: String,
    /// What its users do.
    pub application: Application,
    /// Users that come in a second, on average.
    pub users_per_s: f64,
    /// Where users sit: user i at node i modulo their number.
    pub clients: Vec<NodeId>,
    /// Where servers stand, likewise.
    pub servers: Vec<NodeId>,
    /// Nobody comes before, in seconds.
    pub start_s: f64,
    /// Nobody comes from then on, in seconds; `None`: until the end of the run.
    pub stop_s: Option<f64>,
    /// With the window model: both ends send by the rules of ns-2's agents; `None`: by those of the stack.
    pub source: Option<WindowSource>,
    /// Whether receivers of ns-2's agents delay acknowledgements, with the window model.
    pub delayed_ack: bool,
    /// Size of a full packet on the wire in bytes, 40 of them headers; above 40.
    pub packet_size_bytes: f64,
    /// The TCP at both ends, with the fluid models, and with the window model unless `source` says another.
    pub stack: Stack,
    /// Which of several paths of equal cost all of its packets take; `None`: the preferred.
    pub flow: Option<FlowHash>,
    /// Nodes from the server to the client, of which there is one each then: the way of replies, and of what
    /// acknowledges requests; `None`: the shortest path.
    pub path: Option<Vec<NodeId>>,
    /// Nodes from the client to the server, likewise: the way of requests, and of what acknowledges replies; `None`: as
    /// of a connection on that path, or the shortest path if none is given.
    pub return_path: Option<Vec<NodeId>>,
    /// The class of all of its packets, as [`classify`](crate::NetworkBuilder::classify) gives it; `None`: none.
    pub class: Option<String>,
}

impl WorkloadSpec {
    /// Payload of a full packet, in bytes.
    pub fn payload_bytes(&self) -> f64 {
        self.packet_size_bytes - HEADER_BYTES
    }

    /// The nodes of user `number`: a client's and a server's.
    pub fn pairs(&self) -> Vec<(NodeId, NodeId)> {
        let (clients, servers) = (self.clients.len(), self.servers.len());
        let all = clients * servers / gcd(clients, servers).max(1);
        let cycle = |nodes: &[NodeId], i: usize| nodes.get(i % nodes.len().max(1)).copied();
        (0..all.min(MOST_PAIRS + 1))
            .filter_map(|i| cycle(&self.clients, i).zip(cycle(&self.servers, i)))
            .collect()
    }

    pub(crate) fn too_many_pairs(&self) -> bool {
        self.pairs().len() > MOST_PAIRS
    }

    /// Seconds of users coming in a run of this length.
    pub fn open_s(&self, duration_s: f64) -> f64 {
        let until_s = self
            .stop_s
            .map_or(duration_s, |stop_s| stop_s.min(duration_s));
        (until_s - self.start_s).max(0.0)
    }

    /// How many users a run of this length has on average.
    pub fn expected_users(&self, duration_s: f64) -> f64 {
        self.users_per_s * self.open_s(duration_s)
    }

    /// What users send on average: packets/s of requests and of replies once as many go as come,
    /// and the mean size of such a packet on the wire in bytes.
    pub(crate) fn mean_load(&self) -> [(f64, f64); 2] {
        let both = self.application.mean_packets(self.payload_bytes());
        both.map(|(pkts, bytes)| (self.users_per_s * pkts, bytes + HEADER_BYTES))
    }

    /// Its users as they come, of a run whose seed made this one of the [`workload_seeds`](Network::workload_seeds).
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
    /// The seeds of the users of each workload in a run with this seed, as
    /// [`Workload`] takes them: by its name.
    pub fn workload_seeds(&self, seed: u64) -> Vec<u64> {
        let names = self.inner.workloads.iter().map(|users| &users.spec.name);
        names.map(|name| hash_of((seed, name))).collect()
    }
}

/// Users as they come between start and stop.
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

/// How long a user waited for something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// Users of a workload are counted from 0.
    pub user: u64,
    /// When the user came, in seconds.
    pub came_s: f64,
    /// For what.
    pub kind: WaitFor,
    /// How long, in seconds.
    pub wait_s: f64,
    /// What a packet without payload and its answer take between the user's nodes when the network
    /// is empty, in seconds.
    pub rtt_s: f64,
}

/// What the users of one workload met with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experience {
    /// How many came.
    pub came: u64,
    /// How many of them went, with all that they wanted.
    pub gone: u64,
    /// What was waited for and is there, by user.
    pub waits: Vec<Wait>,
}

/// What a packet without payload and its answer take on a connection's ways when the network is
/// empty, in seconds.
pub fn empty_rtt_s(network: &Network, id: ConnectionId) -> f64 {
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

/// A workload in a network: what was asked for, and its connections.
#[derive(Clone, Debug)]
pub struct Users {
    /// What was asked for.
    pub spec: Arc<WorkloadSpec>,
    /// Requests and replies of each pair of nodes.
    pub pairs: Vec<[ConnectionId; 2]>,
}

/// What the users of a workload send one way.
#[derive(Clone, Debug)]
pub struct UserTraffic {
    /// What they do.
    pub workload: Arc<WorkloadSpec>,
    /// Whether it is the servers' side.
    pub replies: bool,
    /// Packets/s once as many users go as come.
    pub mean_pps: f64,
}
