//! Why a connection sends as fast as it does: loss → round-trip time → profile → rate.

use crate::engine::Engine;
use crate::engine::plan::NO_PROFILE;
use crate::engine::sources::{Condition, look};
use crate::network::{ACK_BYTES, NO_BRANCH};
use crate::state::State;
use crate::{ConnectionId, LinkId};

/// The chain from the path's queues to a connection's rate, at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// When, in seconds.
    pub time_s: f64,
    /// Whether it sends at this time: started, not stopped, not finished, and with a route.
    pub sending: bool,
    /// How many connections it is; rates below are of one of them.
    pub count: u32,
    /// The way of the data, then the way back. Empty without a route.
    pub hops: Vec<ExplainedHop>,
    /// 1 − Π(1 − B) over the way of the data.
    pub loss_probability: f64,
    /// Waiting, transmission and propagation over all hops, in seconds.
    pub rtt_s: f64,
    /// The loss probability that the source reckons with: with FIFO transport what it has learnt
    /// from its losses, else that of the path.
    pub seen_loss_probability: f64,
    /// The round-trip time that it sees, in seconds: with FIFO transport that of the packets
    /// acknowledged in the last step, else that of the path.
    pub seen_rtt_s: f64,
    /// The propagation among it, in seconds.
    pub propagation_s: f64,
    /// Name of the profile, if the source has one.
    pub profile: Option<String>,
    /// The profile's throughput in packets/s at the loss and round-trip time seen.
    pub profile_pps: Option<f64>,
    /// Whether the profile was not measured there.
    pub outside: bool,
    /// Window limit / round-trip time, in packets/s.
    pub window_limit_pps: Option<f64>,
    /// What its application makes, in packets/s; `None` if there is always more to send.
    pub application_pps: Option<f64>,
    /// Whether it is slow start that limits it: at most doubling every round trip.
    pub slow_start: bool,
    /// What it sends when it sends: the least of the above, or its own rate. Packets/s.
    pub rate_pps: f64,
}

/// One link of the way.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedHop {
    /// Which link.
    pub link: LinkId,
    /// Whether it is on the way back.
    pub back: bool,
    /// Packets in its queue.
    pub queue_pkts: f64,
    /// Packets/s it serves, of the mean size in the queue.
    pub service_pps: f64,
    /// Time to serve the queue, in seconds.
    pub waiting_s: f64,
    /// Transmission of the connection's own packet (or acknowledgement), in seconds.
    pub transmission_s: f64,
    /// Propagation, in seconds.
    pub propagation_s: f64,
    /// Probability that a packet arriving now is lost.
    pub loss_probability: f64,
}

impl Engine {
    /// The chain for one connection at the state's time.
    pub(crate) fn explain(&self, state: &State, id: ConnectionId) -> Explanation {
        let inner = &*self.network.inner;
        let class = inner.class_of[id.index()];
        let spec = &inner.connections[id.index()];
        let mut explanation = Explanation {
            time_s: state.time_s,
            sending: false,
            count: spec.count,
            hops: Vec::new(),
            loss_probability: 0.0,
            rtt_s: 0.0,
            seen_loss_probability: 0.0,
            seen_rtt_s: 0.0,
            propagation_s: 0.0,
            profile: None,
            profile_pps: None,
            outside: false,
            window_limit_pps: None,
            application_pps: None,
            slow_start: false,
            rate_pps: 0.0,
        };
        let b = inner.epochs[state.epoch].branch_of[class as usize];
        if b == NO_BRANCH {
            return explanation;
        }
        let branch = &self.plan.branches[b as usize];
        // Data of no aggregate is DP2, acknowledgements are DP0.
        let marked = |aggregate: crate::AggregateId| state.aggregates[aggregate.index()].marking;
        let of_data = branch.aggregate.map_or([0.0, 0.0, 1.0], marked);
        let hop = |place: u32, back: bool| {
            let marking = if back { [1.0, 0.0, 0.0] } else { of_data };
            let l = &self.plan.links[place as usize];
            let link = &state.links[place as usize];
            let bits = if back {
                8.0 * ACK_BYTES
            } else {
                branch.data_bits
            };
            let mean_bits = match link.queue_pkts > 0.0 {
                true => link.queue_bits / link.queue_pkts,
                false => l.nominal_bits,
            };
            ExplainedHop {
                link: LinkId(l.link, inner.owner),
                back,
                queue_pkts: link.queue_pkts,
                service_pps: link.bandwidth_bps * link.share / mean_bits,
                waiting_s: link.queue_bits / (link.bandwidth_bps * link.share),
                transmission_s: bits / link.bandwidth_bps,
                propagation_s: l.delay_s,
                loss_probability: match l.rio {
                    Some(rio) => state.rio[rio as usize].loss(&marking, link.refused),
                    None => link.refused,
                },
            }
        };
        let places = |(start, end): (u32, u32)| &self.plan.path[start as usize..end as usize];
        let there = places(branch.path).iter().map(|&p| hop(p, false));
        let back = places(branch.way_back).iter().map(|&p| hop(p, true));
        explanation.hops = there.chain(back).collect();

        let conditions: Vec<Condition> = state.links.iter().map(Condition::of).collect();
        let [ln_pass, rtt_s] = match branch.aggregate {
            Some(_) => self.look_marked(state, b as usize, &of_data),
            None => look(&self.plan, branch, &conditions, self.fixed_s[b as usize]),
        };
        let loss = -ln_pass.exp_m1();
        let now = state.time_s;
        let finished = state.branches[b as usize].finished_s.is_some();
        explanation.sending = branch.start_s <= now && now < branch.stop_s && !finished;
        explanation.loss_probability = loss;
        explanation.rtt_s = rtt_s;
        explanation.propagation_s = branch.forward_s + branch.back_s;
        // In the last step, if there was one: the rate shown is the rate sent.
        let source = &state.branches[b as usize];
        let looked = self.learns && source.learnt.since_s.is_some();
        let (loss, rtt_s) = match looked {
            true => (source.learnt.loss, source.learnt.rtt_s),
            false => (loss, rtt_s),
        };
        explanation.seen_loss_probability = loss;
        explanation.seen_rtt_s = rtt_s;
        if branch.profile == NO_PROFILE {
            explanation.rate_pps = branch.rate_pps;
            return explanation;
        }
        let profile = &self.plan.profiles[branch.profile as usize];
        let from_profile = profile.throughput(loss, rtt_s);
        explanation.profile = Some(profile.name().to_owned());
        explanation.profile_pps = Some(from_profile);
        explanation.outside = profile.outside(loss, rtt_s);
        explanation.rate_pps = from_profile;
        if branch.window_pkts < f64::INFINITY {
            let limit = branch.window_pkts / rtt_s;
            explanation.window_limit_pps = Some(limit);
            explanation.rate_pps = from_profile.min(limit);
        }
        let application_pps = branch.application_pps;
        if application_pps < f64::INFINITY {
            explanation.application_pps = Some(application_pps);
            if !looked {
                explanation.rate_pps = explanation.rate_pps.min(application_pps);
            }
        }
        if looked && explanation.sending {
            let less = source.rate_pps < explanation.rate_pps * (1.0 - 1e-9);
            explanation.slow_start = less && source.rate_pps < 0.99 * application_pps;
            explanation.rate_pps = source.rate_pps;
        }
        explanation
    }
}
