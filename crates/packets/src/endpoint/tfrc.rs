//! A source with a profile among packets: it sends them one by one at the rate that the profile
//! gives for the loss and the round-trip time that it learns from its acknowledgements, as TFRC
//! (RFC 5348) does with an equation.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{Applied, Limit};
use netflow_profile::{Profile, ProfileUse};
use netflow_tcpmodel::tcp::NEVER;
use rand_pcg::Pcg32;

use crate::endpoint::generator::exponential;

/// Seconds assumed for a round trip until one is measured.
const FIRST_RTT_S: f64 = 1.0;
/// No source is slower: a packet in 64 s (RFC 5348, section 4.3).
const SLOWEST_PPS: f64 = 1.0 / 64.0;
/// A receive rate is taken over a round trip, and over so many packets at least: they come at random
/// times.
const FEWEST: u64 = 4;
/// A profile's steepness is taken between this part of the loss and as many times of it.
const AROUND: f64 = 1.4;

/// The sending end.
#[derive(Clone, Debug)]
pub(crate) struct TfrcSender {
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
    /// Packets since the last acknowledgement, or since it became slower.
    unanswered: u64,
    /// What was sent before belongs to the last loss event.
    event_until_ns: u64,
    /// When nothing had been heard last for so long that it became slower, and whether something was
    /// since.
    silent_ns: u64,
    silent: bool,
    /// When the rate may double next without a loss.
    doubles_ns: u64,
    /// Packets under way, the first of which has the number `first`.
    sent_at_ns: VecDeque<u64>,
    first: i32,
    next: i32,
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

impl TfrcSender {
    pub fn new(
        profile: Arc<dyn Profile>,
        window: Option<f64>,
        application_pps: f64,
        packet_bytes: f64,
        random: Pcg32,
    ) -> TfrcSender {
        let limit = profile.window_limit_pkts();
        TfrcSender {
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
            unanswered: 0,
            event_until_ns: 0,
            silent_ns: 0,
            silent: false,
            doubles_ns: 0,
            sent_at_ns: VecDeque::new(),
            // 0 is for a packet without payload.
            first: 1,
            next: 1,
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
            self.silent_ns = now_ns;
            self.silent = true;
            self.answered();
        }
        if self.next_ns > now_ns {
            return None;
        }
        let seq = self.next;
        self.sent_at_ns.push_back(now_ns);
        self.next = self.next.wrapping_add(1);
        self.sent += 1;
        self.unanswered += 1;
        if self.unanswered == FEWEST {
            let rtt_s = match self.rtts {
                0 => FIRST_RTT_S,
                _ => self.rtt_s,
            };
            self.patience_ns = now_ns + (4e9 * rtt_s) as u64;
        }
        let between_ns = 1e9 * exponential(&mut self.random) / self.rate_pps;
        self.next_ns = now_ns + between_ns as u64;
        Some(seq)
    }

    /// Patience begins anew. It ends four round trips (RFC 5348, section 4.2) after as many packets as a
    /// rate is taken over: packets come at random times, so two means of what is between them, as
    /// the RFC has it, pass in one of seven cases.
    fn answered(&mut self) {
        self.unanswered = 0;
        self.patience_ns = NEVER;
    }

    /// The acknowledgement of this packet is back; it says how many had arrived when it did.
    pub fn acknowledge(&mut self, now_ns: u64, seq: i32, arrived: u64) {
        let place = seq.wrapping_sub(self.first) as usize;
        let Some(&sent_ns) = self.sent_at_ns.get(place) else {
            return;
        };
        let rtt_s = now_ns.saturating_sub(sent_ns) as f64 * 1e-9;
        self.learn_rtt(rtt_s);
        let is_first = self.rtts == 1;
        if std::mem::take(&mut self.silent) {
            // It begins anew, as TCP does after a timeout.
            self.received.expect(0.5 * self.first_window / self.rtt_s);
        }
        self.received.learn(now_ns, arrived, self.rtt_s);
        self.learn_losses(seq, place, arrived);
        if self.next_ns != NEVER {
            self.adjust(now_ns, is_first);
            self.answered();
        }
    }

    /// What was lost of the packets up to this one. What was sent within a round trip of a loss belongs
    /// to its event, and does not count (in RFC 5348 it counts in the next interval): so what is
    /// learnt is the loss of packets, where they are lost at random, as the profile was measured,
    /// and one in so many packets, where they are lost in bursts, to which TCP answers once. What was
    /// sent while nothing was heard is one event as well: a link was down.
    fn learn_losses(&mut self, seq: i32, place: usize, arrived: u64) {
        let lost = i64::from(seq) - arrived as i64;
        // Where acknowledgements were lost, it is not known which packets were.
        let more = usize::try_from(lost - self.lost).unwrap_or(0);
        self.lost = lost;
        self.first = seq.wrapping_add(1);
        for nth in 0..=place {
            let sent_ns = self.sent_at_ns[nth];
            if sent_ns < self.event_until_ns {
                continue;
            }
            let interval = self.intervals.extend();
            if nth < more {
                let event_ns = (self.rtt_s * 1e9) as u64;
                self.event_until_ns = (sent_ns + event_ns).max(self.silent_ns);
                let interval = match self.intervals.is_empty() {
                    true => self.first_interval().max(interval),
                    false => interval,
                };
                self.intervals.push(interval, self.remembered());
            }
        }
        self.sent_at_ns.drain(..=place);
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

    /// How many loss intervals its rate is a mean over. By chance the mean of n is off by 1/n of its
    /// square; a rate p^-a is then too low by about a(a + 1)/2n, from the second derivative of the
    /// time that a packet takes. A steep profile remembers so many that this is no more than with
    /// the square root, for which the RFC has its eight.
    fn remembered(&self) -> usize {
        let Some(loss) = self.intervals.loss_event_rate() else {
            return INTERVALS;
        };
        let at = |factor: f64| libm::log(self.profile.throughput(loss * factor, self.rtt_s));
        let steepness = (at(1.0 / AROUND) - at(AROUND)) / (2.0 * libm::log(AROUND));
        let many = INTERVALS as f64 * steepness * (steepness + 1.0) / (0.5 * 1.5);
        (many as usize).clamp(INTERVALS, MOST_INTERVALS)
    }

    /// What the first loss says: an interval that gives the rate at which packets arrived until then
    /// (RFC 5348, section 6.3.1).
    fn first_interval(&self) -> f64 {
        let arrived_pps = self.received.rate_pps().min(self.rate_pps);
        let (mut low, mut high) = (libm::log(1e-8), 0.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            match self.profile.throughput(libm::exp(middle), self.rtt_s) > arrived_pps {
                true => low = middle,
                false => high = middle,
            }
        }
        libm::exp(-high)
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

/// Packets between loss events, the latest first, weighted as in RFC 5348, section 5.4: the earlier
/// half of them less and less. The RFC has eight; a steeper profile asks for more.
#[derive(Clone, Debug, Default)]
struct LossIntervals {
    closed: VecDeque<f64>,
    /// Packets since the last event.
    open: f64,
    /// The weighted mean of the closed ones.
    mean: f64,
    /// The sums of weighted intervals and of weights if the open one comes before them, without it.
    after_open: (f64, f64),
}

/// Intervals of the RFC.
const INTERVALS: usize = 8;
/// No source remembers more.
const MOST_INTERVALS: usize = 128;

/// What the interval counts that has so many later ones, of so many.
fn weight(later: usize, of: usize) -> f64 {
    let half = of / 2;
    match later < half {
        true => 1.0,
        false => 1.0 - (later - half + 1) as f64 / (of - half + 1) as f64,
    }
}

impl LossIntervals {
    fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// One more packet that may begin a loss event; returns how many it are since the last one.
    fn extend(&mut self) -> f64 {
        self.open += 1.0;
        self.open
    }

    /// A loss event after this interval. At most so many are remembered.
    fn push(&mut self, interval: f64, remembered: usize) {
        self.closed.push_front(interval);
        self.closed.truncate(remembered);
        self.open = 0.0;
        let sums = |before: usize| {
            let intervals = self.closed.iter().enumerate();
            intervals.fold((0.0, 0.0), |(sum, weights), (later, interval)| {
                let weight = match later + before < remembered {
                    true => weight(later + before, remembered),
                    false => 0.0,
                };
                (sum + weight * interval, weights + weight)
            })
        };
        let (sum, weights) = sums(0);
        self.mean = sum / weights;
        self.after_open = sums(1);
    }

    /// One over the mean interval; the open one counts if that makes it longer.
    fn loss_event_rate(&self) -> Option<f64> {
        if self.is_empty() {
            return None;
        }
        let (sum, weights) = self.after_open;
        let with_open = (self.open + sum) / (1.0 + weights);
        Some(1.0 / self.mean.max(with_open).max(1.0))
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
            intervals.push(interval, INTERVALS);
        }
        // The latest first: 30 to 60 count once, 70 .8, 80 .6, 90 .4, 100 .2, of six in all.
        let mean = (30.0 + 40.0 + 50.0 + 60.0 + 56.0 + 48.0 + 36.0 + 20.0) / 6.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
        intervals.open = 10.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
        // The open one first, and the others one later: 60 counts .8, 90 .2, 100 nothing.
        intervals.open = 1000.0;
        let mean = (1000.0 + 30.0 + 40.0 + 50.0 + 48.0 + 42.0 + 32.0 + 18.0) / 6.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
    }

    /// A steep profile remembers more, and not for ever.
    #[test]
    fn more_intervals_count_alike_at_first_and_then_less() {
        let weights: Vec<f64> = (0..8).map(|later| weight(later, 8)).collect();
        for (weight, wanted) in weights.iter().zip([1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]) {
            assert!((weight - wanted).abs() < 1e-15);
        }
        assert_eq!(weight(9, 21), 1.0);
        assert!(weight(20, 21) > 0.0 && weight(20, 21) < 0.1);
        let mut intervals = LossIntervals::default();
        for _ in 0..200 {
            intervals.push(5.0, 40);
        }
        assert_eq!(intervals.closed.len(), 40);
        assert!((intervals.loss_event_rate().unwrap() - 0.2).abs() < 1e-12);
    }
}
