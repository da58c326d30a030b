//! Resolution of explicit paths, and of return paths by reversal.

use std::collections::HashSet;

use crate::routing::Router;
use crate::{BuildError, ConnectionSpec, Fallbacks, LastResort, NetworkBuilder, NodeId};

/// Resolver of explicit paths, with the state of the links.
#[derive(Clone, Copy)]
pub(crate) struct ExplicitPaths<'a> {
    pub builder: &'a NetworkBuilder,
    pub router: &'a Router,
    pub down: &'a [bool],
}

/// Resolved explicit path of a connection.
#[derive(Debug, PartialEq)]
pub(crate) enum ExplicitPath {
    /// No explicit path, or none that works and the shortest path instead.
    None,
    /// Its links.
    Links(Vec<u32>),
    /// A path that is not valid; an error was added.
    Invalid,
}

/// Opposite direction of each link: unknown, none, or a link.
pub(crate) struct Opposites(Vec<Option<Option<u32>>>);

impl ExplicitPaths<'_> {
    /// Returns unknown opposite directions of all links.
    pub fn opposites(&self) -> Opposites {
        Opposites(vec![None; self.builder.links.len()])
    }

    /// Returns the first of these paths whose links all work, otherwise the last resort.
    pub fn first_working(
        &self,
        spec: &ConnectionSpec,
        own: &[NodeId],
        others: Option<&Fallbacks>,
        ends: (NodeId, NodeId),
        errors: &mut Vec<BuildError>,
    ) -> ExplicitPath {
        let mut paths = vec![own];
        paths.extend(
            others
                .iter()
                .flat_map(|it| it.paths.iter().map(Vec::as_slice)),
        );
        let links = paths
            .iter()
            .map(|nodes| self.path(spec, nodes, ends, errors));
        let links: Option<Vec<Vec<u32>>> = links.collect();
        let Some(mut links) = links else {
            return ExplicitPath::Invalid;
        };
        let all_work = |path: &Vec<u32>| path.iter().all(|&link| self.works(link));
        match (links.iter().position(all_work), others.map(|it| it.last)) {
            (Some(first), _) => ExplicitPath::Links(links.swap_remove(first)),
            (None, Some(LastResort::ShortestPath)) => ExplicitPath::None,
            (None, Some(LastResort::OwnPath) | None) => ExplicitPath::Links(links.swap_remove(0)),
        }
    }

    /// Returns the links along these nodes, which must start and end at `ends`. If this is not a valid path,
    /// it adds an error and returns `None`.
    pub fn path(
        &self,
        spec: &ConnectionSpec,
        nodes: &[NodeId],
        ends: (NodeId, NodeId),
        errors: &mut Vec<BuildError>,
    ) -> Option<Vec<u32>> {
        let mut bad = |reason| {
            errors.push(BuildError::BadPath {
                connection: spec.name.clone(),
                reason,
            });
            None
        };
        let name = |node| self.builder.node_name(node);
        if nodes.first() != Some(&ends.0) || nodes.last() != Some(&ends.1) {
            let (from, to) = (name(ends.0), name(ends.1));
            return bad(format!("its path must lead from {from} to {to}"));
        }
        let mut seen = HashSet::new();
        if let Some(&again) = nodes.iter().find(|&&node| !seen.insert(node)) {
            return bad(format!("its path contains {} twice", name(again)));
        }
        let mut path = Vec::with_capacity(nodes.len() - 1);
        for pair in nodes.windows(2) {
            match self.one_between(pair[0].0, pair[1].0) {
                Some(link) if self.is_member(link) => {
                    let (a, b) = (name(pair[0]), name(pair[1]));
                    return bad(format!(
                        "its path uses the bundle {a}->{b}; only traffic without a path is divided among the members"
                    ));
                }
                Some(link) => path.push(link),
                None => {
                    let (a, b) = (name(pair[0]), name(pair[1]));
                    return bad(format!("its path uses link {a}->{b}, which does not exist"));
                }
            }
        }
        Some(path)
    }

    /// Returns the reversed path, over each link's opposite direction. If that is down, it uses another link
    /// between the same nodes. Returns `None` if there is no reverse link, or if none works and the path is
    /// not pinned. `known` keeps the results of single links.
    pub fn reversed(&self, path: &[u32], pinned: bool, known: &mut Opposites) -> Option<Vec<u32>> {
        let mut backwards = Vec::with_capacity(path.len());
        for &link in path.iter().rev() {
            let opposite = &mut known.0[link as usize];
            let back = (*opposite.get_or_insert_with(|| self.opposite(link)))?;
            if !pinned && !self.works(back) {
                return None;
            }
            backwards.push(back);
        }
        Some(backwards)
    }

    /// Returns the link for the opposite direction of a link, if there is one.
    fn opposite(&self, link: u32) -> Option<u32> {
        let spec = &self.builder.links[link as usize];
        let of_circuit = |other: &u32| {
            let other = &self.builder.links[*other as usize];
            other.circuit == spec.circuit
        };
        let between = || self.router.links_between(spec.to.0, spec.from.0);
        let partners = &self.builder.risk_groups.opposite_directions;
        let partner = partners.get(&link).copied();
        match partner.or_else(|| between().find(of_circuit)) {
            Some(own) if self.works(own) => Some(own),
            _ => self.one_between(spec.to.0, spec.from.0),
        }
    }

    fn is_member(&self, link: u32) -> bool {
        let bundles = &self.builder.bundles;
        bundles.iter().any(|it| it.members.contains(&link))
    }

    fn works(&self, link: u32) -> bool {
        !self.down[link as usize]
    }

    /// Returns the preferred working link between two nodes; the preferred one if none works.
    fn one_between(&self, from: u32, to: u32) -> Option<u32> {
        let mut links = self.router.links_between(from, to);
        let works = links.find(|&link| self.works(link));
        works.or_else(|| self.router.links_between(from, to).next())
    }
}
