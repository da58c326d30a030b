//! Rerouting around failed links.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use netflow_units::{Csr, NonMaxU32};

use crate::builder::PathPairs;
use crate::bundles;
use crate::compiled::{Class, CompiledNetwork, PathPair};
use crate::ecmp::EqualPaths;
use crate::routing::Router;
use crate::scheduling::ClassQueues;
use crate::{Change, ConnectionSpec, EcmpShare, LinkId, Network, NetworkBuilder, NodeId};

/// Failed links, and the new paths of affected connections.
#[derive(Clone, Debug, Default)]
pub struct Rerouted {
    /// State of every link; true if it is down.
    pub down: Vec<bool>,
    /// Classes with new paths, in order.
    pub reroutes: Vec<Reroute>,
    /// Number of rerouted classes of several flows that move as a whole to one of several paths of equal
    /// cost.
    pub moved_whole: usize,
}

/// New paths of a class of connections.
#[derive(Clone, Debug)]
pub struct Reroute {
    /// The class.
    pub class: u32,
    /// One path, or all paths over which it is divided; empty if it has no route.
    pub paths: Vec<ReroutedPath>,
}

/// One pair of paths of a rerouted class.
#[derive(Clone, Debug)]
pub struct ReroutedPath {
    /// Fraction of the class on it.
    pub share: f64,
    /// Links of the data path.
    pub data: Vec<u32>,
    /// Links of the return path.
    pub back: Vec<u32>,
}

impl Rerouted {
    /// Returns the state of the network after its events before `at_s`. Traffic that is
    /// [divided](crate::ConnectionSpec::ecmp_share) among paths of equal cost is divided among the remaining
    /// ones.
    pub fn by_events(network: &Network, at_s: f64) -> Rerouted {
        let before = Rerouted {
            down: down_by_events(network, at_s),
            ..Rerouted::default()
        };
        if before.down.contains(&true) {
            Rerouter::new(network, at_s).reroute_around(&[])
        } else {
            before
        }
    }

    /// Returns the paths of a class with their shares. `branch` is its branch by the network's own routes. An
    /// explicit path does not count while one of its links is down.
    pub fn paths<'a>(
        &'a self,
        inner: &'a CompiledNetwork,
        class: u32,
        branch: Option<NonMaxU32>,
    ) -> Vec<(f64, PathPair<'a>)> {
        let detour = self.reroutes.binary_search_by_key(&class, |it| it.class);
        let mut ways: Vec<_> = match detour.map(|i| &self.reroutes[i].paths) {
            Ok(ways) => {
                let way = |it: &'a ReroutedPath| {
                    (it.share, PathPair::of(inner, class, &it.data, &it.back))
                };
                ways.iter().map(way).collect()
            }
            Err(_) => branch
                .map(|branch| (1.0, PathPair::new(inner, branch.get())))
                .into_iter()
                .collect(),
        };
        let answers = inner.spec_of_class(class).source.has_feedback();
        ways.retain(|(_, way)| {
            let back = if answers { way.back } else { way.acks };
            let mut links = way.data.iter().chain(back);
            links.all(|&l| !self.down[l as usize])
        });
        ways
    }
}

/// Returns which links are down after the network's events before `at_s`.
pub(crate) fn down_by_events(network: &Network, at_s: f64) -> Vec<bool> {
    let inner = &*network.inner;
    let mut down = vec![false; inner.links.len()];
    let begun = inner.events.iter().take_while(|event| event.at_s < at_s);
    for event in begun {
        match event.change {
            Change::Down => down[event.link as usize] = true,
            Change::Up => down[event.link as usize] = false,
            Change::Bandwidth(_) | Change::Pause | Change::Loss(_) | Change::Delay(_) => {}
        }
    }
    down
}

/// Both ends, the explicit return path, whether one is needed, and the traffic class.
type EcmpKey<'a> = (
    (NodeId, NodeId),
    Option<&'a [NodeId]>,
    bool,
    Option<&'a str>,
);

fn ends(spec: &ConnectionSpec) -> (NodeId, NodeId) {
    (spec.from, spec.to)
}

/// Computation of new paths around failures, with the same router and the same choice among equal paths as
/// for events.
#[derive(Debug)]
pub struct Rerouter {
    network: Network,
    builder: NetworkBuilder,
    router: Arc<Router>,
    down_before: Vec<bool>,
    /// Ends of divided traffic that events have rerouted.
    rerouted_before: HashSet<(NodeId, NodeId)>,
    /// Branch of every class before the failures.
    branch_of: Arc<[Option<NonMaxU32>]>,
    /// Classes whose branch crosses each link.
    classes_over: Csr<u32>,
}

impl Rerouter {
    /// Prepares failures just before `at_s`: links that events have taken down by then stay down.
    pub fn new(network: &Network, at_s: f64) -> Rerouter {
        let mut builder = network.to_builder();
        // The network was built once, so it has no errors.
        builder.class_queues = ClassQueues::new(
            &mut builder.links,
            &builder.multi_queue_links,
            &mut Vec::new(),
        );
        let epochs = &network.inner.epochs;
        let epoch = epochs.partition_point(|e| e.at_s < at_s).max(1) - 1;
        let inner = &*network.inner;
        let now = epochs[epoch]
            .class_path_of
            .iter()
            .zip(&*epochs[0].class_path_of);
        let moved = (0..).zip(now).filter(|(_, (now, first))| now != first);
        let moved = moved.map(|(class, _)| inner.spec_of_class(class));
        let moved_before = moved
            .filter(|it| it.ecmp_share.is_some())
            .map(ends)
            .collect();
        let branch_of = epochs[epoch].class_path_of.clone();
        let branches = (0..).zip(&*branch_of);
        let branches = branches.filter_map(|(class, it)| Some((class, (*it)?.get())));
        let crossed = branches.flat_map(|(class, branch)| {
            let links = inner
                .data_path(branch)
                .iter()
                .chain(inner.back_path(branch));
            links.map(move |&link| (link, class))
        });
        Rerouter {
            classes_over: Csr::of_pairs(inner.links.len(), crossed),
            router: Arc::new(builder.router().with_distances()),
            down_before: down_by_events(network, at_s),
            rerouted_before: moved_before,
            branch_of,
            network: network.clone(),
            builder,
        }
    }

    /// Returns whether each link is down before the failures.
    pub fn down_before(&self) -> &[bool] {
        &self.down_before
    }

    /// Returns the state of the network if these links fail together. Connections that cross none of them
    /// keep their paths, except [divided](crate::ConnectionSpec::ecmp_share) traffic. If any of its parts is
    /// rerouted, now or by events, all of it is divided again, each part by its [portion](crate::EcmpShare).
    /// With [weights](crate::EcmpWeights), all ECMP traffic is routed again.
    ///
    /// # Panics
    /// If a link is of another network.
    pub fn reroute_around(&self, failed: &[LinkId]) -> Rerouted {
        let inner = &*self.network.inner;
        let mut down = self.down_before.clone();
        for link in failed {
            down[link.within(inner.owner)] = true;
        }
        bundles::close(&inner.bundles, &mut down);
        // A class queue fails with its link.
        for (queue, parent, _) in self.builder.class_queue_links() {
            down[queue as usize] |= down[parent as usize];
        }
        let spec = |class: u32| inner.spec_of_class(class);
        let links = (0..).zip(&down).filter(|(_, is_down)| **is_down);
        let mut moved: Vec<u32> = links
            .flat_map(|(link, _)| self.classes_over.row(link))
            .copied()
            .collect();
        moved.sort_unstable();
        moved.dedup();
        let is_divided = |class: &u32| spec(*class).ecmp_share.is_some();
        let (moved_parts, mut fixed): (Vec<u32>, Vec<u32>) =
            moved.into_iter().partition(is_divided);
        let mut divided = self.rerouted_before.clone();
        divided.extend(moved_parts.iter().map(|&class| ends(spec(class))));
        // Weights change with links that the traffic does not cross.
        let all_weights = self.router.has_weights() && down.contains(&true);
        let routed = || {
            let classes = (0..).zip(&*self.branch_of).filter(|(_, it)| it.is_some());
            classes.map(|(class, _)| class)
        };
        let mut shared = Vec::new();
        if all_weights || !divided.is_empty() {
            let is_moved = |class: &u32| all_weights || divided.contains(&ends(spec(*class)));
            shared.extend(routed().filter(is_divided).filter(is_moved));
        }
        if all_weights {
            fixed.extend(self.flows_with_new_paths(&fixed, &down));
            fixed.sort_unstable();
        }
        let mut detours = self.split_again(&shared, &down);
        let (classes, ways) = self.path_pairs(&fixed, &down);
        let moved_whole = self
            .builder
            .count_with_choices(&self.router, &classes, &ways, &down);
        let whole = |ways: PathPairs| ReroutedPath {
            share: 1.0,
            data: ways.data,
            back: ways.back,
        };
        detours.extend(fixed.into_iter().zip(ways).map(|(class, ways)| Reroute {
            class,
            paths: ways.into_iter().map(whole).collect(),
        }));
        detours.sort_by_key(|it| it.class);
        Rerouted {
            reroutes: detours,
            moved_whole,
            down,
        }
    }

    /// Returns these classes with their paths.
    fn path_pairs(&self, classes: &[u32], down: &[bool]) -> (Vec<Class>, Vec<Option<PathPairs>>) {
        let of = |&class: &u32| self.network.inner.classes[class as usize];
        let classes: Vec<Class> = classes.iter().map(of).collect();
        let ways = self
            .builder
            .path_pairs_of_classes(&self.router, &classes, down);
        (classes, ways.0)
    }

    /// Returns the undivided ECMP classes, except these, whose paths change because weights change.
    fn flows_with_new_paths(&self, except: &[u32], down: &[bool]) -> Vec<u32> {
        let inner = &*self.network.inner;
        let is_flow = |class: u32| {
            let spec = inner.spec_of_class(class);
            spec.flow.is_some()
                && spec.ecmp_share.is_none()
                && except.binary_search(&class).is_err()
        };
        let branches = (0..).zip(&*self.branch_of);
        let flows = branches.filter_map(|(class, branch)| Some((class, (*branch)?.get())));
        let (flows, branches): (Vec<u32>, Vec<u32>) = flows.filter(|it| is_flow(it.0)).unzip();
        let (_, ways) = self.path_pairs(&flows, down);
        let now = flows.into_iter().zip(branches).zip(ways);
        let moved = now.filter(|((_, branch), ways)| {
            let before = (inner.data_path(*branch), inner.back_path(*branch));
            ways.as_ref()
                .is_none_or(|it| (&*it.data, &*it.back) != before)
        });
        moved.map(|((class, _), _)| class).collect()
    }

    /// Divides these classes again over the remaining paths of equal cost, each by its [portion](EcmpShare).
    fn split_again(&self, classes: &[u32], down: &[bool]) -> Vec<Reroute> {
        let mut equal = EqualPaths::new(self.router.clone(), down.to_vec());
        // Paths are computed once for all classes with the same key.
        let mut paths_of: HashMap<EcmpKey<'_>, Range<usize>> = HashMap::new();
        let (mut asked, mut portions) = (Vec::new(), Vec::new());
        let mut all_of = Vec::with_capacity(classes.len());
        for &class in classes {
            let first = self.network.inner.classes[class as usize].connection;
            let spec = self.builder.spec_of(first);
            let all = paths_of.entry(self.ecmp_key(first)).or_insert_with(|| {
                let paths = equal.shares(spec.from, spec.to);
                let begin = asked.len();
                portions.extend(EcmpShare::of_each(paths.iter().map(|path| path.share)));
                asked.extend(paths.into_iter().map(|path| {
                    let flow = Some(path.flow);
                    let spec = spec.clone();
                    (first, ConnectionSpec { flow, ..spec })
                }));
                begin..asked.len()
            });
            all_of.push((class, spec.ecmp_share, all.clone()));
        }
        let specs: Vec<_> = asked.iter().map(|(first, spec)| (*first, spec)).collect();
        let ways = self
            .builder
            .path_pairs_of_specs(&self.router, &specs, down)
            .0;
        let detour = |(class, portion, all): (u32, Option<EcmpShare>, Range<usize>)| {
            let each = portions[all.clone()].iter().zip(&ways[all]);
            let part = |(path, ways): (&EcmpShare, &Option<PathPairs>)| {
                let share = portion?.fraction_within(*path);
                let ways = ways.as_ref().filter(|_| share > 0.0)?;
                Some(ReroutedPath {
                    share,
                    data: ways.data.clone(),
                    back: ways.back.clone(),
                })
            };
            let mut ways: Vec<ReroutedPath> = each.filter_map(part).collect();
            let all: f64 = ways.iter().map(|it| it.share).sum();
            debug_assert!(ways.is_empty() || (all - 1.0).abs() < 1e-9);
            for it in &mut ways {
                it.share /= all; // equal to 1 except for rounding
            }
            Reroute { class, paths: ways }
        };
        all_of.into_iter().map(detour).collect()
    }

    /// Returns the key that determines the paths over which a connection is divided.
    fn ecmp_key(&self, connection: u32) -> EcmpKey<'_> {
        let spec = self.builder.spec_of(connection);
        let queue_class = self.builder.queue_class_of.get(&connection);
        (
            ends(spec),
            spec.return_path.as_deref(),
            spec.needs_return_path(),
            queue_class.map(String::as_str),
        )
    }
}
