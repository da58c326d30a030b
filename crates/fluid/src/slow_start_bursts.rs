//! Mean queue length due to finite TCP transfers, whose slow start sends packets in bursts (batch-arrival
//! M/G/1).
//!
//! A transfer sends its packets in rounds: first the initial window w₀ at once, then twice as many in each
//! RTT. From the second round on it is ACK-clocked, at twice the bandwidth C of its narrowest link. Suppose
//! that n packets of a round reach a link of bandwidth c at a rate r. Each waits for n/2 (1 − c/r) packets of
//! its own burst on average. A packet of another flow that arrives while the burst is served finds n/2 of its
//! packets on average. With means over the packets of a transfer
//!
//! > D = Σ E n²/2 (1 − c/r)⁺ / E S,   X = Σ E n²/2 min(1, r/c)² / E S
//!
//! and the utilization U, the queue of an M/G/1 system without buffer limit is longer by
//!
//! > T = D + X U/(1 − U)
//!
//! packets for each packet served. (At a finite arrival rate r, the packets of a burst that have not arrived
//! yet reduce the mean by U X c/r. D accounts for this.) A burst that arrives slower than the service rate
//! delays other flows only if these are present. The square in X accounts for this.
//!
//! Slow start ends when a window has filled the path, P = C·rtt, and HyStart has detected it. It does so at a
//! queue of h = C·min(16 ms, max(4 ms, rtt/8)). Because windows double, slow start ends at (P + h)/ln 2 on
//! average, or where the queue overflows. The excess of the window over P then forms a standing queue at the
//! narrowest link. It grows as CUBIC grows: 0.4 t³ packets, or 0.53 per RTT. It is at most 0.7 of the buffer,
//! the mean of the sawtooth. The overflow probability is the probability that the doubling window jumps
//! beyond P + K. After an overflow the standing queue starts from 0.7 (P + K) − P. To other flows it counts
//! as half a burst.
//!
//! Packets that arrive over the same upstream link are in sequence, so their bursts do not collide. Therefore
//! X is multiplied by the fraction of the traffic that arrives from elsewhere.
//!
//! In a queue with buffer size K, bursts fill the fraction f of the space that M/M/1/K leaves free:
//!
//! > f = U T/(T + K),   N = N_M/M/1/K + f (K − N_M/M/1/K).
//!
//! The loss is that of M/M/1/K. It is almost zero if the capacity suffices, because TCP retransmits the
//! packets that a burst loses. 0.7, 0.4 and 0.53 are the constants of CUBIC (RFC 9438); 4 ms, 16 ms and 1/8
//! are those of HyStart in Linux. No number is fitted. Of about twenty combinations of D, X, U and K this one
//! was closest to the packet model at 103 single links. The fraction for traffic over one upstream link was
//! found on nine networks.

use netflow_workload::TransferSizes;

use crate::link_traffic::LinkTraffic;

/// Bounds in seconds of HyStart's delay threshold, which is an eighth of the RTT.
const HYSTART_THRESHOLD_S: (f64, f64) = (4e-3, 16e-3);
/// Multiplicative decrease factor β of CUBIC (RFC 9438).
const CUBIC_BETA: f64 = 0.7;
/// Constant C of CUBIC's window growth, in packets/s³.
const CUBIC_C: f64 = 0.4;
/// Window increase per RTT of CUBIC in the Reno-friendly region, in packets: 3 (1 − 0.7)/(1 + 0.7).
const RENO_FRIENDLY_INCREASE_PKTS: f64 = 0.9 / 1.7;

/// Burst sizes at one link, as means over the packets of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bursts {
    /// Packets of its own burst ahead of a packet (D).
    pub own_pkts: f64,
    /// Packets of a burst ahead of a packet of another flow that arrives while it is served (X).
    pub others_pkts: f64,
}

impl Bursts {
    /// Multiplies both sizes by `factor`.
    pub fn scaled(&self, factor: f64) -> Bursts {
        Bursts {
            own_pkts: factor * self.own_pkts,
            others_pkts: factor * self.others_pkts,
        }
    }
}

/// Half the number of packets sent together, by phase of the transfer: means over its packets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PhaseBursts {
    /// First round.
    first: f64,
    /// Later rounds of slow start, which are ACK-clocked.
    clocked: f64,
    /// Standing queue after slow start.
    standing: f64,
}

/// Path of transfers from sender to receiver.
#[derive(Clone, Copy, Debug)]
pub struct TransferPath<'a> {
    /// Transfers that use it.
    pub transfers: &'a TransferSizes,
    /// IP bits of a packet.
    pub data_bits: f64,
    /// Round-trip propagation delay, in seconds.
    pub round_trip_s: f64,
    /// Links of the data path, in order.
    pub links: &'a [u32],
}

/// Gradient of a scalar with respect to the properties of a path.
#[derive(Clone, Debug, Default)]
pub struct PathGradient {
    /// Derivatives with respect to the bandwidth of each link in bit/s.
    pub bandwidth_bps: Vec<f64>,
    /// Derivative with respect to the buffer size of the narrowest link, with the position of that link on
    /// the path.
    pub buffer_pkts: (usize, f64),
    /// Derivative with respect to the round-trip time in seconds.
    pub round_trip_s: f64,
}

impl PhaseBursts {
    /// Computes the bursts of transfers whose narrowest link sends `pps` packets/s and has a buffer of
    /// `room_pkts`.
    fn of(transfers: &TransferSizes, pps: f64, rtt_s: f64, room_pkts: f64) -> PhaseBursts {
        let initial = transfers.initial_window_pkts();
        let holds = pps * rtt_s;
        let noticed =
            holds + pps * (rtt_s / 8.0).clamp(HYSTART_THRESHOLD_S.0, HYSTART_THRESHOLD_S.1);
        let full = holds + room_pkts;
        let last = (noticed * std::f64::consts::LOG2_E).min(full);
        let most = transfers.sizes_pkts().last().copied().unwrap_or(0.0);
        let [mean, _] = transfers.excess_moments(0.0);
        let first = transfers.mean_square_between(0.0, initial);
        let (mut clocked, mut sent, mut window) = (0.0, initial, 2.0 * initial);
        while window < last && sent < most {
            clocked += transfers.mean_square_between(sent, sent + window);
            sent += window;
            window *= 2.0;
        }
        // The last round may be cut short.
        let left = (2.0 * last - window).min(window);
        if left > 0.0 {
            clocked += transfers.mean_square_between(sent, sent + left);
            sent += left;
        }
        let [beyond, beyond_squared] = transfers.excess_moments(sent);
        let standing = if beyond > 0.0 {
            // Mean age of a packet since the end of slow start, in seconds.
            let after_s = 0.5 * beyond_squared / beyond / pps;
            let grown =
                (CUBIC_C * after_s.powi(3)).max(RENO_FRIENDLY_INCREASE_PKTS * after_s / rtt_s);
            let overflows = (1.0 - libm::log2(full / noticed)).clamp(0.0, 1.0);
            let began = (1.0 - overflows) * (last - holds).max(0.0)
                + overflows * (CUBIC_BETA * full - holds).max(0.0);
            beyond * (began + grown).min(CUBIC_BETA * room_pkts)
        } else {
            0.0
        };
        PhaseBursts {
            first: 0.5 * first / mean,
            clocked: 0.5 * clocked / mean,
            standing: standing / mean,
        }
    }
}

/// Arrival rate of a burst in bit/s. The rate is `factor` the bandwidth of the link at position `link`.
#[derive(Clone, Copy)]
struct BurstRate {
    bps: f64,
    link: usize,
    factor: f64,
}

impl BurstRate {
    fn after_link(self, bandwidth_bps: f64, link: usize) -> BurstRate {
        if bandwidth_bps < self.bps {
            BurstRate {
                bps: bandwidth_bps,
                link,
                factor: 1.0,
            }
        } else {
            self
        }
    }

    /// Returns (1 − c/r)⁺ and min(1, r/c)².
    fn burst_weights(self, bandwidth_bps: f64) -> [f64; 2] {
        let own = (1.0 - bandwidth_bps / self.bps).max(0.0);
        [own, (self.bps / bandwidth_bps).min(1.0).powi(2)]
    }

    /// Adds the vector–Jacobian product of [`burst_weights`](Self::burst_weights) to `out`, the gradient with respect to the
    /// bandwidths.
    fn add_weights_vjp(self, l: usize, bandwidth_bps: f64, weights: [f64; 2], out: &mut [f64]) {
        let [own, others] = weights;
        if bandwidth_bps < self.bps {
            out[l] -= own / self.bps;
            if self.bps < f64::INFINITY {
                out[self.link] += self.factor * own * bandwidth_bps / (self.bps * self.bps);
            }
        } else {
            let slope = 2.0 * others * self.bps / bandwidth_bps.powi(2);
            out[self.link] += self.factor * slope;
            out[l] -= slope * self.bps / bandwidth_bps;
        }
    }
}

impl TransferPath<'_> {
    /// Returns the IP bit/s of its packets that the link at position `l` can send.
    fn bps(&self, crossings: &[LinkTraffic], l: usize) -> f64 {
        crossings[self.links[l] as usize].ip_capacity_bps(self.data_bits)
    }

    /// Returns the position of the narrowest link, the first of several.
    fn narrowest(&self, crossings: &[LinkTraffic]) -> usize {
        let mut narrowest = 0;
        for l in 1..self.links.len() {
            if self.bps(crossings, l) < self.bps(crossings, narrowest) {
                narrowest = l;
            }
        }
        narrowest
    }

    fn phase_bursts(&self, crossings: &[LinkTraffic], narrowest: usize) -> PhaseBursts {
        let link = &crossings[self.links[narrowest] as usize];
        let pps = self.bps(crossings, narrowest) / self.data_bits;
        let room_pkts = link.buffer_size_pkts(self.data_bits);
        PhaseBursts::of(self.transfers, pps, self.round_trip_s, room_pkts)
    }

    /// Returns the arrival rates at the first link: of first-round bursts and of later ones.
    fn rates(&self, crossings: &[LinkTraffic], narrowest: usize) -> [BurstRate; 2] {
        let at_once = BurstRate {
            bps: f64::INFINITY,
            link: 0,
            factor: 0.0,
        };
        let clocked = BurstRate {
            bps: 2.0 * self.bps(crossings, narrowest),
            link: narrowest,
            factor: 2.0,
        };
        [at_once, clocked]
    }

    /// Passes the burst sizes at each of its links to `each`, in order.
    pub fn bursts(&self, crossings: &[LinkTraffic], mut each: impl FnMut(Bursts)) {
        let narrowest = self.narrowest(crossings);
        let rounds = self.phase_bursts(crossings, narrowest);
        let [mut at_once, mut clocked] = self.rates(crossings, narrowest);
        let narrow_bps = self.bps(crossings, narrowest);
        for l in 0..self.links.len() {
            let bps = self.bps(crossings, l);
            let [first, later] = [at_once, clocked].map(|rate| rate.burst_weights(bps));
            let mut burst = Bursts {
                own_pkts: rounds.first * first[0] + rounds.clocked * later[0],
                others_pkts: rounds.first * first[1] + rounds.clocked * later[1],
            };
            if l == narrowest {
                burst.own_pkts += rounds.standing;
            }
            if l >= narrowest {
                burst.others_pkts += 0.5 * rounds.standing * (narrow_bps / bps).powi(2);
            }
            each(burst);
            at_once = at_once.after_link(bps, l);
            clocked = clocked.after_link(bps, l);
        }
    }

    /// Returns true if two bandwidths are equal where a comparison of them decides, so that derivatives are
    /// one-sided.
    pub fn is_nonsmooth(&self, crossings: &[LinkTraffic]) -> bool {
        let narrowest = self.narrowest(crossings);
        let narrow_bps = self.bps(crossings, narrowest);
        let [mut at_once, mut clocked] = self.rates(crossings, narrowest);
        let mut before_bps = f64::INFINITY;
        (0..self.links.len()).any(|l| {
            let bps = self.bps(crossings, l);
            let is_nonsmooth = [at_once.bps, clocked.bps, before_bps].contains(&bps)
                || l != narrowest && bps == narrow_bps;
            at_once = at_once.after_link(bps, l);
            clocked = clocked.after_link(bps, l);
            before_bps = bps;
            is_nonsmooth
        })
    }

    /// Computes the vector–Jacobian product of [`bursts`](Self::bursts): the gradient with respect to the
    /// path, given the adjoint `worth` of the burst sizes at each link. If bandwidths are equal, the
    /// derivative is one-sided: that of a decrease at the first narrowest link.
    pub fn vjp(&self, crossings: &[LinkTraffic], adjoints: &[Bursts]) -> PathGradient {
        let narrowest = self.narrowest(crossings);
        let rounds = self.phase_bursts(crossings, narrowest);
        let [mut at_once, mut clocked] = self.rates(crossings, narrowest);
        let narrow_bps = self.bps(crossings, narrowest);
        let mut by_bps = vec![0.0; self.links.len()];
        // Adjoints of the burst sizes by phase.
        let (mut of_first, mut of_clocked, mut of_standing) = (0.0, 0.0, 0.0);
        for (l, worth) in adjoints.iter().enumerate() {
            let bps = self.bps(crossings, l);
            let weights = [worth.own_pkts, worth.others_pkts];
            for (rate, pkts, of) in [
                (at_once, rounds.first, &mut of_first),
                (clocked, rounds.clocked, &mut of_clocked),
            ] {
                let parts = rate.burst_weights(bps);
                *of += weights[0] * parts[0] + weights[1] * parts[1];
                rate.add_weights_vjp(l, bps, weights.map(|it| it * pkts), &mut by_bps);
            }
            if l == narrowest {
                of_standing += worth.own_pkts;
            }
            if l >= narrowest {
                let part = 0.5 * worth.others_pkts * (narrow_bps / bps).powi(2);
                of_standing += part;
                by_bps[narrowest] += 2.0 * part * rounds.standing / narrow_bps;
                by_bps[l] -= 2.0 * part * rounds.standing / bps;
            }
            at_once = at_once.after_link(bps, l);
            clocked = clocked.after_link(bps, l);
        }
        // Derivatives of the phases by central differences, with steps small enough to cross no
        // discontinuity.
        let link = &crossings[self.links[narrowest] as usize];
        let (pps, rtt_s, room) = (
            narrow_bps / self.data_bits,
            self.round_trip_s,
            link.buffer_size_pkts(self.data_bits),
        );
        let slope = |with: &dyn Fn(f64) -> PhaseBursts| {
            const ASIDE: f64 = 1e-6;
            let (more, less) = (with(1.0 + ASIDE), with(1.0 - ASIDE));
            let by = |of: fn(&PhaseBursts) -> f64| (of(&more) - of(&less)) / (2.0 * ASIDE);
            of_first * by(|it| it.first)
                + of_clocked * by(|it| it.clocked)
                + of_standing * by(|it| it.standing)
        };
        let transfers = self.transfers;
        let by_pps = slope(&|f| PhaseBursts::of(transfers, pps * f, rtt_s, room));
        by_bps[narrowest] += by_pps / narrow_bps;
        let by_rtt = if rtt_s > 0.0 {
            slope(&|f| PhaseBursts::of(transfers, pps, rtt_s * f, room)) / rtt_s
        } else {
            0.0
        };
        let by_room = slope(&|f| PhaseBursts::of(transfers, pps, rtt_s, room * f)) / room
            * link.buffer_size_derivative(self.data_bits);
        // Converts to derivatives per bit/s on the wire.
        for (by_bps, &l) in by_bps.iter_mut().zip(self.links) {
            *by_bps /= crossings[l as usize].factor(self.data_bits);
        }
        PathGradient {
            bandwidth_bps: by_bps,
            buffer_pkts: (narrowest, by_room),
            round_trip_s: by_rtt,
        }
    }
}

/// Returns the mean time that packets of transfers wait for packets of their own burst, in seconds. Bursts
/// add n = `more_pkts` to the mean queue, for which all arriving packets wait. With the rates λ of all
/// packets and λ₀ of transfers,
///
/// > λ n/μ + λ₀ w = n
///
/// by Little's law, and U = λ/μ.
pub fn own_burst_wait_s(more_pkts: f64, utilization: f64, transfers_pps: f64) -> f64 {
    if transfers_pps > 0.0 {
        more_pkts * (1.0 - utilization).max(0.0) / transfers_pps
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use netflow_network::Overhead;
    use netflow_workload::Distribution;
    use proptest::prelude::*;

    use super::*;

    fn exponential(mean: f64) -> TransferSizes {
        let most = 20.0 * mean;
        TransferSizes::new(Distribution::Exponential { mean, most }, 1460.0, 10.0)
    }

    fn link(mbps: f64, buffer_pkts: f64) -> LinkTraffic {
        LinkTraffic {
            bandwidth_bps: mbps * 1e6,
            buffer_pkts,
            ..LinkTraffic::default()
        }
    }

    fn bursts(transfers: &TransferSizes, links: &[LinkTraffic], round_trip_s: f64) -> Vec<Bursts> {
        let path: Vec<u32> = (0..links.len() as u32).collect();
        let way = TransferPath {
            transfers,
            data_bits: 12000.0,
            round_trip_s,
            links: &path,
        };
        let mut all = Vec::new();
        way.bursts(links, |burst| all.push(burst));
        all
    }

    /// A transfer of 70 packets is sent as 10, 20 and 40 if the path holds all of these; computed by hand.
    #[test]
    fn slow_start_sends_three_bursts() {
        let transfers = TransferSizes::new(Distribution::Constant(70.0 * 1460.0), 1460.0, 10.0);
        let (wide, slow) = (link(1000.0, 1e4), link(100.0, 1e4));
        let at = bursts(&transfers, &[wide, slow], 0.1);
        // At the fast link only the first burst arrives faster than it is served.
        assert!((at[0].own_pkts - 50.0 / 70.0).abs() < 1e-12);
        let others = 50.0 + (200.0 + 800.0) * 0.2_f64.powi(2);
        assert!((at[0].others_pkts - others / 70.0).abs() < 1e-12);
        // At the slow link all do, the later ones at twice its rate.
        let own = 50.0 * 0.9 + (200.0 + 800.0) * 0.5;
        assert!((at[1].own_pkts - own / 70.0).abs() < 1e-12);
        assert!((at[1].others_pkts - 1050.0 / 70.0).abs() < 1e-12);
    }

    /// The bursts of a long transfer are continuous in the round-trip time and in the buffer size.
    #[test]
    fn bursts_are_continuous_in_rtt_and_buffer() {
        let transfers = exponential(1e6);
        for vary_room in [false, true] {
            let mut before: Option<Bursts> = None;
            for i in 0..4000 {
                let factor = f64::from(i).mul_add(1e-3, 0.1);
                let (rtt_s, room) = if !vary_room {
                    (0.02 * factor, 200.0)
                } else {
                    (0.02, 200.0 * factor)
                };
                let burst = bursts(&transfers, &[link(100.0, room)], rtt_s)[0];
                if let Some(before) = before {
                    let jump = (burst.own_pkts / before.own_pkts - 1.0).abs();
                    assert!(jump < 0.03, "{vary_room} {factor}: {before:?} {burst:?}");
                }
                before = Some(burst);
            }
        }
    }

    proptest! {
        /// The vector–Jacobian product agrees with finite differences where these exist.
        #[test]
        fn vjp_matches_finite_differences(
            mbps in prop::collection::vec(5.0..1000.0_f64, 1..5),
            room in 20.0..2000.0_f64,
            round_trip_s in 0.002..0.2_f64,
            mean in 2e4..2e6_f64,
            weights in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 4),
        ) {
            let transfers = exponential(mean);
            let framed = |(i, &mbps): (usize, &f64)| LinkTraffic {
                overhead: Overhead::of(100.0 * (i % 3) as f64),
                ..link(mbps, room)
            };
            let links: Vec<LinkTraffic> = mbps.iter().enumerate().map(framed).collect();
            let worth: Vec<Bursts> = weights[..links.len()]
                .iter()
                .map(|&(own_pkts, others_pkts)| Bursts { own_pkts, others_pkts })
                .collect();
            let value = |links: &[LinkTraffic], round_trip_s: f64| -> f64 {
                let all = bursts(&transfers, links, round_trip_s);
                let each = all.iter().zip(&worth);
                each.map(|(it, by)| it.own_pkts * by.own_pkts + it.others_pkts * by.others_pkts).sum()
            };
            let path: Vec<u32> = (0..links.len() as u32).collect();
            let way = TransferPath { transfers: &transfers, data_bits: 12000.0, round_trip_s, links: &path };
            let by = way.vjp(&links, &worth);
            let scale = bursts(&transfers, &links, round_trip_s)
                .iter()
                .map(|it| it.own_pkts + it.others_pkts)
                .sum::<f64>();
            // Differences that depend on the side or on the step show a kink; those are skipped.
            let near = |slope: f64, at: &dyn Fn(f64) -> f64, unit: f64| {
                let by = |h: f64| (at(h) - at(-h)) / (2.0 * h);
                let one_side = |h: f64| (at(h) - at(0.0)) / h;
                let (near, far) = (by(2e-6), by(4e-6));
                let straight = (near - far).abs() + (one_side(2e-6) - one_side(-2e-6)).abs() < 1e-4 * scale;
                !straight || (slope * unit - near).abs() < 1e-5 * scale
            };
            for l in 0..links.len() {
                let at = |h: f64| {
                    let mut links = links.clone();
                    links[l].bandwidth_bps *= 1.0 + h;
                    value(&links, round_trip_s)
                };
                prop_assert!(near(by.bandwidth_bps[l], &at, links[l].bandwidth_bps), "{l} {by:?}");
                let at = |h: f64| {
                    let mut links = links.clone();
                    links[l].buffer_pkts *= 1.0 + h;
                    value(&links, round_trip_s)
                };
                let (narrowest, by_room) = by.buffer_pkts;
                let slope = if narrowest == l { by_room } else { 0.0 };
                prop_assert!(near(slope, &at, room), "{l} {by:?}");
            }
            let at = |h: f64| value(&links, round_trip_s * (1.0 + h));
            prop_assert!(near(by.round_trip_s, &at, round_trip_s), "{by:?}");
        }
    }
}
