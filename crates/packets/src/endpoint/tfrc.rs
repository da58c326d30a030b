//! TFRC source (RFC 5348) with a profile in place of the throughput equation.
//!
//! It sends single packets at the rate that the profile gives for the loss event rate and the round-trip
//! time. Both are estimated from acknowledgements.

use std::collections::VecDeque;
use std::sync::Arc;

use netflow_network::{AppliedLimits, ConnectionSpec, Limit};
use netflow_profile::{Profile, Provenance};
use netflow_tcpmodel::tcp::NEVER;
use rand_pcg::Pcg32;

use crate::endpoint::generator::exponential;
use crate::endpoint::sender::{EndpointOutput, TransferSender};
use crate::link::wire::Packet;

/// Round-trip time in seconds that is assumed before the first measurement.
const FIRST_RTT_S: f64 = 1.0;
/// Minimum rate: one packet in 64 s (RFC 5348, section 4.3).
const MIN_RATE_PPS: f64 = 1.0 / 64.0;
/// Minimum number of packets in a measurement of the receive rate, which lasts at least a round trip. Packets
/// arrive at random times, so fewer are not enough.
const MIN_MEASURED_PKTS: u64 = 4;
/// Factor by which the loss is divided and multiplied to measure the steepness of a profile.
const LOSS_STEP_FACTOR: f64 = 1.4;

/// TFRC sender.
#[derive(Clone, Debug)]
pub(crate) struct TfrcSender {
    profile: Arc<dyn Profile>,
    /// Number of packets to deliver.
    size: Option<u64>,
    window: f64,
    /// Maximum rate of the application in packets/s.
    application_pps: f64,
    rate_pps: f64,
    rtt_s: f64,
    intervals: LossIntervals,
    receive_rate: ReceiveRate,
    /// Packets of the first round trip (RFC 5348, section 4.2).
    first_window: f64,
    /// Time of the next packet in ns, and expiry of the no-feedback timer in ns.
    next_ns: u64,
    no_feedback_ns: u64,
    /// Packets since the last acknowledgement or the last expiry of the no-feedback timer.
    pkts_since_feedback: u64,
    /// Time in ns before which packets belong to the last loss event.
    event_until_ns: u64,
    /// Time of the last expiry of the no-feedback timer in ns. `no_feedback` is true until the next
    /// acknowledgement.
    no_feedback_expired_ns: u64,
    no_feedback: bool,
    /// Time in ns from which the rate may double without a loss.
    may_double_from_ns: u64,
    /// Send times in ns of packets without feedback, the first of which has the number `first`.
    sent_at_ns: VecDeque<u64>,
    first: i32,
    next: i32,
    lost: i64,
    sent: u64,
    rtt_sum_s: f64,
    rtts: u64,
    /// Times in ns outside the profile's domain, too far outside to be usable, and active in total; start of
    /// the current period in ns.
    outside_ns: u64,
    unusable_ns: u64,
    active_ns: u64,
    since_ns: u64,
    provenance: Provenance,
    random: Pcg32,
    /// Last computation of the rate.
    applied: Option<AppliedLimits>,
}

impl TfrcSender {
    pub fn new(profile: Arc<dyn Profile>, spec: &ConnectionSpec, random: Pcg32) -> TfrcSender {
        let limit = profile.window_limit_pkts();
        TfrcSender {
            window: spec.max_window_pkts.or(limit).unwrap_or(f64::INFINITY),
            profile,
            size: spec.size_pkts.map(|size| size.ceil() as u64),
            application_pps: spec.application.mean_pps(),
            rate_pps: 1.0 / FIRST_RTT_S,
            rtt_s: 0.0,
            intervals: LossIntervals::default(),
            receive_rate: ReceiveRate::default(),
            first_window: (4380.0 / spec.packet_size_bytes).clamp(2.0, 4.0),
            next_ns: NEVER,
            no_feedback_ns: NEVER,
            pkts_since_feedback: 0,
            event_until_ns: 0,
            no_feedback_expired_ns: 0,
            no_feedback: false,
            may_double_from_ns: 0,
            sent_at_ns: VecDeque::new(),
            // Number 0 is for a packet without payload.
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
            provenance: Provenance::Measured,
            random,
            applied: None,
        }
    }

    /// Stops the no-feedback timer. It restarts after [`MIN_MEASURED_PKTS`] packets, and expires four round trips later
    /// (RFC 5348, section 4.2). The RFC waits for at least two packet intervals. Here packets are sent at
    /// random times: in one of seven cases, none is sent in two mean intervals.
    fn reset_no_feedback_timer(&mut self) {
        self.pkts_since_feedback = 0;
        self.no_feedback_ns = NEVER;
    }

    /// Processes the acknowledgement of packet `seq`. `arrived` packets had arrived when it was sent.
    fn receive(&mut self, now_ns: u64, seq: i32, arrived: u64) {
        let place = seq.wrapping_sub(self.first) as usize;
        let Some(&sent_ns) = self.sent_at_ns.get(place) else {
            return;
        };
        let rtt_s = now_ns.saturating_sub(sent_ns) as f64 * 1e-9;
        self.update_rtt(rtt_s);
        let is_first = self.rtts == 1;
        if std::mem::take(&mut self.no_feedback) {
            // The source starts anew, as TCP does after a timeout.
            self.receive_rate
                .expect(0.5 * self.first_window / self.rtt_s);
        }
        self.receive_rate
            .record_feedback(now_ns, arrived, self.rtt_s);
        self.detect_losses(seq, place, arrived);
        if self.next_ns != NEVER {
            self.update_rate(now_ns, is_first);
            self.reset_no_feedback_timer();
        }
    }

    /// Finds losses among the packets up to `seq`.
    ///
    /// Packets sent within a round trip after a loss belong to its event and do not count; in RFC 5348 they
    /// count in the next interval. With random losses, the result is the packet loss for which the profile
    /// was measured. With losses in bursts, it is the rate of bursts, because TCP reacts to each once.
    /// Packets sent without any feedback are one event too, because a link was down.
    fn detect_losses(&mut self, seq: i32, place: usize, arrived: u64) {
        let lost = i64::from(seq) - arrived as i64;
        // If acknowledgements were lost, the lost packets are unknown.
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
                self.event_until_ns = (sent_ns + event_ns).max(self.no_feedback_expired_ns);
                let interval = if self.intervals.is_empty() {
                    self.first_interval().max(interval)
                } else {
                    interval
                };
                self.intervals.push(interval, self.interval_count());
            }
        }
        self.sent_at_ns.drain(..=place);
    }

    /// Updates the mean round-trip time over about one round trip. With a longer mean, the rate reacts late
    /// to a queue that the source fills itself.
    fn update_rtt(&mut self, rtt_s: f64) {
        let weight = match self.rtts {
            0 => 1.0,
            _ => (1.0 / (self.rate_pps * self.rtt_s)).clamp(0.01, 1.0),
        };
        self.rtt_s += weight * (rtt_s - self.rtt_s);
        self.rtt_sum_s += rtt_s;
        self.rtts += 1;
    }

    /// Sets the rate (RFC 5348, section 4.3).
    fn update_rate(&mut self, now_ns: u64, is_first: bool) {
        self.account_profile_time(now_ns);
        let most_pps = (self.window / self.rtt_s).min(self.application_pps);
        let first_pps = self.first_window / self.rtt_s;
        let received_pps = 2.0 * self.receive_rate.rate_pps();
        let mut seen = (0.0, None);
        let wanted_pps = match self.intervals.loss_event_rate() {
            Some(loss) => {
                self.provenance = self.profile.provenance(loss, self.rtt_s);
                let profile_pps = self.profile.throughput(loss, self.rtt_s);
                seen = (loss, Some(profile_pps));
                profile_pps.min(received_pps)
            }
            None if is_first => {
                self.may_double_from_ns = now_ns + (self.rtt_s * 1e9) as u64;
                first_pps
            }
            None if now_ns >= self.may_double_from_ns => {
                self.may_double_from_ns = now_ns + (self.rtt_s * 1e9) as u64;
                (2.0 * self.rate_pps).min(received_pps).max(first_pps)
            }
            None => self.rate_pps,
        };
        let before_pps = self.rate_pps;
        self.rate_pps = wanted_pps.min(most_pps).max(MIN_RATE_PPS);
        let (loss, profile_pps) = seen;
        self.applied = Some(AppliedLimits {
            limit: match profile_pps {
                _ if wanted_pps >= most_pps => {
                    if self.application_pps > most_pps {
                        Limit::Window
                    } else {
                        Limit::Application
                    }
                }
                Some(pps) if pps <= received_pps => Limit::Profile,
                // The rate is unchanged.
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
            // A packet that was scheduled at a much lower rate is sent earlier.
            let soon_ns = now_ns + (1e9 * exponential(&mut self.random) / self.rate_pps) as u64;
            self.next_ns = self.next_ns.min(soon_ns);
        }
    }

    /// Returns the number of loss intervals over which the mean is taken.
    ///
    /// The mean of n random intervals has a variance of 1/n of its square. So a rate p^-a is too low by about
    /// a(a + 1)/2n, according to the second derivative of the time per packet. A steep profile uses enough
    /// intervals that this error is no larger than that of the square-root law with the RFC's eight
    /// intervals.
    fn interval_count(&self) -> usize {
        let Some(loss) = self.intervals.loss_event_rate() else {
            return INTERVALS;
        };
        let at = |factor: f64| libm::log(self.profile.throughput(loss * factor, self.rtt_s));
        let steepness = (at(1.0 / LOSS_STEP_FACTOR) - at(LOSS_STEP_FACTOR))
            / (2.0 * libm::log(LOSS_STEP_FACTOR));
        let many = INTERVALS as f64 * steepness * (steepness + 1.0) / (0.5 * 1.5);
        (many as usize).clamp(INTERVALS, MAX_INTERVALS)
    }

    /// Returns the first loss interval, for which the profile gives the receive rate so far (RFC 5348,
    /// section 6.3.1).
    fn first_interval(&self) -> f64 {
        let arrived_pps = self.receive_rate.rate_pps().min(self.rate_pps);
        let (mut low, mut high) = (libm::log(1e-8), 0.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if self.profile.throughput(libm::exp(middle), self.rtt_s) > arrived_pps {
                low = middle
            } else {
                high = middle
            }
        }
        libm::exp(-high)
    }

    fn account_profile_time(&mut self, now_ns: u64) {
        let past_ns = now_ns.saturating_sub(self.since_ns);
        self.since_ns = now_ns;
        self.active_ns += past_ns;
        if self.provenance > Provenance::Measured {
            self.outside_ns += past_ns;
        }
        if self.provenance == Provenance::Unreliable {
            self.unusable_ns += past_ns;
        }
    }
}

impl TransferSender for TfrcSender {
    fn start(&mut self, now_ns: u64, _out: &mut EndpointOutput<'_>) {
        self.next_ns = now_ns;
        self.since_ns = now_ns;
    }

    fn stop(&mut self, now_ns: u64) {
        self.account_profile_time(now_ns);
        self.next_ns = NEVER;
        self.no_feedback_ns = NEVER;
    }

    #[inline]
    fn due_ns(&self) -> u64 {
        self.next_ns.min(self.no_feedback_ns)
    }

    fn run_due_event(&mut self, now_ns: u64, out: &mut EndpointOutput<'_>) {
        if self.no_feedback_ns <= now_ns {
            self.rate_pps = (self.rate_pps / 2.0).max(MIN_RATE_PPS);
            self.receive_rate.expect(0.5 * self.rate_pps);
            self.no_feedback_expired_ns = now_ns;
            self.no_feedback = true;
            self.reset_no_feedback_timer();
        }
        if self.next_ns > now_ns {
            return;
        }
        let seq = self.next;
        self.sent_at_ns.push_back(now_ns);
        self.next = self.next.wrapping_add(1);
        self.sent += 1;
        self.pkts_since_feedback += 1;
        if self.pkts_since_feedback == MIN_MEASURED_PKTS {
            let rtt_s = match self.rtts {
                0 => FIRST_RTT_S,
                _ => self.rtt_s,
            };
            self.no_feedback_ns = now_ns + (4e9 * rtt_s) as u64;
        }
        let between_ns = 1e9 * exponential(&mut self.random) / self.rate_pps;
        self.next_ns = now_ns + between_ns as u64;
        out.send(now_ns, seq);
    }

    /// Stops when everything has arrived.
    fn acknowledge(&mut self, now_ns: u64, packet: &Packet) {
        self.receive(now_ns, packet.seq, packet.metadata);
        if self.size.is_some_and(|size| packet.metadata >= size) {
            self.stop(now_ns);
        }
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn rate_pps(&self) -> f64 {
        self.rate_pps
    }

    fn smoothed_rtt_s(&self) -> f64 {
        self.rtt_s
    }

    #[inline]
    fn rtt_sum(&self) -> (f64, u64) {
        (self.rtt_sum_s, self.rtts)
    }

    fn applied(&self, _has_size: bool) -> Result<&AppliedLimits, Option<Limit>> {
        self.applied.as_ref().ok_or(None)
    }

    fn window_limit_pkts(&self) -> f64 {
        self.window
    }

    fn outside_ns(&self) -> [u64; 3] {
        [self.outside_ns, self.unusable_ns, self.active_ns]
    }
}

/// Receive rate (RFC 5348, section 4.3): the larger of the last two measurements.
#[derive(Clone, Debug, Default)]
struct ReceiveRate {
    /// Start of the current measurement in ns, and number of packets that had arrived.
    measurement_start: Option<(u64, u64)>,
    /// Last two measurements in packets/s, the latest first.
    last_pps: [Option<f64>; 2],
}

impl ReceiveRate {
    /// Records that `arrived` packets had arrived when the acknowledged packet did.
    fn record_feedback(&mut self, now_ns: u64, arrived: u64, rtt_s: f64) {
        let Some((since_ns, before)) = self.measurement_start else {
            self.measurement_start = Some((now_ns, arrived));
            return;
        };
        let past_s = now_ns.saturating_sub(since_ns) as f64 * 1e-9;
        let more = arrived.saturating_sub(before);
        if past_s >= rtt_s && more >= MIN_MEASURED_PKTS {
            self.last_pps = [Some(more as f64 / past_s), self.last_pps[0]];
            self.measurement_start = Some((now_ns, arrived));
        }
    }

    /// Sets the expected receive rate after the feedback has stopped.
    fn expect(&mut self, pps: f64) {
        self.last_pps = [Some(pps); 2];
        self.measurement_start = None;
    }

    /// Returns the receive rate in packets/s; infinite before the first measurement.
    fn rate_pps(&self) -> f64 {
        let known = self.last_pps.iter().flatten();
        known.copied().reduce(f64::max).unwrap_or(f64::INFINITY)
    }
}

/// Loss intervals in packets, the latest first, with the weights of RFC 5348, section 5.4: the earlier half
/// has decreasing weights. The RFC has eight intervals; a steeper profile has more.
#[derive(Clone, Debug, Default)]
struct LossIntervals {
    closed: VecDeque<f64>,
    /// Packets since the last loss event.
    open: f64,
    /// Weighted mean of the closed intervals.
    mean: f64,
    /// Sums of weighted closed intervals and of their weights, if the open interval precedes them.
    sums_with_open: (f64, f64),
}

/// Number of intervals in the RFC.
const INTERVALS: usize = 8;
/// Maximum number of intervals.
const MAX_INTERVALS: usize = 128;

/// Returns the weight of an interval with `later` newer ones, of `of` intervals.
fn weight(later: usize, of: usize) -> f64 {
    let half = of / 2;
    if later < half {
        1.0
    } else {
        1.0 - (later - half + 1) as f64 / (of - half + 1) as f64
    }
}

impl LossIntervals {
    fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// Adds a packet that may begin a loss event. Returns the number of packets since the last event.
    fn extend(&mut self) -> f64 {
        self.open += 1.0;
        self.open
    }

    /// Adds a closed interval before a loss event. At most `interval_count` intervals are kept.
    fn push(&mut self, interval: f64, interval_count: usize) {
        self.closed.push_front(interval);
        self.closed.truncate(interval_count);
        self.open = 0.0;
        let sums = |before: usize| {
            let intervals = self.closed.iter().enumerate();
            intervals.fold((0.0, 0.0), |(sum, weights), (later, interval)| {
                let weight = if later + before < interval_count {
                    weight(later + before, interval_count)
                } else {
                    0.0
                };
                (sum + weight * interval, weights + weight)
            })
        };
        let (sum, weights) = sums(0);
        self.mean = sum / weights;
        self.sums_with_open = sums(1);
    }

    /// Returns the inverse of the mean interval. The open interval counts if it increases the mean.
    fn loss_event_rate(&self) -> Option<f64> {
        if self.is_empty() {
            return None;
        }
        let (sum, weights) = self.sums_with_open;
        let with_open = (self.open + sum) / (1.0 + weights);
        Some(1.0 / self.mean.max(with_open).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weighted mean of eight intervals (RFC 5348, section 5.4).
    #[test]
    fn loss_event_rates_match_rfc_5348() {
        let mut intervals = LossIntervals::default();
        assert_eq!(intervals.loss_event_rate(), None);
        for interval in [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0] {
            intervals.push(interval, INTERVALS);
        }
        // The latest first: weight 1 for 30 to 60, 0.8 for 70, 0.6 for 80, 0.4 for 90, 0.2 for 100; 6 in
        // total.
        let mean = (30.0 + 40.0 + 50.0 + 60.0 + 56.0 + 48.0 + 36.0 + 20.0) / 6.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
        intervals.open = 10.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
        // The open interval is first and shifts the others: weight 0.8 for 60, 0.2 for 90, 0 for 100.
        intervals.open = 1000.0;
        let mean = (1000.0 + 30.0 + 40.0 + 50.0 + 48.0 + 42.0 + 32.0 + 18.0) / 6.0;
        assert!((intervals.loss_event_rate().unwrap() - 1.0 / mean).abs() < 1e-15);
    }

    /// A steep profile keeps more intervals, up to a limit.
    #[test]
    fn older_intervals_have_smaller_weights() {
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
