//! A source with a profile among packets: it sends them one by one at the rate that the profile
//! gives for the loss and the round-trip time that it learns from its acknowledgements, as TFRC
//! (RFC 5348) does with an equation.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{Applied, Limit};
use netflow_profile::{Profile, ProfileUse};
use rand_pcg::Pcg32;

use crate::generator::exponential;
use crate::tcp::NEVER;

/// Seconds assumed for a round trip until one is measured.
const FIRST_RTT_S: f64 = 1.0;
/// No source is slower: a packet in 64 s (RFC 5348, section 4.3).
const SLOWEST_PPS: f64 = 1.0 / 64.0;
/// A receive rate is taken over a round trip, and over so many packets at least: they come at random
/// times.
const FEWEST: u64 = 4;

/// The sending end.
#[derive(Clone, Debug)]
pub(crate) struct EquationSender {
    profile: Arc<dyn Profile>,
    pub window: f64,
    /// Packets/s of its application at most.
    application_pps: f64,
    pub rate_pps: f64,
    pub rtt_s: f64,
    intervals: LossIntervals,
    received: Received,
    /// Packets of the first round trip (RFC 5348, section 4.2).
    first_window: f64,
    /// When the next packet goes, and when it is slower for want of acknowledgements.
    next_ns: u64,
    patience_ns: u64,
    /// No loss before counts as another: they belong to the last.
    event_until_ns: u64,
    /// When the rate may double next without a loss.
    doubles_ns: u64,
    /// Packets under way, the first of which has the number `first`.
    sent_at_ns: VecDeque<u64>,
    first: i32,
    next: i32,
    acknowledged: i32,
    lost: i64,
    pub sent: u64,
    pub rtt_sum_s: f64,
    pub rtts: u64,
    /// Nanoseconds with and without the profile's domain, and since when the present point counts.
    pub outside_ns: u64,
    pub unusable_ns: u64,
    pub active_ns: u64,
    since_ns: u64,
    rests_on: ProfileUse,
    random: Pcg32,
    /// What its rate came from last.
    pub applied: Option<Applied>,
}

impl EquationSender {
    pub fn new(
        profile: Arc<dyn Profile>,
        window: Option<f64>,
        application_pps: f64,
        packet_bytes: f64,
        random: Pcg32,
    ) -> EquationSender {
        let limit = profile.window_limit_pkts();
        EquationSender {
            window: window.or(limit).unwrap_or(f64::INFINITY),
            profile,
            application_pps,
            rate_pps: 1.0 / FIRST_RTT_S,
            rtt_s: 0.0,
            intervals: LossIntervals::default(),
            received: Received::default(),
            first_window: (4380.0 / packet_bytes).clamp(2.0, 4.0),
            next_ns: NEVER,
            patience_ns: NEVER,
            event_until_ns: 0,
            doubles_ns: 0,
            sent_at_ns: VecDeque::new(),
            // 0 is for a packet without payload.
            first: 1,
            next: 1,
            acknowledged: 0,
            lost: 0,
            sent: 0,
            rtt_sum_s: 0.0,
            rtts: 0,
            outside_ns: 0,
            unusable_ns: 0,
            active_ns: 0,
            since_ns: 0,
            rests_on: ProfileUse::Measured,
            random,
            applied: None,
        }
    }

    pub fn start(&mut self, now_ns: u64) {
        self.next_ns = now_ns;
        self.since_ns = now_ns;
    }

    pub fn stop(&mut self, now_ns: u64) {
        self.account(now_ns);
        self.next_ns = NEVER;
        self.patience_ns = NEVER;
    }

    /// When it has something to do by itself.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.next_ns.min(self.patience_ns)
    }

    /// Its time has come: the number of the packet that it sends, if it sends one.
    pub fn time_has_come(&mut self, now_ns: u64) -> Option<i32> {
        if self.patience_ns <= now_ns {
            self.rate_pps = (self.rate_pps / 2.0).max(SLOWEST_PPS);
            self.received.expect(0.5 * self.rate_pps);
            self.wait(now_ns);
        }
        if self.next_ns > now_ns {
            return None;
        }
        if self.patience_ns == NEVER {
            self.wait(now_ns);
        }
        let seq = self.next;
        self.sent_at_ns.push_back(now_ns);
        self.next = self.next.wrapping_add(1);
        self.sent += 1;
        let between_ns = 1e9 * exponential(&mut self.random) / self.rate_pps;
        self.next_ns = now_ns + between_ns as u64;
        Some(seq)
    }

    /// Patience: four round trips, or two packets (RFC 5348, section 4.2).
    fn wait(&mut self, now_ns: u64) {
        let rtt_s = if self.rtts == 0 {
            FIRST_RTT_S
        } else {
            self.rtt_s
        };
        let patience_s = (4.0 * rtt_s).max(2.0 / self.rate_pps);
        self.patience_ns = now_ns + (patience_s * 1e9) as u64;
    }

    /// The acknowledgement of this packet is back; it says how many had arrived when it did.
    pub fn acknowledge(&mut self, now_ns: u64, seq: i32, arrived: u64) {
        let place = seq.wrapping_sub(self.first) as usize;
        let Some(&sent_ns) = self.sent_at_ns.get(place) else {
            return;
        };
        self.sent_at_ns.drain(..=place);
        self.first = seq.wrapping_add(1);
        let rtt_s = now_ns.saturating_sub(sent_ns) as f64 * 1e-9;
        self.learn_rtt(rtt_s);
        let is_first = self.rtts == 1;
        self.received.learn(now_ns, arrived, self.rtt_s);
        let covered = f64::from(seq.wrapping_sub(self.acknowledged));
        self.acknowledged = seq;
        let lost = i64::from(seq) - arrived as i64;
        let more = lost > self.lost;
        self.lost = lost;
        let interval = self.intervals.extend(covered);
        if more && now_ns >= self.event_until_ns {
            self.event_until_ns = now_ns + (self.rtt_s * 1e9) as u64;
            if self.intervals.is_empty() {
                self.intervals.push(self.first_interval().max(interval));
            } else {
                self.intervals.push(interval);
            }
        }
        if self.next_ns != NEVER {
            self.adjust(now_ns, is_first);
            self.wait(now_ns);
        }
    }

    /// The mean over about the last round trip: a rate that follows a longer mean comes late to a
    /// queue that it fills itself.
    fn learn_rtt(&mut self, rtt_s: f64) {
        let weight = match self.rtts {
            0 => 1.0,
            _ => (1.0 / (self.rate_pps * self.rtt_s)).clamp(0.01, 1.0),
        };
        self.rtt_s += weight * (rtt_s - self.rtt_s);
        self.rtt_sum_s += rtt_s;
        self.rtts += 1;
    }

    /// The rate from now on (RFC 5348, section 4.3).
    fn adjust(&mut self, now_ns: u64, is_first: bool) {
        self.account(now_ns);
        let most_pps = (self.window / self.rtt_s).min(self.application_pps);
        let first_pps = self.first_window / self.rtt_s;
        let received_pps = 2.0 * self.received.rate_pps();
        let mut seen = (0.0, None);
        let wanted_pps = match self.intervals.loss_event_rate() {
            Some(loss) => {
                self.rests_on = self.profile.rests_on(loss, self.rtt_s);
                let profile_pps = self.profile.throughput(loss, self.rtt_s);
                seen = (loss, Some(profile_pps));
                profile_pps.min(received_pps)
            }
            None if is_first => {
                self.doubles_ns = now_ns + (self.rtt_s * 1e9) as u64;
                first_pps
            }
            None if now_ns >= self.doubles_ns => {
                self.doubles_ns = now_ns + (self.rtt_s * 1e9) as u64;
                (2.0 * self.rate_pps).min(received_pps).max(first_pps)
            }
            None => self.rate_pps,
        };
        let before_pps = self.rate_pps;
        self.rate_pps = wanted_pps.min(most_pps).max(SLOWEST_PPS);
        let (loss, profile_pps) = seen;
        self.applied = Some(Applied {
            limit: match profile_pps {
                _ if wanted_pps >= most_pps => match self.application_pps > most_pps {
                    true => Limit::Window,
                    false => Limit::Application,
                },
                Some(pps) if pps <= received_pps => Limit::Profile,
                // Nothing has changed.
                None if wanted_pps == before_pps => {
                    self.applied.map_or(Limit::Growth, |before| before.limit)
                }
                _ => Limit::Growth,
            },
            loss,
            rtt_s: self.rtt_s,
            profile_pps,
            until_s: now_ns as f64 * 1e-9,
        });
        if self.rate_pps > 2.0 * before_pps {
            // It need not wait for a packet that was planned when it was much slower.
            let soon_ns = now_ns + (1e9 * exponential(&mut self.random) / self.rate_pps) as u64;
            self.next_ns = self.next_ns.min(soon_ns);
        }
    }

    /// What the first loss says: an interval that gives the rate at which packets arrived until then
    /// (RFC 5348, section 6.3.1).
    fn first_interval(&self) -> f64 {
        let arrived_pps = self.received.rate_pps().min(self.rate_pps);
        let (mut low, mut high) = (1e-8_f64.ln(), 0.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            match self.profile.throughput(middle.exp(), self.rtt_s) > arrived_pps {
                true => low = middle,
                false => high = middle,
            }
        }
        (-high).exp()
    }

    fn account(&mut self, now_ns: u64) {
        let past_ns = now_ns.saturating_sub(self.since_ns);
        self.since_ns = now_ns;
        self.active_ns += past_ns;
        if self.rests_on > ProfileUse::Measured {
            self.outside_ns += past_ns;
        }
        if self.rests_on == ProfileUse::NotUsable {
            self.unusable_ns += past_ns;
        }
    }
}

/// The rate at which packets arrive at the receiver (RFC 5348, section 4.3): the larger of the last
/// two measured.
#[derive(Clone, Debug, Default)]
struct Received {
    /// Where this measurement began: when, and how many had arrived.
    since: Option<(u64, u64)>,
    /// The last two, the latest first.
    last_pps: [Option<f64>; 2],
}

impl Received {
    /// So many had arrived when what is acknowledged now did.
    fn learn(&mut self, now_ns: u64, arrived: u64, rtt_s: f64) {
        let Some((since_ns, before)) = self.since else {
            self.since = Some((now_ns, arrived));
            return;
        };
        let past_s = now_ns.saturating_sub(since_ns) as f64 * 1e-9;
        let more = arrived.saturating_sub(before);
        if past_s >= rtt_s && more >= FEWEST {
            self.last_pps = [Some(more as f64 / past_s), self.last_pps[0]];
            self.since = Some((now_ns, arrived));
        }
    }

    /// Nothing is heard any more: this is what is expected to arrive.
    fn expect(&mut self, pps: f64) {
        self.last_pps = [Some(pps); 2];
        self.since = None;
    }

    /// Anything until something was measured.
    fn rate_pps(&self) -> f64 {
        let known = self.last_pps.iter().flatten();
        known.copied().reduce(f64::max).unwrap_or(f64::INFINITY)
    }
}

/// Packets between losses, the latest first, weighted as in RFC 5348, section 5.4.
#[derive(Clone, Debug, Default)]
struct LossIntervals {
    closed: VecDeque<f64>,
    /// Packets since the last loss.
    open: f64,
}

const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

impl LossIntervals {
    fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// So many more packets; returns how many it are since the last loss.
    fn extend(&mut self, packets: f64) -> f64 {
        self.open += packets;
        self.open
    }

    /// A loss after this interval.
    fn push(&mut self, interval: f64) {
        self.closed.push_front(interval);
        self.closed.truncate(WEIGHTS.len());
        self.open = 0.0;
    }

    /// One over the mean interval; the open one counts if that makes it longer.
    fn loss_event_rate(&self) -> Option<f64> {
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let (sum, weights) = intervals
                .zip(WEIGHTS)
                .fold((0.0, 0.0), |(sum, all), (interval, weight)| {
                    (sum + weight * interval, all + weight)
                });
            sum / weights
        };
        if self.is_empty() {
            return None;
        }
        let closed = mean(&mut self.closed.iter().copied());
        let open = std::iter::once(self.open);
        let with_open = mean(&mut open.chain(self.closed.iter().copied()));
        Some(1.0 / closed.max(with_open).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5348, section 5.4: the weighted mean of eight intervals.
    #[test]
    fn loss_event_rates_are_those_of_the_rfc() {
        let mut intervals = LossIntervals::default();
        assert_eq!(intervals.loss_event_rate(), None);
        for interval in [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0] {
            intervals.push(interval);
        }
        // The latest first: 30 to 60 count once, 70 .8, 80 .6, 90 .4, 100 .2, of six in all.
        let mean = (30.0 + 40.0 + 50.0 + 60.0 + 56.0 + 48.0 + 36.0 + 20.0) / 6.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
        intervals.extend(10.0);
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
        intervals.extend(990.0);
        assert!(intervals.loss_event_rate().unwrap() < 1.0 / 200.0);
    }
}
