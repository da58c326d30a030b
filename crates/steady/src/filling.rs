//! What fills the queues of a network at one time, and what a change of that is worth.

use netflow_fluid::filling::{ByCrossing, ByFilling, Crossing, Windowed};

use crate::problem::{Flow, NO_PROFILE, Problem};

/// What a unit more of everything is worth that fills queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct FillingWorth {
    /// By link: of its bandwidth in bit/s, its delay in seconds, its room in packets.
    pub bandwidth_bps: Vec<f64>,
    pub delay_s: Vec<f64>,
    pub buffer_pkts: Vec<f64>,
    /// By flow: of ln of its demand, as [`Flow::demand`].
    pub ln_demand: Vec<f64>,
}

impl Flow {
    /// As its windows count for queues, given its propagation there and back; `None` if it does not react to
    /// losses.
    fn windowed(&self, round_trip_s: f64) -> Option<Windowed> {
        let bulk = self.profile != NO_PROFILE && self.application_pps == f64::INFINITY;
        bulk.then_some(Windowed {
            count: self.count * self.demand,
            window_pkts: self.window_pkts,
            round_trip_s,
            data_bits: self.data_bits,
        })
    }

    /// What it wants if it does not, in bit/s.
    fn wanted_bps(&self) -> f64 {
        let pps = match self.profile {
            NO_PROFILE => self.rate_pps,
            _ => self.application_pps,
        };
        self.sent_pps(pps) * self.data_bits
    }
}

impl Problem {
    fn windowed(&self, flow: &Flow) -> Option<Windowed> {
        let hops = flow.data.0 as usize..flow.back.1 as usize;
        let delays_s = self.hop_link[hops]
            .iter()
            .map(|&l| self.links[l as usize].delay_s);
        flow.windowed(delays_s.sum())
    }

    fn over(&self, hops: std::ops::Range<usize>) -> impl Iterator<Item = usize> + '_ {
        self.hop_link[hops].iter().map(|&l| l as usize)
    }

    /// Who crosses each link.
    pub fn crossings(&self) -> Vec<Crossing> {
        let links = self.links.iter();
        let mut all: Vec<Crossing> = links
            .map(|link| Crossing {
                bandwidth_bps: link.bandwidth_bps,
                buffer_pkts: link.queue.buffer_pkts,
                ..Crossing::default()
            })
            .collect();
        let windowed: Vec<Option<Windowed>> =
            self.flows.iter().map(|flow| self.windowed(flow)).collect();
        for (flow, windowed) in self.flows.iter().zip(&windowed) {
            let Some(windowed) = windowed else {
                self.over(flow.data_hops())
                    .for_each(|l| all[l].unresponsive_bps += flow.wanted_bps());
                continue;
            };
            self.over(flow.data_hops())
                .for_each(|l| all[l].windows += windowed.count);
            if flow.answers {
                let acks = windowed.count * flow.acks;
                self.over(flow.back_hops())
                    .for_each(|l| all[l].acks += acks);
            }
        }
        for (flow, windowed) in self.flows.iter().zip(&windowed) {
            if let Some(windowed) = windowed {
                for l in self.over(flow.data_hops()) {
                    all[l].reacting += windowed.count * all[l].reaction(windowed);
                }
            }
        }
        all
    }

    /// What changes are worth that change what fills queues, each link's filling being worth `by`.
    pub fn worth_of_filling(&self, by: &[ByFilling]) -> FillingWorth {
        let crossings = self.crossings();
        let pulls = crossings.iter().zip(by);
        let mut pulls: Vec<ByCrossing> = pulls.map(|(crossing, by)| crossing.pull(by)).collect();
        let links = self.links.len();
        let mut worth = FillingWorth {
            bandwidth_bps: pulls.iter().map(|pull| pull.bandwidth_bps).collect(),
            delay_s: vec![0.0; links],
            buffer_pkts: pulls.iter().map(|pull| pull.buffer_pkts).collect(),
            ln_demand: vec![0.0; self.flows.len()],
        };
        // What reacts depends on all windows of the link, so first what those are worth.
        for (flow, ln_demand) in self.flows.iter().zip(&mut worth.ln_demand) {
            let Some(windowed) = self.windowed(flow) else {
                continue;
            };
            let mut by_round_trip = 0.0;
            for l in self.over(flow.data_hops()) {
                let slopes = crossings[l].reaction_slopes(&windowed);
                let each = pulls[l].reacting * windowed.count;
                worth.bandwidth_bps[l] += each * slopes.bandwidth_bps;
                worth.buffer_pkts[l] += each * slopes.buffer_pkts;
                pulls[l].windows += each * slopes.windows;
                by_round_trip += each * slopes.round_trip_s;
                *ln_demand += each * crossings[l].reaction(&windowed);
            }
            for l in self.over(flow.data.0 as usize..flow.back.1 as usize) {
                worth.delay_s[l] += by_round_trip;
            }
        }
        for (flow, ln_demand) in self.flows.iter().zip(&mut worth.ln_demand) {
            let Some(windowed) = self.windowed(flow) else {
                let over = self
                    .over(flow.data_hops())
                    .map(|l| pulls[l].unresponsive_bps);
                *ln_demand += flow.wanted_bps() * over.sum::<f64>();
                continue;
            };
            let windows = self.over(flow.data_hops()).map(|l| pulls[l].windows);
            *ln_demand += windowed.count * windows.sum::<f64>();
            if flow.answers {
                let acks = self.over(flow.back_hops()).map(|l| pulls[l].acks);
                *ln_demand += windowed.count * flow.acks * acks.sum::<f64>();
            }
        }
        worth
    }
}
