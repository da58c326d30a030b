//! What fails together: the directions of a duplex link, and links that share a risk.

use std::collections::{BTreeMap, BTreeSet};

use netflow_units::duplex_name;

use crate::tables::RiskGroup;
use crate::{LinkId, Network, NetworkBuilder, NodeId};

/// What was told of it while a network is built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Risks {
    /// The other direction of links, both ways.
    pub other_way: BTreeMap<u32, u32>,
    pub groups: BTreeMap<String, BTreeSet<u32>>,
}

impl Risks {
    /// As the network has them: groups in the order of their names, whatever the order in which they were told.
    pub fn tables(self) -> (BTreeMap<u32, u32>, Vec<RiskGroup>) {
        let groups = self.groups.into_iter().map(|(name, links)| RiskGroup {
            name,
            links: links.into_iter().collect(),
        });
        (self.other_way, groups.collect())
    }
}

impl NetworkBuilder {
    /// These two are the directions of one duplex link. Each has a queue of its own and events of its own; who
    /// looks for what may fail takes them for one.
    pub fn duplex(&mut self, there: LinkId, back: LinkId) {
        let ends = [("there", there.1), ("back", back.1)];
        self.must_own(&ends, |_| "a duplex link".to_owned());
        self.risks.other_way.insert(there.0, back.0);
        self.risks.other_way.insert(back.0, there.0);
    }

    /// The link is one of those that fail together, for they share a conduit, a bridge or a supply: the group
    /// of this name. A link can be in several groups.
    pub fn risk_group(&mut self, name: &str, link: LinkId) {
        self.must_own(&[("link", link.1)], |_| format!("risk group {name}"));
        let group = self.risks.groups.entry(name.to_owned()).or_default();
        group.insert(link.0);
    }
}

impl Network {
    /// The other direction of the duplex link that this is a direction of.
    pub fn other_way(&self, id: LinkId) -> Option<LinkId> {
        let inner = &*self.inner;
        let other = inner.other_way.get(&(id.within(inner.owner) as u32));
        other.map(|&link| LinkId(link, inner.owner))
    }

    /// What fails as one: every link, and if it is a direction of a duplex link the other one with it, once.
    pub fn physical_links(&self) -> impl Iterator<Item = (LinkId, Option<LinkId>)> {
        let first = |id: &LinkId| self.other_way(*id).is_none_or(|other| *id < other);
        let all = self.links().filter(first);
        all.map(|id| (id, self.other_way(id)))
    }

    /// What that is called: `A->B`, or `A<->B` of both directions.
    pub fn physical_link_name(&self, id: LinkId) -> String {
        match self.other_way(id) {
            None => self.link_name(id).to_owned(),
            Some(_) => {
                let spec = self.link_spec(id);
                let [from, to] = [spec.from, spec.to].map(|node| self.node_name(node));
                duplex_name(from, to, spec.circuit.as_deref())
            }
        }
    }

    /// The groups of links that fail together, in the order of their names.
    pub fn risk_groups(&self) -> impl ExactSizeIterator<Item = (&str, Vec<LinkId>)> {
        let inner = &*self.inner;
        inner.risk_groups.iter().map(|group| {
            let links = group.links.iter().map(|&link| LinkId(link, inner.owner));
            (&*group.name, links.collect())
        })
    }

    /// The links that lead to a node or away from it.
    pub fn links_at(&self, id: NodeId) -> Vec<LinkId> {
        let place = id.within(self.inner.owner);
        let ends = |link: &LinkId| {
            let spec = self.link_spec(*link);
            spec.from.index() == place || spec.to.index() == place
        };
        self.links().filter(ends).collect()
    }
}
