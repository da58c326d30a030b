//! Validation of explicit paths.

use netflow_document::{ProblemKind, SourceSpan, Spanned};
use netflow_network::{Fallbacks, LastResort, NodeId};

use super::Validator;
use crate::file::{PathSetting, Paths};

/// Difference of the sum of shares from 1 up to which it is rounding.
const SHARE_TOLERANCE: f64 = 1e-6;

/// Invalid path, whose errors were reported.
pub(super) struct InvalidPath;

/// Explicit path of some traffic, or of a share of it.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) share: f64,
    pub(super) nodes: Vec<NodeId>,
    pub(super) fallbacks: Option<Fallbacks>,
}

impl Validator<'_> {
    /// Returns the explicit paths between the two `ends`: several if traffic is divided, none if none is given.
    pub(super) fn routes(
        &mut self,
        path: Option<&Spanned<Vec<Spanned<String>>>>,
        paths: Option<&Spanned<Paths>>,
        ends: Option<(NodeId, NodeId)>,
    ) -> Result<Vec<Route>, InvalidPath> {
        let Some(paths) = paths else {
            let nodes = self.path(path, ends, "path")?;
            let route = |nodes| Route {
                share: 1.0,
                nodes,
                fallbacks: None,
            };
            return Ok(nodes.map(route).into_iter().collect());
        };
        if let Some(path) = path {
            let message = "`path` and `paths` exclude each other".to_owned();
            let help = "make the nodes of `path` the first element of `paths`";
            self.error(ProblemKind::Conflict, path.place(), message, help);
        }
        let mut last = LastResort::OwnPath;
        let (mut all, mut shares) = (Vec::new(), Vec::new());
        let mut is_valid = path.is_none();
        for (i, element) in paths.0.iter().enumerate() {
            let nodes = match &**element {
                PathSetting::Shortest(_) if i > 0 && i + 1 == paths.0.len() => {
                    last = LastResort::ShortestPath;
                    continue;
                }
                PathSetting::Shortest(_) => {
                    let message = "`\"shortest\"` must be the last of several paths".to_owned();
                    let help = "without explicit paths, leave out `paths`";
                    self.error(ProblemKind::Conflict, element.place(), message, help);
                    is_valid = false;
                    continue;
                }
                PathSetting::Nodes(nodes) => &Spanned::new(nodes.clone(), element.place()),
                PathSetting::Shared(shared) => {
                    shares.push(*shared.share);
                    &shared.nodes
                }
            };
            match self.path(Some(nodes), ends, "paths") {
                Ok(nodes) => all.extend(nodes),
                Err(InvalidPath) => is_valid = false,
            }
        }
        is_valid &= self.check_shares(&shares, all.len(), paths.place());
        if !is_valid {
            return Err(InvalidPath);
        }
        if all.is_empty() {
            let message = "`paths` has no path".to_owned();
            self.error(
                ProblemKind::Missing,
                paths.place(),
                message,
                "leave out `paths`",
            );
            return Err(InvalidPath);
        }
        let sum: f64 = shares.iter().sum();
        let divided = if shares.is_empty() { 1 } else { all.len() };
        let route = |i: usize| {
            let others = (0..all.len()).filter(|&other| other != i);
            Route {
                share: shares.get(i).map_or(1.0, |share| share / sum),
                nodes: all[i].clone(),
                fallbacks: Some(Fallbacks {
                    paths: others.map(|other| all[other].clone()).collect(),
                    last,
                }),
            }
        };
        Ok((0..divided).map(route).collect())
    }

    /// Rejects shares of some paths only, and shares that do not sum to 1.
    fn check_shares(&mut self, shares: &[f64], paths: usize, place: SourceSpan) -> bool {
        let sum: f64 = shares.iter().sum();
        let (message, help) = if shares.is_empty() {
            return true;
        } else if shares.len() < paths {
            let message = "`paths` has paths with and without a `share`".to_owned();
            (message, "give all of them a `share`, or none")
        } else if (sum - 1.0).abs() > SHARE_TOLERANCE {
            let message = format!("the shares of `paths` sum to {sum}, not to 1");
            (message, "for example 0.7 and 0.3")
        } else {
            return true;
        };
        self.error(ProblemKind::Conflict, place, message, help);
        false
    }

    /// Returns the number of flows of each route, which sum to `count`. If a route gets none, it reports an error and
    /// returns `None`.
    pub(super) fn flows_of_routes(
        &mut self,
        routes: &[Route],
        count: u32,
        place: SourceSpan,
    ) -> Option<Vec<u32>> {
        let (mut sum, mut given) = (0.0, 0);
        let flows = routes.iter().map(|route| {
            sum += route.share;
            let until = (sum * f64::from(count)).round() as u32;
            until - std::mem::replace(&mut given, until)
        });
        let flows: Vec<u32> = flows.collect();
        if flows.contains(&0) {
            let message =
                format!("the shares of `paths` cannot be had with {count} flows: a path has none");
            let help = "use more flows (`count`, `flows`, `users`), or paths without `share`";
            self.error(ProblemKind::Conflict, place, message, help);
            return None;
        }
        Some(flows)
    }

    /// Returns the nodes of a path between the two `ends`, if one is given.
    pub(super) fn path(
        &mut self,
        path: Option<&Spanned<Vec<Spanned<String>>>>,
        ends: Option<(NodeId, NodeId)>,
        key: &str,
    ) -> Result<Option<Vec<NodeId>>, InvalidPath> {
        let Some(path) = path else { return Ok(None) };
        let mut nodes = Vec::with_capacity(path.len());
        for name in path.iter() {
            nodes.push(self.known_node(name));
        }
        let nodes: Option<Vec<NodeId>> = nodes.into_iter().collect();
        let (Some(nodes), Some((from, to))) = (nodes, ends) else {
            return Err(InvalidPath);
        };
        // The reader rejects paths of fewer than two nodes.
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Err(InvalidPath);
        };
        let mut good = true;
        for (wanted, end, name, verb) in [
            (from, nodes.first(), first, "begins"),
            (to, nodes.last(), last, "ends"),
        ] {
            if end != Some(&wanted) {
                good = false;
                let must = self.node_name(wanted).to_owned();
                let message = format!(
                    "`{key}` {verb} at `{}`, but must {} at `{must}`",
                    **name,
                    &verb[..verb.len() - 1]
                );
                let help = match key {
                    "path" | "paths" => "a path runs from `from` to `to`",
                    _ => "a return path runs from `to` to `from`",
                };
                self.error(ProblemKind::Conflict, name.place(), message, help);
            }
        }
        for (i, name) in path.iter().enumerate() {
            if nodes[..i].contains(&nodes[i]) {
                good = false;
                let message = format!("`{key}` contains `{}` twice", **name);
                self.error(
                    ProblemKind::Conflict,
                    name.place(),
                    message,
                    "a path cannot have loops",
                );
            }
        }
        for (pair, names) in nodes.windows(2).zip(path.windows(2)) {
            let (&[a, b], [_, name]) = (pair, names) else {
                continue;
            };
            if a != b && !self.links.contains_key(&(a, b)) && !self.is_incomplete {
                good = false;
                self.report_missing_link(a, b, name, key);
            }
            if self.bundles.keys().any(|it| (it.0, it.1) == (a, b)) {
                good = false;
                let [from, to] = [a, b].map(|node| self.node_name(node));
                let message = format!("`{key}` uses link `{from}->{to}`, which has `members`");
                let help = "only traffic on shortest paths is divided among members: leave out the path, or `members`";
                self.error(ProblemKind::Conflict, name.place(), message, help);
            }
        }
        if good {
            Ok(Some(nodes))
        } else {
            Err(InvalidPath)
        }
    }

    fn report_missing_link(&mut self, a: NodeId, b: NodeId, name: &Spanned<String>, key: &str) {
        let from = self.node_name(a).to_owned();
        let message = format!(
            "`{key}` uses link `{from}->{}`, which does not exist",
            self.node_name(b)
        );
        let leaving = self.link_list.iter().filter(|link| link.from == a);
        let mut ends: Vec<&str> = leaving.map(|link| self.node_name(link.to)).collect();
        ends.truncate(10);
        let help = if ends.is_empty() {
            format!("`{from}` has no outgoing links")
        } else {
            format!("links from `{from}` end at: {}", ends.join(", "))
        };
        self.error(ProblemKind::UnknownName, name.place(), message, &help);
    }
}
