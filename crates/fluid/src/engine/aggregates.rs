//! Aggregates: edges meter and mark the packets of members, and each member experiences the loss of its own
//! colours.
//!
//! A conditioned class has three branches over the same links, one per drop precedence. The first of them is
//! the source; its packets are divided among the three.

use netflow_diffserv::{Aggregate, Fractions, Inputs, Minima};
use netflow_network::{AggregateSpec, Edge, MarkerRates};
use netflow_profile::Provenance;
use serde::{Deserialize, Serialize};

use super::plan::{NO_PROFILE, Plan};
use super::source_law::AllowedRate;
use super::sources::{self, PathCondition, ln_pass};
use super::{StepContext, sending, tcp_window};
use crate::state::State;

/// Minimum retransmission timeout of TCP in seconds.
const MIN_RTO_S: f64 = 0.2;

/// State of an aggregate at its edge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AggregateState {
    pub measured_bps: f64,
    /// Fraction marked as each precedence.
    pub marking: [f64; 3],
    /// Mean round-trip time of the packets of the last step with packets, in seconds.
    pub rtt_s: Option<f64>,
    /// Fraction of those packets that were sent with a small window.
    small: f64,
    /// Sums of the step in progress.
    sent_pkts: f64,
    sent_bits: f64,
    rtt_time: f64,
    small_pkts: f64,
    /// Rates to which its marker was set.
    #[serde(default)]
    pub set: Option<MarkerRates>,
}

impl AggregateState {
    /// Creates the state; the estimator starts with the committed rate (RFC 2859 §3).
    pub fn new(spec: &AggregateSpec) -> AggregateState {
        AggregateState {
            measured_bps: spec.edge.committed_bps(),
            marking: Fractions::GREEN.to_array(),
            rtt_s: None,
            small: 0.0,
            sent_pkts: 0.0,
            sent_bits: 0.0,
            rtt_time: 0.0,
            small_pkts: 0.0,
            set: None,
        }
    }

    /// Returns its edge with the rates that were set.
    pub fn edge(&self, spec: &AggregateSpec) -> Edge {
        // Invalid rates are ignored.
        let set = self
            .set
            .and_then(|rates| spec.edge.with_rates(rates, 0).ok());
        set.unwrap_or_else(|| spec.edge.clone())
    }

    /// Returns the properties that edges exchange: configured or measured values.
    fn known(&self, spec: &AggregateSpec) -> Aggregate {
        let rtt_s = spec.rtt_s.or(self.rtt_s);
        Aggregate {
            rtt_s,
            rto_s: spec
                .rto_s
                .or_else(|| rtt_s.map(|rtt_s| (3.0 * rtt_s).max(MIN_RTO_S))),
            window_pkts: None,
        }
    }

    /// Updates the measurements at the end of a step.
    fn measure(&mut self, edge: &Edge, length_s: f64) {
        let rate_bps = self.sent_bits / length_s;
        self.measured_bps = match edge {
            Edge::Conditioner(c) => c.measured_after(self.measured_bps, rate_bps, length_s),
            // Token buckets have no memory beyond their bursts.
            Edge::SrTcm(_) | Edge::TrTcm(_) => rate_bps,
        };
        if self.sent_pkts > 0.0 {
            self.rtt_s = Some(self.rtt_time / self.sent_pkts);
            self.small = (self.small_pkts / self.sent_pkts).clamp(0.0, 1.0);
        }
        (self.sent_pkts, self.sent_bits) = (0.0, 0.0);
        (self.rtt_time, self.small_pkts) = (0.0, 0.0);
    }
}

/// Inputs of a conditioner in the fluid model.
struct FluidInputs {
    aggregate: Aggregate,
    minima: Minima,
    small: f64,
}

impl Inputs for FluidInputs {
    fn rtt_s(&self) -> Option<f64> {
        self.aggregate.rtt_s
    }

    fn rto_s(&self) -> Option<f64> {
        self.aggregate.rto_s
    }

    fn min_rtt_s(&self) -> Option<f64> {
        self.minima.rtt_s
    }

    fn min_rto_s(&self) -> Option<f64> {
        self.minima.rto_s
    }

    fn below_window(&self, _: f64) -> Option<f64> {
        Some(self.small)
    }
}

/// Returns the fraction of the packets of a connection that are sent with a window below `small_pkts`, given
/// its mean window. Between losses the window grows linearly from 2/3 to 4/3 of the mean (it halves at a
/// loss). The packets sent in an RTT equal the window.
fn below_window(window_pkts: f64, small_pkts: f64) -> f64 {
    let square = |x: f64| x * x;
    let (least, most) = (window_pkts * 2.0 / 3.0, window_pkts * 4.0 / 3.0);
    let reached = small_pkts.clamp(least, most);
    if most <= 0.0 {
        return 1.0;
    }
    (square(reached) - square(least)) / (square(most) - square(least))
}

impl StepContext<'_> {
    /// Sends the packets of members of aggregates during the step, by colour.
    pub(super) fn send_marked(&mut self) {
        if !self.component.has_aggregates {
            return;
        }
        self.mark();
        for i in 0..self.scratch.active[self.c].marked.len() {
            self.send_one_marked(self.scratch.active[self.c].marked[i] as usize);
        }
        let edges = &self.scratch.edges;
        for (aggregate, edge) in self.state.aggregates.iter_mut().zip(edges) {
            aggregate.measure(edge, self.span.length_s);
        }
    }

    /// Computes the marking of each edge for this step.
    fn mark(&mut self) {
        let specs = &self.setup.network.tables().aggregates;
        let known: Vec<Aggregate> = self
            .state
            .aggregates
            .iter()
            .zip(specs)
            .map(|(aggregate, spec)| aggregate.known(spec))
            .collect();
        let minima = Minima::over(&known);
        let edges = &self.scratch.edges;
        for ((state, edge), aggregate) in self.state.aggregates.iter_mut().zip(edges).zip(known) {
            let inputs = FluidInputs {
                aggregate,
                minima,
                small: state.small,
            };
            let marking = match edge {
                Edge::Conditioner(c) => c.fractions(state.measured_bps, &inputs),
                Edge::SrTcm(marker) => marker.fractions(state.measured_bps, Fractions::GREEN),
                Edge::TrTcm(marker) => marker.fractions(state.measured_bps, Fractions::GREEN),
            };
            // The round-trip time is unknown before the first packet.
            state.marking = marking.unwrap_or(Fractions::GREEN).to_array();
        }
    }

    /// Sends the packets of one member as for other sources, with the loss of its colours.
    fn send_one_marked(&mut self, b: usize) {
        let (plan, span) = (&self.setup.plan, self.span);
        let branch = &plan.branches[b];
        let Some(aggregate) = branch.aggregate else {
            return;
        };
        let marking = self.state.aggregates[aggregate.index()].marking;
        let now = PathCondition {
            ln_pass: self.scratch.on_the_way.ln_pass[b]
                + ln_pass_queues(plan, self.state, b, &marking),
            ..self.path_condition(b)
        };
        let clock = self.state.clocks[self.c];
        let own_pps = self.state.own_pps(branch);
        let state = &mut self.state.branches[b];
        let seen = [now.loss(), now.rtt_s];
        let mut rests_on = Provenance::Measured;
        let wanted = match branch.profile {
            NO_PROFILE => AllowedRate::own(own_pps, seen),
            profile => {
                let fixed = &self.scratch.fixed[b];
                let by_hop = &self.state.forwarded[plan.branches.len()..];
                let (mut delivered_pkts, mut own_pkts) = (0.0, 0.0);
                for lane in b..b + 3 {
                    delivered_pkts += by_hop[plan.branches[lane].last_data_hop as usize];
                    own_pkts += self.state.inflow[plan.narrowest_hop(fixed, lane) as usize];
                }
                let last_pps = [delivered_pkts, own_pkts].map(|pkts| pkts / clock.last_step_s);
                let narrowest = &self.state.links[fixed.narrowest.0 as usize];
                let met = sending::window_conditions(
                    self.setup,
                    self.scratch,
                    narrowest,
                    b,
                    now,
                    last_pps,
                );
                let rate = self.state.windows[b].advance(
                    &mut self.state.window_samples[tcp_window::samples_of(b)],
                    &self.setup.window_laws[branch.profile as usize],
                    branch,
                    &met,
                    clock.steps,
                    span,
                );
                if let Some(loss) = rate.profile_loss {
                    rests_on = plan.profiles[profile as usize].provenance(loss, seen[1]);
                }
                AllowedRate::by_window(seen, rate)
            }
        };
        let active_s = sources::active_s(branch, span.start_s, span.end_s);
        let sent = wanted.sent_packets(branch, active_s, self.scratch.may_send[b]);
        let mean_pps = state.record_sent(branch, &wanted, sent, active_s, span.end_s);
        let reported = self.scratch.reported(plan, b, seen);
        state.record_feedback(reported, active_s, rests_on);
        self.state.windows[b].record_sent(sent.pkts / branch.weight, wanted.mean_pps * active_s);
        for (lane, part) in (b..).zip(marking) {
            self.state.forwarded[lane] = sent.pkts * part;
            self.state.branches[lane].sent_pkts += sent.pkts * part;
        }
        let edge = &self.scratch.edges[aggregate.index()];
        let small_pkts = match edge {
            Edge::Conditioner(c) => below_window(mean_pps * seen[1], c.spec().small_window_pkts),
            Edge::SrTcm(_) | Edge::TrTcm(_) => 0.0,
        };
        let aggregate = &mut self.state.aggregates[aggregate.index()];
        aggregate.sent_pkts += sent.pkts;
        aggregate.sent_bits += sent.pkts * branch.data_bits;
        aggregate.rtt_time += sent.pkts * seen[1];
        aggregate.small_pkts += sent.pkts * small_pkts;
    }
}

/// Returns ln of the probability that a packet of a branch passes all queues, averaged over its colours.
pub(crate) fn ln_pass_queues(plan: &Plan, state: &State, b: usize, marking: &[f64; 3]) -> f64 {
    let branch = &plan.branches[b];
    let mut pass = [1.0; 3];
    for &rank in &plan.path[branch.path.0 as usize..branch.path.1 as usize] {
        let refused = state.links[rank as usize].refused;
        let early = match plan.links[rank as usize].rio {
            Some(rio) => state.rio[rio as usize].early,
            None => [0.0; 3],
        };
        for (pass, early) in pass.iter_mut().zip(early) {
            *pass *= (1.0 - early) * (1.0 - refused);
        }
    }
    let each = pass.iter().zip(marking);
    let through: f64 = each.map(|(pass, part)| pass * part).sum();
    ln_pass((1.0 - through).clamp(0.0, 1.0))
}
