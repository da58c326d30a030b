//! Connected components of the network: groups of links without common traffic. Each takes its own steps.

use std::ops::Range;

use netflow_network::compiled::{CompiledNetwork, PathPair};
use petgraph::unionfind::UnionFind;

use super::plan::{LinkPlan, Plan};

/// Layout of one component: its ranges in the arrays of the plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Component {
    /// Links with traffic, by rank.
    pub links: Range<usize>,
    /// Its entries in [`Plan::levels`].
    pub levels: Range<usize>,
    /// Its entries in [`Plan::ends`] and [`Plan::limited`].
    pub ends: Range<usize>,
    pub limited: Range<usize>,
    /// Branches and classes, in increasing order.
    pub branches: Vec<u32>,
    pub classes: Vec<u32>,
    /// True if members of aggregates are among its sources. Aggregates depend on each other, so they are all in one
    /// component.
    pub has_aggregates: bool,
}

/// Returns the component of each link as one of its links.
pub(super) fn component_of_links(inner: &CompiledNetwork, ways: &[PathPair<'_>]) -> Vec<u32> {
    let mut sets: UnionFind<u32> = UnionFind::new(inner.links.len());
    let mut of_class = vec![None; inner.classes.len()];
    let mut of_aggregates = None;
    for (path, way) in inner.class_paths.iter().zip(ways) {
        let class = path.class as usize;
        for link in way.links() {
            sets.union(*of_class[class].get_or_insert(link), link);
            if inner.classes[class].aggregate.is_some() {
                sets.union(*of_aggregates.get_or_insert(link), link);
            }
        }
    }
    for shared in &inner.shared_links {
        for pair in shared.links.windows(2) {
            sets.union(pair[0], pair[1]);
        }
    }
    sets.into_labeling()
}

impl Plan {
    /// Finds the ranges of each component, given the component of every link with traffic.
    pub(super) fn add_components(&mut self, component_of: &[u32]) {
        let of = |l: &LinkPlan| component_of[l.link as usize];
        let crossed = self.levels.last().map_or(0, |&(_, end)| end);
        let mut components: Vec<Component> = Vec::new();
        let mut start = 0;
        for same in self.links[..crossed].chunk_by(|a, b| of(a) == of(b)) {
            let links = start..start + same.len();
            start = links.end;
            let level_at = |rank: usize| self.levels.partition_point(|&(first, _)| first < rank);
            let hops = self.links[links.start].first_hop..self.links[links.end - 1].end_hop;
            let end_at = |hop: u32| self.ends.partition_point(|&end| end < hop);
            components.push(Component {
                levels: level_at(links.start)..level_at(links.end),
                ends: end_at(hops.start)..end_at(hops.end),
                links,
                ..Component::default()
            });
        }
        if components.is_empty() {
            components.push(Component::default());
        }
        let of_rank = |rank: usize| components.partition_point(|c| c.links.end <= rank);
        let places: Vec<usize> = (self.branches.iter())
            .map(|branch| of_rank(self.path[branch.path.0 as usize] as usize))
            .collect();
        for (b, &place) in places.iter().enumerate() {
            let component = &mut components[place];
            component.branches.push(b as u32);
            component.has_aggregates |= self.branches[b].aggregate.is_some();
        }
        for component in &mut components {
            let classes = component.branches.iter();
            component.classes = classes.map(|&b| self.branches[b as usize].class).collect();
            component.classes.sort_unstable();
            component.classes.dedup();
        }
        self.limited
            .sort_by_key(|&b| (places[b as usize], self.branches[b as usize].class, b));
        let mut start = 0;
        for (place, component) in components.iter_mut().enumerate() {
            let of_it = self.limited[start..].iter();
            let end = start + of_it.take_while(|&&b| places[b as usize] == place).count();
            component.limited = start..end;
            start = end;
        }
        self.components = components;
    }
}
