//! Flows that share paths of equal cost.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::hash::hash_of;
use crate::routing::{NextLinks, Router};
use crate::{NetworkBuilder, NodeId};

/// Paths of equal cost that are told apart; where there are more, some stand for all.
pub const MOST_PATHS: usize = 64;

/// Flows that are told apart, each with a path of its own choice.
pub const MOST_HASHED: u32 = 4096;

/// Which of the paths of equal cost a flow takes. At a node where n links begin such paths, the number as a part of
/// 2^64, times n, says which link; what is behind the point decides at the next node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowHash(pub u64);

impl FlowHash {
    /// Which of so many, from 0; the rest stays for the next choice.
    pub(crate) fn choose(&mut self, of: usize) -> usize {
        let product = u128::from(self.0) * of as u128;
        self.0 = product as u64;
        (product >> 64) as usize
    }

    /// The middle of all flows that choose so: which of how many, in order.
    fn of(choices: &[(usize, usize)]) -> FlowHash {
        let within = choices
            .iter()
            .rev()
            .fold(1_u128 << 63, |rest, &(which, of)| {
                (((which as u128) << 64) + rest) / of as u128
            });
        FlowHash(within as u64)
    }
}

/// What one of several paths of equal cost has of the traffic that is led over all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathShare {
    /// A flow on it.
    pub flow: FlowHash,
    /// Its part of the traffic: every node gives the same to all links that begin such paths.
    pub share: f64,
    /// Whether it is one of the flows that stand for more paths than can be told apart: links then have other loads.
    pub stands_for_more: bool,
}

/// A part of traffic that is divided among all paths of equal cost: where it begins and ends, if one path's part follows another's and
/// all of it is from 0 to 1. After a failure it takes those of the paths left that have the same place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    /// Where it begins.
    pub(crate) from: f64,
    /// Where it ends.
    pub(crate) until: f64,
}

impl Portion {
    /// What paths with these shares have of it, in the same order; shares are positive, and count beside their sum.
    pub fn of_each(shares: impl ExactSizeIterator<Item = f64> + Clone) -> Vec<Portion> {
        let (all, last) = (shares.clone().sum::<f64>(), shares.len().saturating_sub(1));
        let mut from = 0.0;
        let portion = |(i, share)| {
            // The last has what rounding left.
            let until = if i == last { 1.0 } else { from + share / all };
            Portion {
                from: std::mem::replace(&mut from, until),
                until,
            }
        };
        shares.enumerate().map(portion).collect()
    }

    /// The part of this that is in another.
    pub(crate) fn part_in(self, other: Portion) -> f64 {
        let both = self.until.min(other.until) - self.from.max(other.from);
        let part = both / (self.until - self.from);
        if part > ROUNDING { part } else { 0.0 }
    }
}

/// Looks for paths of equal cost among the links that a builder has so far.
#[derive(Debug)]
pub struct EqualPaths {
    router: Arc<Router>,
    down: Vec<bool>,
    /// By receiver, as many as there is room for: demands of a matrix come in any order.
    toward: HashMap<NodeId, NextLinks>,
    /// The numbers in them.
    kept: usize,
}

/// So many numbers are kept at most, of four bytes each.
const MOST_KEPT: usize = 1 << 26;

impl NetworkBuilder {
    /// The paths of equal cost, by metric or by delay, over the links there are now.
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
            kept: 0,
        }
    }

    fn toward(&mut self, to: NodeId) -> (&Router, &NextLinks) {
        if !self.toward.contains_key(&to) {
            let next = self.router.next_links(to.0, &self.down);
            if self.kept + next.size() > MOST_KEPT {
                self.toward.clear();
                self.kept = 0;
            }
            self.kept += next.size();
            self.toward.insert(to, next);
        }
        (&self.router, &self.toward[&to])
    }

    /// Whether there are several paths between two nodes.
    pub fn are_several(&mut self, from: NodeId, to: NodeId) -> bool {
        let (router, next) = self.toward(to);
        let mut at = from.0;
        while at != to.0 {
            match *next.of(at) {
                [link] => match router.end(link) {
                    Some(end) => at = end,
                    None => return false,
                },
                [] => return false,
                _ => return true,
            }
        }
        false
    }

    /// Paths between two nodes with their shares, which sum to 1; none where there is no way. These are all paths that
    /// there are, or of more than [`MOST_PATHS`] some that together load every link as all would; where not even these
    /// can be told apart, flows of equal shares stand for them.
    pub fn shares(&mut self, from: NodeId, to: NodeId) -> Vec<PathShare> {
        let (router, next) = self.toward(to);
        let mut all = All {
            router,
            next,
            to: to.0,
            choices: Vec::new(),
            found: Vec::new(),
        };
        if all.look(from.0, 1.0) {
            return all.found;
        }
        let loads = Loads {
            router,
            next,
            to: to.0,
        };
        loads.decomposed(from.0).unwrap_or_else(|| {
            let part = |i| PathShare {
                flow: FlowHash::of(&[(i, MOST_PATHS)]),
                share: 1.0 / MOST_PATHS as f64,
                stands_for_more: true,
            };
            (0..MOST_PATHS).map(part).collect()
        })
    }

    /// So many flows of what has this name, those on the same path together: one of them, and how many they are.
    /// None where there is no way. The path of each follows from the name and its number; of more than
    /// [`MOST_HASHED`] every path has its share.
    pub fn flows(
        &mut self,
        from: NodeId,
        to: NodeId,
        name: &str,
        count: u32,
    ) -> Vec<(FlowHash, u32)> {
        if count > MOST_HASHED {
            return self.divided(from, to, count);
        }
        let (router, next) = self.toward(to);
        let mut paths: Vec<Vec<u32>> = Vec::new();
        let mut together: Vec<(FlowHash, u32)> = Vec::new();
        for i in 0..count {
            let flow = FlowHash(hash_of((name, i)));
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

    /// Every path with its share of so many, in whole numbers whose sum they are.
    fn divided(&mut self, from: NodeId, to: NodeId, count: u32) -> Vec<(FlowHash, u32)> {
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

/// A walk over all paths.
struct All<'a> {
    router: &'a Router,
    next: &'a NextLinks,
    to: u32,
    choices: Vec<(usize, usize)>,
    found: Vec<PathShare>,
}

impl All<'_> {
    /// Adds what is beyond a node; false if that is too much.
    fn look(&mut self, at: u32, share: f64) -> bool {
        if at == self.to {
            let flow = FlowHash::of(&self.choices);
            self.found.push(PathShare {
                flow,
                share,
                stands_for_more: false,
            });
            return self.found.len() <= MOST_PATHS;
        }
        let next = self.next;
        let links = next.of(at);
        for (which, &link) in links.iter().enumerate() {
            let Some(end) = self.router.end(link) else {
                continue;
            };
            self.choices.push((which, links.len()));
            let few = self.look(end, share / links.len() as f64);
            self.choices.pop();
            if !few {
                return false;
            }
        }
        true
    }
}

/// What each link has of the traffic from one node to another.
struct Loads<'a> {
    router: &'a Router,
    next: &'a NextLinks,
    to: u32,
}

/// Less of all traffic on a link is rounding.
const ROUNDING: f64 = 1e-12;

impl Loads<'_> {
    /// Paths that load every link as all paths would: one after the other over the links with most left, each with as
    /// much as there is on all of it, which ends at least at one link (flow decomposition). `None` if there is no number
    /// for one of these paths.
    fn decomposed(&self, from: u32) -> Option<Vec<PathShare>> {
        let mut left = self.shares(from);
        let mut found = Vec::new();
        let mut rest = 1.0;
        while rest > ROUNDING {
            let (mut at, mut share) = (from, rest);
            let (mut choices, mut path) = (Vec::new(), Vec::new());
            while at != self.to {
                let links = self.next.of(at);
                let most = |best: usize, i: usize| match left[&links[i]] > left[&links[best]] {
                    true => i,
                    false => best,
                };
                let which = (0..links.len()).reduce(most)?;
                choices.push((which, links.len()));
                share = left[&links[which]].min(share);
                path.push(links[which]);
                at = self.router.end(links[which])?;
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
                stands_for_more: false,
            });
        }
        // What rounding has left is the first's.
        found.first_mut()?.share += rest;
        Some(found)
    }

    /// The part of the traffic that each link on a path has.
    fn shares(&self, from: u32) -> HashMap<u32, f64> {
        let mut links = HashMap::new();
        let mut here = HashMap::from([(from, 1.0)]);
        for node in self.in_order(from) {
            let next = self.next.of(node);
            let share = here.get(&node).copied().unwrap_or(0.0) / next.len() as f64;
            for &link in next {
                links.insert(link, share);
                if let Some(end) = self.router.end(link) {
                    *here.entry(end).or_default() += share;
                }
            }
        }
        links
    }

    /// The nodes before the last on all paths, each before those that come after it.
    fn in_order(&self, from: u32) -> Vec<u32> {
        let mut seen = HashSet::from([from]);
        let mut order = Vec::new();
        // Nodes, and how many of their links were followed.
        let mut open = vec![(from, 0)];
        while let Some((node, followed)) = open.last_mut() {
            let link = self.next.of(*node).get(*followed);
            *followed += 1;
            match link.and_then(|&link| self.router.end(link)) {
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
