//! Unavailability of links, nodes and risk groups: the fraction of the time in which each has failed.

use std::collections::BTreeMap;

use crate::{BuildError, LinkId, Network, NetworkBuilder, NodeId};

/// Unavailabilities of the elements that can fail. Other elements never fail.
#[derive(Clone, Debug, Default)]
pub struct Unavailabilities {
    /// Values of links; for a duplex link, that of one direction.
    pub links: BTreeMap<u32, f64>,
    /// Values of nodes.
    pub nodes: BTreeMap<u32, f64>,
    /// Values of risk groups, by name.
    pub groups: BTreeMap<String, f64>,
}

impl NetworkBuilder {
    /// Sets the unavailability of a link: the fraction of the time in which it has failed, below 1. A duplex link has one
    /// for both directions, because they fail together.
    pub fn link_unavailability(&mut self, link: LinkId, value: f64) {
        self.check_owner(&[("link", link.1)], |_| "an unavailability".to_owned());
        self.unavailabilities.links.insert(link.0, value);
    }

    /// Sets the unavailability of a node.
    pub fn node_unavailability(&mut self, node: NodeId, value: f64) {
        self.check_owner(&[("node", node.1)], |_| "an unavailability".to_owned());
        self.unavailabilities.nodes.insert(node.0, value);
    }

    /// Sets the unavailability of a risk group.
    pub fn group_unavailability(&mut self, name: &str, value: f64) {
        let groups = &mut self.unavailabilities.groups;
        groups.insert(name.to_owned(), value);
    }

    pub(crate) fn check_unavailabilities(&self, errors: &mut Vec<BuildError>) {
        let Unavailabilities {
            links,
            nodes,
            groups,
        } = &self.unavailabilities;
        let links = links.iter().map(|(&l, &value)| {
            let link = self.links.get(l as usize);
            let name = link.map_or_else(String::new, |link| self.link_label(link));
            (format!("link {name}"), value)
        });
        let nodes = nodes.iter().map(|(&n, &value)| {
            (
                format!("node {}", self.node_name(NodeId(n, self.owner))),
                value,
            )
        });
        let groups = groups
            .iter()
            .map(|(name, &value)| (format!("risk group {name}"), value));
        let wrong = links
            .chain(nodes)
            .chain(groups)
            .filter(|(_, value)| !(0.0..1.0).contains(value));
        errors.extend(wrong.map(|(subject, value)| BuildError::OutOfRange {
            subject,
            field: "unavailability",
            value,
            allowed: "at least 0 and below 1",
        }));
    }
}

impl Network {
    /// Returns the fraction of the time in which a link has failed; 0 if it never fails. Both directions of a duplex link
    /// have the same.
    pub fn link_unavailability(&self, id: LinkId) -> f64 {
        let of = |id: LinkId| self.inner.unavailabilities.links.get(&id.0).copied();
        let other = || self.opposite_direction(id).and_then(of);
        of(id).or_else(other).unwrap_or(0.0)
    }

    /// Returns the same for a node. Its links fail with it.
    pub fn node_unavailability(&self, id: NodeId) -> f64 {
        let index = id.within(self.inner.owner) as u32;
        let nodes = &self.inner.unavailabilities.nodes;
        nodes.get(&index).copied().unwrap_or(0.0)
    }

    /// Returns the same for a risk group.
    pub fn group_unavailability(&self, name: &str) -> f64 {
        let groups = &self.inner.unavailabilities.groups;
        groups.get(name).copied().unwrap_or(0.0)
    }
}
