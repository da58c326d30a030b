//! What a network consists of, as engines read it: arrays by dense id.

use std::collections::BTreeMap;

use crate::ids::Owner;
use crate::scheduling::{ClassedLink, Shared};
use crate::settable::Settable;
use crate::users::Users;
use crate::{Acks, AggregateSpec, CalibrationPlan, Change, ConnectionSpec, DropPolicy, LinkSpec};

/// No branch: the class has no route, and cannot send.
pub const NO_BRANCH: u32 = u32::MAX;

/// All of a [`Network`](crate::Network).
#[derive(Debug)]
pub struct Tables {
    /// The mark of its ids.
    pub owner: Owner,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// What links were built from.
    pub links: Vec<LinkSpec>,
    /// `FROM->TO`.
    pub link_names: Vec<String>,
    /// The buffer of each link in packets.
    pub buffer_pkts: Vec<f64>,
    /// What connections were built from.
    pub connections: Vec<ConnectionSpec>,
    /// Class of each connection.
    pub class_of: Vec<u32>,
    /// Identical connections.
    pub classes: Vec<Class>,
    /// Classes on their paths.
    pub branches: Vec<Branch>,
    /// Links of all paths, one after the other.
    pub path_links: Vec<u32>,
    /// When which branch of a class carries its traffic, in order of time; the first is at 0.
    pub epochs: Vec<Epoch>,
    /// What happens to links, in order of time.
    pub events: Vec<LinkEvent>,
    /// What aggregates were built from.
    pub aggregates: Vec<AggregateSpec>,
    /// Workloads with their connections.
    pub workloads: Vec<Users>,
    /// Links with several queues, each of which is a link of its own, behind all others.
    pub shared: Vec<Shared>,
    /// What those were built from.
    pub classed: Vec<ClassedLink>,
    /// Class of the packets of connections, where they have one.
    pub queue_class_of: BTreeMap<u32, String>,
    /// The other direction of each direction of a duplex link.
    pub other_way: BTreeMap<u32, u32>,
    /// Links that fail together, in the order of names.
    pub risk_groups: Vec<RiskGroup>,
    /// Connections of which something may be set on the way, in order.
    pub settable: Vec<Settable>,
    /// How packets are to calibrate it.
    pub calibration: Option<CalibrationPlan>,
    /// What a run may need at most.
    pub memory_limit_bytes: u64,
}

/// Links that share a risk.
#[derive(Clone, Debug)]
pub struct RiskGroup {
    /// What it is called.
    pub name: String,
    /// Its links, in order.
    pub links: Vec<u32>,
}

/// Identical connections, which behave as one.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// The first connection of the class stands for all.
    pub connection: u32,
    /// How many connections it is, the `count` of each included.
    pub weight: f64,
    /// The aggregate it belongs to.
    pub aggregate: Option<u32>,
}

/// A class on one pair of paths; of a conditioned class, the packets of one precedence.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Which class.
    pub class: u32,
    /// Drop precedence of its packets; 0 where nobody marks them.
    pub precedence: u32,
    /// The way of the data in `path_links`.
    pub data: (u32, u32),
    /// The way back in `path_links`; empty where there is none and none is needed.
    pub back: (u32, u32),
}

/// From `at_s` on, class c sends over `branch_of[c]` ([`NO_BRANCH`]: it cannot send).
#[derive(Clone, Debug)]
pub struct Epoch {
    /// When, in seconds.
    pub at_s: f64,
    /// The branch of every class.
    pub branch_of: Vec<u32>,
    /// The branches over each of the paths of [`Tables::settable`].
    pub set: Vec<Vec<u32>>,
}

/// Something that happens to a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkEvent {
    /// When, in seconds.
    pub at_s: f64,
    /// To which link.
    pub link: u32,
    /// What happens.
    pub change: Change,
}

impl Tables {
    /// The epoch at this time (s), the events of that moment included.
    pub fn epoch_at(&self, time_s: f64) -> usize {
        // The first begins at 0; an event at time 0 opens a second one there.
        let begun = self.epochs.partition_point(|e| e.at_s <= time_s.max(0.0));
        begun - 1
    }

    /// The propagation delay of every link in seconds at this time (s), the events of that moment included.
    pub fn delays_at_s(&self, time_s: f64) -> Vec<f64> {
        let mut delays_s: Vec<f64> = self.links.iter().map(|link| link.delay_s).collect();
        for event in self.events.iter().take_while(|event| event.at_s <= time_s) {
            if let Change::Delay(delay_s) = event.change {
                delays_s[event.link as usize] = delay_s;
            }
        }
        delays_s
    }

    /// The shortest and the longest propagation delay that a link has at any time, in seconds.
    pub fn delays_s(&self, link: u32) -> (f64, f64) {
        let own_s = self.links[link as usize].delay_s;
        let mut between = (own_s, own_s);
        for event in self.events.iter().filter(|event| event.link == link) {
            if let Change::Delay(delay_s) = event.change {
                between = match event.at_s <= 0.0 {
                    true => (delay_s, delay_s),
                    false => (between.0.min(delay_s), between.1.max(delay_s)),
                };
            }
        }
        between
    }

    /// The aggregate of a connection.
    pub fn aggregate_of(&self, connection: u32) -> Option<u32> {
        let class = self.class_of[connection as usize];
        self.classes[class as usize].aggregate
    }

    /// Whether queues tell precedences apart, or edges mark them.
    pub fn has_precedences(&self) -> bool {
        let rio = |link: &LinkSpec| matches!(link.queue, DropPolicy::Rio(_));
        !self.aggregates.is_empty() || self.links.iter().any(rio)
    }

    /// The links of a branch's data.
    pub fn data_path(&self, branch: u32) -> &[u32] {
        let (start, end) = self.branches[branch as usize].data;
        &self.path_links[start as usize..end as usize]
    }

    /// The links of a branch's way back.
    pub fn back_path(&self, branch: u32) -> &[u32] {
        let (start, end) = self.branches[branch as usize].back;
        &self.path_links[start as usize..end as usize]
    }

    /// What the connections of a class were built from.
    pub fn spec_of_class(&self, class: u32) -> &ConnectionSpec {
        &self.connections[self.classes[class as usize].connection as usize]
    }
}

/// The links that a branch's packets cross: those of the data, then those of acknowledgements
/// that count as traffic.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// Where data go.
    pub data: &'a [u32],
    /// Where acknowledgements go that count as traffic; nowhere if they do not.
    pub acks: &'a [u32],
    /// Where acknowledgements go, whether or not they count as traffic.
    pub back: &'a [u32],
}

impl<'a> Way<'a> {
    /// That of a branch.
    pub fn new(inner: &'a Tables, branch: u32) -> Self {
        let class = inner.branches[branch as usize].class;
        Way::of(
            inner,
            class,
            inner.data_path(branch),
            inner.back_path(branch),
        )
    }

    /// That of a class over these links.
    pub fn of(inner: &'a Tables, class: u32, data: &'a [u32], back: &'a [u32]) -> Self {
        Way {
            data,
            acks: match inner.spec_of_class(class).acks {
                Acks::None => &[],
                _ => back,
            },
            back,
        }
    }

    /// Whether it has no link.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many links it has, one that is crossed twice counted twice.
    pub fn len(&self) -> usize {
        self.data.len() + self.acks.len()
    }

    /// The links in the order in which they are crossed.
    pub fn links(&self) -> impl Iterator<Item = u32> + '_ {
        self.data.iter().chain(self.acks).copied()
    }

    /// The link at this position.
    pub fn link(&self, position: usize) -> Option<u32> {
        let acks = || self.acks.get(position - self.data.len());
        self.data.get(position).or_else(acks).copied()
    }
}
