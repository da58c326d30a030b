//! Availability of demands: the fraction of the time in which each is served, with independent failures of links, nodes
//! and risk groups.
//!
//! The states of failed elements are evaluated in descending order of probability, each as in [`failures()`] (V. O. K. Li
//! and J. A. Silvester, "Performance Analysis of Networks with Unreliable Components", IEEE Trans. Commun. 32 (1984) 1105). The states
//! that remain bound the result: at worst they serve nothing, at best everything. A random sample of them narrows this
//! interval to a confidence interval (stratified sampling). The order of probability gives the narrowest bounds for a
//! number of states, and evaluates triple failures where they are more probable than some pairs.
//!
//! [`failures()`]: crate::failures()

mod states;
mod tally;

use std::collections::BTreeMap;

use netflow_network::{ConnectionId, LinkId, Network, NodeId, Rerouted, Rerouter};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::changed_state::{ChangedState, Intact, Outcome};
use crate::failures::cases::{Single, singles};
use crate::failures::{CASES_TOGETHER, MIN_LOST_FRACTION};
use crate::steady::ConnectionSteady;
use crate::{Failing, FailureOptions, Solver, Steady, SteadyError, SteadyOptions};
use states::{Deviations, Rest, States};
use tally::{Combined, DemandState, Tally};

/// Options of an availability computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AvailabilityOptions {
    /// Share of its rate from which a demand is served, above 0 and at most 1.
    pub served: f64,
    /// Probability of the states that need not be evaluated, below 1.
    pub rest: f64,
    /// Largest number of states to evaluate one by one, at least 1.
    pub max_states: usize,
    /// Number of states to draw at random from the others.
    pub sample: usize,
    /// Random seed of the sample.
    pub seed: u64,
    /// Options of the solver.
    pub steady: SteadyOptions,
}

impl Default for AvailabilityOptions {
    /// Returns options for a demand that is served with 99 % of its rate, up to 10 000 states, and no sample.
    fn default() -> Self {
        AvailabilityOptions {
            served: 0.99,
            rest: 1e-6,
            max_states: 10_000,
            sample: 0,
            seed: 1,
            steady: SteadyOptions::default(),
        }
    }
}

/// Connections that are one demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Its name.
    pub name: String,
    /// Its connections, at least one.
    pub connections: Vec<ConnectionId>,
}

/// Interval that contains a probability or an expected share. Without a sample it is certain, except for rounding. With
/// a sample it is a 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProbabilityRange {
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

impl ProbabilityRange {
    /// Returns the interval of the complement.
    pub fn complement(self) -> ProbabilityRange {
        ProbabilityRange {
            low: 1.0 - self.high,
            high: 1.0 - self.low,
        }
    }

    /// Returns whether the value is within the interval.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Result of [`availability()`].
#[derive(Clone, Debug, PartialEq)]
pub struct Availability {
    /// Steady state without failures.
    pub intact: Steady,
    /// Demands with traffic, in the order given.
    pub demands: Vec<DemandAvailability>,
    /// Indices of demands without traffic in the intact network, which are left out.
    pub without_traffic: Vec<usize>,
    /// All demands together.
    pub network: NetworkAvailability,
    /// Number of elements that can fail.
    pub elements: usize,
    /// Elements that are down already, by events, and left out.
    pub down_already: Vec<Failing>,
    /// States that were evaluated.
    pub states: EvaluatedStates,
}

/// Availability of all demands together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkAvailability {
    /// Their rate in bit/s.
    pub rate_bps: f64,
    /// Expected share of this rate that is lost.
    pub lost: ProbabilityRange,
    /// Expected share of this rate that is lost although both end nodes of its demand work.
    pub lost_in_transit: ProbabilityRange,
    /// Expected share of this rate that is lost because an end node of its demand has failed.
    pub lost_at_ends: f64,
    /// Probability that not all demands are served.
    pub any_unserved: ProbabilityRange,
    /// Probability that a demand is not served although its end nodes work.
    pub any_unserved_in_transit: ProbabilityRange,
}

/// States of failed elements that were evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluatedStates {
    /// Number of states evaluated one by one, the most probable ones.
    pub most_probable: usize,
    /// Largest number of failed elements up to which these are all states. An element that has failed most of the time
    /// counts as failed if it works.
    pub all_failures_up_to: usize,
    /// Probability of all other states.
    pub rest: f64,
    /// Number of states drawn from the others, and how many of them are different.
    pub sampled: usize,
    /// See [`sampled`](Self::sampled).
    pub different_samples: usize,
    /// Number of these states without a steady state. They count as states that were not evaluated.
    pub without_steady_state: usize,
    /// Number of these states in which flows move to one of several equal-cost paths as a whole, although routers
    /// would split them.
    pub moved_whole: usize,
}

/// Availability of one demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandAvailability {
    /// Its index among the demands given.
    pub demand: usize,
    /// Its rate in the intact network in bit/s: the sending rate, or the goodput of TCP.
    pub rate_bps: f64,
    /// Share of this rate that the intact network loses.
    pub intact_lost: f64,
    /// Probability that it is not served.
    pub unserved: ProbabilityRange,
    /// Probability that it is not served although both end nodes work.
    pub unserved_in_transit: ProbabilityRange,
    /// Probability that an end node has failed.
    pub end_failed: f64,
    /// Expected share of its rate that is lost.
    pub lost: ProbabilityRange,
}

/// Computes the availability of demands in the network just before `at_s`; returns `None` if it was stopped. The threads
/// of the current rayon pool share the states. The result is bit-identical for any number of threads, and does not depend
/// on the order of elements and demands.
///
/// # Errors
/// As [`Solver::new`] and [`Solver::solve`] for the intact network; [`SteadyError::NoUnavailability`],
/// [`SteadyError::BadOption`].
pub fn availability(
    network: &Network,
    at_s: f64,
    demands: &[Demand],
    options: &AvailabilityOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Availability>, SteadyError> {
    check(options)?;
    let mut solver = Solver::new(network, at_s)?;
    let rerouter = Rerouter::new(network, at_s);
    let elements = Elements::new(network, rerouter.down_before());
    if elements.all.is_empty() && elements.down_already.is_empty() {
        return Err(SteadyError::NoUnavailability);
    }
    let intact = solver.solve(&options.steady)?;
    let traffic = Traffic::new(network, demands, &intact);
    let state = Intact::new(&solver, &intact);
    let evaluation = Evaluation {
        network,
        at_s,
        options,
        rerouter,
        elements: &elements,
        traffic: &traffic,
        intact: &intact,
        state: &state,
    };
    let mut states = States::new(elements.deviations());
    let mut exact = Tally::new(&traffic, options.served);
    let (mut count, mut sizes) = (0, Vec::new());
    loop {
        let mut some = Vec::new();
        while some.len() < CASES_TOGETHER
            && count < options.max_states
            && (count == 0 || options.rest == 0.0 || states.rest() > options.rest)
        {
            let Some((probability, members)) = states.next() else {
                break;
            };
            sizes.resize(sizes.len().max(members.len() + 1), 0);
            sizes[members.len()] += 1;
            count += 1;
            some.push((probability, members));
        }
        if some.is_empty() {
            break;
        }
        if evaluation.add(&some, &mut exact, stop).is_none() {
            return Ok(None);
        }
    }
    let rest = states.into_rest();
    let samples = draw(&rest, options);
    let mut sampled = Tally::new(&traffic, options.served);
    for some in samples.chunks(CASES_TOGETHER) {
        if evaluation.add(some, &mut sampled, stop).is_none() {
            return Ok(None);
        }
    }
    let combined = Combined {
        exact: &exact,
        sampled: &sampled,
        rest: rest.probability,
    };
    let (demands, network) = traffic.result(&combined, &elements);
    let without_traffic = traffic.without_traffic.clone();
    Ok(Some(Availability {
        demands,
        network,
        without_traffic,
        elements: elements.all.len(),
        states: EvaluatedStates {
            most_probable: count,
            all_failures_up_to: complete_sizes(&sizes, elements.all.len()),
            rest: rest.probability,
            sampled: sampled.weight.round() as usize,
            different_samples: samples.len(),
            without_steady_state: exact.unsolved_count + sampled.unsolved_count,
            moved_whole: exact.moved_whole + sampled.moved_whole,
        },
        down_already: elements.down_already,
        intact,
    }))
}

fn check(options: &AvailabilityOptions) -> Result<(), SteadyError> {
    let is_share = options.served > 0.0 && options.served <= 1.0;
    let is_rest = (0.0..1.0).contains(&options.rest);
    let bad = |option, value, allowed| SteadyError::BadOption {
        option,
        value,
        allowed,
    };
    if !is_share {
        return Err(bad("served", options.served, "above 0 and at most 1"));
    }
    if !is_rest {
        return Err(bad("rest", options.rest, "at least 0 and below 1"));
    }
    if options.max_states == 0 {
        return Err(bad("max_states", 0.0, "at least 1"));
    }
    Ok(())
}

/// Draws states, each with the number of times it was drawn.
fn draw(rest: &Rest, options: &AvailabilityOptions) -> Vec<(f64, Deviations)> {
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut drawn: BTreeMap<Deviations, f64> = BTreeMap::new();
    for _ in 0..options.sample {
        let Some(members) = rest.draw(&mut rng) else {
            break;
        };
        *drawn.entry(members).or_default() += 1.0;
    }
    drawn
        .into_iter()
        .map(|(members, times)| (times, members))
        .collect()
}

/// Returns the largest number of deviating elements up to which all states are among those counted by size.
fn complete_sizes(counts: &[usize], elements: usize) -> usize {
    let mut all = 1.0;
    for (size, &count) in counts.iter().enumerate() {
        if (count as f64) < all {
            return size.saturating_sub(1);
        }
        all *= elements.saturating_sub(size) as f64 / (size + 1) as f64;
    }
    counts.len().saturating_sub(1)
}

/// Elements that can fail, in descending order of the probability that they deviate from their more probable state.
struct Elements {
    all: Vec<Element>,
    down_already: Vec<Failing>,
}

struct Element {
    single: Single,
    unavailability: f64,
}

impl Element {
    fn deviation(&self) -> f64 {
        self.unavailability.min(1.0 - self.unavailability)
    }

    fn is_mostly_down(&self) -> bool {
        self.unavailability > 0.5
    }
}

impl Elements {
    fn new(network: &Network, down: &[bool]) -> Elements {
        let groups: Vec<&str> = network.risk_groups().map(|it| it.0).collect();
        let (mut all, mut down_already) = (Vec::new(), Vec::new());
        for single in singles(network, &FailureOptions::default()) {
            let unavailability = match single.failing {
                Failing::Link(id) => network.link_unavailability(id),
                Failing::Node(id) => network.node_unavailability(id),
                Failing::Group(place) => network.group_unavailability(groups[place]),
            };
            if unavailability <= 0.0 {
                continue;
            }
            if single.links.iter().all(|&l| down[l as usize]) {
                down_already.push(single.failing);
                continue;
            }
            all.push(Element {
                single,
                unavailability,
            });
        }
        // The order does not depend on that of the network.
        all.sort_by_cached_key(|it| {
            let failing = it.single.failing;
            (failing.kind(), failing.name(network))
        });
        all.sort_by(|a, b| b.deviation().total_cmp(&a.deviation()));
        Elements { all, down_already }
    }

    fn deviations(&self) -> Vec<f64> {
        self.all.iter().map(Element::deviation).collect()
    }

    /// Returns the failed elements of a state.
    fn failed<'a>(&'a self, members: &'a [u32]) -> impl Iterator<Item = &'a Element> {
        let all = (0..).zip(&self.all);
        all.filter(|(i, it)| members.binary_search(i).is_ok() != it.is_mostly_down())
            .map(|(_, it)| it)
    }

    /// Returns the probability that at least one of these nodes has failed.
    fn any_failed(&self, nodes: &[NodeId]) -> f64 {
        let of_nodes = self.all.iter().filter(|it| match it.single.failing {
            Failing::Node(id) => nodes.contains(&id),
            Failing::Link(_) | Failing::Group(_) => false,
        });
        of_nodes.fold(0.0, |any, it| any + (1.0 - any) * it.unavailability)
    }
}

/// Demand with traffic.
struct ActiveDemand<'a> {
    index: usize,
    connections: &'a [ConnectionId],
    ends: Vec<NodeId>,
    rate_bps: f64,
    intact_lost: f64,
}

/// Demands with traffic, by name.
struct Traffic<'a> {
    active: Vec<ActiveDemand<'a>>,
    /// Active demand of each connection.
    of_connection: Vec<Option<u32>>,
    without_traffic: Vec<usize>,
}

impl<'a> Traffic<'a> {
    fn new(network: &Network, demands: &'a [Demand], intact: &Steady) -> Traffic<'a> {
        let mut order: Vec<usize> = (0..demands.len()).collect();
        order.sort_by(|&a, &b| demands[a].name.cmp(&demands[b].name));
        let mut of_connection = vec![None; network.connection_count()];
        let (mut active, mut without_traffic) = (Vec::new(), Vec::new());
        for index in order {
            let connections = &demands[index].connections[..];
            let needed = |&id: &ConnectionId| {
                let spec = network.connection_spec(id);
                let it = intact.connection(id);
                // A source without feedback does not send less if packets are lost.
                let pps = if spec.source.has_feedback() {
                    it.goodput_pps
                } else {
                    it.rate_pps
                };
                8.0 * spec.packet_size_bytes * pps
            };
            let rate_bps: f64 = connections.iter().map(needed).sum();
            if rate_bps <= 0.0 {
                without_traffic.push(index);
                continue;
            }
            let mut ends: Vec<NodeId> = connections
                .iter()
                .map(|&id| network.connection_spec(id))
                .flat_map(|spec| [spec.from, spec.to])
                .collect();
            ends.sort_unstable();
            ends.dedup();
            for id in connections {
                of_connection[id.index()] = Some(active.len() as u32);
            }
            let mut demand = ActiveDemand {
                index,
                connections,
                ends,
                rate_bps,
                intact_lost: 0.0,
            };
            demand.intact_lost = demand.lost(network, &intact.connections);
            active.push(demand);
        }
        without_traffic.sort_unstable();
        Traffic {
            active,
            of_connection,
            without_traffic,
        }
    }

    /// Returns the availability of each demand, in the order given, and of all together.
    fn result(
        &self,
        combined: &Combined<'_>,
        elements: &Elements,
    ) -> (Vec<DemandAvailability>, NetworkAvailability) {
        let of_demand = |(d, it): (usize, &ActiveDemand<'_>)| DemandAvailability {
            demand: it.index,
            rate_bps: it.rate_bps,
            intact_lost: it.intact_lost,
            unserved: combined.range(|tally| tally.unserved(d)),
            unserved_in_transit: combined.range(|tally| tally.unserved_in_transit(d)),
            end_failed: elements.any_failed(&it.ends),
            lost: combined.range(|tally| tally.lost(d)),
        };
        let mut demands: Vec<DemandAvailability> =
            self.active.iter().enumerate().map(of_demand).collect();
        let rate_bps: f64 = demands.iter().map(|it| it.rate_bps).sum();
        let mean = |of: &dyn Fn(usize) -> f64| {
            let each = demands.iter().enumerate();
            let sum: f64 = each.map(|(d, it)| it.rate_bps * of(d)).sum();
            sum / rate_bps.max(f64::MIN_POSITIVE)
        };
        let network = NetworkAvailability {
            rate_bps,
            lost: combined.range(|tally| mean(&|d| tally.lost(d))),
            lost_in_transit: combined.range(|tally| mean(&|d| tally.lost_in_transit(d))),
            lost_at_ends: mean(&|d| demands[d].end_failed),
            any_unserved: combined.range(|tally| tally.any_unserved),
            any_unserved_in_transit: combined.range(|tally| tally.any_unserved_in_transit),
        };
        demands.sort_by_key(|it| it.demand);
        (demands, network)
    }
}

impl ActiveDemand<'_> {
    /// Returns the share of its rate that is lost in a state.
    fn lost(&self, network: &Network, connections: &[ConnectionSteady]) -> f64 {
        let goodput_bps = |&id: &ConnectionId| {
            let bits = 8.0 * network.connection_spec(id).packet_size_bytes;
            bits * connections[id.index()].goodput_pps
        };
        let delivered_bps: f64 = self.connections.iter().map(goodput_bps).sum();
        (1.0 - delivered_bps / self.rate_bps).clamp(0.0, 1.0)
    }
}

/// Result of one state.
struct StateResult {
    /// Demands with other results than in the intact network; `None` without a steady state.
    demands: Option<Vec<DemandState>>,
    moves_whole: bool,
}

/// Data common to all states.
struct Evaluation<'a> {
    network: &'a Network,
    at_s: f64,
    options: &'a AvailabilityOptions,
    rerouter: Rerouter,
    elements: &'a Elements,
    traffic: &'a Traffic<'a>,
    intact: &'a Steady,
    state: &'a Intact<'a>,
}

impl Evaluation<'_> {
    /// Evaluates states and adds them in order, each with its weight. Returns `None` if it was stopped.
    fn add(
        &self,
        some: &[(f64, Deviations)],
        tally: &mut Tally,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<()> {
        let results: Option<Vec<StateResult>> = some
            .par_iter()
            .map_init(
                || ChangedState::new(self.state),
                |state, (_, members)| (!stop()).then(|| self.evaluate(members, state)),
            )
            .collect();
        for ((weight, _), result) in some.iter().zip(results?) {
            tally.moved_whole += usize::from(result.moves_whole);
            match result.demands {
                Some(demands) => tally.add(*weight, &demands),
                None => tally.add_unsolved(*weight),
            }
        }
        Some(())
    }

    fn evaluate(&self, members: &[u32], state: &mut ChangedState<'_>) -> StateResult {
        let owner = self.network.tables().owner;
        let failed = self.elements.failed(members);
        let links: Vec<LinkId> = failed
            .flat_map(|it| it.single.links.iter().map(|&l| LinkId::new(l, owner)))
            .collect();
        let routes = self.rerouter.reroute_around(&links);
        let near = state.with_routes(&routes, self.options.steady.tolerance, |after| {
            let Outcome {
                connections,
                changed_connections,
                ..
            } = after;
            self.changed_demands(members, connections, &changed_connections)
        });
        StateResult {
            demands: near.or_else(|| self.evaluate_alone(members, &routes)),
            moves_whole: routes.moved_whole > 0,
        }
    }

    /// Solves a state as a network of its own; returns `None` without a steady state.
    fn evaluate_alone(&self, members: &[u32], routes: &Rerouted) -> Option<Vec<DemandState>> {
        let solver = Solver::rerouted(self.network, self.at_s, routes);
        let solved = solver.and_then(|mut it| it.solve_from(self.intact, &self.options.steady));
        let all: Vec<ConnectionId> = self.network.connections().collect();
        Some(self.changed_demands(members, &solved.ok()?.connections, &all))
    }

    fn changed_demands(
        &self,
        members: &[u32],
        connections: &[ConnectionSteady],
        changed: &[ConnectionId],
    ) -> Vec<DemandState> {
        let nodes = self
            .elements
            .failed(members)
            .filter_map(|it| match it.single.failing {
                Failing::Node(id) => Some(id),
                Failing::Link(_) | Failing::Group(_) => None,
            });
        let nodes: Vec<NodeId> = nodes.collect();
        let of = |id: &ConnectionId| self.traffic.of_connection[id.index()];
        let mut demands: Vec<u32> = changed.iter().filter_map(of).collect();
        demands.sort_unstable();
        demands.dedup();
        let state_of = |demand: u32| {
            let it = &self.traffic.active[demand as usize];
            let lost = it.lost(self.network, connections);
            DemandState {
                demand,
                lost,
                is_unserved: is_unserved(lost, self.options.served),
                has_failed_end: it.ends.iter().any(|end| nodes.contains(end)),
            }
        };
        demands.into_iter().map(state_of).collect()
    }
}

/// Returns whether a demand that loses this share of its rate is not served.
fn is_unserved(lost: f64, served: f64) -> bool {
    1.0 - lost < served - MIN_LOST_FRACTION
}
