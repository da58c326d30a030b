//! Failure cases: elements that fail alone or in pairs.

use netflow_network::{LinkId, Network, NodeId};
use rand::SeedableRng;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;

use super::FailureOptions;
use crate::SteadyError;

/// Largest number of cases; more are rejected.
const MAX_CASES: usize = 1_000_000;

/// Element that fails as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// A link; for a duplex link, the direction that was added first represents both.
    Link(LinkId),
    /// A node, with all links to and from it.
    Node(NodeId),
    /// A risk group, by its index in [`Network::risk_groups`].
    Group(usize),
}

/// Kind of a failing element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// A link.
    Link,
    /// A node.
    Node,
    /// A risk group.
    Group,
}

impl FailureKind {
    /// All kinds, in the order of cases.
    pub const ALL: [FailureKind; 3] = [FailureKind::Link, FailureKind::Node, FailureKind::Group];

    /// Returns its name: `link`, `node`, `srlg`.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Link => "link",
            FailureKind::Node => "node",
            FailureKind::Group => "srlg",
        }
    }
}

impl Failing {
    /// Returns its kind.
    pub fn kind(self) -> FailureKind {
        match self {
            Failing::Link(_) => FailureKind::Link,
            Failing::Node(_) => FailureKind::Node,
            Failing::Group(_) => FailureKind::Group,
        }
    }

    /// Returns its name as in scenario files: `A->B`, or `A<->B` for a duplex link; the name of the
    /// node or group.
    pub fn name(self, network: &Network) -> String {
        match self {
            Failing::Link(id) => network.physical_link_name(id),
            Failing::Node(id) => network.node_name(id).to_owned(),
            Failing::Group(place) => {
                let group = network.risk_groups().nth(place);
                group.map_or_else(String::new, |(name, _)| name.to_owned())
            }
        }
    }
}

/// Returns the links that fail with an element.
pub(crate) fn links_of(network: &Network, failing: Failing) -> Vec<LinkId> {
    match failing {
        Failing::Link(id) => {
            let other = network.opposite_direction(id);
            [Some(id), other].into_iter().flatten().collect()
        }
        Failing::Node(id) => network.links_at(id),
        Failing::Group(place) => {
            let group = network.risk_groups().nth(place);
            group.map_or_else(Vec::new, |(_, links)| links)
        }
    }
}

/// Element that can fail, with its links in order.
pub(crate) struct Single {
    pub failing: Failing,
    pub links: Vec<u32>,
}

impl Single {
    fn new(failing: Failing, links: impl IntoIterator<Item = LinkId>) -> Single {
        let mut links: Vec<u32> = links.into_iter().map(|id| id.index() as u32).collect();
        links.sort_unstable();
        Single { failing, links }
    }

    fn is_within(&self, other: &Single) -> bool {
        let there = |link| other.links.binary_search(link).is_ok();
        self.links.iter().all(there)
    }
}

/// One or two indices of elements that can fail.
pub(crate) type Case = (u32, Option<u32>);

/// Cases to analyse.
pub(crate) struct Cases {
    singles: Vec<Single>,
    pub all: Vec<Case>,
    /// Number of possible cases, of which `all` may be a sample.
    pub possible: usize,
    /// Elements that are down already.
    pub down_already: Vec<Failing>,
}

impl Cases {
    /// Lists the cases that the options request. Two elements are not a pair if one fails with the
    /// other.
    pub fn enumerate(
        network: &Network,
        options: &FailureOptions,
        down: &[bool],
    ) -> Result<Cases, SteadyError> {
        let (singles, gone): (Vec<_>, Vec<_>) = singles(network, options)
            .into_iter()
            .partition(|it| it.links.iter().any(|&l| !down[l as usize]));
        let n = singles.len() as u32;
        let mut possible = 0;
        let all = if !options.pairs {
            sample_cases((0..n).map(|i| (i, None)), options, &mut possible)
        } else {
            let at = |i: u32| &singles[i as usize];
            let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            let pairs = pairs.filter(|&(i, j)| {
                let (i, j) = (at(i), at(j));
                !i.is_within(j) && !j.is_within(i)
            });
            sample_cases(pairs.map(|(i, j)| (i, Some(j))), options, &mut possible)
        };
        match all.len() {
            0 => Err(SteadyError::NothingToFail),
            1..=MAX_CASES => Ok(Cases {
                singles,
                all,
                possible,
                down_already: gone.into_iter().map(|it| it.failing).collect(),
            }),
            _ => Err(SteadyError::TooManyCases { most: MAX_CASES }),
        }
    }

    pub fn failing(&self, (first, second): Case) -> Vec<Failing> {
        let places = [Some(first), second].into_iter().flatten();
        places.map(|i| self.singles[i as usize].failing).collect()
    }

    pub fn links(&self, network: &Network, (first, second): Case) -> Vec<LinkId> {
        let places = [Some(first), second].into_iter().flatten();
        let links = places.flat_map(|i| &self.singles[i as usize].links);
        let owner = network.tables().owner;
        links.map(|&l| LinkId::new(l, owner)).collect()
    }
}

/// Collects all cases, at most one more than the maximum; or a sorted random sample.
fn sample_cases(
    cases: impl Iterator<Item = Case>,
    options: &FailureOptions,
    possible: &mut usize,
) -> Vec<Case> {
    let cases = cases.inspect(|_| *possible += 1);
    match options.sample {
        None => cases.take(MAX_CASES + 1).collect(),
        Some(wanted) => {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            let mut drawn = cases.sample(&mut rng, wanted.min(MAX_CASES + 1));
            drawn.sort_unstable();
            drawn
        }
    }
}

/// Lists the elements of the kinds that the options request: links, nodes, groups.
pub(crate) fn singles(network: &Network, options: &FailureOptions) -> Vec<Single> {
    let mut singles = Vec::new();
    if options.links {
        singles.extend(network.physical_links().map(|(id, other)| {
            let both = [Some(id), other].into_iter().flatten();
            Single::new(Failing::Link(id), both)
        }));
    }
    if options.nodes {
        let all = network.nodes();
        singles.extend(all.map(|id| Single::new(Failing::Node(id), network.links_at(id))));
    }
    if options.groups {
        let all = network.risk_groups().enumerate();
        singles.extend(all.map(|(i, (_, links))| Single::new(Failing::Group(i), links)));
    }
    // A node without links cannot fail.
    singles.retain(|it| !it.links.is_empty());
    singles
}
