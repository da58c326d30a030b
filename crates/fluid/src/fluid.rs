//! Fluid engine: integrates the queues and TCP's congestion windows in time.

mod readout;
mod runtime_control;

use std::collections::BTreeMap;
use std::sync::Arc;

use netflow_network::engine::Engine as _;
use netflow_network::queue_reliability::{TrafficKind, TrafficMix};
use netflow_network::{
    Application, Aqm, ClassInterval, ClassNumbers, ConnectionId, ConnectionSpec, DropPolicy,
    FluidOptions, LinkElement, LinkId, Network, RunError, Source, Totals, UserStats,
};
use netflow_units::Csr;

use crate::delays::BranchDelays;
use crate::engine::plan;
use crate::engine::queue_models::traffic_by_link;
use crate::engine::sources::{ActiveSources, active_s};
use crate::engine::{ComponentSteps, Scratch, Setup, Span, advance};
use crate::link_traffic::LinkTraffic;
use crate::session_replay;
use crate::state::State;
use crate::tcp_drop_tail::DropTailTcpLaw;

/// Fraction of the application's data below which a source counts as limited by TCP, not by its application.
const TCP_LIMITED_FRACTION: f64 = 0.95;

/// Fluid model of a network, with its state.
///
/// Steps of large networks run in parallel on the current rayon pool. The result is bit-identical for any
/// number of threads.
#[derive(Clone)]
pub struct Fluid {
    pub(crate) setup: Arc<Setup>,
    pub(crate) state: State,
    pub(crate) scratch: Scratch,
    duration_s: f64,
    seed: u64,
    /// Branches of each class, and connections of each class.
    branches: Csr<u32>,
    members: Csr<u32>,
    /// Shortest and longest step chosen so far, in seconds.
    step_range_s: Option<(f64, f64)>,
}

/// Cumulative packet counts of one branch.
#[derive(Clone, Copy, Debug, Default)]
pub struct BranchCounts {
    /// Packets sent.
    pub sent_pkts: f64,
    /// Packets that reached the receiver.
    pub delivered_pkts: f64,
}

/// Returns the shortest and the longest possible step in seconds.
fn possible_steps_s(setup: &Setup) -> (f64, f64) {
    let longest_s = setup.options.longest_step_s();
    let steps = setup.steps.iter().map(ComponentSteps::shortest_s);
    (steps.fold(longest_s, f64::min), longest_s)
}

impl Fluid {
    /// Creates the engine at time 0 with empty queues.
    ///
    /// # Errors
    /// [`RunError::BadOption`] for options that are out of range or exclude each other,
    /// [`RunError::TooLarge`] if it needs more memory than the network's builder allowed.
    pub fn new(
        network: Network,
        duration_s: f64,
        seed: u64,
        options: FluidOptions,
    ) -> Result<Fluid, RunError> {
        let (setup, first_step_s) = Self::setup(network, duration_s, options, &[])?;
        let state = State::new(&setup, duration_s, first_step_s);
        Ok(Self::assemble(setup, duration_s, seed, state))
    }

    /// Continues from a saved state, bit-identical to an uninterrupted run.
    ///
    /// # Errors
    /// As [`Fluid::new`]; and [`RunError::BadOption`] if the state does not belong to this network with these
    /// options.
    pub fn resume(
        network: Network,
        duration_s: f64,
        seed: u64,
        options: FluidOptions,
        state: State,
    ) -> Result<Fluid, RunError> {
        let paths: Vec<Option<u32>> = state.set.iter().map(|it| it.first_path).collect();
        let (setup, first_step_s) = Self::setup(network, duration_s, options, &paths)?;
        let fresh = State::new(&setup, duration_s, first_step_s);
        if !state.fits(&fresh) {
            return Err(RunError::BadOption {
                option: "state",
                reason: "it belongs to another network or to other options".to_owned(),
            });
        }
        Ok(Self::assemble(setup, duration_s, seed, state))
    }

    /// Returns the shortest and the longest possible step of a run in seconds, without the state of the run.
    ///
    /// # Errors
    /// As [`Fluid::new`].
    pub fn possible_steps_s(
        network: Network,
        duration_s: f64,
        options: FluidOptions,
    ) -> Result<(f64, f64), RunError> {
        let (setup, _) = Self::setup(network, duration_s, options, &[])?;
        Ok(possible_steps_s(&setup))
    }

    fn setup(
        network: Network,
        duration_s: f64,
        options: FluidOptions,
        paths: &[Option<u32>],
    ) -> Result<(Setup, f64), RunError> {
        let first_step_s = options.check(duration_s)?;
        check_network(&network, options)?;
        let allowed_bytes = network.tables().memory_limit_bytes;
        let check = |needed_bytes| {
            if needed_bytes > allowed_bytes {
                Err(RunError::TooLarge {
                    needed_bytes,
                    allowed_bytes,
                })
            } else {
                Ok(())
            }
        };
        check(plan::min_memory_bytes(network.tables()))?;
        let setup = Setup::new(network, options, paths);
        check(setup.plan.memory_bytes())?;
        Ok((setup, first_step_s))
    }

    fn assemble(setup: Setup, duration_s: f64, seed: u64, state: State) -> Fluid {
        let scratch = Scratch::new(&setup, &state);
        let inner = setup.network.tables();
        let classes = inner.classes.len();
        Fluid {
            branches: Csr::grouped(classes, inner.class_paths.iter().map(|b| b.class)),
            members: Csr::grouped(classes, inner.class_of.iter().copied()),
            duration_s,
            seed,
            step_range_s: None,
            setup: Arc::new(setup),
            state,
            scratch,
        }
    }

    /// Returns the traffic of each link and its queue model at each of the given times, which must increase.
    /// No step is taken, so the result reflects only the initial state and the events.
    pub fn link_traffic_at(self, times_s: &[f64]) -> Vec<Vec<(LinkTraffic, DropTailTcpLaw)>> {
        let Fluid {
            setup,
            mut state,
            mut scratch,
            ..
        } = self;
        let links = || setup.network.links();
        let at = |&time_s: &f64| {
            for clock in &mut state.clocks {
                clock.time_s = time_s;
            }
            setup.apply_events(&mut state, &mut scratch);
            for c in 0..setup.plan.components.len() {
                scratch.update_sources(&setup, &mut state, c, time_s);
            }
            let active = scratch.active.iter().flat_map(ActiveSources::all);
            let crossings = traffic_by_link(&setup, &state, active, &scratch.fixed);
            links()
                .map(|id| setup.plan.rank[id.index()] as usize)
                .map(|rank| (crossings[rank], scratch.fillings[rank]))
                .collect()
        };
        times_s.iter().map(at).collect()
    }

    /// Takes one step, which ends at `limit_s` at the latest. If the network has several components, each takes its
    /// own steps until a common time.
    pub fn step_until(&mut self, limit_s: f64) -> Result<(), RunError> {
        if self.is_done() {
            return Ok(());
        }
        self.setup.apply_events(&mut self.state, &mut self.scratch);
        let limit_s = limit_s
            .min(self.duration_s)
            .min(self.setup.next_change_s(&self.state));
        let components = self.setup.plan.components.len();
        if components == 1 {
            self.step_component(0, limit_s)?;
        } else {
            // Steps of all lengths, of which the longest but one is 2/3 of the longest, meet there.
            let common_s = 2.0 * self.setup.options.longest_step_s();
            let end_s = step_end_s(self.state.time_s(), common_s, limit_s);
            for c in 0..components {
                while self.state.clocks[c].time_s < end_s {
                    self.step_component(c, end_s)?;
                }
            }
        }
        if self.state.told.paths.is_due(self.state.time_s()) {
            self.sample_paths();
        }
        Ok(())
    }

    /// Advances a component by one step, which ends at `limit_s` at the latest.
    fn step_component(&mut self, c: usize, limit_s: f64) -> Result<(), RunError> {
        let start_s = self.state.clocks[c].time_s;
        let switch_s = self.setup.steps[c].next_switch_s(start_s);
        let step_s = self.scratch.next_step_s(&self.setup, &mut self.state, c);
        self.record_step(step_s);
        let end_s = step_end_s(start_s, step_s, limit_s.min(switch_s));
        self.scratch
            .update_sources(&self.setup, &mut self.state, c, end_s);
        let span = Span::new(start_s, end_s);
        advance(&self.setup, &mut self.state, &mut self.scratch, c, span)?;
        // Packets sent until a source stops see the present queues, not the later ones.
        let switches = self.state.clocks[c].time_s >= switch_s;
        (self.state).sample_delays(&self.setup.plan, &mut self.scratch, c, switches);
        Ok(())
    }

    fn record_step(&mut self, step_s: f64) {
        let (shortest_s, longest_s) = self.step_range_s.unwrap_or((step_s, step_s));
        self.step_range_s = Some((shortest_s.min(step_s), longest_s.max(step_s)));
    }

    fn sample_paths(&mut self) {
        let network = self.setup.network.clone();
        let mut paths = std::mem::take(&mut self.state.told.paths);
        let loss = |link| self.state.loss(self.rank(link));
        paths.record(&network, self.state.time_s(), |id| self.explain(id), loss);
        self.state.told.paths = paths;
    }

    /// Returns the experience of each workload's users that arrived between `from_s` and now.
    pub fn experiences(
        &self,
        from_s: f64,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<UserStats>, RunError> {
        let network = &self.setup.network;
        let between_s = (from_s, self.state.time_s());
        session_replay::experiences(
            network,
            &self.state.told.paths,
            self.seed,
            between_s,
            interrupted,
        )
    }

    /// Returns the shortest and the longest step chosen so far, in seconds. Before the first step these are
    /// the limits of the step control.
    pub fn step_range_s(&self) -> (f64, f64) {
        let possible_s = || possible_steps_s(&self.setup);
        self.step_range_s.unwrap_or_else(possible_s)
    }

    /// Returns the complete state, which can be cloned, saved and resumed from.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the mix of traffic sent over a link since `before`.
    pub fn traffic_mix(&self, id: LinkId, before: &[BranchCounts]) -> TrafficMix {
        let (plan, inner) = (&self.setup.plan, self.network().tables());
        let rank = self.rank(id);
        let l = &plan.links[rank];
        // Windows of the sources that are active now.
        let windows_fill = self.scratch.fillings[rank].windows > 0.0;
        let packet_s = |rank: usize, ip_bits: f64| {
            plan.wire_bits(rank as u32, ip_bits) / self.state.links[rank].bandwidth_bps
        };
        let mut filled = TrafficMix::default();
        for h in l.first_hop..l.end_hop {
            let b = plan.branch_of[h as usize];
            let branch = &plan.branches[b as usize];
            let before = before.get(b as usize).copied().unwrap_or_default();
            let now = self.branch_counts_of(b);
            if plan.is_ack(h) {
                let data_pkts = now.delivered_pkts - before.delivered_pkts;
                filled.add_acks(data_pkts * branch.packets_per_data);
                continue;
            }
            let all_sent_pkts = now.sent_pkts;
            let spec = inner.spec_of_class(branch.class);
            let has_more = match spec.application {
                Application::Bulk => true,
                Application::Poisson { .. } | Application::OnOff { .. } => {
                    let active_s = active_s(branch, 0.0, self.time_s());
                    let made_pkts = branch.application_pps * branch.weight * active_s;
                    windows_fill || all_sent_pkts < TCP_LIMITED_FRACTION * made_pkts
                }
            };
            let kind = TrafficKind::in_run(spec, has_more);
            let way = &plan.path[branch.path.0 as usize..branch.path.1 as usize];
            let place = way.iter().position(|&it| it as usize == rank);
            let above = place
                .and_then(|place| place.checked_sub(1))
                .map(|i| way[i] as usize);
            let here_s = packet_s(rank, branch.data_bits);
            let above = above.filter(|&above| packet_s(above, branch.data_bits) >= here_s);
            let after = above.map(|above| LinkId::new(plan.links[above].link, inner.owner));
            let sent_pkts = all_sent_pkts - before.sent_pkts;
            let wire_bits = l.overhead.wire_bits(branch.data_bits);
            filled.add(kind, sent_pkts, wire_bits, after);
        }
        filled
    }

    /// Returns the counts of one branch since the start.
    pub fn branch_counts_of(&self, b: u32) -> BranchCounts {
        let (plan, state) = (&self.setup.plan, &self.state);
        BranchCounts {
            sent_pkts: state.branches[b as usize].sent_pkts,
            delivered_pkts: state.delivered_pkts(&plan.branches[b as usize]),
        }
    }

    /// Returns the counts of all branches.
    pub fn branch_counts(&self) -> Vec<BranchCounts> {
        let branches = 0..self.state.branches.len() as u32;
        branches.map(|b| self.branch_counts_of(b)).collect()
    }

    fn sum_of_branches(&self, which: fn((Totals, Totals)) -> Totals) -> Totals {
        let mut order: Vec<usize> = (0..self.state.branches.len()).collect();
        order.sort_unstable_by_key(|&b| self.setup.plan.branch_rank[b]);
        let mut sum = Totals::default();
        for b in order {
            sum.add(&which(self.branch_totals(b)));
        }
        sum
    }

    /// Returns the totals of the data and of the acknowledgements of one branch.
    pub(crate) fn branch_totals(&self, b: usize) -> (Totals, Totals) {
        let plan = &self.setup.plan;
        let branch = &plan.branches[b];
        let hops = plan.hops_of_branch(b);
        let (data, acks) = hops.split_at((branch.path.1 - branch.path.0) as usize);
        let sum = |hops: &[u32], of: &dyn Fn(usize) -> f64| -> f64 {
            hops.iter().map(|&h| of(h as usize)).sum()
        };
        let queued = |h: usize| self.state.content[h];
        let in_flight = |h| self.setup.in_flight(&self.state, h);
        let lost = |h: usize| self.state.lost[h];
        let per_ack = if acks.is_empty() {
            0.0
        } else {
            branch.packets_per_data
        };
        let delivered_pkts = self.state.delivered_pkts(branch);
        let data = Totals {
            before_pkts: 0.0,
            unrouted_pkts: 0.0,
            offered_pkts: self.state.branches[b].sent_pkts,
            delivered_pkts,
            lost_pkts: sum(data, &lost),
            queued_pkts: sum(data, &queued),
            in_flight_pkts: sum(data, &in_flight),
        };
        let acks = Totals {
            before_pkts: 0.0,
            unrouted_pkts: 0.0,
            offered_pkts: delivered_pkts * per_ack,
            delivered_pkts: self.state.acknowledged_pkts(branch) * per_ack,
            lost_pkts: sum(acks, &lost) * per_ack,
            queued_pkts: sum(acks, &queued) * per_ack,
            in_flight_pkts: sum(acks, &in_flight) * per_ack,
        };
        (data, acks)
    }

    pub(crate) fn rank(&self, id: LinkId) -> usize {
        self.setup.plan.rank[id.index()] as usize
    }

    /// Returns the packet delays of every branch.
    pub fn branch_delays(&self) -> &[BranchDelays] {
        &self.state.told.delays
    }

    /// Returns the packet delays of a connection since the snapshot `before`. Branches that `before` lacks
    /// count from the start.
    pub fn delays_since(&self, id: ConnectionId, before: &[BranchDelays]) -> BranchDelays {
        let (branches, _) = self.branches_of(id);
        let mut all = BranchDelays::default();
        for &b in branches {
            let now = &self.state.told.delays[b as usize];
            match before.get(b as usize) {
                Some(before) => all.merge(&now.since(before)),
                None => all.merge(now),
            }
        }
        all
    }

    /// Returns the branches of a connection's class, and the connection's share of them.
    pub fn branches_of(&self, id: ConnectionId) -> (&[u32], f64) {
        let inner = self.setup.network.tables();
        let class = inner.class_of[id.index()];
        let share = f64::from(inner.connections[id.index()].count);
        (
            self.branches.row(class as usize),
            share / inner.classes[class as usize].weight,
        )
    }

    /// Returns the connections whose data crosses a link, each once: its paths and drop precedences are
    /// summed.
    pub fn classes_at(&self, link: LinkId) -> impl Iterator<Item = ClassInterval> + '_ {
        let plan = &self.setup.plan;
        let rank = self.rank(link);
        let l = &plan.links[rank];
        let component = plan
            .components
            .iter()
            .position(|it| it.links.contains(&rank));
        let last_step_s = component.map_or(1.0, |c| self.state.clocks[c].last_step_s);
        let mut classes: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for h in (l.first_hop..l.end_hop).filter(|&h| !plan.is_ack(h)) {
            let class = plan.branches[plan.branch_of[h as usize] as usize].class;
            let queued = self.state.content[h as usize];
            let arrival_pps = self.state.inflow[h as usize] / last_step_s;
            for &connection in self.members.row(class as usize) {
                let (_, share) = self.branches_of(ConnectionId::new(connection, link.owner()));
                let of = classes.entry(connection).or_default();
                of.0 += queued * share;
                of.1 += arrival_pps * share;
            }
        }
        let of = move |(connection, (queue_pkts, arrival_pps))| ClassInterval {
            link,
            connection: ConnectionId::new(connection, link.owner()),
            numbers: ClassNumbers {
                queue_pkts,
                arrival_pps,
            },
        };
        classes.into_iter().map(of)
    }
}

/// Rejects networks with features that the fluid model does not support.
fn check_network(network: &Network, options: FluidOptions) -> Result<(), RunError> {
    let inner = network.tables();
    let bad = |reason: String| {
        Err(RunError::BadOption {
            option: "model",
            reason,
        })
    };
    let more = inner.has_precedences() || !inner.shared_links.is_empty();
    if more && matches!(options, FluidOptions::Literal { .. }) {
        return bad(
            "fluid-literal does not support aggregates, drop precedences and schedulers".to_owned(),
        );
    }
    if network.calibration_due().is_some() {
        return bad(
            "the network has not been calibrated by a run of the packet model yet".to_owned(),
        );
    }
    let has_pie = matches!(options, FluidOptions::Standard { .. });
    let managed = |id: &LinkId| match network.link_spec(*id).queue {
        DropPolicy::Managed(Aqm::Pie(_)) => !has_pie,
        DropPolicy::Managed(_) => true,
        DropPolicy::DropTail | DropPolicy::Red(_) | DropPolicy::Rio(_) => false,
    };
    if let Some(link) = network.links().find(managed) {
        let name = network.link_name(link);
        return bad(match network.link_spec(link).queue {
            DropPolicy::Managed(Aqm::Pie(_)) => {
                format!("link {name} has a PIE queue, which fluid-literal does not support")
            }
            _ => format!(
                "the queue of link {name} decides for each packet: set `model = \"packet\"`"
            ),
        });
    }
    let paused = network
        .links()
        .find(|&link| network.link_spec(link).pauses());
    if let (Some(link), Some(users)) = (paused, network.workloads().next()) {
        return bad(format!(
            "the trace of link {} has a bandwidth of 0, which users `{}` need the packet model for: set `model = \"packet\"`",
            network.link_name(link),
            users.name
        ));
    }
    if let Some((link, element)) =
        network.first_unsupported_element(|element| element == LinkElement::Series)
    {
        let name = network.link_name(link);
        return bad(format!(
            "the {element} of link {name} needs the packet model: set `model = \"packet\"`, or {}",
            element.alternative()
        ));
    }
    let of_window = |c: &&ConnectionSpec| matches!(c.source, Source::Ns2Tcp(_) | Source::Tcp(_));
    match inner.connections.iter().find(of_window) {
        Some(connection) => bad(format!(
            "connection `{}` has a TCP source of the packet model: set `model = \"packet\"`, or give it \
             a `profile`",
            connection.name
        )),
        None => Ok(()),
    }
}

/// Returns the end of a step that begins at `start_s`. Steps end at multiples of their length, so that rounding errors
/// do not accumulate.
fn step_end_s(start_s: f64, step_s: f64, limit_s: f64) -> f64 {
    let next_s = ((start_s / step_s + 1e-6).floor() + 1.0) * step_s;
    // Merges a negligible remainder into this step.
    if next_s > limit_s - (1e-6 * step_s).max(1e-9) {
        limit_s
    } else {
        next_s
    }
}
