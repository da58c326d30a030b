//! Mean completion times of finite transfers in a network in steady state.

use std::ops::Range;

use fnv::FnvHashMap;
use netflow_network::{ACK_BYTES, ConnectionId, HEADER_BYTES};
use netflow_workload::TransferSizes;

use crate::problem::{Flow, LinkParams};
use crate::slowdown::SharingSlowdown;
use crate::{BindingConstraint, Solver, Steady};

/// Mean times of transfers, from the request to the last byte, without the handshake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferTimes {
    /// Time of slow start and of the narrowest link's transmission, in seconds: without other
    /// traffic and losses.
    pub lossless_s: f64,
    /// Unloaded time in seconds: without other traffic.
    pub unloaded_s: f64,
    /// Time with all traffic of the network, in seconds; infinite if a link is overloaded, because
    /// transfers then accumulate.
    pub mean_s: f64,
}

impl TransferTimes {
    fn scaled(self, factor: f64) -> TransferTimes {
        TransferTimes {
            lossless_s: factor * self.lossless_s,
            unloaded_s: factor * self.unloaded_s,
            mean_s: factor * self.mean_s,
        }
    }

    fn plus(self, other: TransferTimes) -> TransferTimes {
        TransferTimes {
            lossless_s: self.lossless_s + other.lossless_s,
            unloaded_s: self.unloaded_s + other.unloaded_s,
            mean_s: self.mean_s + other.mean_s,
        }
    }
}

/// Transfers of one connection over one path, before interaction with others.
struct PathTransfers<'a> {
    transfers: &'a TransferSizes,
    /// Fraction of the transfers that takes this path.
    share: f64,
    links: &'a [u32],
    /// Links of the return path, which requests and acknowledgements use.
    back_links: &'a [u32],
    rtt_s: f64,
    /// Round-trip time without transmission times.
    propagation_s: f64,
    /// IP bits of a full packet, and of a mean transfer.
    packet_bits: f64,
    bits: f64,
    /// Arrival rate of transfers in 1/s.
    arrivals_per_s: f64,
}

/// Transfers on one link.
#[derive(Clone, Copy, Debug, Default)]
struct SharedLink {
    /// Bandwidth left by traffic that does not back off here, in bit/s: unresponsive traffic, and bulk TCP that
    /// another link limits.
    available_bps: f64,
    /// Bulk TCP connections that this link limits, and their traffic in bit/s.
    bulk: f64,
    bulk_bps: f64,
    /// Demand of the transfers in bit/s.
    bps: f64,
    /// Sum over connections of packets met per transfer times demand.
    pkts_bps: f64,
}

impl SharedLink {
    /// Returns the demand-weighted mean of packets per transfer met by one of `own_pkts`.
    fn mean_residual_size_pkts(&self, own_pkts: f64) -> f64 {
        if self.bps > 0.0 {
            self.pkts_bps / self.bps
        } else {
            own_pkts
        }
    }
}

impl Solver {
    /// Computes the mean transfer times of connections whose mean rates are made of these
    /// transfers. It returns `None` for an inactive connection, and the mean over all paths for one
    /// that a failure splits.
    ///
    /// Transfers arrive as a Poisson process and share links with the other given transfers.
    /// Unresponsive traffic reduces the bandwidth, and so does bulk TCP that another link limits.
    /// Each of `n` bulk connections that a link limits takes a share like a transfer: processor
    /// sharing with permanent customers takes (1 + n)/(1 − ρ) times as long, where ρ is the load of
    /// the transfers. Other TCP counts as transfers.
    ///
    /// The unloaded time is the round trips of slow start plus transmission at the narrowest link's
    /// bandwidth; it is longer if a transfer loses packets on its own.
    ///
    /// The slowdown by others is interpolated from packet measurements (`studies/sharing`) for the
    /// same RTT, bandwidth-delay product, transfer size, buffer and load. The size is the geometric
    /// mean of the transfer's own and of those that it meets. With several links, each adds its
    /// slowdown minus that of the traffic shared with one of the slower links, because that traffic
    /// is met only once. This is exact for a line of equal links with proportional fairness
    /// (Massoulié & Roberts, *Bandwidth sharing and admission control for elastic traffic*, 2000;
    /// Bonald & Proutière, *Insensitive bandwidth sharing in data networks*, 2003). On the return
    /// path, the request waits in queues, and so does the acknowledgement that ends each round of
    /// slow start.
    pub fn transfer_times(
        &self,
        steady: &Steady,
        all: &[(ConnectionId, &TransferSizes)],
    ) -> Vec<Option<TransferTimes>> {
        let own: Vec<Vec<PathTransfers<'_>>> = all
            .iter()
            .map(|(id, it)| self.path_transfers(*id, it))
            .collect();
        let (both_bps, mut shared) = self.crossing_rates(steady);
        for own in own.iter().flatten() {
            for &l in own.links {
                let factor = own.overhead_factor(&self.problem.links[l as usize]);
                let bps = own.arrivals_per_s * own.bits * factor;
                shared[l as usize].bps += bps;
                shared[l as usize].pkts_bps += bps * own.residual_size_pkts();
            }
        }
        let mean = |own: Vec<PathTransfers<'_>>| {
            let times = |own: &PathTransfers<'_>| self.path_times(steady, own, &shared, &both_bps);
            let each = own.iter().map(|own| times(own).scaled(own.share));
            each.reduce(TransferTimes::plus)
        };
        own.into_iter().map(mean).collect()
    }

    /// Returns the transfers' traffic common to each pair of links in IP bit/s, and each link with
    /// the bandwidth left to transfers and the bulk TCP that shares it.
    fn crossing_rates(&self, steady: &Steady) -> (FnvHashMap<u64, f64>, Vec<SharedLink>) {
        let problem = &self.problem;
        let mut sent_pps = vec![0.0; problem.flows.len()];
        let mut limited_by_path = vec![false; problem.flows.len()];
        for (id, it) in self.network.connections().zip(&steady.connections) {
            let flows = problem.flows_of(&self.network, id);
            let all: f64 = problem.flows[flows.clone()].iter().map(|it| it.count).sum();
            for i in flows {
                sent_pps[i] += it.rate_pps * problem.flows[i].count / all;
                limited_by_path[i] = it.limited_by == BindingConstraint::Profile;
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
        let mut bulk = vec![(0.0, 0.0); problem.links.len()];
        for ((flow, pps), limited_by_path) in
            problem.flows.iter().zip(sent_pps).zip(limited_by_path)
        {
            let is_transfer = problem.transfers[flow.class as usize].is_some();
            // Bulk TCP backs off where most of its packets are lost.
            let loss = |hop: &usize| steady.links[problem.hop_link[*hop] as usize].loss_probability;
            let full = (flow.data_hops()).max_by(|a, b| loss(a).total_cmp(&loss(b)));
            let full = full.filter(|hop| !is_transfer && limited_by_path && loss(hop) > 0.0);
            let hears = self
                .network
                .tables()
                .spec_of_class(flow.class)
                .source
                .is_answered();
            if full.is_none() && (hears || is_transfer) {
                let ack_bits = 8.0 * ACK_BYTES;
                add(flow.data_hops(), pps, 1.0, flow.data_bits);
                add(flow.ack_hops(), pps * flow.acks, flow.acks, ack_bits);
                continue;
            }
            for hop in flow.data_hops() {
                let (l, bps) = (problem.hop_link[hop] as usize, pps * problem.hop_bits[hop]);
                if Some(hop) == full {
                    bulk[l].0 += flow.count * flow.demand;
                    bulk[l].1 += bps;
                } else {
                    fixed_bps[l] += bps;
                }
            }
            for hop in flow.ack_hops().filter(|_| full.is_some()) {
                fixed_bps[problem.hop_link[hop] as usize] +=
                    pps * flow.acks * problem.hop_bits[hop];
            }
        }
        // Less arrives than was sent, because of losses upstream.
        let offered_bps = steady.links.iter().map(|it| it.offered_bps);
        let there = offered_bps
            .zip(giving_bps.iter().zip(&fixed_bps))
            .zip(&bulk);
        let fixed_bps: Vec<f64> = there
            .map(|((offered, (giving, &fixed)), (_, bulk_bps))| {
                (offered - giving - bulk_bps).clamp(0.0, fixed)
            })
            .collect();
        let shared = (problem.links.iter().zip(fixed_bps).zip(bulk)).map(
            |((link, fixed_bps), (bulk, bulk_bps))| SharedLink {
                available_bps: link.bandwidth_bps - fixed_bps,
                bulk,
                bulk_bps,
                ..SharedLink::default()
            },
        );
        (both_bps, shared.collect())
    }

    /// Returns the transfers of one connection, one entry per path.
    fn path_transfers<'a>(
        &'a self,
        id: ConnectionId,
        transfers: &'a TransferSizes,
    ) -> Vec<PathTransfers<'a>> {
        let problem = &self.problem;
        let flows = &problem.flows[problem.flows_of(&self.network, id)];
        let all: f64 = flows.iter().map(|flow| flow.count).sum();
        let count = f64::from(self.network.connection_spec(id).count);
        let bits = 8.0 * transfers.mean_wire_bytes(HEADER_BYTES);
        let own = |flow: &Flow| {
            let links = &problem.hop_link[flow.data_hops()];
            let back_links = &problem.hop_link[flow.ack_hops()];
            let [there_s, back_s] = problem.base_delays_s(flow);
            let share = flow.count / all;
            PathTransfers {
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
                arrivals_per_s: flow.rate_pps * flow.demand * count * share * flow.data_bits / bits,
            }
        };
        flows.iter().map(own).collect()
    }

    /// Computes the times over one path; `both_bps` is the traffic common to each pair of links.
    fn path_times(
        &self,
        steady: &Steady,
        own: &PathTransfers<'_>,
        shared: &[SharedLink],
        both_bps: &FnvHashMap<u64, f64>,
    ) -> TransferTimes {
        let own_pkts = own.transfers.mean_pkts();
        let links = own.links.iter().map(|&l| &self.problem.links[l as usize]);
        let profile = |link: &LinkParams, bandwidth_bps: f64, size_pkts: f64| {
            let wire_bits = link.overhead.wire_bits(own.packet_bits);
            let way_pkts = bandwidth_bps * own.propagation_s / wire_bits;
            // Unresponsive traffic takes its share of the buffer, too.
            let room_pkts = link.buffer.pkts(wire_bits) * bandwidth_bps / link.bandwidth_bps;
            SharingSlowdown::of(own.propagation_s, way_pkts, size_pkts, room_pkts)
        };
        let carries_bps = |it: &LinkParams| it.bandwidth_bps / own.overhead_factor(it);
        let narrowest = (links.clone()).min_by(|a, b| carries_bps(a).total_cmp(&carries_bps(b)));
        let narrowest_bps = narrowest.map_or(f64::INFINITY, carries_bps);
        let (_, lossless_s) = own.lossless_s(narrowest_bps);
        let losing = narrowest.map(|link| profile(link, link.bandwidth_bps, own_pkts).solo_factor);
        let alone_s = lossless_s * losing.unwrap_or(1.0);
        let mut crossed = Vec::with_capacity(own.links.len());
        let mut left_bps = f64::INFINITY;
        // Time in which bulk TCP uses the links, and wait in the queues that it fills.
        let (mut bulk_s, mut standing_s) = (0.0, 0.0);
        for (&l, link) in own.links.iter().zip(links) {
            let shared = &shared[l as usize];
            let offered_bps = steady.links[l as usize].offered_bps;
            if offered_bps - shared.bulk_bps >= link.bandwidth_bps {
                return TransferTimes {
                    lossless_s,
                    unloaded_s: alone_s,
                    mean_s: f64::INFINITY,
                };
            }
            // In IP bits of its own packets, as is the transfer size.
            let carries_bps = shared.available_bps / own.overhead_factor(link);
            left_bps = left_bps.min(carries_bps);
            let fixed_bps = link.bandwidth_bps - shared.available_bps;
            let offered_bps = (offered_bps - shared.bulk_bps).max(fixed_bps);
            let load = (offered_bps - fixed_bps) / shared.available_bps;
            let met_pkts = shared.mean_residual_size_pkts(own_pkts);
            let sharing = profile(link, shared.available_bps, (own_pkts * met_pkts).sqrt());
            bulk_s += own.bits / carries_bps * shared.bulk / (1.0 - load);
            if shared.bulk > 0.0 {
                standing_s += steady.links[l as usize].waiting_s;
            }
            // Its time if this were the narrowest link.
            let alone = own.lossless_s(carries_bps).1 / lossless_s;
            crossed.push(CrossedLink {
                link: l,
                bandwidth_bps: carries_bps,
                load,
                solo_factor: alone,
                slowdown: alone * sharing.slowdown(load),
                sharing,
            });
        }
        let (rounds, beside_s) = own.lossless_s(left_bps);
        let longer = path_slowdown(crossed, |a, b| {
            both_bps.get(&pair(a, b)).copied().unwrap_or_default()
        });
        // Wait of the request, and of the acknowledgement that ends each round of slow start.
        let wait = |l: &u32| steady.links[*l as usize].waiting_s;
        let back_s: f64 = own.back_links.iter().map(wait).sum();
        TransferTimes {
            lossless_s,
            unloaded_s: alone_s,
            mean_s: alone_s * (beside_s / lossless_s + longer)
                + bulk_s
                + (1.0 + rounds) * (back_s + standing_s),
        }
    }
}

/// Link on the path of a transfer.
struct CrossedLink {
    link: u32,
    bandwidth_bps: f64,
    load: f64,
    /// Unloaded time over this link alone, relative to that over the path.
    solo_factor: f64,
    /// Slowdown by this link alone, in the same unit.
    slowdown: f64,
    sharing: SharingSlowdown,
}

/// Returns the slowdown over all these links, given the traffic common to each pair.
fn path_slowdown(mut crossed: Vec<CrossedLink>, both_bps: impl Fn(u32, u32) -> f64) -> f64 {
    // The slowest link is first.
    crossed.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    let adds = |(i, it): (usize, &CrossedLink)| {
        let met_bps = crossed[..i]
            .iter()
            .map(|before| both_bps(it.link, before.link))
            .fold(0.0, f64::max);
        let met = (met_bps / it.bandwidth_bps).min(it.load);
        (it.slowdown - it.solo_factor * it.sharing.slowdown(met)).max(0.0)
    };
    crossed.iter().enumerate().map(adds).sum()
}

/// Returns a key of two links that does not depend on their order.
fn pair(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

impl PathTransfers<'_> {
    /// Returns the size-biased packets of a transfer as others meet it. They meet it in proportion
    /// to its traffic, so large transfers weigh more. The measured table has exponentially
    /// distributed transfers.
    fn residual_size_pkts(&self) -> f64 {
        self.transfers.mean_pkts() * self.transfers.residual_ratio()
    }

    /// Returns the ratio of bits on the wire to IP bits, for full packets on a link.
    fn overhead_factor(&self, link: &LinkParams) -> f64 {
        link.overhead.factor(self.packet_bits)
    }

    /// Returns the mean round trips of slow start of a transfer without other traffic and losses,
    /// and its mean time, if its narrowest link sends this many IP bit/s.
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

/// Returns the mean number of slow-start round trips that end in a wait for acknowledgements, and
/// the packets sent in them. Slow start ends when the window reaches `most_pkts` or the transfer is
/// complete. `larger` gives the fraction of transfers with more than the given packets.
fn slow_start(
    larger: impl Fn(f64) -> f64,
    mut window_pkts: f64,
    max_window_pkts: f64,
) -> (f64, f64) {
    let (mut rounds, mut pkts, mut sent_pkts) = (0.0, 0.0, 0.0);
    while window_pkts < max_window_pkts {
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
    use super::{CrossedLink, path_slowdown, slow_start};
    use crate::slowdown::SharingSlowdown;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Simulates Poisson flows on a line of links with proportional fairness: class 0 crosses all
    /// links, every other class one. Returns the slowdown of class 0, by Little's law.
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
    fn link_chain_matches_proportional_fairness() {
        for loads in [&[0.3, 0.3][..], &[0.2, 0.5, 0.3], &[0.5, 0.1, 0.2, 0.2]] {
            let crossed = (1_u32..).zip(&loads[1..]).map(|(link, own)| {
                let (load, sharing) = (loads[0] + own, SharingSlowdown::PROCESSOR_SHARING);
                CrossedLink {
                    link,
                    bandwidth_bps: 1.0,
                    load,
                    solo_factor: 1.0,
                    slowdown: sharing.slowdown(load),
                    sharing,
                }
            });
            let told = path_slowdown(crossed.collect(), |_, _| loads[0]);
            let sum: f64 = loads[1..].iter().map(|it| it / (1.0 - loads[0] - it)).sum();
            let exact = (1.0 + sum) / (1.0 - loads[0]) - 1.0;
            assert!((told - exact).abs() < 1e-12, "{told} {exact}");
            let seen = proportionally_fair(loads, 2_000_000);
            assert!((told / seen - 1.0).abs() < 0.03, "{told} {seen}");
        }
    }

    #[test]
    fn windows_double_until_the_path_is_full() {
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
        // Half of them have 11 packets, and half 40.
        let larger = |than: f64| 0.5 * f64::from(u8::from(11.0 > than) + u8::from(40.0 > than));
        assert_eq!(slow_start(larger, 10.0, 1e9), (1.5, 20.0));
    }
}
