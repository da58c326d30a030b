//! The compiled network that engines read: arrays by dense id.

use std::collections::BTreeMap;
use std::sync::Arc;

use netflow_units::NonMaxU32;

pub use crate::bundles::Bundle;
use crate::ids::Owner;
use crate::runtime_control::ControllableConnection;
use crate::scheduling::{MultiQueueLink, SharedLink};
pub use crate::unavailability::Unavailabilities;
use crate::users::Users;
use crate::{
    Acks, AggregateSpec, CalibrationPlan, Change, ConnectionSpec, DropPolicy, Dscp, EcmpWeights,
    EventSpec, Fallbacks, LinkSpec,
};

/// Value for no branch in the fluid engine: the class has no route, and cannot send.
pub const NO_CLASS_PATH: u32 = u32::MAX;

/// All data of a [`Network`](crate::Network).
#[derive(Debug)]
pub struct CompiledNetwork {
    /// Owner of its ids.
    pub owner: Owner,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Specifications of the links.
    pub links: Vec<LinkSpec>,
    /// Names of the links, `FROM->TO`.
    pub link_names: Vec<String>,
    /// Buffer of each link in packets.
    pub buffer_pkts: Vec<f64>,
    /// Specifications of the connections.
    pub connections: Vec<ConnectionSpec>,
    /// Class of each connection.
    pub class_of: Vec<u32>,
    /// Classes of identical connections.
    pub classes: Vec<Class>,
    /// Classes on their paths.
    pub class_paths: Vec<ClassPath>,
    /// Links of all paths, concatenated.
    pub path_links: Vec<u32>,
    /// Times from which each class uses a branch, in order of time; the first is at 0.
    pub epochs: Vec<Epoch>,
    /// Events of links, in order of time.
    pub events: Vec<LinkEvent>,
    /// Specifications of the aggregates.
    pub aggregates: Vec<AggregateSpec>,
    /// Workloads with their connections.
    pub workloads: Vec<Users>,
    /// Links with several queues. Each class queue is a link of its own, after all other links.
    pub shared_links: Vec<SharedLink>,
    /// Specifications of the links with several queues.
    pub multi_queue_links: Vec<MultiQueueLink>,
    /// Traffic class of connections that have one.
    pub queue_class_of: BTreeMap<u32, String>,
    /// Code point of each connection: that of its traffic class, or the default one.
    pub dscps: Vec<Dscp>,
    /// Opposite direction of each direction of a duplex link.
    pub opposite_direction: BTreeMap<u32, u32>,
    /// Shared-risk link groups, sorted by name.
    pub risk_groups: Vec<RiskGroup>,
    /// Unavailabilities of links, nodes and groups.
    pub unavailabilities: Unavailabilities,
    /// Connections with values that can be set at run time, in order.
    pub controllable: Vec<ControllableConnection>,
    /// Further explicit paths of connections that have some.
    pub fallbacks: BTreeMap<u32, Fallbacks>,
    /// Bundles of parallel links.
    pub bundles: Vec<Bundle>,
    /// Events as given, without those of class queues and bundles.
    pub given_events: Vec<EventSpec>,
    /// Weights of next links of equal cost.
    pub ecmp_weights: EcmpWeights,
    /// Plan to calibrate the queues by the packet model.
    pub calibration: Option<CalibrationPlan>,
    /// Memory limit of a run in bytes.
    pub memory_limit_bytes: u64,
}

/// Shared-risk link group.
#[derive(Clone, Debug)]
pub struct RiskGroup {
    /// Name of the group.
    pub name: String,
    /// Links of the group, in order.
    pub links: Vec<u32>,
}

/// Identical connections, which behave as one.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// First connection of the class, which represents all.
    pub connection: u32,
    /// Number of connections, the `count` of each included.
    pub weight: f64,
    /// Aggregate of the class.
    pub aggregate: Option<u32>,
}

/// Class on one pair of paths; for a conditioned class, only the packets of one precedence.
#[derive(Clone, Copy, Debug)]
pub struct ClassPath {
    /// The class.
    pub class: u32,
    /// Drop precedence of its packets; 0 for packets that are not marked.
    pub precedence: u32,
    /// Range of the data path in `path_links`.
    pub data: (u32, u32),
    /// Range of the return path in `path_links`; empty if there is none and none is needed.
    pub back: (u32, u32),
}

/// Period from `at_s` on, in which class c sends over `class_path_of[c]` (`None`: it cannot send). Epochs with the same
/// links down share their arrays.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Start in seconds.
    pub at_s: f64,
    /// Branch of every class.
    pub class_path_of: Arc<[Option<NonMaxU32>]>,
    /// Classes without a branch, in order.
    pub unrouted: Arc<[u32]>,
    /// Branches over each of the paths of [`CompiledNetwork::controllable`].
    pub control_paths: Arc<[Vec<Option<NonMaxU32>>]>,
}

/// Change of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkEvent {
    /// Time in seconds.
    pub at_s: f64,
    /// The link.
    pub link: u32,
    /// The change.
    pub change: Change,
}

impl CompiledNetwork {
    /// Returns the epoch at this time (s); events at that time are included.
    pub fn epoch_at(&self, time_s: f64) -> usize {
        // The first begins at 0; an event at time 0 opens a second one there.
        let begun = self.epochs.partition_point(|e| e.at_s <= time_s.max(0.0));
        begun - 1
    }

    /// Returns the propagation delay of every link in seconds at this time (s); events at that time are
    /// included.
    pub fn delays_at_s(&self, time_s: f64) -> Vec<f64> {
        let mut delays_s: Vec<f64> = self.links.iter().map(|link| link.delay_s).collect();
        for event in self.events.iter().take_while(|event| event.at_s <= time_s) {
            if let Change::Delay(delay_s) = event.change {
                delays_s[event.link as usize] = delay_s;
            }
        }
        delays_s
    }

    /// Returns the shortest and the longest propagation delay of a link over time, in seconds.
    pub fn delays_s(&self, link: u32) -> (f64, f64) {
        let spec = &self.links[link as usize];
        let of_series = spec
            .series
            .iter()
            .flat_map(|it| &it.series.columns().delays_s);
        let mut between = of_series
            .flatten()
            .map(|&delay_s| (delay_s, delay_s))
            .reduce(|(least, most), (delay_s, _)| (least.min(delay_s), most.max(delay_s)))
            .unwrap_or((spec.delay_s, spec.delay_s));
        for event in self.events.iter().filter(|event| event.link == link) {
            if let Change::Delay(delay_s) = event.change {
                between = if event.at_s <= 0.0 {
                    (delay_s, delay_s)
                } else {
                    (between.0.min(delay_s), between.1.max(delay_s))
                };
            }
        }
        between
    }

    /// Returns the aggregate of a connection.
    pub fn aggregate_of(&self, connection: u32) -> Option<u32> {
        let class = self.class_of[connection as usize];
        self.classes[class as usize].aggregate
    }

    /// Returns whether queues distinguish precedences or edges mark them.
    pub fn has_precedences(&self) -> bool {
        let rio = |link: &LinkSpec| matches!(link.queue, DropPolicy::Rio(_));
        !self.aggregates.is_empty() || self.links.iter().any(rio)
    }

    /// Returns the links of a branch's data path.
    pub fn data_path(&self, branch: u32) -> &[u32] {
        let (start, end) = self.class_paths[branch as usize].data;
        &self.path_links[start as usize..end as usize]
    }

    /// Returns the links of a branch's return path.
    pub fn back_path(&self, branch: u32) -> &[u32] {
        let (start, end) = self.class_paths[branch as usize].back;
        &self.path_links[start as usize..end as usize]
    }

    /// Returns the specification of the connections of a class.
    pub fn spec_of_class(&self, class: u32) -> &ConnectionSpec {
        &self.connections[self.classes[class as usize].connection as usize]
    }
}

/// Links that a branch's packets cross: data, then acknowledgements that count as traffic.
#[derive(Clone, Copy, Debug)]
pub struct PathPair<'a> {
    /// Data path.
    pub data: &'a [u32],
    /// Return path if acknowledgements count as traffic; otherwise empty.
    pub acks: &'a [u32],
    /// Return path, whether or not acknowledgements count as traffic.
    pub back: &'a [u32],
}

impl<'a> PathPair<'a> {
    /// Returns the paths of a branch.
    pub fn new(inner: &'a CompiledNetwork, branch: u32) -> Self {
        let class = inner.class_paths[branch as usize].class;
        PathPair::of(
            inner,
            class,
            inner.data_path(branch),
            inner.back_path(branch),
        )
    }

    /// Returns the paths of a class over these links.
    pub fn of(inner: &'a CompiledNetwork, class: u32, data: &'a [u32], back: &'a [u32]) -> Self {
        PathPair {
            data,
            acks: match inner.spec_of_class(class).acks {
                Acks::None => &[],
                _ => back,
            },
            back,
        }
    }

    /// Returns whether it has no link.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of links; a link that is crossed twice counts twice.
    pub fn len(&self) -> usize {
        self.data.len() + self.acks.len()
    }

    /// Returns the links in the order in which they are crossed.
    pub fn links(&self) -> impl Iterator<Item = u32> + '_ {
        self.data.iter().chain(self.acks).copied()
    }

    /// Returns the link at this position.
    pub fn link(&self, position: usize) -> Option<u32> {
        let acks = || self.acks.get(position - self.data.len());
        self.data.get(position).or_else(acks).copied()
    }
}
