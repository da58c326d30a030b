//! How long transfers take that come and go in a network at rest.

use std::f64::consts::PI;
use std::sync::OnceLock;

use netflow_network::{ConnectionId, HEADER_BYTES};
use netflow_workload::Transfers;

use crate::problem::LinkOf;
use crate::sharing::Shared;
use crate::{Solver, Steady};

/// Points of the quadrature over how much a transfer is slowed.
const NODES: usize = 16;

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

/// What is known of the transfers of one connection before those of others are.
struct Own<'a> {
    transfers: &'a Transfers,
    links: &'a [u32],
    rtt_s: f64,
    narrowest: Option<&'a LinkOf>,
    packet_bits: f64,
    /// On the wire, of a mean transfer.
    bits: f64,
    /// Transfers that begin in a second.
    per_s: f64,
}

/// What transfers are to a link.
#[derive(Clone, Copy, Debug, Default)]
struct SharedLink {
    /// What they ask for, in bit/s.
    bps: f64,
    /// The mean packets of those of each connection, times what they ask for.
    pkts_bps: f64,
}

impl SharedLink {
    /// Mean packets of those that one of `own_pkts` meets, by what they ask for.
    fn mean_pkts(&self, own_pkts: f64) -> f64 {
        match self.bps > 0.0 {
            true => self.pkts_bps / self.bps,
            false => own_pkts,
        }
    }
}

impl Solver {
    /// How long transfers take over connections whose mean rates they make; `None` of one that does not send.
    ///
    /// They begin at random moments and share links with the other transfers given; what else is sent counts as if it were
    /// transfers, too. Alone a transfer takes the round trips of slow start, and its bits at the narrowest
    /// link's bandwidth, and longer where it loses on its own. Others make that longer by what packets showed
    /// (`studies/sharing`) where the way holds as much, transfers are as large (the geometric mean of its own and of
    /// those that it meets), and there is as much room and load. Of several links the one counts that slows it most at the time: each
    /// does while it is busy, independently of the others, by a part that is exponentially distributed.
    pub fn transfer_times(
        &self,
        steady: &Steady,
        all: &[(ConnectionId, &Transfers)],
    ) -> Vec<Option<TransferTimes>> {
        let own: Vec<Option<Own<'_>>> = all.iter().map(|(id, it)| self.own(*id, it)).collect();
        let mut shared = vec![SharedLink::default(); self.problem.links.len()];
        for own in own.iter().flatten() {
            for &l in own.links {
                let bps = own.per_s * own.bits;
                shared[l as usize].bps += bps;
                shared[l as usize].pkts_bps += bps * own.transfers.mean_pkts();
            }
        }
        own.iter()
            .map(|own| Some(self.times(steady, own.as_ref()?, &shared)))
            .collect()
    }

    fn own<'a>(&'a self, id: ConnectionId, transfers: &'a Transfers) -> Option<Own<'a>> {
        let problem = &self.problem;
        let i = problem.flow_of(&self.network, id)?;
        let flow = &problem.flows[i];
        let links = &problem.hop_link[flow.data_hops()];
        let [there_s, back_s] = problem.fixed_s(flow);
        let bits = 8.0 * transfers.mean_wire_bytes(HEADER_BYTES);
        let count = f64::from(self.network.connection_spec(id).count);
        Some(Own {
            transfers,
            links,
            rtt_s: there_s + back_s,
            narrowest: (links.iter().map(|&l| &problem.links[l as usize]))
                .min_by(|a, b| a.bandwidth_bps.total_cmp(&b.bandwidth_bps)),
            packet_bits: 8.0 * (transfers.payload_bytes() + HEADER_BYTES),
            bits,
            per_s: flow.rate_pps * flow.demand * count * flow.data_bits / bits,
        })
    }

    fn times(&self, steady: &Steady, own: &Own<'_>, shared: &[SharedLink]) -> TransferTimes {
        let own_pkts = own.transfers.mean_pkts();
        let profile = |link: &LinkOf, size_pkts: f64| {
            let way_pkts = link.bandwidth_bps * own.rtt_s / own.packet_bits;
            Shared::of(way_pkts, size_pkts, link.room.pkts(own.packet_bits))
        };
        let lossless_s = own.lossless_s();
        let losing = own.narrowest.map(|link| profile(link, own_pkts).alone);
        let alone_s = lossless_s * losing.unwrap_or(1.0);
        let mut slowed = Vec::with_capacity(own.links.len());
        for &l in own.links {
            let link = &self.problem.links[l as usize];
            let load = steady.links[l as usize].offered_bps / link.bandwidth_bps;
            if load >= 1.0 {
                return TransferTimes {
                    lossless_s,
                    alone_s,
                    mean_s: f64::INFINITY,
                };
            }
            let met_pkts = shared[l as usize].mean_pkts(own_pkts);
            let longer = profile(link, (own_pkts * met_pkts).sqrt()).longer(load);
            if longer > 0.0 {
                slowed.push(Slowed {
                    probability: load,
                    by: longer / load,
                });
            }
        }
        TransferTimes {
            lossless_s,
            alone_s,
            mean_s: alone_s * (1.0 + mean_of_most(&slowed)),
        }
    }
}

impl Own<'_> {
    /// The mean time of a transfer that has the way for itself and loses nothing.
    fn lossless_s(&self) -> f64 {
        let narrowest_bps = self.narrowest.map_or(f64::INFINITY, |it| it.bandwidth_bps);
        let most_pkts = narrowest_bps * self.rtt_s / self.packet_bits;
        let (mut all_rounds, mut all_pkts) = (0.0, 0.0);
        let sizes_pkts = self.transfers.sizes_pkts();
        let part = 1.0 / sizes_pkts.len() as f64;
        for &pkts in sizes_pkts {
            let (rounds, sent_pkts) =
                slow_start(pkts, self.transfers.initial_window_pkts(), most_pkts);
            all_rounds += rounds * part;
            all_pkts += sent_pkts * part;
        }
        let left_bits = (self.bits - all_pkts * self.packet_bits).max(0.0);
        self.rtt_s * (1.0 + all_rounds) + left_bits / narrowest_bps
    }
}

/// How a link slows transfers.
#[derive(Clone, Copy)]
struct Slowed {
    /// That it is busy.
    probability: f64,
    /// Then by so many times what they take alone, on average, exponentially distributed.
    by: f64,
}

/// The mean of the largest of all, which is 0 where none slows: ∫ 1 − Π (1 − ρᵢ exp(−x/bᵢ)) dx from 0 on.
fn mean_of_most(slowed: &[Slowed]) -> f64 {
    if let [one] = slowed {
        return one.probability * one.by;
    }
    let longest = slowed.iter().map(|it| it.by).fold(0.0, f64::max);
    // Over u = exp(−x/b) with the longest b, in which it is smooth.
    let at = |u: f64| {
        let none: f64 = slowed
            .iter()
            .map(|it| 1.0 - it.probability * u.powf(longest / it.by))
            .product();
        longest * (1.0 - none) / u
    };
    nodes().iter().map(|&(u, weight)| weight * at(u)).sum()
}

/// Places and weights of Gauss's and Legendre's quadrature between 0 and 1.
fn nodes() -> &'static [(f64, f64); NODES] {
    static ALL: OnceLock<[(f64, f64); NODES]> = OnceLock::new();
    ALL.get_or_init(|| {
        std::array::from_fn(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (NODES as f64 + 0.5)).cos();
            let mut slope = 1.0;
            // By Newton's method, which doubles the digits each time.
            for _ in 0..8 {
                let (mut before, mut value) = (1.0, x);
                for n in 2..=NODES {
                    let n = n as f64;
                    let next = ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n;
                    (before, value) = (value, next);
                }
                slope = NODES as f64 * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
    })
}

/// Round trips in which a transfer of so many packets waits for acknowledgements, in slow start until its window
/// holds what the way does, or all that is left; and the packets that it sends in them.
fn slow_start(pkts: f64, mut window_pkts: f64, most_pkts: f64) -> (f64, f64) {
    let (mut rounds, mut sent_pkts) = (0.0, 0.0);
    while pkts - sent_pkts > window_pkts && window_pkts < most_pkts {
        sent_pkts += window_pkts;
        window_pkts *= 2.0;
        rounds += 1.0;
    }
    (rounds, sent_pkts)
}

#[cfg(test)]
mod tests {
    use super::{Slowed, mean_of_most, nodes, slow_start};

    /// By inclusion and exclusion: a mean of the least of each set of exponential times.
    #[test]
    fn the_mean_of_the_most_is_that_of_all_sets() {
        let slowed = |probability, by| Slowed { probability, by };
        let all = [
            slowed(0.6, 2.0),
            slowed(0.1, 0.3),
            slowed(1.0, 0.7),
            slowed(0.3, 5.0),
        ];
        for n in 0..=all.len() {
            let mut expected = 0.0;
            for set in 1..1_u32 << n {
                let of = || (0..n).filter(|i| set >> i & 1 == 1).map(|i| all[i]);
                let rate: f64 = of().map(|it| 1.0 / it.by).sum();
                let both: f64 = of().map(|it| it.probability).product();
                let sign = if set.count_ones() % 2 == 1 { 1.0 } else { -1.0 };
                expected += sign * both / rate;
            }
            let is = mean_of_most(&all[..n]);
            assert!((is - expected).abs() < 1e-6, "{n}: {is} {expected}");
        }
        // Exact for polynomials.
        let power = |n: i32| nodes().iter().map(|(u, w)| w * u.powi(n)).sum::<f64>();
        assert!((0..32).all(|n| (power(n) * f64::from(n + 1) - 1.0).abs() < 1e-12));
    }

    #[test]
    fn windows_double_until_the_way_is_full() {
        assert_eq!(slow_start(10.0, 10.0, 1e9), (0.0, 0.0));
        assert_eq!(slow_start(11.0, 10.0, 1e9), (1.0, 10.0));
        assert_eq!(slow_start(70.0, 10.0, 1e9), (2.0, 30.0));
        assert_eq!(slow_start(71.0, 10.0, 1e9), (3.0, 70.0));
        assert_eq!(slow_start(1e6, 10.0, 15.0), (1.0, 10.0));
        assert_eq!(slow_start(1e6, 10.0, 5.0), (0.0, 0.0));
    }
}
