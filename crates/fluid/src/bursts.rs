//! How long queues are that TCP's transfers fill, which come and go.
//!
//! A transfer sends its packets in rounds: first w₀ at once, then twice as many in each round trip, and from the
//! second round on with the clock of acknowledgements, at twice the bandwidth C of its narrowest link. So n packets
//! of a round come to a link of bandwidth c at a rate r, and n/2 (1 − c/r) of their own are before each of them there
//! on average. To packets of others they are a burst: whoever comes while they are served finds n/2 of them on
//! average. With means over the packets of a transfer
//!
//! > D = Σ E n²/2 (1 − c/r)⁺ / E S,   X = Σ E n²/2 min(1, r/c)² / E S
//!
//! and the utilization U, a queue of M/G/1 without limits has
//!
//! > T = D + X U/(1 − U)
//!
//! packets more for each that is served. (Fluid that comes at a rate r in bursts is behind what comes at once by
//! what has not come yet, U X c/r of the time's mean; that is D.) A burst that comes more slowly than it is served
//! is in nobody's way unless others are there: the square stands for that.
//!
//! Rounds end when a window has filled the way, P = C·rtt, and HyStart has noticed, at a queue of h = C·min(16 ms,
//! max(4 ms, rtt/8)): since windows double, at (P + h)/ln 2 on average, or where the queue overflows. That much of
//! the window that the way does not hold stands in the queue of the narrowest link from then on, grows as CUBIC
//! grows (0.4 t³ packets, or 0.53 in a round trip), and is 0.7 of the room at most, the mean of a saw. Where the
//! queue overflows, with the probability that the doubling window jumps beyond P + K, it begins from 0.7 of that.
//! To others it is half a burst.
//!
//! Packets that come over the same link before come one after the other: no burst among them meets another. So X counts
//! by the part of the traffic that comes from elsewhere.
//!
//! In a queue with room for K, bursts fill the part f of what M/M/1/K leaves of it,
//!
//! > f = U T/(T + K),   N = N_M/M/1/K + f (K − N_M/M/1/K).
//!
//! What is lost is M/M/1/K's, which is next to nothing where the link carries what is asked for: TCP sends again what a
//! burst loses. 0.7, 0.4 and 0.53 are CUBIC's (RFC 9438), 4 ms, 16 ms and the eighth HyStart's, as Linux has
//! them; no number is fitted. Of some twenty ways to put D, X, U and K together this was the nearest to packets at 103
//! links alone, and the part for what comes over one link was found on nine networks.

use netflow_workload::Transfers;

use crate::crossing::Crossing;

/// HyStart: a round trip is longer by an eighth, but by so much at least and at most, in seconds.
const NOTICED_S: (f64, f64) = (4e-3, 16e-3);
/// What CUBIC keeps of its window at a loss.
const KEPT: f64 = 0.7;
/// Packets that CUBIC's window grows by in the third power of seconds.
const CUBIC: f64 = 0.4;
/// Packets by which it grows in a round trip where Reno would be faster: 3 (1 − 0.7)/(1 + 0.7).
const AS_RENO: f64 = 0.9 / 1.7;

/// What bursts are at one link, as means over packets of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bursts {
    /// Packets of its own burst that are before one (D).
    pub own_pkts: f64,
    /// Packets of a burst that others find before them, while it is served (X).
    pub others_pkts: f64,
}

impl Bursts {
    /// So many times these packets.
    pub fn times(&self, factor: f64) -> Bursts {
        Bursts {
            own_pkts: factor * self.own_pkts,
            others_pkts: factor * self.others_pkts,
        }
    }
}

/// Means over packets of a transfer of half the packets that are sent with them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rounds {
    /// In the first round.
    first: f64,
    /// In the others of slow start.
    clocked: f64,
    /// What stands in the queue after them.
    standing: f64,
}

/// A way from sender to receiver.
#[derive(Clone, Copy, Debug)]
pub struct WayOfTransfers<'a> {
    /// What takes it.
    pub transfers: &'a Transfers,
    /// IP bits of a packet.
    pub data_bits: f64,
    /// Propagation there and back, in seconds.
    pub round_trip_s: f64,
    /// Links of the data, in order.
    pub links: &'a [u32],
}

/// By how much a measure changes with what a way is.
#[derive(Clone, Debug, Default)]
pub struct ByWay {
    /// By the bandwidth in bit/s of each of its links.
    pub bandwidth_bps: Vec<f64>,
    /// By the room of the narrowest, whose place on the way is beside it.
    pub buffer_pkts: (usize, f64),
    /// By the round trip in seconds.
    pub round_trip_s: f64,
}

impl Rounds {
    /// Of transfers whose narrowest link sends so many packets in a second and has so much room.
    fn of(transfers: &Transfers, pps: f64, rtt_s: f64, room_pkts: f64) -> Rounds {
        let initial = transfers.initial_window_pkts();
        let holds = pps * rtt_s;
        let noticed = holds + pps * (rtt_s / 8.0).clamp(NOTICED_S.0, NOTICED_S.1);
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
        // The last one may be cut.
        let left = (2.0 * last - window).min(window);
        if left > 0.0 {
            clocked += transfers.mean_square_between(sent, sent + left);
            sent += left;
        }
        let [beyond, beyond_squared] = transfers.excess_moments(sent);
        let standing = match beyond > 0.0 {
            true => {
                // A packet is on average so long behind the first of these.
                let after_s = 0.5 * beyond_squared / beyond / pps;
                let grown = (CUBIC * after_s.powi(3)).max(AS_RENO * after_s / rtt_s);
                let overflows = (1.0 - libm::log2(full / noticed)).clamp(0.0, 1.0);
                let began = (1.0 - overflows) * (last - holds).max(0.0)
                    + overflows * (KEPT * full - holds).max(0.0);
                beyond * (began + grown).min(KEPT * room_pkts)
            }
            false => 0.0,
        };
        Rounds {
            first: 0.5 * first / mean,
            clocked: 0.5 * clocked / mean,
            standing: standing / mean,
        }
    }
}

/// The rate at which a burst comes, in bit/s, and which link of the way makes it so many times its own bandwidth.
#[derive(Clone, Copy)]
struct Rate {
    bps: f64,
    link: usize,
    times: f64,
}

impl Rate {
    fn behind(self, bandwidth_bps: f64, link: usize) -> Rate {
        match bandwidth_bps < self.bps {
            true => Rate {
                bps: bandwidth_bps,
                link,
                times: 1.0,
            },
            false => self,
        }
    }

    /// (1 − c/r)⁺ and min(1, r/c)².
    fn parts(self, bandwidth_bps: f64) -> [f64; 2] {
        let own = (1.0 - bandwidth_bps / self.bps).max(0.0);
        [own, (self.bps / bandwidth_bps).min(1.0).powi(2)]
    }

    /// Their slopes, weighted so, added to those of the bandwidths.
    fn pull(self, l: usize, bandwidth_bps: f64, weights: [f64; 2], out: &mut [f64]) {
        let [own, others] = weights;
        if bandwidth_bps < self.bps {
            out[l] -= own / self.bps;
            if self.bps < f64::INFINITY {
                out[self.link] += self.times * own * bandwidth_bps / (self.bps * self.bps);
            }
        } else {
            let slope = 2.0 * others * self.bps / bandwidth_bps.powi(2);
            out[self.link] += self.times * slope;
            out[l] -= slope * self.bps / bandwidth_bps;
        }
    }
}

impl WayOfTransfers<'_> {
    /// IP bit/s of its packets that the link at this place sends.
    fn bps(&self, crossings: &[Crossing], l: usize) -> f64 {
        crossings[self.links[l] as usize].carries_bps(self.data_bits)
    }

    /// The narrowest link, the first of several.
    fn narrowest(&self, crossings: &[Crossing]) -> usize {
        let mut narrowest = 0;
        for l in 1..self.links.len() {
            if self.bps(crossings, l) < self.bps(crossings, narrowest) {
                narrowest = l;
            }
        }
        narrowest
    }

    fn rounds(&self, crossings: &[Crossing], narrowest: usize) -> Rounds {
        let link = &crossings[self.links[narrowest] as usize];
        let pps = self.bps(crossings, narrowest) / self.data_bits;
        let room_pkts = link.room_pkts(self.data_bits);
        Rounds::of(self.transfers, pps, self.round_trip_s, room_pkts)
    }

    /// At each link how bursts of the first round come there, and of later ones.
    fn rates(&self, crossings: &[Crossing], narrowest: usize) -> [Rate; 2] {
        let at_once = Rate {
            bps: f64::INFINITY,
            link: 0,
            times: 0.0,
        };
        let clocked = Rate {
            bps: 2.0 * self.bps(crossings, narrowest),
            link: narrowest,
            times: 2.0,
        };
        [at_once, clocked]
    }

    /// What it is at each of its links, in order.
    pub fn bursts(&self, crossings: &[Crossing], mut each: impl FnMut(Bursts)) {
        let narrowest = self.narrowest(crossings);
        let rounds = self.rounds(crossings, narrowest);
        let [mut at_once, mut clocked] = self.rates(crossings, narrowest);
        let narrow_bps = self.bps(crossings, narrowest);
        for l in 0..self.links.len() {
            let bps = self.bps(crossings, l);
            let [first, later] = [at_once, clocked].map(|rate| rate.parts(bps));
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
            at_once = at_once.behind(bps, l);
            clocked = clocked.behind(bps, l);
        }
    }

    /// Whether two bandwidths of the way are the same where it matters which of them is less: then slopes are those of one side.
    pub fn bends(&self, crossings: &[Crossing]) -> bool {
        let narrowest = self.narrowest(crossings);
        let narrow_bps = self.bps(crossings, narrowest);
        let [mut at_once, mut clocked] = self.rates(crossings, narrowest);
        let mut before_bps = f64::INFINITY;
        (0..self.links.len()).any(|l| {
            let bps = self.bps(crossings, l);
            let bends = [at_once.bps, clocked.bps, before_bps].contains(&bps)
                || l != narrowest && bps == narrow_bps;
            at_once = at_once.behind(bps, l);
            clocked = clocked.behind(bps, l);
            before_bps = bps;
            bends
        })
    }

    /// What a measure changes by with the way, a packet of [`bursts`](Self::bursts) more being worth so much at each
    /// link. Where links have the same bandwidth it is that of one side: of less at the first of the narrowest.
    pub fn pull(&self, crossings: &[Crossing], worth: &[Bursts]) -> ByWay {
        let narrowest = self.narrowest(crossings);
        let rounds = self.rounds(crossings, narrowest);
        let [mut at_once, mut clocked] = self.rates(crossings, narrowest);
        let narrow_bps = self.bps(crossings, narrowest);
        let mut by_bps = vec![0.0; self.links.len()];
        // What each of the rounds is worth.
        let (mut of_first, mut of_clocked, mut of_standing) = (0.0, 0.0, 0.0);
        for (l, worth) in worth.iter().enumerate() {
            let bps = self.bps(crossings, l);
            let weights = [worth.own_pkts, worth.others_pkts];
            for (rate, pkts, of) in [
                (at_once, rounds.first, &mut of_first),
                (clocked, rounds.clocked, &mut of_clocked),
            ] {
                let parts = rate.parts(bps);
                *of += weights[0] * parts[0] + weights[1] * parts[1];
                rate.pull(l, bps, weights.map(|it| it * pkts), &mut by_bps);
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
            at_once = at_once.behind(bps, l);
            clocked = clocked.behind(bps, l);
        }
        // How the rounds change: by differences so small that nothing bends in between.
        let link = &crossings[self.links[narrowest] as usize];
        let (pps, rtt_s, room) = (
            narrow_bps / self.data_bits,
            self.round_trip_s,
            link.room_pkts(self.data_bits),
        );
        let slope = |with: &dyn Fn(f64) -> Rounds| {
            const ASIDE: f64 = 1e-6;
            let (more, less) = (with(1.0 + ASIDE), with(1.0 - ASIDE));
            let by = |of: fn(&Rounds) -> f64| (of(&more) - of(&less)) / (2.0 * ASIDE);
            of_first * by(|it| it.first)
                + of_clocked * by(|it| it.clocked)
                + of_standing * by(|it| it.standing)
        };
        let transfers = self.transfers;
        let by_pps = slope(&|f| Rounds::of(transfers, pps * f, rtt_s, room));
        by_bps[narrowest] += by_pps / narrow_bps;
        let by_rtt = match rtt_s > 0.0 {
            true => slope(&|f| Rounds::of(transfers, pps, rtt_s * f, room)) / rtt_s,
            false => 0.0,
        };
        let by_room = slope(&|f| Rounds::of(transfers, pps, rtt_s, room * f)) / room
            * link.room_by_buffer(self.data_bits);
        // By bit/s on the wire.
        for (by_bps, &l) in by_bps.iter_mut().zip(self.links) {
            *by_bps /= crossings[l as usize].factor(self.data_bits);
        }
        ByWay {
            bandwidth_bps: by_bps,
            buffer_pkts: (narrowest, by_room),
            round_trip_s: by_rtt,
        }
    }
}

/// How long packets of transfers wait for others of their own burst, on average, in seconds: with `more_pkts` in the queue than
/// there would be without bursts, for which all wait that come, λ of all packets and λ₀ of transfers,
///
/// > λ n/μ + λ₀ w = n
///
/// by Little's law, and U = λ/μ.
pub fn wait_for_own_s(more_pkts: f64, utilization: f64, transfers_pps: f64) -> f64 {
    match transfers_pps > 0.0 {
        true => more_pkts * (1.0 - utilization).max(0.0) / transfers_pps,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use netflow_network::Overhead;
    use netflow_workload::Distribution;
    use proptest::prelude::*;

    use super::*;

    fn exponential(mean: f64) -> Transfers {
        let most = 20.0 * mean;
        Transfers::new(Distribution::Exponential { mean, most }, 1460.0, 10.0)
    }

    fn link(mbps: f64, buffer_pkts: f64) -> Crossing {
        Crossing {
            bandwidth_bps: mbps * 1e6,
            buffer_pkts,
            ..Crossing::default()
        }
    }

    fn bursts(transfers: &Transfers, links: &[Crossing], round_trip_s: f64) -> Vec<Bursts> {
        let path: Vec<u32> = (0..links.len() as u32).collect();
        let way = WayOfTransfers {
            transfers,
            data_bits: 12000.0,
            round_trip_s,
            links: &path,
        };
        let mut all = Vec::new();
        way.bursts(links, |burst| all.push(burst));
        all
    }

    /// Seventy packets go as 10, 20 and 40 where all of that fits into the way: by hand.
    #[test]
    fn slow_start_is_three_bursts() {
        let transfers = Transfers::new(Distribution::Constant(70.0 * 1460.0), 1460.0, 10.0);
        let (wide, slow) = (link(1000.0, 1e4), link(100.0, 1e4));
        let at = bursts(&transfers, &[wide, slow], 0.1);
        // The wide link gets only the first of them faster than it sends.
        assert!((at[0].own_pkts - 50.0 / 70.0).abs() < 1e-12);
        let others = 50.0 + (200.0 + 800.0) * 0.2_f64.powi(2);
        assert!((at[0].others_pkts - others / 70.0).abs() < 1e-12);
        // The slow one gets all, the later ones at twice its rate.
        let own = 50.0 * 0.9 + (200.0 + 800.0) * 0.5;
        assert!((at[1].own_pkts - own / 70.0).abs() < 1e-12);
        assert!((at[1].others_pkts - 1050.0 / 70.0).abs() < 1e-12);
    }

    /// Nothing of a long transfer jumps when the way holds a little more, or there is a little more room.
    #[test]
    fn nothing_jumps() {
        let transfers = exponential(1e6);
        for vary_room in [false, true] {
            let mut before: Option<Bursts> = None;
            for i in 0..4000 {
                let factor = f64::from(i).mul_add(1e-3, 0.1);
                let (rtt_s, room) = match vary_room {
                    false => (0.02 * factor, 200.0),
                    true => (0.02, 200.0 * factor),
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
        /// What changes of a way are worth is what differences say, where nothing bends.
        #[test]
        fn pulls_are_those_of_differences(
            mbps in prop::collection::vec(5.0..1000.0_f64, 1..5),
            room in 20.0..2000.0_f64,
            round_trip_s in 0.002..0.2_f64,
            mean in 2e4..2e6_f64,
            weights in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 4),
        ) {
            let transfers = exponential(mean);
            let framed = |(i, &mbps): (usize, &f64)| Crossing {
                overhead: Overhead::of(100.0 * (i % 3) as f64),
                ..link(mbps, room)
            };
            let links: Vec<Crossing> = mbps.iter().enumerate().map(framed).collect();
            let worth: Vec<Bursts> = weights[..links.len()]
                .iter()
                .map(|&(own_pkts, others_pkts)| Bursts { own_pkts, others_pkts })
                .collect();
            let value = |links: &[Crossing], round_trip_s: f64| -> f64 {
                let all = bursts(&transfers, links, round_trip_s);
                let each = all.iter().zip(&worth);
                each.map(|(it, by)| it.own_pkts * by.own_pkts + it.others_pkts * by.others_pkts).sum()
            };
            let path: Vec<u32> = (0..links.len() as u32).collect();
            let way = WayOfTransfers { transfers: &transfers, data_bits: 12000.0, round_trip_s, links: &path };
            let by = way.pull(&links, &worth);
            let scale = bursts(&transfers, &links, round_trip_s)
                .iter()
                .map(|it| it.own_pkts + it.others_pkts)
                .sum::<f64>();
            // On either side and further away: where they differ, something bends.
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
