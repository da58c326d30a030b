//! What a network at rest does.

use netflow_fluid::queue_fixed_point::wait_for_own_s;
use netflow_network::{ConnectionId, Estimate, LinkId, Network};
use netflow_profile::ProfileUse;
use serde::Serialize;

use crate::newton::Reached;
use crate::point::{Held, LinkAt, lost};
use crate::problem::NO_PROFILE;
use crate::solver::Solver;

/// A network at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// In the order of the network's links.
    pub links: Vec<LinkSteady>,
    /// In the order of the network's connections.
    pub connections: Vec<ConnectionSteady>,
    /// All data together.
    pub totals: TotalsSteady,
    /// How far the links are from rest: the largest relative difference between the load that one is taken
    /// to be offered and the load that it then is offered.
    pub residual: f64,
    /// Newton steps that it took, and products with the equations' derivative.
    pub rounds: usize,
    /// See [`rounds`](Self::rounds).
    pub products: usize,
    /// Random starts that were tried besides, and how many of them led to rest.
    pub starts: u32,
    /// See [`starts`](Self::starts).
    pub starts_led: u32,
    /// Different steady states that were met, this one included: more may exist.
    pub equilibria: usize,
    /// Events after the time looked at, which are left out.
    pub later_events: usize,
    /// Connections that would send and have no route.
    pub without_route: Vec<ConnectionId>,
    pub(crate) z: Vec<f64>,
}

/// A link at rest. Packets are packets of any size, acknowledgements included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkSteady {
    /// Packets/s that arrive, and bits/s on the wire.
    pub offered_pps: f64,
    /// See [`offered_pps`](Self::offered_pps).
    pub offered_bps: f64,
    /// Traffic demanded of the link over its bandwidth: [`load_bps`](Self::load_bps) / bandwidth. It exceeds 1 on an
    /// overloaded link.
    pub load: f64,
    /// Traffic demanded of the link in bits/s on the wire: fixed-rate sources, demands and applications at their full rate, without
    /// losses upstream; TCP that always has data, and acknowledgements, as they arrive.
    pub load_bps: f64,
    /// The share of [`load_bps`](Self::load_bps) that does not depend on the network: TCP that always has data and
    /// acknowledgements left out.
    pub demand_bps: f64,
    /// Fraction of the time that the link is busy.
    pub utilization: f64,
    /// Whether load and utilization are estimates: sources whose goodput is one send 10 % of its traffic or more.
    pub utilization_is_estimate: bool,
    /// Mean queue, the packet in service included.
    pub queue_pkts: f64,
    /// Its room; where that is bytes, in packets of the mean size of those that come.
    pub buffer_pkts: f64,
    /// What an arriving packet waits, as sources count it: the mean queue at the link's rate.
    pub waiting_s: f64,
    /// Mean time that a packet spends here which gets in, its own transmission included (Little's law).
    pub delay_s: f64,
    /// Probability that an arriving packet is refused, by the full buffer or early.
    pub loss_probability: f64,
    /// Whether random early detection's drop probability jumps at this queue: it stays there.
    pub at_jump: bool,
    /// Why its queue, delay and losses are estimates; `None` if they are not.
    pub estimate: Option<Estimate>,
    /// Whether its losses are estimates because they depend on the size of packets.
    pub loses_by_size: bool,
}

/// A connection at rest; rates are of all `count` of it together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionSteady {
    /// Whether it sends at the time looked at, and has a route.
    pub sending: bool,
    /// Packets/s that it sends.
    pub rate_pps: f64,
    /// Packets/s that arrive.
    pub goodput_pps: f64,
    /// Probability that a packet is lost on its way.
    pub loss_probability: f64,
    /// Round-trip time as the source sees it; `None` of sources that hear nothing of their packets.
    pub rtt_s: Option<f64>,
    /// Mean time of a packet from sending to arrival; of transfers with what they wait for others of their own burst.
    pub delay_s: f64,
    /// What holds it at that rate.
    pub held: Held,
    /// What its rate rests on.
    pub rests_on: ProfileUse,
    /// Whether its delay is an estimate: so is a queue on its path.
    pub delay_is_estimate: bool,
    /// Whether its loss is one: so are losses of a link on its path.
    pub loss_is_estimate: bool,
    /// Whether its goodput is one.
    pub goodput_is_estimate: bool,
}

/// All data together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TotalsSteady {
    /// Packets/s sent.
    pub rate_pps: f64,
    /// Packets/s that arrive.
    pub goodput_pps: f64,
    /// Bits/s that arrive.
    pub goodput_bps: f64,
    /// Part of what is sent that is lost.
    pub loss_probability: f64,
    /// Mean time of a packet from sending to arrival; 0 if none arrives.
    pub delay_s: f64,
}

impl LinkSteady {
    /// Whether its losses are estimates.
    pub fn loss_is_estimate(&self) -> bool {
        self.estimate.is_some() || self.loses_by_size
    }
}

impl Steady {
    /// Demands over bandwidth of every link with traffic: above 1 where no queue and no TCP can help.
    pub fn demands<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (LinkId, f64)> + 'a {
        let links = network.links().zip(&self.links);
        let loaded = links.filter(|(_, it)| it.load_bps > 0.0);
        loaded.map(|(id, it)| (id, it.load * it.demand_bps / it.load_bps))
    }

    /// One link.
    pub fn link(&self, id: LinkId) -> &LinkSteady {
        &self.links[id.index()]
    }

    /// One connection.
    pub fn connection(&self, id: ConnectionId) -> &ConnectionSteady {
        &self.connections[id.index()]
    }

    /// The solver's point, which is at `z`, in numbers.
    pub(crate) fn new(solver: &Solver, z: Vec<f64>, reached: Reached) -> Steady {
        let inner = solver.network.tables();
        let mut links: Vec<LinkSteady> =
            (0..inner.links.len()).map(|l| solver.link_at(l)).collect();
        solver.add_loads(&mut links);
        solver.mark_estimates(&mut links);
        let aside_s = solver.waits_beside_the_mean();
        let flows = 0..solver.problem.flows.len();
        let flows = flows.map(|i| solver.flow_at(i, &aside_s, &links));
        let flows: Vec<ConnectionSteady> = flows.collect();
        solver.mark_utilizations(&flows, &mut links);
        let connections = solver.network.connections().map(|id| {
            let own = solver.problem.flows_of(&solver.network, id);
            if own.is_empty() {
                return ConnectionSteady::default();
            }
            let part = solver.problem.part_of(&solver.network, id, own.clone());
            let all = together(&flows[own]);
            ConnectionSteady {
                rate_pps: all.rate_pps * part,
                goodput_pps: all.goodput_pps * part,
                ..all
            }
        });
        Steady {
            links,
            connections: connections.collect(),
            totals: solver.totals_at(),
            residual: reached.residual,
            rounds: reached.rounds,
            products: reached.products,
            starts: 0,
            starts_led: 0,
            equilibria: 1,
            later_events: solver.problem.later_events,
            without_route: solver.problem.without_route.clone(),
            z,
        }
    }
}

/// What the flows do together that something is divided into. Only what has a rate of its own is, so nothing but ways
/// tells them apart.
fn together(flows: &[ConnectionSteady]) -> ConnectionSteady {
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
    fn link_at(&self, l: usize) -> LinkSteady {
        if self.problem.used.binary_search(&(l as u32)).is_err() {
            return LinkSteady {
                buffer_pkts: self.problem.links[l].room.nominal_pkts,
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
            utilization: at.rest.utilization,
            utilization_is_estimate: false,
            queue_pkts: at.rest.queue_pkts,
            buffer_pkts: at.buffer_pkts,
            waiting_s: at.waiting_s,
            delay_s: (at.rest.found_pkts + 1.0) * at.packet_s,
            loss_probability: lost(at.rest.ln_pass),
            at_jump: at.rest.at_jump,
            estimate: None,
            loses_by_size: false,
        }
    }

    /// The load of every link: per hop of a flow, its demand or the traffic that arrives there, whichever is larger.
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

    /// By link, by how many seconds more or less than the mean of all packets those of others wait that meet bursts, and
    /// those of transfers, which wait for their own as well; nothing where there are no transfers.
    fn waits_beside_the_mean(&self) -> Vec<[f64; 2]> {
        let mut transfers_pps = vec![0.0; self.point.links.len()];
        for (flow, at) in self.problem.flows.iter().zip(&self.point.flows) {
            if self.problem.transfers[flow.class as usize].is_some() {
                for &l in &self.problem.hop_link[flow.data_hops()] {
                    transfers_pps[l as usize] += flow.sent_pps(at.rate_pps);
                }
            }
        }
        let links = self.point.links.iter().zip(transfers_pps).enumerate();
        let aside_s = |(l, (at, pps)): (usize, (&LinkAt, f64))| {
            let (filling, k) = (&self.point.fillings[l], at.buffer_pkts);
            if pps <= 0.0 || !filling.has_bursts() {
                return [0.0; 2];
            }
            let (queue_pkts, found_pkts) = (at.rest.queue_pkts, at.rest.found_pkts);
            let others_pkts = queue_pkts.min(found_pkts);
            let others_s = (others_pkts - found_pkts) * at.packet_s;
            let more_pkts = filling.added_by_bursts_pkts(at.rest.ln_rho, k);
            let own_s = wait_for_own_s(more_pkts, at.rest.utilization, pps);
            let most_s = (k - others_pkts).max(0.0) * at.packet_s;
            [others_s, others_s + own_s.min(most_s)]
        };
        links.map(aside_s).collect()
    }

    fn flow_at(&self, i: usize, aside_s: &[[f64; 2]], links: &[LinkSteady]) -> ConnectionSteady {
        let (flow, at) = (&self.problem.flows[i], &self.point.flows[i]);
        let spec = self.network.tables().spec_of_class(flow.class);
        let rate_pps = flow.sent_pps(at.rate_pps);
        let in_bursts = self.problem.transfers[flow.class as usize].is_some();
        let crosses = |is: fn(&LinkSteady) -> bool| {
            let mut hops = flow.data_hops().chain(flow.ack_hops());
            hops.any(|h| is(&links[self.problem.hop_link[h] as usize]))
        };
        let queues = crosses(|link| link.estimate.is_some());
        let losses = crosses(LinkSteady::loss_is_estimate);
        let hops = self.problem.hop_link[flow.data_hops()].iter();
        let aside_s = hops.map(|&l| aside_s[l as usize][usize::from(in_bursts)]);
        ConnectionSteady {
            sending: true,
            rate_pps,
            goodput_pps: rate_pps * libm::exp(at.ln_pass),
            loss_probability: at.loss(),
            rtt_s: spec.source.is_answered().then_some(at.rtt_s),
            delay_s: self.delay_s(i) + aside_s.sum::<f64>(),
            held: at.limit,
            rests_on: match flow.profile {
                NO_PROFILE => ProfileUse::Measured,
                p => self.problem.profiles[p as usize].rests_on(at.learnt, at.rtt_s),
            },
            delay_is_estimate: queues,
            loss_is_estimate: losses,
            goodput_is_estimate: Estimate::of_goodput(
                &spec.source,
                queues,
                losses,
                Some(at.loss()),
            ),
        }
    }

    /// Mean time of a flow's packets that arrive, from sending on, if they wait at each link as all do on average.
    fn delay_s(&self, i: usize) -> f64 {
        self.delay_with(i, |l| self.point.links[l].rest.found_pkts)
    }

    /// The same, if so many packets are found at each link.
    pub(crate) fn delay_with(&self, i: usize, found_pkts: impl Fn(usize) -> f64) -> f64 {
        let flow = &self.problem.flows[i];
        let hops = &self.problem.hop_link[flow.data_hops()];
        let waits = hops.iter().map(|&l| {
            let l = l as usize;
            found_pkts(l) * self.point.links[l].packet_s
        });
        self.problem.fixed_s(flow)[0] + waits.sum::<f64>()
    }

    pub(crate) fn totals_at(&self) -> TotalsSteady {
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
