//! A network, whichever file it came from.

use netflow_scenario::file::DemandKind;
use netflow_units::Room;

use crate::{Assumption, Format};

/// Nodes, links and demands of a file; what the file does not say is left open.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// What it was read from; `None` of a scenario.
    pub format: Option<Format>,
    /// What the network is called.
    pub name: Option<String>,
    /// What the file says of its origin: `Source`, `NetworkDate` ...
    pub origin: Vec<(String, String)>,
    /// The nodes, in the order of the file.
    pub nodes: Vec<Node>,
    /// The links, in the order of the file; several may have the same ends.
    pub links: Vec<Link>,
    /// What is to be carried from where to where.
    pub demands: Vec<Demand>,
    /// How many demands of the files are 0; they are left out.
    pub zero_demands: usize,
    /// What was assumed while it was read.
    pub assumptions: Vec<Assumption>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name in scenario files, unique.
    pub name: String,
    /// What people call it, where that is not its name.
    pub label: Option<String>,
    /// Where it is.
    pub position: Option<Position>,
    /// How many people live there.
    pub population: Option<f64>,
}

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// On the earth, in degrees.
    Degrees {
        /// East of Greenwich, -180 to 180.
        longitude: f64,
        /// North of the equator, -90 to 90.
        latitude: f64,
    },
    /// On a plane, in units that nobody told.
    Plane {
        /// To the right.
        x: f64,
        /// Upwards.
        y: f64,
    },
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What the file calls it.
    pub name: Option<String>,
    /// The place in the list of nodes where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// Whether it leads one way.
    pub directed: bool,
    /// What is different in the other direction, if it leads both ways.
    pub reverse: Option<Reverse>,
    /// Its bandwidth in bit/s.
    pub bandwidth_bps: Option<f64>,
    /// What there is to say about the bandwidth: which label tells it, or does not.
    pub bandwidth_remark: Option<String>,
    /// Its propagation delay in seconds.
    pub delay_s: Option<f64>,
    /// Its length in km.
    pub length_km: Option<f64>,
    /// What routing takes it to cost.
    pub metric: Option<f64>,
    /// How much its queue holds.
    pub buffer: Option<Room>,
    /// The shared-risk groups that it is in.
    pub srlg: Vec<String>,
}

/// The direction from the end of a link to its beginning: what is not there is as in the other direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reverse {
    /// Its bandwidth in bit/s.
    pub bandwidth_bps: Option<f64>,
    /// Its propagation delay in seconds.
    pub delay_s: Option<f64>,
    /// Its length in km.
    pub length_km: Option<f64>,
    /// What routing takes it to cost.
    pub metric: Option<f64>,
    /// How much its queue holds.
    pub buffer: Option<Room>,
}

impl Reverse {
    /// This, if anything of it is there.
    pub(crate) fn if_any(self) -> Option<Reverse> {
        (self != Reverse::default()).then_some(self)
    }
}

/// What is to be carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The place in the list of nodes of the sender.
    pub from: usize,
    /// Of the receiver.
    pub to: usize,
    /// In bit/s.
    pub rate_bps: f64,
    /// What the traffic is, where the file states it.
    pub kind: Option<DemandKind>,
    /// The class of its packets, where the file states it.
    pub class: Option<String>,
    /// The nodes on its path, sender and receiver included, where the file states it.
    pub path: Option<Vec<usize>>,
}

impl Demand {
    /// So much between two nodes, of which the file states nothing else.
    pub fn new(from: usize, to: usize, rate_bps: f64) -> Demand {
        Demand {
            from,
            to,
            rate_bps,
            kind: None,
            class: None,
            path: None,
        }
    }
}

impl Topology {
    /// What messages call a link: `A->B`, or `A--B` if it leads both ways.
    pub fn link_name(&self, link: &Link) -> String {
        let name = |node: usize| self.nodes.get(node).map_or("?", |node| &*node.name);
        let arrow = if link.directed { "->" } else { "--" };
        format!("{}{arrow}{}", name(link.from), name(link.to))
    }

    /// The ends of every direction that a link leads in.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (usize, usize)> {
        self.links.iter().flat_map(|link| {
            let back = (!link.directed).then_some((link.to, link.from));
            std::iter::once((link.from, link.to)).chain(back)
        })
    }

    /// For every link how many links before it have the same ends, either way round.
    pub fn parallel(&self) -> Vec<usize> {
        let mut seen = std::collections::HashMap::new();
        let ends = self.links.iter().map(|link| {
            let ends = (link.from.min(link.to), link.from.max(link.to));
            let count: &mut usize = seen.entry(ends).or_default();
            *count += 1;
            *count - 1
        });
        ends.collect()
    }
}
