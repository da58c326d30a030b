//! Delayed feedback of sources with a profile: loss estimate, RTT estimate and growth limit of the rate.
//!
//! The results do not depend on the step size if steps are short compared with the RTT. Feedback samples are
//! stored by time, growth is integrated over the step, and the estimate relaxes exponentially.

use std::f64::consts::LN_2;

use netflow_units::math::{exp, exp_m1, ln, ln_1p};

use super::Span;
use super::plan::BranchPlan;
use super::source_law::SentPackets;
use super::sources::{self, PathCondition};
use crate::state::{FeedbackSample, LossEstimate};

/// Number of feedback samples stored per source, and samples per RTT. Lookups reach back less than two RTTs,
/// and RTTs grow.
pub(crate) const FEEDBACK_RING_LEN: usize = 24;
const SAMPLES_PER_RTT: f64 = 8.0;

impl LossEstimate {
    /// Resets the estimate if the source took no sample in the step before, because it was silent or had no
    /// path.
    fn begin(&mut self, now_s: f64, step: u64) {
        if self.since_s.is_none() || self.last_step + 1 < step {
            *self = LossEstimate {
                since_s: Some(now_s),
                until_s: now_s,
                doublings: 1.0,
                ..LossEstimate::default()
            };
        }
        self.last_step = step;
    }

    /// Records the packets sent in a step, for the next sample.
    #[inline]
    pub(super) fn record_sent(&mut self, sent: &SentPackets, branch: &BranchPlan) {
        self.step_pkts = sent.pkts / branch.weight;
    }

    /// Takes a sample. Packets sent in the step before saw the mean of the loss at its start and now.
    fn look(
        &mut self,
        looks: &mut [FeedbackSample],
        sight: &PathCondition,
        now_s: f64,
    ) -> FeedbackSample {
        let loss = sight.loss();
        self.sent_pkts += self.step_pkts;
        self.lost_pkts += self.step_pkts * 0.5 * (self.met_loss + loss);
        (self.step_pkts, self.met_loss) = (0.0, loss);
        let now = FeedbackSample {
            time_s: now_s,
            rtt_s: sight.rtt_s,
            sent_pkts: self.sent_pkts,
            lost_pkts: self.lost_pkts,
        };
        let last = &looks[self.last_look as usize];
        if self.looks == 0 || (now_s - last.time_s) * SAMPLES_PER_RTT >= now.rtt_s {
            self.last_look = (self.last_look + 1) % FEEDBACK_RING_LEN as u32;
            self.looks = (self.looks + 1).min(FEEDBACK_RING_LEN as u32);
            looks[self.last_look as usize] = now;
        }
        now
    }

    /// Returns the feedback interpolated at `time_s`; the first stored sample if the time is before it. The
    /// search starts from `newer` samples back and updates that number.
    #[inline(always)]
    fn at(
        &self,
        looks: &[FeedbackSample],
        now: FeedbackSample,
        time_s: f64,
        newer: &mut u32,
    ) -> FeedbackSample {
        if time_s >= now.time_s {
            return now;
        }
        // Sample number i back from the last one; times decrease.
        let look = |i: u32| {
            let all = FEEDBACK_RING_LEN as u32;
            let from = if i > self.last_look { all } else { 0 };
            &looks[(self.last_look + from - i) as usize]
        };
        // Usually one of the next few.
        while *newer < self.looks && look(*newer).time_s > time_s {
            *newer += 1;
        }
        let after = match *newer {
            0 => now,
            newer => *look(newer - 1),
        };
        if *newer == self.looks {
            return after;
        }
        let before = look(*newer);
        let part = (time_s - before.time_s) / (after.time_s - before.time_s);
        let between = |a: f64, b: f64| a + (b - a) * part;
        FeedbackSample {
            time_s,
            rtt_s: between(before.rtt_s, after.rtt_s),
            sent_pkts: between(before.sent_pkts, after.sent_pkts),
            lost_pkts: between(before.lost_pkts, after.lost_pkts),
        }
    }

    /// Updates the loss estimate of a TCP source from its losses, and returns its value in the middle of the
    /// step. One loss occurs per 1/p packets, so the memory has that length. Without losses the estimate
    /// falls inversely with the packets since the last loss. The equation is dp̂/dn = max(p, p̂) · (p − p̂),
    /// and its solution is exact. Here n is `pkts`: the packets acknowledged or missed in the step, divided
    /// by the number of losses remembered.
    fn learn(&mut self, loss: f64, pkts: f64) -> f64 {
        let before = self.loss;
        let left = if loss > 0.0 {
            exp_m1(-0.5 * pkts * loss)
        } else {
            0.0
        };
        let after = |pkts: f64, forgotten: f64| {
            if before <= loss {
                return before + (loss - before) * forgotten;
            }
            let gone = if loss > 0.0 { forgotten / loss } else { pkts };
            before / (1.0 - forgotten + before * gone)
        };
        // (1 + left)² = 1 + left·(2 + left).
        self.loss = after(pkts, -left * (2.0 + left));
        after(0.5 * pkts, -left)
    }
}

/// Returns the initial rate of slow start, in packets/s.
pub(crate) fn initial_rate_pps(rtt_s: f64) -> f64 {
    2.0 * LN_2 / rtt_s
}

/// Returns the loss probability that a source estimates on a path with this loss and this number of packets
/// per RTT. Several losses in one RTT count as one.
pub fn estimated_loss(lost_pkts: f64, window_pkts: f64) -> f64 {
    // Rounding can leave losses of a window in which nothing was sent.
    if lost_pkts > 0.0 && window_pkts > 0.0 {
        (lost_pkts.min(1.0) / window_pkts).min(1.0)
    } else {
        0.0
    }
}

/// Target gain (`g₀`) that sets the minimum memory for sufficient damping, and the maximum memory, in losses.
const TARGET_GAIN: f64 = 0.2;
const MAX_MEMORY_LOSSES: f64 = 4.0;

/// Returns the memory of the loss estimate in losses: one, or more if sources with a memory of one would
/// oscillate together without end.
///
/// If all rates increase by the fraction ε, queues grow by the additional arrivals of one RTT. Packets wait
/// rtt·ε longer, and the loss is (dB/dw)·rtt·ε larger. Sources react with half of the relative change of p.
/// One RTT passes before a window W is estimated, and it contributes p·W. The rates therefore fall by the
/// fraction g·ε, with g = W·rtt·(dB/dw)/2. The reaction is 1.5 RTTs late, so its gain must be limited.
fn memory_losses(window_pkts: f64, rtt_s: f64, steepness_per_s: f64) -> f64 {
    let gain = 0.5 * window_pkts * rtt_s * steepness_per_s;
    (gain / TARGET_GAIN).clamp(1.0, MAX_MEMORY_LOSSES)
}

/// Deliveries in the step before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastDelivery {
    /// Packets/s of one connection.
    pub pps: f64,
    /// Length of that step, in seconds.
    pub length_s: f64,
}

impl LossEstimate {
    /// Returns the delivery rate extrapolated to the end of a step, at the growth between the middles of the
    /// last two steps. The growth is at most a factor of 2 per RTT. A rate of at least `enough_pps` is
    /// returned without extrapolation.
    fn goes_on(&mut self, last: LastDelivery, length_s: f64, rtt_s: f64, enough_pps: f64) -> f64 {
        let grown = last.pps / self.delivered_pps;
        let between_s = 0.5 * (last.length_s + self.delivered_s);
        let ahead_s = 0.5 * last.length_s + length_s;
        (self.delivered_pps, self.delivered_s) = (last.pps, last.length_s);
        if grown > 1.0 && last.pps < enough_pps {
            let most = LN_2 * ahead_s / rtt_s;
            // The growth factor from zero is infinite.
            let grown = ln(grown.min(f64::MAX));
            last.pps * exp((grown * ahead_s / between_s).min(most))
        } else {
            last.pps
        }
    }

    /// Records the factor by which the rate changes in a step of this length, and by which the RTT changed.
    fn note_change(&mut self, rate: f64, length_s: f64) {
        let round_trip = self.rtt_s / self.before_rtt_s;
        let round_trip = round_trip.max(1.0 / round_trip);
        let most = rate.max(1.0 / rate).max(round_trip);
        // A source that begins has no previous rate.
        let now = if most.is_finite() {
            ln_1p(most - 1.0) / LN_2 / length_s * self.rtt_s
        } else {
            1.0
        };
        let remembered = self.doublings * exp(-length_s / self.rtt_s);
        self.doublings = now.max(remembered);
    }

    /// Returns the loss probability and the RTT that the source assumes during the step. Packets acknowledged
    /// in the step were at the receiver one return-path delay earlier, including the waiting times of the
    /// whole path.
    ///
    /// Several losses within one RTT count as one, as in TCP. So p is at most one per window; in steady state
    /// it is smaller anyway.
    pub(super) fn update_estimate(
        &mut self,
        looks: &mut [FeedbackSample],
        branch: &BranchPlan,
        sight: PathCondition,
        step: u64,
        span: Span,
    ) -> [f64; 2] {
        let learnt = self;
        if span.end_s <= branch.start_s {
            // Conditions before the start are not used.
            (learnt.rtt_s, learnt.before_rtt_s) = (sight.rtt_s, sight.rtt_s);
            return [sight.loss(), sight.rtt_s];
        }
        learnt.begin(span.start_s, step);
        let now = learnt.look(looks, &sight, span.start_s);
        let ago_s = sight.rtt_s - sight.forward_s;
        learnt.before_rtt_s = learnt.rtt_s;
        let mut newer = 0;
        let last = learnt.at(looks, now, span.end_s - ago_s, &mut newer);
        let half_s = 0.5 * span.length_s;
        learnt.rtt_s = learnt
            .at(looks, now, span.end_s - half_s - ago_s, &mut { newer })
            .rtt_s;
        let before = learnt.at(looks, now, learnt.until_s, &mut { newer });
        if last.time_s <= before.time_s {
            return [learnt.loss, learnt.rtt_s]; // nothing was acknowledged
        }
        learnt.until_s = last.time_s;
        // Losses of the RTT that ends at the middle of the acknowledged packets.
        let middle = learnt.at(looks, now, 0.5 * (before.time_s + last.time_s), &mut newer);
        let window = learnt.at(looks, now, middle.time_s - middle.rtt_s, &mut newer);
        let window_pkts = middle.sent_pkts - window.sent_pkts;
        let loss = estimated_loss(middle.lost_pkts - window.lost_pkts, window_pkts);
        let losses = memory_losses(window_pkts, middle.rtt_s, sight.steepness_per_s);
        [
            learnt.learn(loss, (last.sent_pkts - before.sent_pkts) / losses),
            learnt.rtt_s,
        ]
    }

    /// Increases the rate towards `target_pps`, at most at the rate of slow start, and returns the mean rate
    /// over `active_s` seconds of the step. Slow start begins with two packets and doubles every RTT; each
    /// acknowledgement releases two packets.
    ///
    /// A rate that begins at 2·ln 2 packets per RTT and doubles every RTT matches windows of 2, 4, 8 …
    /// packets.
    ///
    /// `rate_pps` is the rate of one connection: of the step before on entry, at the end of this step on
    /// return.
    pub(super) fn grow(
        &mut self,
        rate_pps: &mut f64,
        target_pps: f64,
        delivered: LastDelivery,
        branch: &BranchPlan,
        span: Span,
    ) -> f64 {
        let rtt_s = self.rtt_s;
        let active_s = sources::active_s(branch, span.start_s, span.end_s);
        let first_pps = initial_rate_pps(rtt_s);
        // A constant window over a longer RTT gives a lower rate.
        let window_pps = *rate_pps * self.before_rtt_s / rtt_s;
        let mut target_pps = target_pps;
        // Deliveries of the step before are known once the first packet is acknowledged.
        let since_s = self.since_s.unwrap_or(span.start_s).max(branch.start_s);
        let enough_pps = 0.5 * target_pps;
        let known_pps = self.goes_on(delivered, span.length_s, rtt_s, enough_pps);
        if span.start_s >= since_s + rtt_s {
            target_pps = target_pps.min((2.0 * known_pps).max(first_pps));
        }
        let before_pps = if target_pps < window_pps {
            window_pps
        } else {
            window_pps.max(first_pps).min(target_pps)
        };
        let per_s = LN_2 / rtt_s;
        let change = ln_1p((target_pps - before_pps) / before_pps);
        let moving_s = (change.abs() / per_s).min(active_s);
        let sign = if target_pps < before_pps { -1.0 } else { 1.0 };
        let end_pps = if moving_s < active_s {
            target_pps
        } else {
            before_pps * exp(sign * moving_s * per_s)
        };
        self.note_change(end_pps / *rate_pps, span.length_s);
        *rate_pps = end_pps;
        if active_s <= 0.0 {
            return end_pps;
        }
        let sent = sign * (end_pps - before_pps) / per_s + end_pps * (active_s - moving_s);
        sent / active_s
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Exponential growth is extrapolated to the end of a step exactly, for any step lengths.
    #[test]
    fn delivery_extrapolates_exponential_growth() {
        let rtt_s = 0.1;
        let pps = |time_s: f64| 100.0 * (time_s / rtt_s).exp2();
        for [before_s, last_s, length_s] in [[0.01, 0.01, 0.01], [0.02, 0.005, 0.03]] {
            let mut learnt = LossEstimate {
                delivered_pps: pps(-last_s - 0.5 * before_s),
                delivered_s: before_s,
                ..LossEstimate::default()
            };
            let last = LastDelivery {
                pps: pps(-0.5 * last_s),
                length_s: last_s,
            };
            let known_pps = learnt.goes_on(last, length_s, rtt_s, f64::INFINITY);
            assert!(
                (known_pps / pps(length_s) - 1.0).abs() < 1e-9,
                "{known_pps}"
            );
        }
    }

    proptest! {
        /// The limit `enough_pps` does not change the rate of a source that may send twice its deliveries.
        #[test]
        fn extrapolation_limit_keeps_rate(
            before in 0.0..1e5_f64, last in 0.0..1e5_f64, target in 0.0..3e5_f64,
            [before_s, last_s, length_s] in prop::array::uniform3(1e-6..0.1_f64), rtt_s in 1e-5..3.0_f64,
        ) {
            let sends = |enough_pps: f64| {
                let mut learnt = LossEstimate { delivered_pps: before, delivered_s: before_s, ..LossEstimate::default() };
                let last = LastDelivery { pps: last, length_s: last_s };
                let known_pps = learnt.goes_on(last, length_s, rtt_s, enough_pps);
                target.min((2.0 * known_pps).max(initial_rate_pps(rtt_s)))
            };
            prop_assert_eq!(sends(0.5 * target).to_bits(), sends(f64::INFINITY).to_bits());
        }
    }

    /// Regression: a finished transfer estimated an infinite loss.
    #[test]
    fn loss_of_an_empty_window_is_zero() {
        assert_eq!(estimated_loss(1e-20, 0.0), 0.0);
        assert_eq!(estimated_loss(2e-20, 1e-20), 1.0);
        assert_eq!(estimated_loss(3.0, 10.0), 0.1);
    }

    #[test]
    fn rate_changes_decay_over_round_trips() {
        let mut learnt = LossEstimate {
            rtt_s: 0.1,
            before_rtt_s: 0.1,
            ..LossEstimate::default()
        };
        learnt.note_change(0.1_f64.exp2(), 0.01);
        assert!((learnt.doublings - 1.0).abs() < 1e-9);
        for _ in 0..20 {
            learnt.note_change(1.0, 0.01);
        }
        assert!((learnt.doublings - (-2.0_f64).exp()).abs() < 1e-9);
    }

    /// The memory is one loss at a small gradient of the loss, more at a steep one, and at most four.
    #[test]
    fn memory_grows_with_loss_gradient() {
        assert_eq!(memory_losses(10.0, 0.1, 0.0), 1.0);
        assert_eq!(memory_losses(10.0, 0.1, 0.4), 1.0);
        assert!((memory_losses(10.0, 0.1, 1.0) - 2.5).abs() < 1e-12);
        assert_eq!(memory_losses(10.0, 0.1, f64::INFINITY), 4.0);
    }
}
