//! Results of a steady-state solution, per link and per connection.

use netflow_fluid::queue_fixed_point::own_burst_wait_s;
use netflow_network::{ConnectionId, Estimate, LinkId, Network};
use netflow_profile::Provenance;
use serde::Serialize;

use crate::newton::NewtonOutcome;
use crate::problem::NO_PROFILE;
use crate::residual::{BindingConstraint, loss_from_ln_pass};
use crate::solver::Solver;

/// Steady state of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Links, in the network's order.
    pub links: Vec<LinkSteady>,
    /// Connections, in the network's order.
    pub connections: Vec<ConnectionSteady>,
    /// Totals over all data traffic.
    pub totals: TotalsSteady,
    /// Residual: the largest relative difference, over all links, between the assumed and the
    /// resulting offered load.
    pub residual: f64,
    /// Number of Newton steps, and of Jacobian–vector products.
    pub newton_steps: usize,
    /// See [`newton_steps`](Self::newton_steps).
    pub products: usize,
    /// Number of random starting points tried in addition, and how many of them converged.
    pub starts: u32,
    /// See [`starts`](Self::starts).
    pub converged_starts: u32,
    /// Number of different steady states found, this one included; more may exist.
    pub equilibria: usize,
    /// Number of events after the time of the solution, which are ignored.
    pub later_events: usize,
    /// Active connections that have no route.
    pub without_route: Vec<ConnectionId>,
    pub(crate) z: Vec<f64>,
}

/// Steady state of one link. Packets of all sizes count, acknowledgements included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkSteady {
    /// Arrival rate in packets/s, and in bit/s on the wire.
    pub offered_pps: f64,
    /// See [`offered_pps`](Self::offered_pps).
    pub offered_bps: f64,
    /// Demand over bandwidth: [`load_bps`](Self::load_bps) / bandwidth. It exceeds 1 on an
    /// overloaded link.
    pub load: f64,
    /// Traffic demanded of the link, in bit/s on the wire. Fixed-rate sources, demands and
    /// applications count at their full rate, without losses upstream. Bulk TCP and
    /// acknowledgements count as they arrive.
    pub load_bps: f64,
    /// Part of [`load_bps`](Self::load_bps) that does not depend on the network: without bulk TCP
    /// and acknowledgements.
    pub demand_bps: f64,
    /// Fraction of the time that the link is busy.
    pub utilization: f64,
    /// True if load and utilization are estimates: at least 10 % of the traffic is from sources
    /// whose goodput is an estimate.
    pub utilization_is_estimate: bool,
    /// Mean queue in packets, the packet in service included.
    pub queue_pkts: f64,
    /// Buffer size; a buffer in bytes is converted with the mean size of the arriving packets.
    pub buffer_pkts: f64,
    /// Waiting time of an arriving packet as sources see it: mean queue over service rate.
    pub waiting_s: f64,
    /// Mean sojourn time of an accepted packet, its own transmission included (Little's law).
    pub delay_s: f64,
    /// Probability that an arriving packet is dropped, because the buffer is full or early by RED.
    pub loss_probability: f64,
    /// True if RED's drop probability is discontinuous at this queue, which then stays there.
    pub at_jump: bool,
    /// Reason why queue, delay and losses are estimates; `None` if they are not.
    pub estimate: Option<Estimate>,
    /// True if losses are estimates because they depend on packet sizes.
    pub loss_is_size_dependent: bool,
}

/// Steady state of one connection; rates are totals over its `count`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionSteady {
    /// True if it is active at the time of the solution and has a route.
    pub sending: bool,
    /// Sending rate in packets/s.
    pub rate_pps: f64,
    /// Goodput in packets/s.
    pub goodput_pps: f64,
    /// Probability that a packet is lost on its path.
    pub loss_probability: f64,
    /// Round-trip time as the source sees it; `None` for unresponsive sources.
    pub rtt_s: Option<f64>,
    /// Mean one-way delay of a packet; for transfers, with the wait behind packets of their own
    /// burst.
    pub delay_s: f64,
    /// Constraint that limits the rate.
    pub limited_by: BindingConstraint,
    /// Provenance of the rate in its profile: measured or extrapolated.
    pub provenance: Provenance,
    /// True if the delay is an estimate, because a queue on the path is.
    pub delay_is_estimate: bool,
    /// True if the loss is an estimate, because the loss of a link on the path is.
    pub loss_is_estimate: bool,
    /// True if the goodput is an estimate.
    pub goodput_is_estimate: bool,
}

/// Totals over all data traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TotalsSteady {
    /// Sending rate in packets/s.
    pub rate_pps: f64,
    /// Goodput in packets/s.
    pub goodput_pps: f64,
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Fraction of the packets sent that is lost.
    pub loss_probability: f64,
    /// Mean one-way delay of a packet; 0 if none arrives.
    pub delay_s: f64,
}

impl LinkSteady {
    /// Returns whether the losses are estimates.
    pub fn loss_is_estimate(&self) -> bool {
        self.estimate.is_some() || self.loss_is_size_dependent
    }
}

impl Steady {
    /// Returns demand over bandwidth of every link with traffic. Above 1 neither a buffer nor TCP
    /// can help.
    pub fn demands<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (LinkId, f64)> + 'a {
        let links = network.links().zip(&self.links);
        let loaded = links.filter(|(_, it)| it.load_bps > 0.0);
        loaded.map(|(id, it)| (id, it.load * it.demand_bps / it.load_bps))
    }

    /// Returns one link.
    pub fn link(&self, id: LinkId) -> &LinkSteady {
        &self.links[id.index()]
    }

    /// Returns one connection.
    pub fn connection(&self, id: ConnectionId) -> &ConnectionSteady {
        &self.connections[id.index()]
    }

    /// Collects the results from the solver's state, which is at `z`.
    pub(crate) fn new(solver: &Solver, z: Vec<f64>, reached: NewtonOutcome) -> Steady {
        let inner = solver.network.tables();
        let used = &solver.problem.used_links;
        let is_used = |l: usize| used.binary_search(&(l as u32)).is_ok();
        let mut links: Vec<LinkSteady> = (0..inner.links.len())
            .map(|l| solver.link_steady(l, is_used(l)))
            .collect();
        solver.add_loads(&mut links);
        solver.mark_estimates(&mut links);
        let aside_s = solver.burst_wait_differences();
        let flows = 0..solver.problem.flows.len();
        let flows = flows.map(|i| solver.flow_steady(i, &aside_s, &links));
        let flows: Vec<ConnectionSteady> = flows.collect();
        solver.mark_utilizations(&flows, &mut links);
        let connections = solver.network.connections().map(|id| {
            let own = solver.problem.flows_of(&solver.network, id);
            if own.is_empty() {
                return ConnectionSteady::default();
            }
            let part = solver.problem.share_of(&solver.network, id, own.clone());
            let all = sum_flows(&flows[own]);
            ConnectionSteady {
                rate_pps: all.rate_pps * part,
                goodput_pps: all.goodput_pps * part,
                ..all
            }
        });
        Steady {
            links,
            connections: connections.collect(),
            totals: solver.network_totals(),
            residual: reached.residual,
            newton_steps: reached.newton_steps,
            products: reached.products,
            starts: 0,
            converged_starts: 0,
            equilibria: 1,
            later_events: solver.problem.later_events,
            without_route: solver.problem.without_route.clone(),
            z,
        }
    }
}

/// Combines the flows into which one connection is split. Only fixed-rate sources are split, so the
/// flows differ in their paths only.
pub(crate) fn sum_flows(flows: &[ConnectionSteady]) -> ConnectionSteady {
    let mut all = flows[0];
    if flows.len() == 1 {
        return all;
    }
    let sum = |of: fn(&ConnectionSteady) -> f64| flows.iter().map(of).sum::<f64>();
    all.rate_pps = sum(|it| it.rate_pps);
    all.goodput_pps = sum(|it| it.goodput_pps);
    if all.rate_pps > 0.0 {
        all.loss_probability = sum(|it| it.loss_probability * it.rate_pps) / all.rate_pps;
    }
    if all.goodput_pps > 0.0 {
        all.delay_s = sum(|it| it.delay_s * it.goodput_pps) / all.goodput_pps;
    }
    all
}

impl Solver {
    /// Returns the results of one link without loads and estimates.
    pub(crate) fn link_steady(&self, l: usize, is_used: bool) -> LinkSteady {
        if !is_used {
            return LinkSteady {
                buffer_pkts: self.problem.links[l].buffer.nominal_pkts,
                ..LinkSteady::default()
            };
        }
        let at = &self.point.links[l];
        LinkSteady {
            offered_pps: at.pkts_ps,
            offered_bps: at.bits_ps,
            load: 0.0,
            load_bps: 0.0,
            demand_bps: 0.0,
            utilization: at.fixed_point.utilization,
            utilization_is_estimate: false,
            queue_pkts: at.fixed_point.queue_pkts,
            buffer_pkts: at.buffer_pkts,
            waiting_s: at.waiting_s,
            delay_s: (at.fixed_point.found_pkts + 1.0) * at.packet_s,
            loss_probability: loss_from_ln_pass(at.fixed_point.ln_pass),
            at_jump: at.fixed_point.at_jump,
            estimate: None,
            loss_is_size_dependent: false,
        }
    }

    /// Adds up the load of every link: per hop of a flow, the larger of its demand and its arrival
    /// rate.
    fn add_loads(&self, links: &mut [LinkSteady]) {
        for (flow, at) in self.problem.flows.iter().zip(&self.point.flows) {
            let demand_pps = flow.sent_pps(flow.demanded_pps(at.rate_pps));
            let load_pps = |hop: usize| self.point.hops[hop].max(demand_pps);
            for hop in flow.data_hops() {
                let link = &mut links[self.problem.hop_link[hop] as usize];
                link.load_bps += load_pps(hop) * self.problem.hop_bits[hop];
                link.demand_bps += demand_pps * self.problem.hop_bits[hop];
            }
            for hop in flow.ack_hops() {
                let link = &mut links[self.problem.hop_link[hop] as usize];
                let bits = flow.acks * self.problem.hop_bits[hop];
                link.load_bps += load_pps(hop) * bits;
            }
        }
        for (link, of) in links.iter_mut().zip(&self.problem.links) {
            link.load = link.load_bps / of.bandwidth_bps;
        }
    }

    /// Returns the [differences](Self::burst_wait_difference) of every link.
    pub(crate) fn burst_wait_differences(&self) -> Vec<[f64; 2]> {
        let mut transfers_pps = vec![0.0; self.point.links.len()];
        for (flow, at) in self.problem.flows.iter().zip(&self.point.flows) {
            if self.problem.transfers[flow.class as usize].is_some() {
                for &l in &self.problem.hop_link[flow.data_hops()] {
                    transfers_pps[l as usize] += flow.sent_pps(at.rate_pps);
                }
            }
        }
        let links = transfers_pps.into_iter().enumerate();
        links
            .map(|(l, pps)| self.burst_wait_difference(l, pps))
            .collect()
    }

    /// Returns two differences from the mean wait of all packets at a link, in seconds, given the packets/s of
    /// transfers. The first is that of packets of other sources that meet bursts. The second is that of packets
    /// of transfers, which also wait behind their own burst. Both are 0 without transfers.
    pub(crate) fn burst_wait_difference(&self, l: usize, transfers_pps: f64) -> [f64; 2] {
        let at = &self.point.links[l];
        let (filling, k) = (&self.point.laws[l], at.buffer_pkts);
        if transfers_pps <= 0.0 || !filling.has_bursts() {
            return [0.0; 2];
        }
        let (queue_pkts, found_pkts) = (at.fixed_point.queue_pkts, at.fixed_point.found_pkts);
        let others_pkts = queue_pkts.min(found_pkts);
        let others_s = (others_pkts - found_pkts) * at.packet_s;
        let more_pkts = filling.added_by_bursts_pkts(at.fixed_point.ln_rho, k);
        let own_s = own_burst_wait_s(more_pkts, at.fixed_point.utilization, transfers_pps);
        let most_s = (k - others_pkts).max(0.0) * at.packet_s;
        [others_s, others_s + own_s.min(most_s)]
    }

    /// Returns rate, goodput, loss and delay of a flow; other values are not set.
    pub(crate) fn flow_traffic(&self, i: usize, aside_s: &[[f64; 2]]) -> ConnectionSteady {
        let (flow, at) = (&self.problem.flows[i], &self.point.flows[i]);
        let rate_pps = flow.sent_pps(at.rate_pps);
        let in_bursts = self.problem.transfers[flow.class as usize].is_some();
        let hops = self.problem.hop_link[flow.data_hops()].iter();
        let aside_s = hops.map(|&l| aside_s[l as usize][usize::from(in_bursts)]);
        ConnectionSteady {
            sending: true,
            rate_pps,
            goodput_pps: rate_pps * libm::exp(at.ln_pass),
            loss_probability: at.loss(),
            delay_s: self.delay_s(i) + aside_s.sum::<f64>(),
            ..ConnectionSteady::default()
        }
    }

    fn flow_steady(
        &self,
        i: usize,
        aside_s: &[[f64; 2]],
        links: &[LinkSteady],
    ) -> ConnectionSteady {
        let (flow, at) = (&self.problem.flows[i], &self.point.flows[i]);
        let spec = self.network.tables().spec_of_class(flow.class);
        let crosses = |is: fn(&LinkSteady) -> bool| {
            let mut hops = flow.data_hops().chain(flow.ack_hops());
            hops.any(|h| is(&links[self.problem.hop_link[h] as usize]))
        };
        let queues = crosses(|link| link.estimate.is_some());
        let losses = crosses(LinkSteady::loss_is_estimate);
        ConnectionSteady {
            rtt_s: spec.source.is_answered().then_some(at.rtt_s),
            limited_by: at.limit,
            provenance: match flow.profile {
                NO_PROFILE => Provenance::Measured,
                p => self.problem.profiles[p as usize].provenance(at.loss(), at.rtt_s),
            },
            delay_is_estimate: queues,
            loss_is_estimate: losses,
            goodput_is_estimate: Estimate::of_goodput(
                &spec.source,
                queues,
                losses,
                Some(at.loss()),
            ),
            ..self.flow_traffic(i, aside_s)
        }
    }

    /// Returns the mean one-way delay of a flow's delivered packets if each waits as the average
    /// packet of each link.
    fn delay_s(&self, i: usize) -> f64 {
        self.delay_for_queues_s(i, |l| self.point.links[l].fixed_point.found_pkts)
    }

    /// Returns the same for the given number of packets found at each link.
    pub(crate) fn delay_for_queues_s(&self, i: usize, found_pkts: impl Fn(usize) -> f64) -> f64 {
        let flow = &self.problem.flows[i];
        let hops = &self.problem.hop_link[flow.data_hops()];
        let waits = hops.iter().map(|&l| {
            let l = l as usize;
            found_pkts(l) * self.point.links[l].packet_s
        });
        self.problem.base_delays_s(flow)[0] + waits.sum::<f64>()
    }

    pub(crate) fn network_totals(&self) -> TotalsSteady {
        let mut totals = TotalsSteady::default();
        let (mut delay, mut lost) = (0.0, 0.0);
        for (i, (flow, at)) in self.problem.flows.iter().zip(&self.point.flows).enumerate() {
            let rate_pps = flow.sent_pps(at.rate_pps);
            let goodput_pps = rate_pps * libm::exp(at.ln_pass);
            totals.rate_pps += rate_pps;
            totals.goodput_pps += goodput_pps;
            totals.goodput_bps += goodput_pps * flow.data_bits;
            delay += goodput_pps * self.delay_s(i);
            lost += rate_pps * at.loss();
        }
        if totals.rate_pps > 0.0 {
            totals.loss_probability = lost / totals.rate_pps;
        }
        if totals.goodput_pps > 0.0 {
            totals.delay_s = delay / totals.goodput_pps;
        }
        totals
    }
}
