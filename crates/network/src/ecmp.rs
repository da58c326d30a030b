//! Equal-cost multipath (ECMP) routing: flow hashes, and the share of traffic on each path.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::hash::fnv_hash;
use crate::routing::{NextLink, NextLinks, Router};
use crate::{NetworkBuilder, NodeId};

/// Maximum number of equal-cost paths that are distinguished; beyond it, a subset represents all paths.
pub const MAX_PATHS: usize = 64;

/// Maximum number of flows with an individual path each.
pub const MAX_HASHED_FLOWS: u32 = 4096;

/// Weights of next links of equal cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcmpWeights {
    /// Every next link gets the same share.
    #[default]
    Equal,
    /// Shares are in proportion to capacity (UCMP, weighted ECMP). The weight of a link is its bandwidth. If the node
    /// at its end has less outgoing weight than incoming bandwidth, on shortest paths to the receiver, the weight is
    /// reduced by this ratio. Bandwidths are those of [`LinkSpec`](crate::LinkSpec); events do not change them.
    Capacity,
}

/// ECMP hash of a flow, which selects one of the paths of equal cost. At a node with n such next links of equal weight,
/// the integer part of n · hash / 2^64 is the index of the link. The fractional part is the hash at the next
/// node. With weights, each link has a part of the interval in proportion to its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowHash(pub u64);

/// Choice of one of several alternatives by their weights.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// Sum of the weights of the alternatives before it.
    before: u64,
    weight: u32,
    /// Sum of all weights.
    all: u64,
}

impl Choice {
    /// Returns the choices of each of these links.
    fn each(links: &[NextLink]) -> impl Iterator<Item = Choice> {
        let all = links.iter().map(|it| u64::from(it.weight)).sum();
        links.iter().scan(0, move |before, it| {
            let choice = Choice {
                before: *before,
                weight: it.weight,
                all,
            };
            *before += u64::from(it.weight);
            Some(choice)
        })
    }

    /// Returns this choice's share of an amount.
    fn share_of(self, amount: f64) -> f64 {
        amount * f64::from(self.weight) / self.all as f64
    }
}

impl FlowHash {
    /// Returns one of these links; the fractional part remains for the next choice.
    pub(crate) fn choose(&mut self, links: &[NextLink]) -> Option<u32> {
        let all: u64 = links.iter().map(|it| u64::from(it.weight)).sum();
        let mut rest = u128::from(self.0) * u128::from(all);
        for it in links {
            let part = u128::from(it.weight) << 64;
            if rest < part {
                self.0 = (rest / u128::from(it.weight)) as u64;
                return Some(it.link);
            }
            rest -= part;
        }
        None
    }

    /// Returns the middle of all hashes that make these choices.
    fn of(choices: &[Choice]) -> FlowHash {
        let within = choices.iter().rev().fold(1_u128 << 63, |rest, it| {
            ((u128::from(it.before) << 64) + rest * u128::from(it.weight)) / u128::from(it.all)
        });
        FlowHash(within as u64)
    }
}

/// Share of one path in traffic that ECMP splits over all paths of equal cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathShare {
    /// Hash of a flow on this path.
    pub flow: FlowHash,
    /// Share of the traffic: every node splits it over its next links of equal cost by their [weights](EcmpWeights).
    pub share: f64,
    /// True if it represents more paths than can be distinguished, so that link loads are inexact.
    pub is_approximate: bool,
}

/// Share of ECMP traffic, as an interval of [0, 1] on which the shares of all paths are lined up. After a
/// failure it maps to the remaining paths whose intervals overlap it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcmpShare {
    /// Lower end.
    pub(crate) from: f64,
    /// Upper end.
    pub(crate) until: f64,
}

impl EcmpShare {
    /// Returns the portions of paths with these shares, in the same order. Shares are positive and are
    /// normalized to their sum.
    pub fn of_each(shares: impl ExactSizeIterator<Item = f64> + Clone) -> Vec<EcmpShare> {
        let (all, last) = (shares.clone().sum::<f64>(), shares.len().saturating_sub(1));
        let mut from = 0.0;
        let portion = |(i, share)| {
            // The last one takes the rounding error.
            let until = if i == last { 1.0 } else { from + share / all };
            EcmpShare {
                from: std::mem::replace(&mut from, until),
                until,
            }
        };
        shares.enumerate().map(portion).collect()
    }

    /// Returns the fraction of this portion that lies in another.
    pub(crate) fn fraction_within(self, other: EcmpShare) -> f64 {
        let both = self.until.min(other.until) - self.from.max(other.from);
        let part = both / (self.until - self.from);
        if part > ROUNDING { part } else { 0.0 }
    }
}

/// Search for paths of equal cost over the current links of a builder.
#[derive(Debug)]
pub struct EqualPaths {
    router: Arc<Router>,
    down: Vec<bool>,
    /// Next links by receiver, up to [`MAX_CACHED_LINKS`]; the demands of a matrix arrive in any order.
    toward: HashMap<NodeId, NextLinks>,
    /// Number of entries in `toward`.
    cached_links: usize,
}

/// Maximum number of cached entries, of eight bytes each.
const MAX_CACHED_LINKS: usize = 1 << 25;

impl NetworkBuilder {
    /// Returns a search for equal-cost paths, by metric or delay, over the current links.
    pub fn equal_paths(&self) -> EqualPaths {
        EqualPaths::new(Arc::new(self.router()), vec![false; self.links.len()])
    }
}

impl EqualPaths {
    pub(crate) fn new(router: Arc<Router>, down: Vec<bool>) -> EqualPaths {
        EqualPaths {
            router,
            down,
            toward: HashMap::new(),
            cached_links: 0,
        }
    }

    fn next_links_toward(&mut self, to: NodeId) -> (&Router, &NextLinks) {
        if !self.toward.contains_key(&to) {
            let next = self.router.next_links_to(to.0, &self.down);
            if self.cached_links + next.items() > MAX_CACHED_LINKS {
                self.toward.clear();
                self.cached_links = 0;
            }
            self.cached_links += next.items();
            self.toward.insert(to, next);
        }
        (&self.router, &self.toward[&to])
    }

    /// Returns for each pair of nodes whether there are several paths from the first to the second.
    pub fn have_several_paths(&self, pairs: &[(NodeId, NodeId)]) -> Vec<bool> {
        let pairs: Vec<_> = pairs.iter().map(|(from, to)| (from.0, to.0)).collect();
        self.router.have_several_paths(&pairs, &self.down)
    }

    /// Returns paths between two nodes with their shares, which sum to 1; none if the nodes are not
    /// connected. With at most [`MAX_PATHS`] paths it returns all. Otherwise it returns a subset that loads
    /// every link as all paths would. If hashes cannot distinguish even these, it returns flows of equal
    /// shares.
    pub fn shares(&mut self, from: NodeId, to: NodeId) -> Vec<PathShare> {
        let (router, next) = self.next_links_toward(to);
        let mut all = PathEnumeration {
            router,
            next,
            to: to.0,
            choices: Vec::new(),
            found: Vec::new(),
        };
        if all.enumerate(from.0, 1.0) {
            return all.found;
        }
        let loads = PathDecomposition {
            router,
            next,
            to: to.0,
        };
        loads.decompose(from.0).unwrap_or_else(|| {
            let part = |i| PathShare {
                flow: FlowHash::of(&[Choice {
                    before: i,
                    weight: 1,
                    all: MAX_PATHS as u64,
                }]),
                share: 1.0 / MAX_PATHS as f64,
                is_approximate: true,
            };
            (0..MAX_PATHS as u64).map(part).collect()
        })
    }

    /// Returns the links of each path between two nodes with its share, as [`EqualPaths::shares`].
    pub(crate) fn paths_with_shares(&mut self, from: NodeId, to: NodeId) -> Vec<(Vec<u32>, f64)> {
        let shares = self.shares(from, to);
        let (router, next) = self.next_links_toward(to);
        let path = |it: PathShare| Some((router.walk(from.0, to.0, it.flow, next)?, it.share));
        shares.into_iter().filter_map(path).collect()
    }

    /// Returns the paths of `count` flows with this name, as one flow hash per path and the number of flows
    /// on it. It is empty without a path. Each flow's path depends on the name and its number. With more than
    /// [`MAX_HASHED_FLOWS`] flows, each path gets its share of them.
    pub fn flows(
        &mut self,
        from: NodeId,
        to: NodeId,
        name: &str,
        count: u32,
    ) -> Vec<(FlowHash, u32)> {
        if count > MAX_HASHED_FLOWS {
            return self.split_flows(from, to, count);
        }
        let (router, next) = self.next_links_toward(to);
        let mut paths: Vec<Vec<u32>> = Vec::new();
        let mut together: Vec<(FlowHash, u32)> = Vec::new();
        for i in 0..count {
            let flow = FlowHash(fnv_hash((name, i)));
            let Some(path) = router.walk(from.0, to.0, flow, next) else {
                return Vec::new();
            };
            match paths.iter().position(|it| *it == path) {
                Some(known) => together[known].1 += 1,
                None => {
                    paths.push(path);
                    together.push((flow, 1));
                }
            }
        }
        together
    }

    /// Returns every path with its share of `count`, rounded to whole numbers that sum to `count`.
    fn split_flows(&mut self, from: NodeId, to: NodeId, count: u32) -> Vec<(FlowHash, u32)> {
        let mut sum = 0.0;
        let mut given = 0;
        let each = self.shares(from, to).into_iter().map(|part| {
            sum += part.share;
            let until = (sum * f64::from(count)).round() as u32;
            let of_this = until - given;
            given = until;
            (part.flow, of_this)
        });
        each.filter(|&(_, flows)| flows > 0).collect()
    }
}

/// Depth-first enumeration of all paths.
struct PathEnumeration<'a> {
    router: &'a Router,
    next: &'a NextLinks,
    to: u32,
    choices: Vec<Choice>,
    found: Vec<PathShare>,
}

impl PathEnumeration<'_> {
    /// Adds the paths beyond a node; returns false if there are more than [`MAX_PATHS`].
    fn enumerate(&mut self, at: u32, share: f64) -> bool {
        if at == self.to {
            let flow = FlowHash::of(&self.choices);
            self.found.push(PathShare {
                flow,
                share,
                is_approximate: false,
            });
            return self.found.len() <= MAX_PATHS;
        }
        let next = self.next;
        let links = next.row(at as usize);
        for (it, choice) in links.iter().zip(Choice::each(links)) {
            self.choices.push(choice);
            let few = self.enumerate(self.router.end_node(it.link), choice.share_of(share));
            self.choices.pop();
            if !few {
                return false;
            }
        }
        true
    }
}

/// Load of each link by the traffic from one node to another.
struct PathDecomposition<'a> {
    router: &'a Router,
    next: &'a NextLinks,
    to: u32,
}

/// Share of traffic on a link below which it is rounding error.
const ROUNDING: f64 = 1e-12;

impl PathDecomposition<'_> {
    /// Returns paths that load every link as all paths would (flow decomposition). Each path follows the
    /// links with the highest remaining load and takes their minimum, which uses up at least one link.
    /// Returns `None` if no hash selects one of these paths.
    fn decompose(&self, from: u32) -> Option<Vec<PathShare>> {
        let mut left = self.shares(from);
        let mut found = Vec::new();
        let mut rest = 1.0;
        while rest > ROUNDING {
            let (mut at, mut share) = (from, rest);
            let (mut choices, mut path) = (Vec::new(), Vec::new());
            while at != self.to {
                let links = self.next.row(at as usize);
                let load = |it: &NextLink| left[&it.link];
                let each = links.iter().zip(Choice::each(links));
                let most =
                    each.reduce(|best, it| if load(it.0) > load(best.0) { it } else { best });
                let (next, choice) = most?;
                choices.push(choice);
                share = load(next).min(share);
                path.push(next.link);
                at = self.router.end_node(next.link);
            }
            let flow = FlowHash::of(&choices);
            let way = self.router.walk(from, self.to, flow, self.next);
            if way.as_ref() != Some(&path) || share <= 0.0 {
                return None;
            }
            for link in &path {
                *left.get_mut(link)? -= share;
            }
            rest -= share;
            found.push(PathShare {
                flow,
                share,
                is_approximate: false,
            });
        }
        // The first path takes the rounding error.
        found.first_mut()?.share += rest;
        Some(found)
    }

    /// Returns the share of the traffic on each link of a path.
    fn shares(&self, from: u32) -> HashMap<u32, f64> {
        let mut links = HashMap::new();
        let mut here = HashMap::from([(from, 1.0)]);
        for node in self.topological_order(from) {
            let next = self.next.row(node as usize);
            let arriving = here.get(&node).copied().unwrap_or(0.0);
            for (it, choice) in next.iter().zip(Choice::each(next)) {
                let share = choice.share_of(arriving);
                links.insert(it.link, share);
                *here.entry(self.router.end_node(it.link)).or_default() += share;
            }
        }
        links
    }

    /// Returns the nodes of all paths before the receiver, in topological order.
    fn topological_order(&self, from: u32) -> Vec<u32> {
        let mut seen = HashSet::from([from]);
        let mut order = Vec::new();
        // Stack of nodes, with the number of their links already followed.
        let mut open = vec![(from, 0)];
        while let Some((node, followed)) = open.last_mut() {
            let link = self.next.row(*node as usize).get(*followed);
            *followed += 1;
            match link.map(|it| self.router.end_node(it.link)) {
                Some(end) if end != self.to && seen.insert(end) => open.push((end, 0)),
                Some(_) => {}
                None => {
                    order.push(*node);
                    open.pop();
                }
            }
        }
        order.reverse();
        order
    }
}
