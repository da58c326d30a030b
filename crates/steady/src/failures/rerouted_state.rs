//! Steady state of a network in which some routes differ from the intact ones. Links and flows that the
//! difference does not reach keep their intact state.
//!
//! The solver iterates between two steps. First it passes changed rates along the paths of changed flows and
//! evaluates the links that they reach. Links whose residual exceeds the tolerance become active. Then it solves
//! the active links together by Newton's method, with all other links constant. It ends when no residual
//! exceeds the tolerance.

use netflow_network::compiled::PathPair;
use netflow_network::{ConnectionId, Network, Rerouted};
use netflow_units::Csr;

use crate::newton::Newton;
use crate::problem::{Flow, Hops, NO_PROFILE, Problem};
use crate::residual::{FlowState, LinkState, MIN_RATE, NetworkState};
use crate::solver::{MAX_NEWTON_STEPS, MAX_START_LN_LOAD, Solver, empty_link};
use crate::steady::{ConnectionSteady, LinkSteady, Steady, sum_flows};

/// Number of times that the set of active links may grow.
const MAX_GROWTHS: usize = 100;

/// Hop of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Crossing {
    flow: u32,
    hop: u32,
}

/// Steady state of the intact network, with indices.
pub(super) struct Intact<'a> {
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
}

impl<'a> Intact<'a> {
    /// Takes a solver whose last solution is `steady`.
    pub fn new(solver: &'a Solver, steady: &'a Steady) -> Intact<'a> {
        let problem = &solver.problem;
        let hops = (0..).zip(&problem.flows).flat_map(|(flow, it)| {
            let hops = it.data_hops().chain(it.ack_hops());
            hops.map(move |hop| {
                (
                    problem.hop_link[hop],
                    Crossing {
                        flow,
                        hop: hop as u32,
                    },
                )
            })
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

/// State of the network after a failure, restored to the intact state before the next one.
pub(super) struct ReroutedState<'a> {
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
pub(super) struct Outcome<'a> {
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

impl<'a> ReroutedState<'a> {
    pub fn new(intact: &'a Intact<'a>) -> ReroutedState<'a> {
        let solver = Solver {
            newton: Newton::default(),
            ..intact.solver.clone()
        };
        let (links, flows) = (solver.problem.links.len(), solver.problem.flows.len());
        ReroutedState {
            intact,
            z: intact.steady.z.clone(),
            residuals: intact.solver.newton.residuals.clone(),
            links: intact.steady.links.clone(),
            connections: intact.steady.connections.clone(),
            flows: intact.flows.clone(),
            aside_s: intact.aside_s.clone(),
            added: vec![Vec::new(); links],
            removed: IndexSet::new(flows),
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
        let is_found = self.solve(tolerance);
        let result = is_found.then(|| {
            let (changed_connections, blocked) = self.update_results(&reroutes);
            let each = self.flows.iter().zip(&self.solver.problem.flows);
            read(Outcome {
                residual: crate::newton::max_norm(&self.residuals),
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

    /// Removes the flows of rerouted classes and adds those on the new routes. Returns the classes with their
    /// added flows.
    fn replace_flows(&mut self, routes: &Rerouted) -> Vec<(u32, Vec<u32>)> {
        let network = self.solver.network.clone();
        let inner = network.tables();
        let problem = &mut self.solver.problem;
        let mut reroutes = Vec::new();
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
            for flow in before {
                self.removed.insert(flow as u32);
                problem.flows[flow].count = 0.0;
            }
            let mut added = Vec::new();
            for way in ways {
                let flow = problem.flows.len() as u32;
                added.push(flow);
                problem.append_rerouted(&network, &like, way);
                let it = &problem.flows[flow as usize];
                self.solver.point.base_rtt_s.push(problem.base_rtt_s(it));
                self.solver.point.flows.push(FlowState::default());
                self.solver.point.hops.resize(problem.hop_link.len(), 0.0);
                for hop in it.data_hops().chain(it.ack_hops()) {
                    let hop = hop as u32;
                    self.added[problem.hop_link[hop as usize] as usize]
                        .push(Crossing { flow, hop });
                }
            }
            reroutes.push((reroute.class, added));
        }
        let added = problem.flows.len() - self.flows.len();
        self.flows
            .resize(self.flows.len() + added, ConnectionSteady::default());
        reroutes
    }

    /// Returns the hops over a link, those of removed flows excluded.
    fn crossings(&self, link: u32) -> impl Iterator<Item = Crossing> + '_ {
        let before = self.intact.crossings.row(link as usize).iter();
        let before = before.filter(|it| !self.removed.contains(it.flow));
        before.chain(&self.added[link as usize]).copied()
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

    /// Iterates until no residual exceeds the tolerance; returns whether that succeeded.
    fn solve(&mut self, tolerance: f64) -> bool {
        let new_links = self.update_queue_models();
        let mut moved = self.flows_over(&self.changed_links.sorted());
        for &flow in &moved {
            self.update_rate(flow);
        }
        moved.extend(&self.removed.members);
        for _ in 0..MAX_GROWTHS {
            for &flow in &moved {
                self.pass_rate_on(flow);
            }
            let mut most: f64 = 0.0;
            for i in 0..self.links_with_other_rates.members.len() {
                let link = self.links_with_other_rates.members[i];
                let residual = self.update_link_rate(link);
                if residual.is_nan() {
                    return false;
                }
                if residual > tolerance && self.has_traffic(link) {
                    most = most.max(residual);
                    self.active.insert(link);
                }
            }
            if most == 0.0 {
                return true;
            }
            for &link in &new_links {
                self.start_new_link(link);
            }
            match self.solve_active(tolerance) {
                Some(flows) => moved = flows,
                None => return false,
            }
        }
        false
    }

    fn has_traffic(&self, link: u32) -> bool {
        self.crossings(link).next().is_some()
    }

    /// Updates the queue models and states of links with other flows. Returns the links without traffic before.
    fn update_queue_models(&mut self) -> Vec<u32> {
        let problem = &self.solver.problem;
        let intact_flows = self.intact.flows.len();
        let replaced = self.removed.members.iter().map(|it| *it as usize);
        for flow in replaced.chain(intact_flows..problem.flows.len()) {
            let flow = &problem.flows[flow];
            for hop in flow.data_hops().chain(flow.ack_hops()) {
                self.changed_links.insert(problem.hop_link[hop]);
            }
        }
        let flows: Vec<u32> = if self.intact.has_remote_effects {
            let all = 0..problem.flows.len() as u32;
            all.filter(|flow| !self.removed.contains(*flow)).collect()
        } else {
            self.flows_over(&self.changed_links.members)
        };
        let problem = &self.solver.problem;
        let traffic = problem.link_traffic_of(flows.iter().map(|&i| &problem.flows[i as usize]));
        let links = if self.intact.has_remote_effects {
            (0..problem.links.len() as u32).collect()
        } else {
            self.changed_links.sorted()
        };
        let mut new_links = Vec::new();
        for link in links {
            let l = link as usize;
            let law = self.solver.problem.links[l].queue_model(&traffic[l]);
            let is_same = law == self.solver.point.laws[l];
            if is_same && !self.changed_links.contains(link) {
                continue;
            }
            self.solver.point.laws[l] = law;
            self.changed_links.insert(link);
            self.links_with_other_rates.insert(link);
            if !self.has_traffic(link) {
                self.z[2 * l..2 * l + 2].fill(0.0);
                self.residuals[2 * l..2 * l + 2].fill(0.0);
                self.solver.point.links[l] = LinkState::default();
                continue;
            }
            if self.z[2 * l..2 * l + 2] == [0.0; 2] {
                self.z[2 * l..2 * l + 2].copy_from_slice(&empty_link());
                new_links.push(link);
            } else if is_same {
                continue; // its state is that of the intact network
            }
            self.update_link_state(link);
        }
        new_links
    }

    fn update_link_state(&mut self, link: u32) {
        let l = link as usize;
        let Solver { problem, point, .. } = &mut self.solver;
        let (u, v) = (self.z[2 * l], self.z[2 * l + 1]);
        let rates = (point.links[l].bits_ps, point.links[l].pkts_ps);
        point.links[l] = LinkState::at(&problem.links[l], &point.laws[l], u, v);
        (point.links[l].bits_ps, point.links[l].pkts_ps) = rates;
    }

    /// Starts a link that had no traffic at the load of its flows, at most nearly full.
    fn start_new_link(&mut self, link: u32) {
        let l = link as usize;
        let z = &mut self.z[2 * l..2 * l + 2];
        if z == empty_link() {
            z[0] = (z[0] - self.residuals[2 * l]).min(MAX_START_LN_LOAD);
            z[1] -= self.residuals[2 * l + 1];
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
        let Solver { problem, point, .. } = &mut self.solver;
        let f = &problem.flows[flow as usize];
        let mut pps = f.sent_pps(point.flows[flow as usize].rate_pps);
        for hop in f.data_hops().chain(f.ack_hops()) {
            let link = problem.hop_link[hop];
            if point.hops[hop] != pps {
                point.hops[hop] = pps;
                self.links_with_other_rates.insert(link);
            }
            pps *= point.links[link as usize].pass * problem.hop_pass[hop];
        }
    }

    /// Adds up the rates of a link and returns its largest residual.
    fn update_link_rate(&mut self, link: u32) -> f64 {
        let l = link as usize;
        let (mut bits_ps, mut pkts_ps) = (0.0, 0.0);
        for crossing in self.crossings(link) {
            let (bits, pps, pkts) = self.rate_of(crossing);
            pkts_ps += pps * pkts;
            bits_ps += pps * (pkts * bits);
        }
        let at = &mut self.solver.point.links[l];
        if self.z[2 * l..2 * l + 2] == [0.0; 2] {
            return 0.0; // no traffic
        }
        (at.bits_ps, at.pkts_ps) = (bits_ps.max(MIN_RATE), pkts_ps.max(MIN_RATE));
        let (u, v) = (self.z[2 * l], self.z[2 * l + 1]);
        let residuals = at.residuals(&self.solver.problem.links[l], u, v);
        self.residuals[2 * l..2 * l + 2].copy_from_slice(&residuals);
        crate::newton::max_norm(&residuals)
    }

    /// Returns bits of a packet, data packets/s and packets per data packet of a crossing.
    fn rate_of(&self, Crossing { flow, hop }: Crossing) -> (f64, f64, f64) {
        let Solver { problem, point, .. } = &self.solver;
        let f = &problem.flows[flow as usize];
        let pkts = if hop < f.data.1 { 1.0 } else { f.acks };
        (
            problem.hop_bits[hop as usize],
            point.hops[hop as usize],
            pkts,
        )
    }

    /// Solves the active links with all others constant. Returns the flows over them, or `None` without a
    /// solution.
    fn solve_active(&mut self, tolerance: f64) -> Option<Vec<u32>> {
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
            return None;
        }
        for (place, &link) in active.iter().enumerate() {
            let l = link as usize;
            self.z[2 * l..2 * l + 2].copy_from_slice(&z[2 * place..2 * place + 2]);
            self.solver.point.links[l] = state.links[place];
            self.links_with_other_rates.insert(link);
        }
        for (&flow, at) in flows.iter().zip(&state.flows) {
            self.solver.point.flows[flow as usize] = *at;
        }
        Some(flows)
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
            self.update_burst_waits(self.changed_links.members[i]);
        }
        let mut flows = self.flows_over(&self.changed_links.members);
        flows.extend(&self.flows_with_other_rates.members);
        for flow in flows {
            if self.changed_flows.insert(flow) {
                self.flows[flow as usize] = self.solver.flow_traffic(flow as usize, &self.aside_s);
            }
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
            if crossing.hop < flow.data.1 {
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

    fn update_burst_waits(&mut self, link: u32) {
        let problem = &self.solver.problem;
        let mut pps = 0.0;
        for Crossing { flow, hop } in self.crossings(link) {
            let f = &problem.flows[flow as usize];
            if hop < f.data.1 && problem.transfers[f.class as usize].is_some() {
                pps += f.sent_pps(self.solver.point.flows[flow as usize].rate_pps);
            }
        }
        self.aside_s[link as usize] = self.solver.burst_wait_difference(link as usize, pps);
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
        }
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
            here.links[l] = point.links[l];
            here.laws[l] = point.laws[l];
            for i in [2 * l, 2 * l + 1] {
                self.z[i] = intact.steady.z[i];
                self.residuals[i] = intact.solver.newton.residuals[i];
            }
            self.links[l] = intact.steady.links[l];
            self.aside_s[l] = intact.aside_s[l];
        }
        let flows = [
            &self.flows_with_other_rates,
            &self.changed_flows,
            &self.removed,
        ];
        for &flow in flows.into_iter().flat_map(|it| &it.members) {
            let i = flow as usize;
            let Some(f) = before.flows.get(i) else {
                continue;
            };
            here.flows[i] = point.flows[i];
            for hop in f.data.0 as usize..f.back.1 as usize {
                here.hops[hop] = point.hops[hop];
            }
            self.flows[i] = intact.flows[i];
            for &connection in intact.connections.row(f.class as usize) {
                let c = connection as usize;
                self.connections[c] = intact.steady.connections[c];
            }
        }
        for set in [
            &mut self.removed,
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
