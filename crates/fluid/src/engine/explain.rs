//! Explanation of a connection's rate, derived from the state.

use netflow_network::compiled::NO_CLASS_PATH;
use netflow_network::{ACK_BYTES, AggregateId, ConnectionId, ExplainedHop, Explanation, LinkId};

use super::Setup;
use super::aggregates::ln_pass_queues;
use super::link_loss::ln_pass_of;
use super::plan::{NEGLIGIBLE_PKTS, NO_PROFILE};
use super::sources::LinkCondition;
use crate::state::State;
use crate::tcp_drop_tail::DropTailTcpLaw;

impl Setup {
    /// Returns the explanation for one connection at the present time.
    pub(crate) fn explain(
        &self,
        state: &State,
        fillings: &[DropTailTcpLaw],
        id: ConnectionId,
    ) -> Explanation {
        let inner = &**self.network.tables();
        let class = inner.class_of[id.index()];
        let count = inner.connections[id.index()].count;
        let b = self.branch_now(state, class);
        if b == NO_CLASS_PATH {
            return Explanation::of_path(state.time_s(), count, Vec::new());
        }
        let branch = &self.plan.branches[b as usize];
        // Data outside aggregates is DP2, acknowledgements are DP0.
        let marked = |aggregate: AggregateId| state.aggregates[aggregate.index()].marking;
        let of_data = branch.aggregate.map_or([0.0, 0.0, 1.0], marked);
        let hop = |rank: u32, back: bool| {
            let marking = if back { [1.0, 0.0, 0.0] } else { of_data };
            let l = &self.plan.links[rank as usize];
            let link = &state.links[rank as usize];
            let ip_bits = if back {
                8.0 * ACK_BYTES
            } else {
                branch.data_bits
            };
            let bits = l.overhead.wire_bits(ip_bits);
            let queue_loss = match l.rio {
                Some(rio) => state.rio[rio as usize].loss(&marking, link.refused),
                None => link.refused,
            };
            let link_loss = state.loss(rank as usize).probability(bits / 8.0);
            // The mean packet size of an empty queue is undefined.
            let mean_bits = if link.queue_pkts > NEGLIGIBLE_PKTS {
                link.queue_bits / link.queue_pkts
            } else {
                l.nominal_bits
            };
            // Acknowledgements that are not traffic have propagation delay only.
            let is_traffic =
                !back || branch.acknowledged != u32::MAX || branch.profile == NO_PROFILE;
            let is_paused = link.is_paused();
            ExplainedHop {
                link: LinkId::new(l.link, inner.owner),
                back,
                bandwidth_bps: if is_paused { 0.0 } else { link.bandwidth_bps },
                utilization: link.utilization,
                queue_pkts: link.queue_pkts,
                service_pps: if is_paused {
                    0.0
                } else {
                    link.bandwidth_bps * link.share / mean_bits
                },
                waiting_s: if is_traffic {
                    let now = LinkCondition::of(link, &fillings[rank as usize]);
                    link.drain_s.unwrap_or(now.waiting_s)
                } else {
                    0.0
                },
                transmission_s: if is_traffic {
                    bits / link.transmission_bps()
                } else {
                    0.0
                },
                propagation_s: link.propagation_s(l),
                loss_probability: 1.0 - (1.0 - queue_loss) * (1.0 - link_loss),
                link_loss_probability: link_loss,
                reached_ceiling: None,
            }
        };
        let ranks = |(start, end): (u32, u32)| &self.plan.path[start as usize..end as usize];
        let there = ranks(branch.path).iter().map(|&p| hop(p, false));
        let back = ranks(branch.way_back).iter().map(|&p| hop(p, true));
        let mut explanation =
            Explanation::of_path(state.time_s(), count, there.chain(back).collect());
        if branch.aggregate.is_some() {
            // Each colour has its own loss on the whole path.
            let ln_pass = ln_pass_of(&self.plan, state, branch)
                + ln_pass_queues(&self.plan, state, b as usize, &of_data);
            explanation.loss_probability = -libm::expm1(ln_pass);
        }
        let source = &state.branches[b as usize];
        let (now, finished) = (state.time_s(), source.done_s.is_some());
        explanation.sending = branch.start_s <= now && now < branch.stop_s && !finished;
        if branch.application_pps < f64::INFINITY {
            explanation.application_pps = Some(branch.application_pps);
        }
        let profile = match branch.profile {
            NO_PROFILE => None,
            p => Some(&self.plan.profiles[p as usize]),
        };
        explanation.profile = profile.map(|profile| profile.name().to_owned());
        if let Some(applied) = source.applied.filter(|applied| applied.until_s == now) {
            let window_pkts = match profile {
                Some(_) => branch.window_pkts,
                None => f64::INFINITY,
            };
            explanation.apply(&applied, window_pkts);
            explanation.rate_pps = source.rate_pps;
            explanation.profile_pps =
                profile.map(|profile| profile.throughput(applied.loss, applied.rtt_s));
            explanation.outside = profile
                .is_some_and(|profile| profile.is_outside_domain(applied.loss, applied.rtt_s));
        }
        explanation
    }
}
