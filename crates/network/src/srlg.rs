//! Links that fail together: the directions of a duplex link, and shared-risk link groups (SRLG, RFC 4202).

use std::collections::{BTreeMap, BTreeSet};

use netflow_units::duplex_name;

use crate::compiled::RiskGroup;
use crate::{LinkId, Network, NetworkBuilder, NodeId};

/// Duplex links and risk groups while a network is built.
#[derive(Clone, Debug, Default)]
pub(crate) struct RiskGroups {
    /// Opposite direction of each duplex link, in both directions.
    pub opposite_directions: BTreeMap<u32, u32>,
    pub groups: BTreeMap<String, BTreeSet<u32>>,
}

impl RiskGroups {
    /// Returns the tables of the network, with groups sorted by name.
    pub fn into_parts(self) -> (BTreeMap<u32, u32>, Vec<RiskGroup>) {
        let groups = self.groups.into_iter().map(|(name, links)| RiskGroup {
            name,
            links: links.into_iter().collect(),
        });
        (self.opposite_directions, groups.collect())
    }
}

impl NetworkBuilder {
    /// Declares these links as the two directions of one duplex link. Each has its own queue and its own
    /// events. Failure analysis treats them as one link.
    pub fn duplex(&mut self, there: LinkId, back: LinkId) {
        let ends = [("there", there.1), ("back", back.1)];
        self.check_owner(&ends, |_| "a duplex link".to_owned());
        self.risk_groups.opposite_directions.insert(there.0, back.0);
        self.risk_groups.opposite_directions.insert(back.0, there.0);
    }

    /// Adds the link to the shared-risk link group of this name. Its links fail together because they share a
    /// conduit, a bridge or a power supply. A link can be in several groups.
    pub fn risk_group(&mut self, name: &str, link: LinkId) {
        self.check_owner(&[("link", link.1)], |_| format!("risk group {name}"));
        let group = self.risk_groups.groups.entry(name.to_owned()).or_default();
        group.insert(link.0);
    }
}

impl Network {
    /// Returns the opposite direction, if the link is a direction of a duplex link.
    pub fn opposite_direction(&self, id: LinkId) -> Option<LinkId> {
        let inner = &*self.inner;
        let other = inner
            .opposite_direction
            .get(&(id.within(inner.owner) as u32));
        other.map(|&link| LinkId(link, inner.owner))
    }

    /// Returns the physical links. A duplex link appears once, as its first direction and the other one.
    pub fn physical_links(&self) -> impl Iterator<Item = (LinkId, Option<LinkId>)> {
        let first = |id: &LinkId| self.opposite_direction(*id).is_none_or(|other| *id < other);
        let all = self.links().filter(first);
        all.map(|id| (id, self.opposite_direction(id)))
    }

    /// Returns the name of the physical link: `A->B`, or `A<->B` for both directions, in the order of the direction that was
    /// added first.
    pub fn physical_link_name(&self, id: LinkId) -> String {
        match self.opposite_direction(id) {
            None => self.link_name(id).to_owned(),
            Some(other) => {
                let spec = self.link_spec(id.min(other));
                let [from, to] = [spec.from, spec.to].map(|node| self.node_name(node));
                duplex_name(from, to, spec.circuit.as_deref())
            }
        }
    }

    /// Returns the shared-risk link groups, sorted by name.
    pub fn risk_groups(&self) -> impl ExactSizeIterator<Item = (&str, Vec<LinkId>)> {
        let inner = &*self.inner;
        inner.risk_groups.iter().map(|group| {
            let links = group.links.iter().map(|&link| LinkId(link, inner.owner));
            (&*group.name, links.collect())
        })
    }

    /// Returns the links that start or end at a node.
    pub fn links_at(&self, id: NodeId) -> Vec<LinkId> {
        let place = id.within(self.inner.owner);
        let ends = |link: &LinkId| {
            let spec = self.link_spec(*link);
            spec.from.index() == place || spec.to.index() == place
        };
        self.links().filter(ends).collect()
    }
}
