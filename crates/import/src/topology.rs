//! A network independent of its file format.

use netflow_scenario::file::DemandKind;
use netflow_units::BufferSize;

use crate::{Assumption, Format};

/// Nodes, links and demands of a file. Information that the file lacks stays undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Format of its file; `None` for a scenario.
    pub format: Option<Format>,
    /// Name of the network.
    pub name: Option<String>,
    /// Metadata about its origin: `Source`, `NetworkDate` ...
    pub origin: Vec<(String, String)>,
    /// The nodes, in the order of the file.
    pub nodes: Vec<Node>,
    /// The links, in the order of the file; several may have the same ends.
    pub links: Vec<Link>,
    /// Traffic demands between nodes.
    pub demands: Vec<Demand>,
    /// Number of demands that are 0, which are left out.
    pub zero_demands: usize,
    /// Assumptions made during reading.
    pub assumptions: Vec<Assumption>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name in scenario files, unique.
    pub name: String,
    /// Display name, if it differs from the name.
    pub label: Option<String>,
    /// Its position.
    pub position: Option<Position>,
    /// Number of inhabitants.
    pub population: Option<f64>,
}

/// The position of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// Geographic coordinates in degrees.
    Degrees {
        /// East of Greenwich, -180 to 180.
        longitude: f64,
        /// North of the equator, -90 to 90.
        latitude: f64,
    },
    /// Coordinates on a plane, in an unknown unit.
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
    /// Its name in the file.
    pub name: Option<String>,
    /// Index of the node where it begins.
    pub from: usize,
    /// Index of the node where it ends.
    pub to: usize,
    /// True if it is unidirectional.
    pub directed: bool,
    /// Properties that differ in the opposite direction, if it is bidirectional.
    pub reverse: Option<Reverse>,
    /// Its bandwidth in bit/s.
    pub bandwidth_bps: Option<f64>,
    /// Remark on the bandwidth: the label from which it was parsed, or which did not contain one.
    pub bandwidth_remark: Option<String>,
    /// Its propagation delay in seconds.
    pub delay_s: Option<f64>,
    /// Its length in km.
    pub length_km: Option<f64>,
    /// Routing metric.
    pub metric: Option<f64>,
    /// Buffer size of its queue.
    pub buffer: Option<BufferSize>,
    /// Shared-risk groups that contain it.
    pub srlg: Vec<String>,
    /// Further settings, which only scenarios and `tc` have.
    pub settings: LinkSettings,
}

/// Further settings of a link: keys of `[[link]]` and their values as TOML.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSettings {
    /// Keys of the link.
    pub keys: Vec<(&'static str, String)>,
    /// Keys of each of its classes.
    pub classes: Vec<Vec<(&'static str, String)>>,
    /// Names of the classes with a queue.
    pub leaves: Vec<String>,
}

impl LinkSettings {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.classes.is_empty()
    }

    /// Returns the settings as lines that follow other keys of `[[link]]`.
    pub fn as_toml(&self) -> String {
        let mut text = String::new();
        let tables = std::iter::once(&self.keys).chain(&self.classes);
        for (place, keys) in tables.enumerate() {
            if place > 0 {
                text += "\n[[link.class]]\n";
            }
            for (key, value) in keys {
                text += &format!("{key:9} = {value}\n");
            }
        }
        text
    }
}

/// The opposite direction of a link. Missing properties are equal to those of the forward direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reverse {
    /// Its bandwidth in bit/s.
    pub bandwidth_bps: Option<f64>,
    /// Its propagation delay in seconds.
    pub delay_s: Option<f64>,
    /// Its length in km.
    pub length_km: Option<f64>,
    /// Routing metric.
    pub metric: Option<f64>,
    /// Buffer size of its queue.
    pub buffer: Option<BufferSize>,
}

impl Reverse {
    /// Returns `self` if any property differs.
    pub(crate) fn if_any(self) -> Option<Reverse> {
        (self != Reverse::default()).then_some(self)
    }
}

/// A traffic demand between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Node index of the sender.
    pub from: usize,
    /// Node index of the receiver.
    pub to: usize,
    /// Rate in bit/s.
    pub rate_bps: f64,
    /// Kind of traffic, if the file states it.
    pub kind: Option<DemandKind>,
    /// Class of its packets, if the file states it.
    pub class: Option<String>,
    /// Indices of the nodes on its path, sender and receiver included, if the file states it.
    pub path: Option<Vec<usize>>,
}

impl Demand {
    /// Returns a demand of this rate without further properties.
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
    /// Returns the name of a link in messages: `A->B`, or `A--B` if it is bidirectional.
    pub fn link_name(&self, link: &Link) -> String {
        let name = |node: usize| self.nodes.get(node).map_or("?", |node| &*node.name);
        let arrow = if link.directed { "->" } else { "--" };
        format!("{}{arrow}{}", name(link.from), name(link.to))
    }

    /// Returns the ends of each direction of each link.
    pub(crate) fn directions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.links.iter().flat_map(|link| {
            let back = (!link.directed).then_some((link.to, link.from));
            std::iter::once((link.from, link.to)).chain(back)
        })
    }

    /// Returns, for every link, the number of earlier links with the same ends in either order.
    pub fn parallel_link_numbers(&self) -> Vec<usize> {
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
