//! Steady state of a network in which some routes, or the bandwidth of a link, differ from the intact ones. Links and
//! flows that the difference does not reach keep their intact state.
//!
//! The solver iterates between two steps. First it passes changed rates along the paths of changed flows and
//! evaluates the links that they reach. Then it changes the state of links with a residual. If all sources
//! have a fixed rate, each such link takes the load that it is offered, which is exact unless upstream losses change
//! (fixed-point iteration). Otherwise Newton's method solves all links with traffic together from the intact state,
//! because sources with a profile react to every link of their paths. It ends when no residual exceeds the tolerance.

use netflow_fluid::link_traffic::LinkTraffic;
use netflow_fluid::tcp_drop_tail::DropTailTcpLaw;
use netflow_network::compiled::PathPair;
use netflow_network::{ConnectionId, Network, Rerouted};
use netflow_units::Csr;

use crate::newton::{Newton, max_norm};
use crate::problem::{Flow, Hops, NO_PROFILE, Problem};
use crate::residual::{FlowState, LinkState, MIN_RATE, NetworkState};
use crate::solver::{MAX_NEWTON_STEPS, MAX_START_LN_LOAD, Solver, empty_link};
use crate::steady::{ConnectionSteady, LinkSteady, Steady, TotalsSteady, sum_flows};

/// Number of solutions by Newton's method: the second one removes rounding errors of the first.
const MAX_SOLUTIONS: usize = 3;
/// Number of fixed-point iterations, and the fraction of the tolerance up to which they continue.
const MAX_ITERATIONS: usize = 40;
const ITERATION_TOLERANCE: f64 = 1e-3;

/// Hop of a flow, over a link that carries its data or its acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
struct Crossing {
    flow: u32,
    hop: u32,
    is_data: bool,
    /// True if the link is the first of the path.
    is_first: bool,
}

fn crossings_of(flow: u32, it: &Flow) -> impl Iterator<Item = Crossing> + Clone + use<> {
    let hops = it.data_hops().map(|hop| (hop, true));
    let hops = hops.chain(it.ack_hops().map(|hop| (hop, false)));
    let starts = [it.data.0 as usize, it.back.0 as usize];
    hops.map(move |(hop, is_data)| Crossing {
        flow,
        hop: hop as u32,
        is_data,
        is_first: hop == starts[usize::from(!is_data)],
    })
}

/// Steady state of the intact network, with indices.
pub(crate) struct Intact<'a> {
    /// Solver whose point is at the steady state.
    pub solver: &'a Solver,
    pub steady: &'a Steady,
    /// Hops over each link, in order.
    crossings: Csr<Crossing>,
    /// Connections of each class.
    connections: Csr<u32>,
    flows: Vec<ConnectionSteady>,
    /// Wait differences of each link by bursts.
    aside_s: Vec<[f64; 2]>,
    /// True if queue models depend on flows that do not cross the link.
    has_remote_effects: bool,
    /// True if there are sources with a profile, and if there are finite transfers.
    has_profiles: bool,
    has_transfers: bool,
}

impl<'a> Intact<'a> {
    /// Takes a solver whose last solution is `steady`.
    pub fn new(solver: &'a Solver, steady: &'a Steady) -> Intact<'a> {
        let problem = &solver.problem;
        let hops = (0..).zip(&problem.flows).flat_map(|(flow, it)| {
            crossings_of(flow, it).map(|it| (problem.hop_link[it.hop as usize], it))
        });
        let inner = solver.network.tables();
        let aside_s = solver.burst_wait_differences();
        let flows = 0..problem.flows.len();
        let limited = |it: &Flow| it.profile != NO_PROFILE && it.application_pps < f64::INFINITY;
        Intact {
            crossings: Csr::of_pairs(problem.links.len(), hops),
            connections: Csr::grouped(inner.classes.len(), inner.class_of.iter().copied()),
            flows: flows.map(|i| solver.flow_traffic(i, &aside_s)).collect(),
            aside_s,
            has_remote_effects: problem.flows.iter().any(limited),
            has_profiles: problem.flows.iter().any(|it| it.profile != NO_PROFILE),
            has_transfers: problem.transfers.iter().any(Option::is_some),
            steady,
            solver,
        }
    }
}

/// Set of indices that is emptied at the cost of its members.
#[derive(Debug, Default)]
struct IndexSet {
    contains: Vec<bool>,
    members: Vec<u32>,
}

impl IndexSet {
    fn new(len: usize) -> IndexSet {
        IndexSet {
            contains: vec![false; len],
            members: Vec::new(),
        }
    }

    /// Adds an index; returns whether it is new.
    fn insert(&mut self, index: u32) -> bool {
        let at = index as usize;
        if at >= self.contains.len() {
            self.contains.resize(at + 1, false);
        }
        let is_new = !std::mem::replace(&mut self.contains[at], true);
        if is_new {
            self.members.push(index);
        }
        is_new
    }

    fn contains(&self, index: u32) -> bool {
        self.contains.get(index as usize).is_some_and(|it| *it)
    }

    /// Empties the set and returns its members.
    fn take(&mut self) -> Vec<u32> {
        let members = std::mem::take(&mut self.members);
        for &index in &members {
            self.contains[index as usize] = false;
        }
        members
    }

    fn clear(&mut self) {
        for index in self.members.drain(..) {
            self.contains[index as usize] = false;
        }
    }

    fn sorted(&self) -> Vec<u32> {
        let mut members = self.members.clone();
        members.sort_unstable();
        members
    }
}

/// State of the network after a change, restored to the intact state before the next one.
pub(crate) struct ChangedState<'a> {
    intact: &'a Intact<'a>,
    solver: Solver,
    z: Vec<f64>,
    residuals: Vec<f64>,
    links: Vec<LinkSteady>,
    connections: Vec<ConnectionSteady>,
    flows: Vec<ConnectionSteady>,
    aside_s: Vec<[f64; 2]>,
    /// Crossings of added flows.
    added: Vec<Vec<Crossing>>,
    removed: IndexSet,
    /// Flow that replaces each removed one; itself for other flows.
    replacement: Vec<u32>,
    /// Hops of removed flows that their replacements do not share.
    removed_hops: IndexSet,
    /// Hop whose rate stands for each added hop: that of the removed flow if both share it.
    aliases: Vec<u32>,
    /// Links with rates that changed since their residual was computed, and those whose losses or waits changed since
    /// the rates of flows were computed.
    stale_rates: IndexSet,
    stale_flows: IndexSet,
    /// Links with other rates, and those with other flows or another state of the queue.
    links_with_other_rates: IndexSet,
    changed_links: IndexSet,
    /// Flows with other rates, and those with other results.
    flows_with_other_rates: IndexSet,
    changed_flows: IndexSet,
    active: IndexSet,
    /// Index of each active link among the active ones.
    place: Vec<u32>,
}

/// Result of a failure; slices include what did not change.
pub(crate) struct Outcome<'a> {
    pub residual: f64,
    pub goodput_bps: f64,
    pub links: &'a [LinkSteady],
    pub connections: &'a [ConnectionSteady],
    /// Connections that changed, in the network's order.
    pub changed_connections: Vec<ConnectionId>,
    /// Links whose load changed.
    pub changed_links: &'a [u32],
    /// Connections that sent and lost their route, in the network's order.
    pub blocked: Vec<ConnectionId>,
}

impl<'a> ChangedState<'a> {
    pub fn new(intact: &'a Intact<'a>) -> ChangedState<'a> {
        let solver = Solver {
            newton: Newton::default(),
            ..intact.solver.clone()
        };
        let (links, flows) = (solver.problem.links.len(), solver.problem.flows.len());
        ChangedState {
            intact,
            z: intact.steady.z.clone(),
            residuals: intact.solver.newton.residuals.clone(),
            links: intact.steady.links.clone(),
            connections: intact.steady.connections.clone(),
            flows: intact.flows.clone(),
            aside_s: intact.aside_s.clone(),
            added: vec![Vec::new(); links],
            removed: IndexSet::new(flows),
            replacement: (0..flows as u32).collect(),
            removed_hops: IndexSet::new(solver.problem.hop_link.len()),
            aliases: Vec::new(),
            stale_rates: IndexSet::new(links),
            stale_flows: IndexSet::new(links),
            links_with_other_rates: IndexSet::new(links),
            changed_links: IndexSet::new(links),
            flows_with_other_rates: IndexSet::new(flows),
            changed_flows: IndexSet::new(flows),
            active: IndexSet::new(links),
            place: vec![u32::MAX; links],
            solver,
        }
    }

    /// Computes the steady state with these routes, and passes it to `read`; returns `None` if it is not found
    /// near the intact one.
    pub fn with_routes<T>(
        &mut self,
        routes: &Rerouted,
        tolerance: f64,
        read: impl FnOnce(Outcome<'_>) -> T,
    ) -> Option<T> {
        let reroutes = self.replace_flows(routes);
        self.update_queue_models();
        let added = self.intact.flows.len() as u32..self.solver.problem.flows.len() as u32;
        let is_found = self.solve(added, tolerance);
        let result = is_found.then(|| {
            let (changed_connections, blocked) = self.update_results(&reroutes);
            let each = self.flows.iter().zip(&self.solver.problem.flows);
            read(Outcome {
                residual: max_norm(&self.residuals),
                goodput_bps: each.map(|(it, flow)| it.goodput_pps * flow.data_bits).sum(),
                links: &self.links,
                connections: &self.connections,
                changed_connections,
                changed_links: &self.links_with_other_rates.members,
                blocked,
            })
        });
        self.restore();
        result
    }

    /// Computes the totals of the steady state with another bandwidth of a link, and the load of this link; returns
    /// `None` if it is not found near the intact one.
    pub fn with_bandwidth(
        &mut self,
        link: u32,
        bandwidth_bps: f64,
        tolerance: f64,
    ) -> Option<(TotalsSteady, f64)> {
        let problem = &mut self.solver.problem;
        problem.links[link as usize].set_bandwidth(bandwidth_bps);
        self.changed_links.insert(link);
        let crossings = self.intact.crossings.row(link as usize);
        for it in crossings {
            let flow = &problem.flows[it.flow as usize];
            self.solver.point.base_rtt_s[it.flow as usize] = problem.base_rtt_s(flow);
            // The bandwidth paces the next link, and shapes bursts on the whole path.
            let path = if it.is_data {
                flow.data_hops()
            } else {
                flow.ack_hops()
            };
            let next = it.hop as usize + 1;
            let hops = if self.intact.has_transfers {
                path
            } else {
                next..path.end.min(next + 1)
            };
            for hop in hops {
                self.changed_links.insert(problem.hop_link[hop]);
            }
        }
        self.update_queue_models();
        self.update_link_state(link);
        let mut flows: Vec<u32> = crossings.iter().map(|it| it.flow).collect();
        flows.dedup();
        let result = self.solve(flows.into_iter(), tolerance).then(|| {
            self.update_results(&[]);
            (self.totals(), self.links[link as usize].load)
        });
        self.restore();
        result
    }

    fn totals(&self) -> TotalsSteady {
        if self.intact.has_transfers {
            // Delays of flows include the waits behind their own bursts.
            return self.solver.network_totals();
        }
        let mut totals = TotalsSteady::default();
        let (mut delay, mut lost) = (0.0, 0.0);
        for (it, flow) in self.flows.iter().zip(&self.solver.problem.flows) {
            totals.rate_pps += it.rate_pps;
            totals.goodput_pps += it.goodput_pps;
            totals.goodput_bps += it.goodput_pps * flow.data_bits;
            delay += it.goodput_pps * it.delay_s;
            lost += it.rate_pps * it.loss_probability;
        }
        totals.loss_probability = lost / totals.rate_pps.max(f64::MIN_POSITIVE);
        totals.delay_s = delay / totals.goodput_pps.max(f64::MIN_POSITIVE);
        totals
    }

    /// Removes the flows of rerouted classes and adds those on the new routes. Returns the classes with their
    /// added flows.
    fn replace_flows(&mut self, routes: &Rerouted) -> Vec<(u32, Vec<u32>)> {
        let network = self.solver.network.clone();
        let inner = network.tables();
        let problem = &mut self.solver.problem;
        let (mut reroutes, mut replaced) = (Vec::new(), Vec::new());
        for reroute in &routes.reroutes {
            let before = problem.flows_of_class(reroute.class);
            if before.is_empty() {
                continue; // inactive
            }
            let ways = routes.paths(inner, reroute.class, None);
            if is_unchanged(problem, before.clone(), &network, &ways) {
                continue;
            }
            let like = problem.flows[before.start];
            let mut removed = before.map(|flow| flow as u32);
            let mut added = Vec::new();
            for way in ways {
                let flow = problem.flows.len() as u32;
                added.push(flow);
                problem.append_rerouted(&network, &like, way);
                let it = &problem.flows[flow as usize];
                self.solver.point.base_rtt_s.push(problem.base_rtt_s(it));
                self.solver.point.flows.push(FlowState::default());
                let old_hops = self.solver.point.hops.len() as u32;
                self.solver.point.hops.resize(problem.hop_link.len(), 0.0);
                self.aliases.extend(old_hops..problem.hop_link.len() as u32);
                replaced.push((removed.next(), Some(flow)));
            }
            replaced.extend(removed.map(|flow| (Some(flow), None)));
            reroutes.push((reroute.class, added));
        }
        for (old, new) in replaced {
            self.replace_flow(old, new);
        }
        let problem = &mut self.solver.problem;
        for &flow in &self.removed.members {
            problem.flows[flow as usize].count = 0.0;
        }
        let added = problem.flows.len() - self.flows.len();
        self.flows
            .resize(self.flows.len() + added, ConnectionSteady::default());
        reroutes
    }

    /// Registers that a flow is removed, added, or replaced. A replacement shares the first and the last hops of
    /// both paths. Marks the links where the traffic changes.
    fn replace_flow(&mut self, old: Option<u32>, new: Option<u32>) {
        let problem = &self.solver.problem;
        let flow = |i: Option<u32>| i.map(|i| &problem.flows[i as usize]);
        let is_same_traffic = match (flow(old), flow(new)) {
            (Some(old), Some(new)) => {
                let has_transfers = problem.transfers[old.class as usize].is_some();
                let depends_on_path =
                    has_transfers || old.profile != NO_PROFILE && old.window_pkts < f64::INFINITY;
                !depends_on_path && old.count == new.count && old.acks == new.acks
            }
            _ => false,
        };
        for is_data in [true, false] {
            let hops = |flow: Option<&Flow>| match (flow, is_data) {
                (None, _) => 0..0,
                (Some(it), true) => it.data_hops(),
                (Some(it), false) => it.ack_hops(),
            };
            let (before, after) = (hops(flow(old)), hops(flow(new)));
            let (a, b) = (
                &problem.hop_link[before.clone()],
                &problem.hop_link[after.clone()],
            );
            let shorter = a.len().min(b.len());
            let first = a.iter().zip(b).take_while(|(a, b)| a == b).count();
            let pairs = a.iter().rev().zip(b.iter().rev());
            let last = pairs.take_while(|(a, b)| a == b).count();
            // Packets reach the first of the last hops from another link.
            let last = last.min(shorter - first).saturating_sub(1);
            for hop in before.start + first..before.end - last {
                self.removed_hops.insert(hop as u32);
                self.changed_links.insert(problem.hop_link[hop]);
            }
            for hop in after.start + first..after.end - last {
                let link = problem.hop_link[hop];
                self.changed_links.insert(link);
                self.added[link as usize].push(Crossing {
                    flow: new.unwrap_or_default(),
                    hop: hop as u32,
                    is_data,
                    is_first: hop == after.start,
                });
            }
            let intact_hops = self.intact.solver.problem.hop_link.len();
            for (place, hop) in after.clone().enumerate() {
                let old_hop = if place < first {
                    before.start + place
                } else if after.end - hop <= last {
                    before.end - (after.end - hop)
                } else {
                    continue;
                };
                self.aliases[hop - intact_hops] = old_hop as u32;
                if !is_same_traffic {
                    self.changed_links.insert(problem.hop_link[hop]);
                }
            }
        }
        if let Some(old) = old {
            self.removed.insert(old);
            self.replacement[old as usize] = new.unwrap_or(old);
        }
    }

    /// Returns the hops over a link. A hop that a removed flow shares with its replacement counts as that of the
    /// replacement.
    fn crossings(&self, link: u32) -> impl Iterator<Item = Crossing> + '_ {
        let before = self.intact.crossings.row(link as usize).iter();
        let before = before.filter(|it| !self.removed_hops.contains(it.hop));
        let before = before.map(|it| Crossing {
            flow: self.replacement[it.flow as usize],
            ..*it
        });
        before.chain(self.added[link as usize].iter().copied())
    }

    /// Returns the flows over these links in order.
    fn flows_over(&self, links: &[u32]) -> Vec<u32> {
        let mut flows = IndexSet::new(self.solver.problem.flows.len());
        for &link in links {
            for crossing in self.crossings(link) {
                flows.insert(crossing.flow);
            }
        }
        flows.sorted()
    }

    /// Updates the rates of these flows, and iterates until no residual exceeds the tolerance; returns whether that
    /// succeeded.
    fn solve(&mut self, flows: impl Iterator<Item = u32>, tolerance: f64) -> bool {
        for flow in flows {
            self.update_rate(flow);
            self.pass_rate_on(flow);
        }
        if !self.intact.has_profiles && self.iterate(tolerance) {
            return true;
        }
        self.update_stale_flows();
        for _ in 0..MAX_SOLUTIONS {
            let mut is_solved = true;
            for link in self.stale_rates.take() {
                is_solved &= self.update_link_rate(link) <= tolerance;
            }
            if is_solved {
                return true;
            }
            for link in 0..self.links.len() as u32 {
                if self.has_traffic(link) {
                    self.active.insert(link);
                }
            }
            for &link in &self.active.members {
                let z = &mut self.z[2 * link as usize..2 * link as usize + 2];
                if z == empty_link() {
                    // A new link starts at the load of its flows, at most nearly full.
                    z[0] = (z[0] - self.residuals[2 * link as usize]).min(MAX_START_LN_LOAD);
                    z[1] -= self.residuals[2 * link as usize + 1];
                }
            }
            if !self.solve_active(tolerance) {
                return false;
            }
        }
        false
    }

    /// Iterates for a fixed point; returns whether it converged.
    fn iterate(&mut self, tolerance: f64) -> bool {
        for _ in 0..MAX_ITERATIONS {
            self.update_stale_flows();
            if self.stale_rates.members.is_empty() {
                return true;
            }
            for link in self.stale_rates.take() {
                if self.update_link_rate(link) > ITERATION_TOLERANCE * tolerance {
                    let l = 2 * link as usize;
                    self.z[l] -= self.residuals[l];
                    self.z[l + 1] -= self.residuals[l + 1];
                    self.update_link_state(link);
                    self.update_residual(link);
                }
            }
        }
        // The residuals of these links are not known.
        let links = self.links_with_other_rates.members.iter();
        links.for_each(|&link| _ = self.stale_rates.insert(link));
        false
    }

    /// Updates the rates of flows over links whose losses or waits changed.
    fn update_stale_flows(&mut self) {
        if self.stale_flows.members.is_empty() {
            return;
        }
        let flows = self.flows_over(&self.stale_flows.members);
        self.stale_flows.clear();
        for flow in flows {
            self.update_rate(flow);
            self.pass_rate_on(flow);
        }
    }

    fn has_traffic(&self, link: u32) -> bool {
        self.crossings(link).next().is_some()
    }

    /// Updates the queue models and states of links with other traffic.
    fn update_queue_models(&mut self) {
        let problem = &self.solver.problem;
        let links = if self.intact.has_remote_effects {
            (0..problem.links.len() as u32).collect()
        } else {
            self.changed_links.sorted()
        };
        let laws = self.queue_models(&links);
        self.changed_links.clear();
        for (link, law) in links.into_iter().zip(laws) {
            let l = link as usize;
            let is_same = law == self.solver.point.laws[l];
            self.solver.point.laws[l] = law;
            if !self.has_traffic(link) {
                if self.z[2 * l..2 * l + 2] != [0.0; 2] {
                    self.z[2 * l..2 * l + 2].fill(0.0);
                    self.residuals[2 * l..2 * l + 2].fill(0.0);
                    self.solver.point.links[l] = LinkState::default();
                    self.changed_links.insert(link);
                    self.links_with_other_rates.insert(link);
                }
                continue;
            }
            if self.z[2 * l..2 * l + 2] == [0.0; 2] {
                self.z[2 * l..2 * l + 2].copy_from_slice(&empty_link());
                self.update_link_state(link);
            } else if !is_same {
                self.update_link_state(link);
            }
            self.links_with_other_rates.insert(link);
            self.stale_rates.insert(link);
        }
    }

    /// Returns the queue models of these links, in the same order.
    fn queue_models(&self, links: &[u32]) -> Vec<DropTailTcpLaw> {
        let problem = &self.solver.problem;
        let law =
            |link: u32, traffic: &LinkTraffic| problem.links[link as usize].queue_model(traffic);
        if self.intact.has_remote_effects || self.intact.has_transfers {
            let is_removed = |flow: &u32| self.removed.contains(*flow);
            let flows: Vec<u32> = if self.intact.has_remote_effects {
                let all = 0..problem.flows.len() as u32;
                all.filter(|flow| !is_removed(flow)).collect()
            } else {
                self.flows_over(links)
            };
            let flows = flows.iter().map(|&i| &problem.flows[i as usize]);
            let traffic = problem.link_traffic_of(flows);
            return links
                .iter()
                .map(|&l| law(l, &traffic[l as usize]))
                .collect();
        }
        let crossings = |link: u32| {
            self.crossings(link).map(|it| {
                let flow = &problem.flows[it.flow as usize];
                // A removed flow and its replacement share hops after the same link only.
                let before = (!it.is_first).then(|| problem.hop_link[it.hop as usize - 1]);
                (flow, before, it.is_data)
            })
        };
        let each = links.iter().map(|&link| (link, crossings(link)));
        each.map(|(link, crossings)| law(link, &problem.traffic_at(link, crossings)))
            .collect()
    }

    /// Computes the state of a link from its unknowns.
    fn update_link_state(&mut self, link: u32) {
        let l = link as usize;
        let Solver { problem, point, .. } = &mut self.solver;
        let before = point.links[l];
        let (u, v) = (self.z[2 * l], self.z[2 * l + 1]);
        point.links[l] = LinkState {
            bits_ps: before.bits_ps,
            pkts_ps: before.pkts_ps,
            ..LinkState::at(&problem.links[l], &point.laws[l], u, v)
        };
        self.changed_links.insert(link);
        let has_other_loss = before.fixed_point.ln_pass != point.links[l].fixed_point.ln_pass;
        if has_other_loss || self.intact.has_profiles {
            self.stale_flows.insert(link);
        }
    }

    /// Computes the rate of a flow for the state of its links.
    fn update_rate(&mut self, flow: u32) {
        let Solver { problem, point, .. } = &mut self.solver;
        let f = &problem.flows[flow as usize];
        let at = &mut point.flows[flow as usize];
        at.experience(problem, f, point.base_rtt_s[flow as usize], &point.links);
        if f.profile == NO_PROFILE {
            at.rate_pps = f.rate_pps;
            return;
        }
        let profile = &*problem.profiles[f.profile as usize];
        let mut profile_pps = [0.0];
        profile.throughputs(&[at.loss()], &[at.rtt_s], &mut profile_pps);
        at.respond(profile, f, profile_pps[0], false);
    }

    /// Computes the rates of a flow at all its hops, and marks the links where they change.
    fn pass_rate_on(&mut self, flow: u32) {
        self.flows_with_other_rates.insert(flow);
        let intact_hops = self.intact.solver.problem.hop_link.len();
        let Solver { problem, point, .. } = &mut self.solver;
        let f = &problem.flows[flow as usize];
        let mut pps = f.sent_pps(point.flows[flow as usize].rate_pps);
        for hop in f.data_hops().chain(f.ack_hops()) {
            let link = problem.hop_link[hop];
            let alias = hop
                .checked_sub(intact_hops)
                .map(|i| self.aliases[i] as usize);
            let before = &mut point.hops[alias.unwrap_or(hop)];
            if *before != pps {
                *before = pps;
                self.stale_rates.insert(link);
                self.links_with_other_rates.insert(link);
            }
            pps *= point.links[link as usize].pass * problem.hop_pass[hop];
        }
    }

    /// Adds up the rates of a link and returns its largest residual.
    fn update_link_rate(&mut self, link: u32) -> f64 {
        let (mut bits_ps, mut pkts_ps) = (0.0, 0.0);
        for crossing in self.crossings(link) {
            let (bits, pps, pkts) = self.rate_of(crossing);
            pkts_ps += pps * pkts;
            bits_ps += pps * (pkts * bits);
        }
        let l = link as usize;
        if self.z[2 * l..2 * l + 2] == [0.0; 2] {
            return 0.0; // no traffic
        }
        let at = &mut self.solver.point.links[l];
        (at.bits_ps, at.pkts_ps) = (bits_ps.max(MIN_RATE), pkts_ps.max(MIN_RATE));
        self.update_residual(link)
    }

    fn update_residual(&mut self, link: u32) -> f64 {
        let l = link as usize;
        let (u, v) = (self.z[2 * l], self.z[2 * l + 1]);
        let at = &self.solver.point.links[l];
        let residuals = at.residuals(&self.solver.problem.links[l], u, v);
        self.residuals[2 * l..2 * l + 2].copy_from_slice(&residuals);
        max_norm(&residuals)
    }

    /// Returns bits of a packet, data packets/s and packets per data packet of a crossing.
    fn rate_of(&self, it: Crossing) -> (f64, f64, f64) {
        let Solver { problem, point, .. } = &self.solver;
        let acks = problem.flows[it.flow as usize].acks;
        let pkts = if it.is_data { 1.0 } else { acks };
        let hop = it.hop as usize;
        (problem.hop_bits[hop], point.hops[hop], pkts)
    }

    /// Solves the active links with all others constant, and updates the rates of the flows over them. Returns
    /// whether it found a solution.
    fn solve_active(&mut self, tolerance: f64) -> bool {
        let active = self.active.sorted();
        for (i, &link) in (0..).zip(&active) {
            self.place[link as usize] = i;
            self.changed_links.insert(link);
        }
        let mut flows = self.flows_over(&active);
        flows.sort_by_key(|&flow| self.solver.problem.flows[flow as usize].profile);
        let (part, mut state) = self.part(&active, &flows);
        let pairs = || active.iter().map(|&link| 2 * link as usize);
        let mut z: Vec<f64> = pairs().flat_map(|i| [self.z[i], self.z[i + 1]]).collect();
        let mut newton = Newton::new(&part);
        let reached = newton.solve(&part, &mut state, &mut z, tolerance, MAX_NEWTON_STEPS);
        for &link in &active {
            self.place[link as usize] = u32::MAX;
        }
        if reached.residual > tolerance || reached.residual.is_nan() {
            return false;
        }
        for (place, &link) in active.iter().enumerate() {
            let l = link as usize;
            self.z[2 * l..2 * l + 2].copy_from_slice(&z[2 * place..2 * place + 2]);
            self.solver.point.links[l] = state.links[place];
            self.links_with_other_rates.insert(link);
            self.stale_rates.insert(link);
        }
        for (&flow, at) in flows.iter().zip(&state.flows) {
            self.solver.point.flows[flow as usize] = *at;
            self.pass_rate_on(flow);
        }
        true
    }

    /// Returns the problem of the active links alone.
    fn part(&self, active: &[u32], flows: &[u32]) -> (Problem, NetworkState) {
        let Solver { problem, point, .. } = &self.solver;
        let mut hops = Hops::default();
        let mut base_rtt_s = Vec::with_capacity(flows.len());
        let flow_on_part = |&flow: &u32| {
            let mut f = problem.flows[flow as usize];
            let mut rtt_s = point.base_rtt_s[flow as usize];
            let first = hops.link.len() as u32;
            let whole = f;
            for (each, is_data) in [(whole.data_hops(), true), (whole.ack_hops(), false)] {
                let start = hops.link.len() as u32;
                for hop in each {
                    let link = problem.hop_link[hop] as usize;
                    let at = &point.links[link];
                    if self.place[link] != u32::MAX {
                        hops.link.push(self.place[link]);
                        hops.bits.push(problem.hop_bits[hop]);
                        hops.pass.push(problem.hop_pass[hop]);
                        continue;
                    }
                    let pass = at.pass * problem.hop_pass[hop];
                    match hops.pass.get_mut(first as usize..) {
                        Some([.., last]) => *last *= pass,
                        _ => f.entry_pass *= pass,
                    }
                    rtt_s += at.waiting_s;
                    if is_data {
                        f.ln_pass += at.fixed_point.ln_pass;
                    }
                }
                let range = (start, hops.link.len() as u32);
                if is_data {
                    f.data = range;
                } else {
                    f.back = range;
                }
            }
            base_rtt_s.push(rtt_s);
            f
        };
        let flows = flows.iter().map(flow_on_part).collect();
        let links = active.iter().map(|&l| problem.links[l as usize]).collect();
        let laws = active.iter().map(|&l| point.laws[l as usize]).collect();
        let part = problem.of_part(links, flows, hops);
        let state = NetworkState::of_part(&part, laws, base_rtt_s);
        (part, state)
    }

    /// Updates the results of changed links, flows and connections. Returns the changed connections, and those
    /// that lost their route.
    fn update_results(
        &mut self,
        reroutes: &[(u32, Vec<u32>)],
    ) -> (Vec<ConnectionId>, Vec<ConnectionId>) {
        for i in 0..self.links_with_other_rates.members.len() {
            self.update_link_result(self.links_with_other_rates.members[i]);
        }
        for i in 0..self.changed_links.members.len() {
            self.update_delays(self.changed_links.members[i]);
        }
        for i in 0..self.flows_with_other_rates.members.len() {
            let flow = self.flows_with_other_rates.members[i];
            self.changed_flows.insert(flow);
            self.flows[flow as usize] = self.solver.flow_traffic(flow as usize, &self.aside_s);
        }
        for &flow in &self.removed.members {
            self.flows[flow as usize] = ConnectionSteady::default();
        }
        let network: &Network = &self.intact.solver.network;
        let inner = network.tables();
        let id = |connection: u32| ConnectionId::new(connection, inner.owner);
        let flows = self.changed_flows.members.iter().map(|&i| i as usize);
        let classes = flows.map(|i| self.solver.problem.flows[i].class);
        let mut classes: Vec<u32> = classes.chain(reroutes.iter().map(|it| it.0)).collect();
        classes.sort_unstable();
        classes.dedup();
        let mut blocked = Vec::new();
        let mut changed = Vec::new();
        for class in classes {
            let added = reroutes.binary_search_by_key(&class, |it| it.0);
            let flows: Vec<u32> = match added {
                Ok(i) => reroutes[i].1.clone(),
                Err(_) => {
                    let same = self.solver.problem.flows_of_class(class);
                    same.map(|flow| flow as u32).collect()
                }
            };
            let connections = self.intact.connections.row(class as usize);
            if flows.is_empty() {
                blocked.extend(connections.iter().copied().map(id));
            }
            let all_count = flows
                .iter()
                .map(|&i| self.solver.problem.flows[i as usize].count);
            let all_count: f64 = all_count.sum();
            let each: Vec<ConnectionSteady> =
                flows.iter().map(|&i| self.flows[i as usize]).collect();
            for &connection in connections {
                let at = &mut self.connections[connection as usize];
                *at = ConnectionSteady::default();
                if !each.is_empty() {
                    let count = network.connection_spec(id(connection)).count;
                    let part = f64::from(count) / all_count;
                    let all = sum_flows(&each);
                    *at = ConnectionSteady {
                        rate_pps: all.rate_pps * part,
                        goodput_pps: all.goodput_pps * part,
                        ..all
                    };
                }
                changed.push(connection);
            }
        }
        blocked.sort_unstable_by_key(|it| it.index());
        changed.sort_unstable();
        (changed.into_iter().map(id).collect(), blocked)
    }

    fn update_link_result(&mut self, link: u32) {
        let l = link as usize;
        let (mut load_bps, mut demand_bps) = (0.0, 0.0);
        for crossing in self.crossings(link) {
            let (bits, pps, pkts) = self.rate_of(crossing);
            let flow = &self.solver.problem.flows[crossing.flow as usize];
            let rate_pps = self.solver.point.flows[crossing.flow as usize].rate_pps;
            let demand_pps = flow.sent_pps(flow.demanded_pps(rate_pps));
            load_bps += pps.max(demand_pps) * (pkts * bits);
            if crossing.is_data {
                demand_bps += demand_pps * bits;
            }
        }
        let steady = self
            .solver
            .link_steady(l, self.z[2 * l..2 * l + 2] != [0.0; 2]);
        self.links[l] = LinkSteady {
            load_bps,
            demand_bps,
            load: load_bps / self.solver.problem.links[l].bandwidth_bps,
            ..steady
        };
    }

    /// Adds the difference of a link's delay to flows whose rates did not change.
    fn update_delays(&mut self, link: u32) {
        let l = link as usize;
        let mut transfers_pps = 0.0;
        if self.intact.has_transfers {
            let Solver { problem, point, .. } = &self.solver;
            for it in self.crossings(link).filter(|it| it.is_data) {
                let flow = &problem.flows[it.flow as usize];
                if problem.transfers[flow.class as usize].is_some() {
                    transfers_pps += flow.sent_pps(point.flows[it.flow as usize].rate_pps);
                }
            }
        }
        self.aside_s[l] = self.solver.burst_wait_difference(l, transfers_pps);
        let wait_s = |at: &LinkState| at.fixed_point.found_pkts * at.packet_s;
        let more_s =
            wait_s(&self.solver.point.links[l]) - wait_s(&self.intact.solver.point.links[l]);
        let more_s = [0, 1].map(|i| more_s + self.aside_s[l][i] - self.intact.aside_s[l][i]);
        if more_s == [0.0; 2] {
            return;
        }
        // Removed and added flows have other rates.
        for it in self.intact.crossings.row(l).iter().filter(|it| it.is_data) {
            if !self.flows_with_other_rates.contains(it.flow) && !self.removed.contains(it.flow) {
                let class = self.solver.problem.flows[it.flow as usize].class;
                let is_transfer = self.solver.problem.transfers[class as usize].is_some();
                self.flows[it.flow as usize].delay_s += more_s[usize::from(is_transfer)];
                self.changed_flows.insert(it.flow);
            }
        }
    }

    /// Returns everything to the intact state.
    fn restore(&mut self) {
        let intact = self.intact;
        let (before, point) = (&intact.solver.problem, &intact.solver.point);
        let Solver {
            problem,
            point: here,
            ..
        } = &mut self.solver;
        for &flow in &self.removed.members {
            problem.flows[flow as usize].count = before.flows[flow as usize].count;
            self.replacement[flow as usize] = flow;
        }
        self.aliases.clear();
        for flow in &problem.flows[before.flows.len()..] {
            for hop in flow.data_hops().chain(flow.ack_hops()) {
                self.added[problem.hop_link[hop] as usize].clear();
            }
        }
        problem.truncate(before.flows.len(), before.hop_link.len());
        here.flows.truncate(before.flows.len());
        here.hops.truncate(before.hop_link.len());
        here.base_rtt_s.truncate(before.flows.len());
        self.flows.truncate(before.flows.len());
        let links = [&self.links_with_other_rates, &self.changed_links];
        for &link in links.into_iter().flat_map(|it| &it.members) {
            let l = link as usize;
            problem.links[l] = before.links[l];
            here.links[l] = point.links[l];
            here.laws[l] = point.laws[l];
            for i in [2 * l, 2 * l + 1] {
                self.z[i] = intact.steady.z[i];
                self.residuals[i] = intact.solver.newton.residuals[i];
            }
            self.links[l] = intact.steady.links[l];
            self.aside_s[l] = intact.aside_s[l];
        }
        for &flow in self
            .flows_with_other_rates
            .members
            .iter()
            .chain(&self.removed.members)
        {
            let i = flow as usize;
            if let Some(f) = before.flows.get(i) {
                here.flows[i] = point.flows[i];
                here.base_rtt_s[i] = point.base_rtt_s[i];
                let hops = f.data.0 as usize..f.back.1 as usize;
                here.hops[hops.clone()].copy_from_slice(&point.hops[hops]);
            }
        }
        for &flow in self
            .changed_flows
            .members
            .iter()
            .chain(&self.removed.members)
        {
            let i = flow as usize;
            let Some(f) = before.flows.get(i) else {
                continue; // added
            };
            self.flows[i] = intact.flows[i];
            for &connection in intact.connections.row(f.class as usize) {
                let c = connection as usize;
                self.connections[c] = intact.steady.connections[c];
            }
        }
        for set in [
            &mut self.removed,
            &mut self.removed_hops,
            &mut self.stale_rates,
            &mut self.stale_flows,
            &mut self.links_with_other_rates,
            &mut self.changed_links,
            &mut self.flows_with_other_rates,
            &mut self.changed_flows,
            &mut self.active,
        ] {
            set.clear();
        }
    }
}

/// Returns whether these paths with their shares are those of the flows.
fn is_unchanged(
    problem: &Problem,
    flows: std::ops::Range<usize>,
    network: &Network,
    ways: &[(f64, PathPair<'_>)],
) -> bool {
    let flows = &problem.flows[flows];
    let is_same = |(flow, (share, way)): (&Flow, &(f64, PathPair<'_>))| {
        let weight = network.tables().classes[flow.class as usize].weight;
        let links = |from: u32, until: u32| &problem.hop_link[from as usize..until as usize];
        flow.count == share * weight
            && links(flow.data.0, flow.data.1) == way.data
            && links(flow.back.0, flow.back.1) == way.back
    };
    flows.len() == ways.len() && flows.iter().zip(ways).all(is_same)
}
