//! `network.json`: the topology of the network of a run.

use netflow_network::{ConnectionId, LinkId, LinkSpec, Network, NodeId, Source};
use serde::{Deserialize, Serialize};

use crate::json_pretty::to_lines;

/// Nodes, links and connections of a run, sufficient to draw the network. Versions with the same `format_version` (`manifest.json`) only add keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Every node.
    pub nodes: Vec<TopologyNode>,
    /// Every link, in the order of the series.
    pub links: Vec<TopologyLink>,
    /// Every connection, in the order of the series.
    pub connections: Vec<TopologyConnection>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopologyNode {
    /// Name of the node.
    pub node: String,
    /// Label for people, if it differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Position in the scenario: x to the right and y upwards, in any unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<(f64, f64)>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopologyLink {
    /// `FROM->TO`, or `FROM->TO#CIRCUIT`.
    pub link: String,
    /// Name of the node at its start.
    pub from: String,
    /// Name of the node at its end.
    pub to: String,
    /// Bandwidth in bit/s at the start of the run; the mean of a link that follows a trace.
    pub bandwidth_bps: f64,
    /// Propagation delay in seconds.
    pub delay_s: f64,
    /// Buffer in packets, the packet in service included. A buffer in bytes or as a time is converted with the packet
    /// size of TCP.
    #[serde(alias = "room_pkts")]
    pub buffer_pkts: f64,
    /// Buffer in bytes, if it is given in bytes; every packet occupies its own size.
    #[serde(default, alias = "room_bytes", skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<f64>,
    /// Overhead per packet below IP, in words, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<String>,
    /// Loss in transit, in words, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
}

impl TopologyLink {
    /// Returns the capacity of its queue in packets, if it does not depend on packet sizes.
    pub fn max_queue_pkts(&self) -> Option<f64> {
        self.buffer_bytes.is_none().then_some(self.buffer_pkts)
    }
}

/// Connection, with all `count` of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopologyConnection {
    /// Name of the connection.
    pub connection: String,
    /// Name of the sender's node.
    pub from: String,
    /// Name of the receiver's node.
    pub to: String,
    /// Source, in words.
    pub source: String,
    /// Number of identical connections.
    pub count: u32,
    /// Size of a data packet in bytes, with its IP header.
    pub packet_size_bytes: f64,
    /// Path from sender to receiver at the start, as indices into [`Topology::links`].
    pub path: Vec<usize>,
    /// Return path, as indices into [`Topology::links`].
    pub return_path: Vec<usize>,
    /// Later paths, in order of time; only if failures change them.
    #[serde(default, alias = "ways", skip_serializing_if = "Vec::is_empty")]
    pub later_paths: Vec<TopologyPath>,
    /// Start time in seconds.
    #[serde(default)]
    pub start_s: f64,
    /// Latest end time in seconds, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_s: Option<f64>,
    /// Uncontended throughput in packets/s: the sending rate of TCP without other traffic and with unlimited data;
    /// absent for fixed-rate sources.
    #[serde(default, alias = "alone_pps", skip_serializing_if = "Option::is_none")]
    pub uncontended_pps: Option<f64>,
}

/// Path of a connection from a given time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopologyPath {
    /// Time in seconds from which the path applies.
    pub from_s: f64,
    /// Path from sender to receiver, as indices into [`Topology::links`]; empty without a route.
    pub path: Vec<usize>,
    /// Return path, as indices into [`Topology::links`].
    pub return_path: Vec<usize>,
}

impl Topology {
    /// Its file name in a results directory.
    pub const FILE: &str = "network.json";

    /// Returns the topology of a network. Nodes have neither labels nor positions yet.
    pub fn of(network: &Network) -> Topology {
        let name = |id| network.node_name(id).to_owned();
        let node = |id| TopologyNode {
            node: name(id),
            label: None,
            position: None,
        };
        let link = |id| {
            // The destructuring forces a decision on whether a new field of a link belongs in
            // `network.json`.
            let &LinkSpec {
                from,
                to,
                circuit: _, // in the name
                bandwidth_bps,
                delay_s,
                overhead,
                buffer,
                queue: _,
                policer: _, // like the queue
                shaper: _,  // like the queue
                loss,
                trace: _,       // like the queue
                series: _,      // like the queue
                delay_line: _,  // like the queue
                metric: _,      // used by the routes
                calibration: _, // part of the results
            } = network.link_spec(id);
            TopologyLink {
                link: network.link_name(id).to_owned(),
                from: name(from),
                to: name(to),
                bandwidth_bps,
                delay_s,
                buffer_pkts: network.buffer_pkts(id),
                buffer_bytes: buffer.bytes(bandwidth_bps),
                overhead: (!overhead.is_none()).then(|| overhead.to_string()),
                loss: (!loss.is_none()).then(|| loss.to_string()),
            }
        };
        let connection = |id: ConnectionId| {
            let spec = network.connection_spec(id);
            let (start_s, stop_s) = network.active_interval(id, f64::INFINITY);
            TopologyConnection {
                connection: network.connection_name(id).to_owned(),
                from: name(spec.from),
                to: name(spec.to),
                source: match &spec.source {
                    Source::Ns2Tcp(window) => format!("window {:?}", window.variant),
                    Source::Tcp(stack) => format!("stack {}", stack.name),
                    Source::Profile(profile) => format!("profile {}", profile.name()),
                    Source::Constant { .. } => "constant rate".to_owned(),
                    Source::Poisson { .. } => "Poisson".to_owned(),
                    Source::Users(traffic) => format!("users {}", traffic.workload.name),
                },
                count: spec.count,
                packet_size_bytes: spec.packet_size_bytes,
                path: link_indices(network.path(id)),
                return_path: link_indices(network.return_path(id)),
                later_paths: paths_over_time(network, id),
                start_s,
                stop_s: stop_s.is_finite().then_some(stop_s),
                uncontended_pps: network.uncontended_pps(id),
            }
        };
        Topology {
            nodes: network.nodes().map(node).collect(),
            links: network.links().map(link).collect(),
            connections: network.connections().map(connection).collect(),
        }
    }

    /// Sets the label and the position of a node. A node of another network is ignored.
    pub fn set_node_details(
        &mut self,
        node: NodeId,
        label: Option<String>,
        position: Option<(f64, f64)>,
    ) {
        if let Some(node) = self.nodes.get_mut(node.index()) {
            node.label = label;
            node.position = position;
        }
    }

    /// Returns the content of `network.json`: a line for every node, link and connection.
    pub fn to_json(&self) -> String {
        to_lines(self)
    }
}

/// Returns the paths of a connection over time, without repetitions.
fn paths_over_time(network: &Network, id: ConnectionId) -> Vec<TopologyPath> {
    let at = |at_s| (network.path_at(id, at_s), network.return_path_at(id, at_s));
    let mut before = (network.path(id), network.return_path(id));
    let mut times_s: Vec<f64> = network.events().map(|event| event.at_s).collect();
    times_s.dedup();
    let mut ways = Vec::new();
    for from_s in times_s {
        let now = at(from_s);
        if now != before {
            before = now.clone();
            ways.push(TopologyPath {
                from_s,
                path: link_indices(now.0),
                return_path: link_indices(now.1),
            });
        }
    }
    ways
}

fn link_indices(path: Vec<LinkId>) -> Vec<usize> {
    path.into_iter().map(LinkId::index).collect()
}
