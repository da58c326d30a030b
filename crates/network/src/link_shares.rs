//! Shares of traffic on links, by the routes that it would take, for pairs of nodes without a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ecmp::EqualPaths;
use crate::rerouting::down_by_events;
use crate::routing::Request;
use crate::{LinkId, Network, NodeId};

/// Choice among paths of equal cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// The preferred path takes all traffic.
    Preferred,
    /// Every node splits traffic equally over its next links (ECMP).
    EqualShares,
}

impl Network {
    /// Returns for each pair of nodes the links that its traffic crosses, in ascending order, with the fraction of the
    /// traffic on each. Links that events before `at_s` took down are avoided. The list is empty if no path
    /// remains.
    ///
    /// # Panics
    /// If a node is of another network.
    pub fn link_shares(
        &self,
        at_s: f64,
        choice: PathChoice,
        pairs: &[(NodeId, NodeId)],
    ) -> Vec<Vec<(LinkId, f64)>> {
        let owner = self.inner.owner;
        for &(from, to) in pairs {
            from.within(owner);
            to.within(owner);
        }
        let router = Arc::new(self.to_builder().router());
        let down = down_by_events(self, at_s);
        let id = |link: u32| LinkId(link, owner);
        match choice {
            PathChoice::Preferred => {
                let request = |&(from, to): &(NodeId, NodeId)| Request {
                    from: from.0,
                    to: to.0,
                    flow: None,
                };
                let requests: Vec<Request> = pairs.iter().map(request).collect();
                let paths = router.paths(&requests, &down).into_iter();
                let shares = paths.map(|path| {
                    let mut links = path.unwrap_or_default();
                    links.sort_unstable();
                    links.into_iter().map(|link| (id(link), 1.0)).collect()
                });
                shares.collect()
            }
            PathChoice::EqualShares => {
                let mut paths = EqualPaths::new(router, down);
                let of_pair = |&(from, to): &(NodeId, NodeId)| {
                    let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
                    for (path, share) in paths.paths_with_shares(from, to) {
                        for link in path {
                            *shares.entry(link).or_default() += share;
                        }
                    }
                    shares
                        .into_iter()
                        .map(|(link, share)| (id(link), share))
                        .collect()
                };
                pairs.iter().map(of_pair).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkSpec, NetworkBuilder};

    /// A square with equal sides: two paths between opposite corners. `A->B` also has a parallel link.
    fn square() -> (Network, [NodeId; 4]) {
        let mut builder = NetworkBuilder::new();
        let nodes = ["A", "B", "C", "D"].map(|name| builder.node(name));
        let [a, b, c, d] = nodes;
        for (from, to) in [(a, b), (b, c), (a, d), (d, c)] {
            builder.link(LinkSpec::new(from, to, 1e9));
        }
        builder.link(LinkSpec {
            circuit: Some("2".into()),
            ..LinkSpec::new(a, b, 1e9)
        });
        (builder.build().unwrap(), nodes)
    }

    #[test]
    fn every_node_splits_equally_over_next_links() {
        let (network, [a, _, c, _]) = square();
        let shares = |choice| {
            let found = network.link_shares(0.0, choice, &[(a, c), (c, a)]);
            let name = |&(link, share)| (network.link_name(link).to_owned(), share);
            let lists = found.iter().map(|it| it.iter().map(name).collect());
            lists.collect::<Vec<Vec<(String, f64)>>>()
        };
        let [split, back] = &shares(PathChoice::EqualShares)[..] else {
            panic!()
        };
        let third = 1.0 / 3.0;
        let expected = [
            ("A->B", third),
            ("B->C", 2.0 * third),
            ("A->D", third),
            ("D->C", third),
            ("A->B#2", third),
        ];
        assert_eq!(split.len(), expected.len());
        for ((link, share), (name, value)) in split.iter().zip(expected) {
            assert_eq!(link, name);
            assert!((share - value).abs() < 1e-15, "{link}: {share}");
        }
        assert!(back.is_empty());
        let preferred = &shares(PathChoice::Preferred)[0];
        assert_eq!(
            *preferred,
            [("A->B".to_owned(), 1.0), ("B->C".to_owned(), 1.0)]
        );
    }
}
