//! Queue-filling traffic of all links at one time, and its adjoint.

use std::collections::HashMap;

use netflow_fluid::link_traffic::{
    LinkTraffic, Sender, TrafficFlow, TurningRates, add_flows, mark_saturated_sources,
};
use netflow_fluid::slow_start_bursts::Bursts;
use netflow_fluid::tcp_drop_tail::LawGradient;

use crate::problem::{Flow, NO_PROFILE, Problem};

/// Adjoints of the parameters that determine the queue-filling traffic.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrafficAdjoints {
    /// Per link: bandwidth in bit/s, delay in seconds, buffer in packets. A buffer in bits counts
    /// in packets of the expected size.
    pub bandwidth_bps: Vec<f64>,
    pub delay_s: Vec<f64>,
    pub buffer_pkts: Vec<f64>,
    /// Per flow: ln of its demand, as [`Flow::demand`].
    pub ln_demand: Vec<f64>,
}

impl Problem {
    fn traffic_flow(&self, flow: &Flow) -> TrafficFlow<'_> {
        let transfers = self.transfers[flow.class as usize].as_deref();
        // Other queues do not depend on it.
        let has_round_trips = transfers.is_some() || flow.profile != NO_PROFILE;
        let both = flow.data.0 as usize..flow.back.1 as usize;
        let links = self.hop_link[both].iter().filter(|_| has_round_trips);
        TrafficFlow {
            sender: Sender {
                count: flow.count * flow.demand,
                rate_pps: (flow.profile == NO_PROFILE).then_some(flow.rate_pps),
                application_pps: flow.application_pps,
                window_pkts: flow.window_pkts,
                round_trip_s: links.map(|&l| self.links[l as usize].delay_s).sum(),
                data_bits: flow.data_bits,
                sawtooth_amplitude: match flow.profile {
                    NO_PROFILE => 1.0,
                    profile => self.profiles[profile as usize].sawtooth_amplitude(),
                },
                acks: if flow.sends_acks { flow.acks } else { 0.0 },
                transfers,
            },
            data: &self.hop_link[flow.data_hops()],
            return_path: &self.hop_link[flow.back_hops()],
        }
    }

    /// Returns whether a flow's bursts have different one-sided derivatives with respect to a
    /// bandwidth.
    pub fn bursts_are_nonsmooth(&self, flow: &Flow, crossings: &[LinkTraffic]) -> bool {
        let way = self.traffic_flow(flow).transfers();
        way.is_some_and(|it| it.is_nonsmooth(crossings))
    }

    /// Returns the traffic of each link.
    pub fn link_traffic(&self) -> Vec<LinkTraffic> {
        self.link_traffic_of(self.flows.iter())
    }

    /// Returns the traffic of each link by these flows alone. If no application limits a TCP source, it is
    /// complete on the links all of whose flows are among them.
    pub fn link_traffic_of<'a>(
        &'a self,
        flows: impl Iterator<Item = &'a Flow>,
    ) -> Vec<LinkTraffic> {
        self.traffic_flows_and_links(flows).1
    }

    /// Returns the traffic of one link without bursts. `crossings` are all hops over it: the flow, the link before,
    /// and whether its data or its acknowledgements cross the link.
    pub fn traffic_at<'a>(
        &'a self,
        link: u32,
        crossings: impl Iterator<Item = (&'a Flow, Option<u32>, bool)>,
    ) -> LinkTraffic {
        // Paths of the links before, which have numbers from 1 on, to the link, which has the number 0.
        let (mut before, mut paths) = (vec![link], vec![[0, 0]]);
        let mut path_from = |previous: u32| match before[1..].iter().position(|it| *it == previous)
        {
            Some(i) => i + 1,
            None => {
                paths.push([before.len() as u32, 0]);
                before.push(previous);
                before.len() - 1
            }
        };
        let crossings = crossings.map(|(flow, previous, is_data)| {
            let place = previous.map_or(0, &mut path_from);
            (self.traffic_flow(flow), place, is_data)
        });
        let crossings: Vec<_> = crossings.collect();
        let flows = crossings.iter().map(|&(flow, place, is_data)| {
            let path = &paths[place][usize::from(place == 0)..];
            let (data, return_path): (&[u32], &[u32]) =
                if is_data { (path, &[]) } else { (&[], path) };
            TrafficFlow {
                data,
                return_path,
                ..flow
            }
        });
        let mut links: Vec<LinkTraffic> = before.iter().map(|&l| self.empty_link(l)).collect();
        add_flows(&mut links, flows);
        links.swap_remove(0)
    }

    fn empty_link(&self, link: u32) -> LinkTraffic {
        let link = &self.links[link as usize];
        LinkTraffic::empty(link.bandwidth_bps, link.overhead, link.buffer)
    }

    /// Returns these flows as link traffic, and the traffic of each link.
    fn traffic_flows_and_links<'a>(
        &'a self,
        flows: impl Iterator<Item = &'a Flow>,
    ) -> (Vec<TrafficFlow<'a>>, Vec<LinkTraffic>) {
        let links = 0..self.links.len() as u32;
        let mut all: Vec<LinkTraffic> = links.map(|link| self.empty_link(link)).collect();
        let crossers = flows.map(|flow| self.traffic_flow(flow));
        let mut crossers: Vec<TrafficFlow<'_>> = crossers.collect();
        mark_saturated_sources(&all, &mut crossers);
        add_flows(&mut all, crossers.iter().copied());
        (crossers, all)
    }

    /// Computes the adjoints of all parameters from the adjoint `by` of each link's filling.
    pub fn link_traffic_vjp(&self, by: &[LawGradient]) -> TrafficAdjoints {
        let (crossers, crossings) = self.traffic_flows_and_links(self.flows.iter());
        let adjoints = crossings.iter().zip(&self.links).zip(by);
        let mut adjoints: Vec<LinkTraffic> = adjoints
            .map(|((crossing, link), by)| crossing.queue_model_vjp(link.calibration, by))
            .collect();
        let links = self.links.len();
        let mut worth = TrafficAdjoints {
            bandwidth_bps: adjoints.iter().map(|pull| pull.bandwidth_bps).collect(),
            delay_s: vec![0.0; links],
            buffer_pkts: adjoints.iter().map(|pull| pull.buffer_pkts).collect(),
            ln_demand: vec![0.0; self.flows.len()],
        };
        // Responsive sources depend on the sum of all windows of the link, so that adjoint comes
        // first.
        for (crosser, ln_demand) in crossers.iter().zip(&mut worth.ln_demand) {
            let &TrafficFlow {
                sender,
                data,
                return_path: back,
            } = crosser;
            if !sender.is_responsive() {
                continue;
            }
            let mut by_round_trip = 0.0;
            for &l in data {
                let l = l as usize;
                let slopes = crossings[l].responsiveness_gradient(&sender);
                let reacting = adjoints[l].responsive_windows
                    + adjoints[l].amplitude_sum * sender.sawtooth_amplitude;
                let each = reacting * sender.count;
                worth.bandwidth_bps[l] += each * slopes.bandwidth_bps;
                worth.buffer_pkts[l] += each * slopes.buffer_pkts;
                adjoints[l].windows += each * slopes.windows;
                by_round_trip += each * slopes.round_trip_s;
                *ln_demand += each * crossings[l].responsiveness(&sender);
            }
            for &l in data.iter().chain(back) {
                worth.delay_s[l as usize] += by_round_trip;
            }
        }
        let adjoints = bursts_vjp(&crossers, &crossings, adjoints, &mut worth);
        for (crosser, ln_demand) in crossers.iter().zip(&mut worth.ln_demand) {
            let &TrafficFlow {
                sender,
                data,
                return_path: back,
            } = crosser;
            let over = |links: &[u32], of: fn(&LinkTraffic) -> f64| -> f64 {
                links.iter().map(|&l| of(&adjoints[l as usize])).sum()
            };
            *ln_demand += if sender.is_responsive() {
                let acks = sender.acks * over(back, |by| by.acks);
                sender.count * (over(data, |by| by.windows) + acks)
            } else {
                let by = |&l: &u32| {
                    let l = l as usize;
                    crossings[l].factor(sender.data_bits) * adjoints[l].unresponsive_bps
                };
                sender.demand_bps() * data.iter().map(by).sum::<f64>()
            };
        }
        worth
    }
}

/// Adds the adjoints of transfer bursts from the adjoints `adjoints` of each link's [`LinkTraffic`].
/// Returns the adjoints that remain without the bursts.
fn bursts_vjp(
    all: &[TrafficFlow<'_>],
    crossings: &[LinkTraffic],
    mut adjoints: Vec<LinkTraffic>,
    worth: &mut TrafficAdjoints,
) -> Vec<LinkTraffic> {
    let crossers = || all.iter().copied();
    if crossers().all(|it| it.transfers().is_none()) {
        return adjoints;
    }
    let turns = TurningRates::new(crossings, crossers());
    // Adjoint of the bit/s that pass from one link to the next.
    let mut of_turns: HashMap<(u32, u32), f64> = HashMap::new();
    for (crosser, ln_demand) in crossers().zip(&mut worth.ln_demand) {
        let Some(way) = crosser.transfers() else {
            continue;
        };
        let mut bursts = Vec::with_capacity(way.links.len());
        way.bursts(crossings, |burst| bursts.push(burst));
        let mut worth_here = Vec::with_capacity(way.links.len());
        for (i, (burst, &l)) in bursts.iter().zip(way.links).enumerate() {
            let wanted_bps = crossings[l as usize].demand_bps(&crosser.sender);
            let by = adjoints[l as usize]
                .demand_weighted_bursts
                .scaled(wanted_bps);
            let of_met = by.others_pkts * burst.others_pkts;
            let turn = turns.turning_flow(crossings, &way, i);
            let (part, ordered) = (turn.share_of_link, turn.in_order_fraction);
            if i > 0 {
                let before = way.links[i - 1];
                let all_bps = crossings[l as usize].unresponsive_bps;
                *of_turns.entry((before, l)).or_default() -= of_met * ordered / all_bps;
                adjoints[l as usize].unresponsive_bps += of_met * ordered * part / all_bps;
                if ordered < 1.0 {
                    let [above, here] = [before, l].map(|l| crossings[l as usize].bandwidth_bps);
                    worth.bandwidth_bps[l as usize] -= of_met * part * ordered / here;
                    worth.bandwidth_bps[before as usize] += of_met * part * ordered / above;
                }
            }
            *ln_demand += by.own_pkts * burst.own_pkts + of_met * turn.interfering_fraction();
            worth_here.push(Bursts {
                own_pkts: by.own_pkts,
                others_pkts: by.others_pkts * turn.interfering_fraction(),
            });
        }
        let by_way = way.vjp(crossings, &worth_here);
        for (&l, by) in way.links.iter().zip(&by_way.bandwidth_bps) {
            worth.bandwidth_bps[l as usize] += by;
        }
        let (narrowest, by_room) = by_way.buffer_pkts;
        worth.buffer_pkts[way.links[narrowest] as usize] += by_room;
        for &l in crosser.data.iter().chain(crosser.return_path) {
            worth.delay_s[l as usize] += by_way.round_trip_s;
        }
    }
    for (crosser, ln_demand) in crossers().zip(&mut worth.ln_demand) {
        if crosser.sender.is_responsive() {
            continue;
        }
        for pair in crosser.data.windows(2) {
            let by = of_turns.get(&(pair[0], pair[1])).copied().unwrap_or(0.0);
            let here = &crossings[pair[1] as usize];
            *ln_demand += here.demand_bps(&crosser.sender) * by;
        }
    }
    adjoints
}
