//! Marks of estimated results: queues whose traffic differs from the Poisson arrivals of M/M/1/K.

use std::ops::Range;

use netflow_network::queue_reliability::{TrafficKind, TrafficMix};
use netflow_network::{Application, Estimate, LinkId};

use crate::residual::BindingConstraint;
use crate::solver::Solver;
use crate::steady::{ConnectionSteady, LinkSteady};

impl Solver {
    /// Marks the queues and losses that are estimates.
    pub(crate) fn mark_estimates(&self, links: &mut [LinkSteady]) {
        let filled = self.traffic_mixes();
        for (l, (link, filled)) in links.iter_mut().zip(&filled).enumerate() {
            let spec = &self.network.tables().links[l];
            link.estimate = filled.estimate(spec.queue, link.utilization);
            link.loss_is_size_dependent =
                filled.loss_is_size_dependent(spec, link.loss_probability);
        }
    }

    /// Marks loads and utilizations with traffic of sources whose goodput is an estimate.
    pub(crate) fn mark_utilizations(&self, flows: &[ConnectionSteady], links: &mut [LinkSteady]) {
        let mut bits_ps = vec![0.0; links.len()];
        for (flow, it) in self.problem.flows.iter().zip(flows) {
            if !it.goodput_is_estimate {
                continue;
            }
            let mut add = |hops: Range<usize>, pkts: f64| {
                for hop in hops {
                    let bits = pkts * self.problem.hop_bits[hop];
                    bits_ps[self.problem.hop_link[hop] as usize] += self.point.hops[hop] * bits;
                }
            };
            add(flow.data_hops(), 1.0);
            add(flow.ack_hops(), flow.acks);
        }
        for (link, bits_ps) in links.iter_mut().zip(bits_ps) {
            link.utilization_is_estimate =
                bits_ps > 0.0 && bits_ps >= Estimate::SHARE * link.offered_bps;
        }
    }

    /// Returns the kinds of traffic that fill each link's queue.
    fn traffic_mixes(&self) -> Vec<TrafficMix> {
        let (problem, owner) = (&self.problem, self.network.tables().owner);
        let mut filled = vec![TrafficMix::default(); problem.links.len()];
        for (flow, at) in problem.flows.iter().zip(&self.point.flows) {
            let spec = self.network.tables().spec_of_class(flow.class);
            let has_more =
                spec.application == Application::Bulk || at.limit != BindingConstraint::Application;
            let kind = TrafficKind::of(spec, has_more);
            let packet_s = |hop: usize| {
                let link = problem.hop_link[hop] as usize;
                problem.hop_bits[hop] / problem.links[link].bandwidth_bps
            };
            let mut above = None;
            for hop in flow.data_hops() {
                let link = problem.hop_link[hop];
                let after = above.filter(|&above| packet_s(above) >= packet_s(hop));
                let after = after.map(|hop| LinkId::new(problem.hop_link[hop], owner));
                filled[link as usize].add(kind, self.point.hops[hop], problem.hop_bits[hop], after);
                above = Some(hop);
            }
            for hop in flow.ack_hops() {
                let link = problem.hop_link[hop] as usize;
                filled[link].add_acks(self.point.hops[hop] * flow.acks);
            }
        }
        filled
    }
}
