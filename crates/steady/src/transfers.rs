//! How long transfers take that come and go in a network at rest.

use std::ops::Range;

use fnv::FnvHashMap;
use netflow_network::{ACK_BYTES, ConnectionId, HEADER_BYTES};
use netflow_workload::Transfers;

use crate::problem::{Flow, LinkOf};
use crate::sharing::Shared;
use crate::{Solver, Steady};

/// Mean times of transfers, from asking for one to its last byte, the handshake aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferTimes {
    /// What slow start and the narrowest link's bandwidth take, in seconds: where nobody else sends, and nothing is lost.
    pub lossless_s: f64,
    /// Where nobody else sends, in seconds.
    pub alone_s: f64,
    /// Beside all that the network carries, in seconds; infinite where a link is offered more than it
    /// carries, so that ever more of them are under way.
    pub mean_s: f64,
}

impl TransferTimes {
    fn times(self, factor: f64) -> TransferTimes {
        TransferTimes {
            lossless_s: factor * self.lossless_s,
            alone_s: factor * self.alone_s,
            mean_s: factor * self.mean_s,
        }
    }

    fn plus(self, other: TransferTimes) -> TransferTimes {
        TransferTimes {
            lossless_s: self.lossless_s + other.lossless_s,
            alone_s: self.alone_s + other.alone_s,
            mean_s: self.mean_s + other.mean_s,
        }
    }
}

/// What is known of the transfers of one connection over one path before those of others are.
struct Own<'a> {
    transfers: &'a Transfers,
    /// The part of them that goes over these links.
    share: f64,
    links: &'a [u32],
    /// Those that requests and acknowledgements cross.
    back_links: &'a [u32],
    rtt_s: f64,
    /// Without what packets take to be sent.
    propagation_s: f64,
    /// IP bits of a full packet, and of a mean transfer.
    packet_bits: f64,
    bits: f64,
    /// Transfers that begin in a second.
    per_s: f64,
}

/// What transfers are to a link, and it to them.
#[derive(Clone, Copy, Debug, Default)]
struct SharedLink {
    /// What is left to them by traffic that does not give way, in bit/s.
    left_bps: f64,
    /// What they ask for, in bit/s.
    bps: f64,
    /// The packets of those of each connection that one meets, times what they ask for.
    pkts_bps: f64,
}

impl SharedLink {
    /// Packets of those that one of `own_pkts` meets, by what they ask for.
    fn met_pkts(&self, own_pkts: f64) -> f64 {
        match self.bps > 0.0 {
            true => self.pkts_bps / self.bps,
            false => own_pkts,
        }
    }
}

impl Solver {
    /// How long transfers take over connections whose mean rates they make; `None` of one that does not send. Of what a failure
    /// divides among several paths it is the mean of all.
    ///
    /// They begin at random moments and share links with the other transfers given; other TCP counts as if it were
    /// transfers, too, and what hears nothing of its packets takes its part of the bandwidth away. Alone a transfer takes the round trips of slow start, and its bits at the narrowest
    /// link's bandwidth, and longer where it loses on its own. Others make that longer by what packets showed
    /// (`studies/sharing`) where round trips are as long, the way holds as much, transfers are as large (the geometric mean of its own and of
    /// those that it meets), and there is as much room and load. Of several links each adds what it has beyond what it shares with
    /// one of those that slow it more: whom it has met there, it does not meet again. In a line of equal links that share by proportional
    /// fairness that is exact (Massoulié & Roberts, *Bandwidth sharing and admission control for elastic traffic*, 2000; Bonald &
    /// Proutière, *Insensitive bandwidth sharing in data networks*, 2003). On the way back the request waits in queues, and so does what
    /// ends each round of slow start.
    pub fn transfer_times(
        &self,
        steady: &Steady,
        all: &[(ConnectionId, &Transfers)],
    ) -> Vec<Option<TransferTimes>> {
        let own: Vec<Vec<Own<'_>>> = all.iter().map(|(id, it)| self.own(*id, it)).collect();
        let (both_bps, left_bps) = self.crossing(steady);
        let left = left_bps.into_iter().map(|left_bps| SharedLink {
            left_bps,
            ..SharedLink::default()
        });
        let mut shared: Vec<SharedLink> = left.collect();
        for own in own.iter().flatten() {
            for &l in own.links {
                let factor = own.factor(&self.problem.links[l as usize]);
                let bps = own.per_s * own.bits * factor;
                shared[l as usize].bps += bps;
                shared[l as usize].pkts_bps += bps * own.met_pkts();
            }
        }
        let mean = |own: Vec<Own<'_>>| {
            let times = |own: &Own<'_>| self.times(steady, own, &shared, &both_bps);
            let each = own.iter().map(|own| times(own).times(own.share));
            each.reduce(TransferTimes::plus)
        };
        own.into_iter().map(mean).collect()
    }

    /// Responsive traffic that crosses both links of a pair, in IP bit/s, and the bandwidth of each link left to it, in bit/s on the wire.
    fn crossing(&self, steady: &Steady) -> (FnvHashMap<u64, f64>, Vec<f64>) {
        let problem = &self.problem;
        let mut sent_pps = vec![0.0; problem.flows.len()];
        for (id, it) in self.network.connections().zip(&steady.connections) {
            let flows = problem.flows_of(&self.network, id);
            let all: f64 = problem.flows[flows.clone()].iter().map(|it| it.count).sum();
            for i in flows {
                sent_pps[i] += it.rate_pps * problem.flows[i].count / all;
            }
        }
        let mut both_bps: FnvHashMap<u64, f64> = FnvHashMap::default();
        let (mut giving_bps, mut fixed_bps) = (
            vec![0.0; problem.links.len()],
            vec![0.0; problem.links.len()],
        );
        let mut add = |hops: Range<usize>, pps: f64, pkts: f64, ip_bits: f64| {
            let links = &problem.hop_link[hops.clone()];
            let bps = pps * (pkts * ip_bits);
            for (i, (&l, hop)) in links.iter().zip(hops).enumerate() {
                giving_bps[l as usize] += pps * (pkts * problem.hop_bits[hop]);
                for &other in &links[..i] {
                    *both_bps.entry(pair(l, other)).or_default() += bps;
                }
            }
        };
        for (flow, pps) in problem.flows.iter().zip(sent_pps) {
            let hears = self
                .network
                .tables()
                .spec_of_class(flow.class)
                .source
                .is_answered();
            if hears || problem.transfers[flow.class as usize].is_some() {
                let ack_bits = 8.0 * ACK_BYTES;
                add(flow.data_hops(), pps, 1.0, flow.data_bits);
                add(flow.ack_hops(), pps * flow.acks, flow.acks, ack_bits);
            } else {
                for hop in flow.data_hops() {
                    fixed_bps[problem.hop_link[hop] as usize] += pps * problem.hop_bits[hop];
                }
            }
        }
        // Of what was lost on its way there less comes.
        let offered_bps = steady.links.iter().map(|it| it.offered_bps);
        let there = offered_bps.zip(giving_bps.iter().zip(&fixed_bps));
        let fixed_bps =
            there.map(|(offered, (giving, &fixed))| (offered - giving).clamp(0.0, fixed));
        let left_bps = problem.links.iter().zip(fixed_bps);
        let left_bps = left_bps.map(|(link, fixed_bps)| link.bandwidth_bps - fixed_bps);
        (both_bps, left_bps.collect())
    }

    /// Those of one connection, by path.
    fn own<'a>(&'a self, id: ConnectionId, transfers: &'a Transfers) -> Vec<Own<'a>> {
        let problem = &self.problem;
        let flows = &problem.flows[problem.flows_of(&self.network, id)];
        let all: f64 = flows.iter().map(|flow| flow.count).sum();
        let count = f64::from(self.network.connection_spec(id).count);
        let bits = 8.0 * transfers.mean_wire_bytes(HEADER_BYTES);
        let own = |flow: &Flow| {
            let links = &problem.hop_link[flow.data_hops()];
            let back_links = &problem.hop_link[flow.ack_hops()];
            let [there_s, back_s] = problem.fixed_s(flow);
            let share = flow.count / all;
            Own {
                transfers,
                share,
                links,
                back_links,
                rtt_s: there_s + back_s,
                propagation_s: (flow.data_hops().chain(flow.back_hops()))
                    .map(|hop| problem.links[problem.hop_link[hop] as usize].delay_s)
                    .sum(),
                packet_bits: 8.0 * (transfers.payload_bytes() + HEADER_BYTES),
                bits,
                per_s: flow.rate_pps * flow.demand * count * share * flow.data_bits / bits,
            }
        };
        flows.iter().map(own).collect()
    }

    /// `both_bps` is what crosses both links of a pair.
    fn times(
        &self,
        steady: &Steady,
        own: &Own<'_>,
        shared: &[SharedLink],
        both_bps: &FnvHashMap<u64, f64>,
    ) -> TransferTimes {
        let own_pkts = own.transfers.mean_pkts();
        let links = own.links.iter().map(|&l| &self.problem.links[l as usize]);
        let profile = |link: &LinkOf, bandwidth_bps: f64, size_pkts: f64| {
            let wire_bits = link.overhead.wire_bits(own.packet_bits);
            let way_pkts = bandwidth_bps * own.propagation_s / wire_bits;
            // What does not give way has its part of the queue, too.
            let room_pkts = link.room.pkts(wire_bits) * bandwidth_bps / link.bandwidth_bps;
            Shared::of(own.propagation_s, way_pkts, size_pkts, room_pkts)
        };
        let carries_bps = |it: &LinkOf| it.bandwidth_bps / own.factor(it);
        let narrowest = (links.clone()).min_by(|a, b| carries_bps(a).total_cmp(&carries_bps(b)));
        let narrowest_bps = narrowest.map_or(f64::INFINITY, carries_bps);
        let (_, lossless_s) = own.lossless_s(narrowest_bps);
        let losing = narrowest.map(|link| profile(link, link.bandwidth_bps, own_pkts).alone);
        let alone_s = lossless_s * losing.unwrap_or(1.0);
        let mut crossed = Vec::with_capacity(own.links.len());
        let mut left_bps = f64::INFINITY;
        for (&l, link) in own.links.iter().zip(links) {
            let shared = &shared[l as usize];
            let offered_bps = steady.links[l as usize].offered_bps;
            if offered_bps >= link.bandwidth_bps {
                return TransferTimes {
                    lossless_s,
                    alone_s,
                    mean_s: f64::INFINITY,
                };
            }
            // In IP bits of its own packets, as its size is.
            let carries_bps = shared.left_bps / own.factor(link);
            left_bps = left_bps.min(carries_bps);
            let fixed_bps = link.bandwidth_bps - shared.left_bps;
            let load = (offered_bps - fixed_bps) / shared.left_bps;
            let met_pkts = shared.met_pkts(own_pkts);
            let sharing = profile(link, shared.left_bps, (own_pkts * met_pkts).sqrt());
            // What it would take alone if this were the narrowest link.
            let alone = own.lossless_s(carries_bps).1 / lossless_s;
            crossed.push(Crossed {
                link: l,
                bandwidth_bps: carries_bps,
                load,
                alone,
                longer: alone * sharing.longer(load),
                sharing,
            });
        }
        let (rounds, beside_s) = own.lossless_s(left_bps);
        let longer = longer_over(crossed, |a, b| {
            both_bps.get(&pair(a, b)).copied().unwrap_or_default()
        });
        // What the request waits, and the acknowledgement that ends each round of slow start.
        let wait = |l: &u32| steady.links[*l as usize].waiting_s;
        let back_s: f64 = own.back_links.iter().map(wait).sum();
        TransferTimes {
            lossless_s,
            alone_s,
            mean_s: alone_s * (beside_s / lossless_s + longer) + (1.0 + rounds) * back_s,
        }
    }
}

/// A link on the way of a transfer.
struct Crossed {
    link: u32,
    bandwidth_bps: f64,
    load: f64,
    /// How long transfers would take over it alone, in what they take over all.
    alone: f64,
    /// By how much longer it makes them where nothing else does, in the same.
    longer: f64,
    sharing: Shared,
}

/// By how much longer transfers take over all of these, of which `both_bps` says what crosses two.
fn longer_over(mut crossed: Vec<Crossed>, both_bps: impl Fn(u32, u32) -> f64) -> f64 {
    // What slows it most is first.
    crossed.sort_by(|a, b| b.longer.total_cmp(&a.longer));
    let adds = |(i, it): (usize, &Crossed)| {
        let met_bps = crossed[..i]
            .iter()
            .map(|before| both_bps(it.link, before.link))
            .fold(0.0, f64::max);
        let met = (met_bps / it.bandwidth_bps).min(it.load);
        (it.longer - it.alone * it.sharing.longer(met)).max(0.0)
    };
    crossed.iter().enumerate().map(adds).sum()
}

/// Two links, in one order.
fn pair(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

impl Own<'_> {
    /// The packets of one that others meet, in the measure of the table, whose transfers are exponentially distributed: they meet it in
    /// proportion to what it sends, so that large ones count as often as they are large.
    fn met_pkts(&self) -> f64 {
        self.transfers.mean_pkts() * self.transfers.residual_ratio()
    }

    /// Bits on the wire of a link over IP bits of its full packets.
    fn factor(&self, link: &LinkOf) -> f64 {
        link.overhead.factor(self.packet_bits)
    }

    /// The mean time of a transfer that has the way for itself and loses nothing, if its narrowest link sends this many IP bits per second; and
    /// before it the round trips in which it waits for acknowledgements.
    fn lossless_s(&self, narrowest_bps: f64) -> (f64, f64) {
        let most_pkts = narrowest_bps * self.rtt_s / self.packet_bits;
        let (rounds, pkts) = slow_start(
            |pkts| self.transfers.fraction_larger(pkts),
            self.transfers.initial_window_pkts(),
            most_pkts,
        );
        let left_bits = (self.bits - pkts * self.packet_bits).max(0.0);
        let time_s = self.rtt_s * (1.0 + rounds) + left_bits / narrowest_bps;
        (rounds, time_s)
    }
}

/// Mean round trips in which transfers wait for acknowledgements, in slow start until their window holds what the way does, or all that is
/// left; and the packets that they send in them. `larger` tells the part of them that has more than so many packets.
fn slow_start(larger: impl Fn(f64) -> f64, mut window_pkts: f64, most_pkts: f64) -> (f64, f64) {
    let (mut rounds, mut pkts, mut sent_pkts) = (0.0, 0.0, 0.0);
    while window_pkts < most_pkts {
        sent_pkts += window_pkts;
        let wait = larger(sent_pkts);
        if wait == 0.0 {
            break;
        }
        rounds += wait;
        pkts += wait * window_pkts;
        window_pkts *= 2.0;
    }
    (rounds, pkts)
}

#[cfg(test)]
mod tests {
    use super::{Crossed, longer_over, slow_start};
    use crate::sharing::Shared;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Flows that come and go in a line of links that share by proportional fairness, of which those of class 0 cross all and the
    /// others one each: by how much longer than alone those of class 0 stay, by Little's law from what a simulation counts.
    fn proportionally_fair(loads: &[f64], events: u32) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut flows = vec![0.0; loads.len()];
        let (mut time, mut of_class_0) = (0.0, 0.0);
        for _ in 0..events {
            let others: f64 = flows[1..].iter().sum();
            let all: f64 = flows[0] + others;
            let part = if flows[0] > 0.0 { flows[0] / all } else { 0.0 };
            let leaves = flows.iter().enumerate().map(|(class, &n)| match class {
                0 => part,
                _ if n > 0.0 => 1.0 - part,
                _ => 0.0,
            });
            let rates: Vec<f64> = loads.iter().copied().chain(leaves).collect();
            let sum: f64 = rates.iter().sum();
            time += 1.0 / sum;
            of_class_0 += flows[0] / sum;
            let mut at = random.random_range(0.0..sum);
            let what = rates.iter().position(|rate| {
                at -= rate;
                at < 0.0
            });
            match what.unwrap_or(0) {
                class if class < loads.len() => flows[class] += 1.0,
                left => flows[left - loads.len()] -= 1.0,
            }
        }
        of_class_0 / time / loads[0] - 1.0
    }

    #[test]
    fn a_line_of_links_is_that_of_proportional_fairness() {
        for loads in [&[0.3, 0.3][..], &[0.2, 0.5, 0.3], &[0.5, 0.1, 0.2, 0.2]] {
            let crossed = (1_u32..).zip(&loads[1..]).map(|(link, own)| {
                let (load, sharing) = (loads[0] + own, Shared::PROCESSOR);
                Crossed {
                    link,
                    bandwidth_bps: 1.0,
                    load,
                    alone: 1.0,
                    longer: sharing.longer(load),
                    sharing,
                }
            });
            let told = longer_over(crossed.collect(), |_, _| loads[0]);
            let sum: f64 = loads[1..].iter().map(|it| it / (1.0 - loads[0] - it)).sum();
            let exact = (1.0 + sum) / (1.0 - loads[0]) - 1.0;
            assert!((told - exact).abs() < 1e-12, "{told} {exact}");
            let seen = proportionally_fair(loads, 2_000_000);
            assert!((told / seen - 1.0).abs() < 0.03, "{told} {seen}");
        }
    }

    #[test]
    fn windows_double_until_the_way_is_full() {
        let alike = |pkts: f64, most_pkts| {
            let larger = |than: f64| f64::from(u8::from(pkts > than));
            slow_start(larger, 10.0, most_pkts)
        };
        assert_eq!(alike(10.0, 1e9), (0.0, 0.0));
        assert_eq!(alike(11.0, 1e9), (1.0, 10.0));
        assert_eq!(alike(70.0, 1e9), (2.0, 30.0));
        assert_eq!(alike(71.0, 1e9), (3.0, 70.0));
        assert_eq!(alike(1e6, 15.0), (1.0, 10.0));
        assert_eq!(alike(1e6, 5.0), (0.0, 0.0));
        // Half of them with 11 packets, and half with 40.
        let larger = |than: f64| 0.5 * f64::from(u8::from(11.0 > than) + u8::from(40.0 > than));
        assert_eq!(slow_start(larger, 10.0, 1e9), (1.5, 20.0));
    }
}
