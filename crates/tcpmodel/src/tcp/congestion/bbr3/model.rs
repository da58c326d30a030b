//! The model of the path of BBR version 3: bandwidth, packets in flight, lower bounds, and α.

use super::super::ack_aggregation::EXTRA_ACKED_ROUNDS;
use super::super::{Delivery, Window};
use super::{
    BETA, Bbr3, Bounds, ECN_ALPHA_GAIN, ECN_FACTOR, ECN_MAX_RTT_NS, ECN_THRESHOLD, FULL_ECN_ROUNDS,
    Fraction, NO_BOUND,
};

impl Bbr3 {
    pub(super) fn update_round(&mut self, delivery: &Delivery) {
        let measured = delivery.rate.measured;
        self.round_start = measured.is_some_and(|it| it.prior_delivered >= self.round_end);
        if self.round_start {
            self.round_end = delivery.rate.delivered;
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
            self.update_ecn_alpha(delivery);
        }
    }

    /// Updates α, the smoothed share of marked packets.
    pub(super) fn update_ecn_alpha(&mut self, delivery: &Delivery) {
        self.is_ecn_eligible |= self.has_ecn_low && self.min_rtt.ns <= ECN_MAX_RTT_NS;
        let rate = &delivery.rate;
        let delivered = rate.delivered - self.alpha_delivered;
        if !self.is_ecn_eligible || delivered == 0 {
            return;
        }
        let marked = rate.marked - self.alpha_marked;
        let share = Fraction((256 * marked / delivered) as u32);
        let alpha =
            ECN_ALPHA_GAIN.rest().part_of(self.ecn_alpha.0) + ECN_ALPHA_GAIN.part_of(share.0);
        self.ecn_alpha = Fraction(alpha).min(Fraction::ONE);
        (self.alpha_delivered, self.alpha_marked) = (rate.delivered, rate.marked);
        if self.full_bw_reached {
            return;
        }
        self.startup_ecn_rounds = if share >= ECN_THRESHOLD {
            self.startup_ecn_rounds + 1
        } else {
            0
        };
        if self.startup_ecn_rounds >= FULL_ECN_ROUNDS {
            self.on_queue_too_high_in_startup();
        }
    }

    /// Updates the delivery rate, and rate and volume of the last round trip.
    pub(super) fn update_latest_delivery(&mut self, delivery: &Delivery) {
        self.loss_round_start = false;
        self.sample_bw = 0.0;
        let Some(measured) = delivery.rate.measured else {
            return;
        };
        self.sample_bw = measured.delivered as f64 / measured.interval_ns as f64;
        if delivery.acked.delivered == 0 {
            return;
        }
        self.bw_latest = self.bw_latest.max(self.sample_bw);
        self.inflight_latest = self.inflight_latest.max(measured.delivered as u32);
        if measured.prior_delivered >= self.loss_round_end {
            self.loss_round_end = delivery.rate.delivered;
            self.loss_round_start = true;
        }
    }

    /// Starts rate and volume of the next round trip.
    pub(super) fn advance_latest_delivery(&mut self, delivery: &Delivery) {
        if self.loss_round_start
            && !delivery.acks_tail_probe
            && let Some(measured) = delivery.rate.measured
        {
            self.bw_latest = self.sample_bw;
            self.inflight_latest = measured.delivered as u32;
        }
    }

    /// Updates the maximum bandwidth and, once per round trip, the lower bounds.
    pub(super) fn update_congestion_signals(&mut self, window: &Window, delivery: &Delivery) {
        let Some(measured) = delivery.rate.measured else {
            return;
        };
        if delivery.acked.delivered == 0 {
            return;
        }
        if !measured.is_app_limited || self.sample_bw >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(self.sample_bw);
        }
        self.loss_in_round |= delivery.newly_lost > 0;
        if self.loss_round_start {
            self.adapt_lower_bounds(window);
            (self.loss_in_round, self.ecn_in_round) = (false, false);
        }
    }

    /// Starts the next cycle of the maximum bandwidth, if the current one has a sample.
    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    /// Reduces the lower bounds after a round trip with losses or marks, unless it probes for bandwidth.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.state.is_probing_bandwidth() || !self.ecn_in_round && !self.loss_in_round {
            return;
        }
        if self.bounds.inflight_lo == NO_BOUND {
            self.bounds.inflight_lo = window.cwnd;
        }
        let before = self.bounds;
        if self.loss_in_round {
            let bw_lo = if before.bw_lo == f64::INFINITY {
                self.max_bw()
            } else {
                before.bw_lo
            };
            let rest = BETA.rest();
            self.bounds.bw_lo = self.bw_latest.max(bw_lo * rest.get());
            let inflight_lo = rest.part_of(before.inflight_lo);
            self.bounds.inflight_lo = self.inflight_latest.max(inflight_lo);
        }
        if self.ecn_in_round {
            let cut = Fraction(ECN_FACTOR.part_of(self.ecn_alpha.0)).rest();
            let inflight_lo = cut.part_of(before.inflight_lo);
            self.bounds.inflight_lo = self.bounds.inflight_lo.min(inflight_lo);
        }
    }

    pub(super) fn reset_lower_bounds(&mut self) {
        self.bounds = Bounds {
            inflight_hi: self.bounds.inflight_hi,
            ..Bounds::NONE
        };
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        (self.loss_in_round, self.ecn_in_round) = (false, false);
        (self.loss_in_cycle, self.ecn_in_cycle) = (false, false);
        (self.bw_latest, self.inflight_latest) = (0.0, 0);
    }

    pub(super) fn update_aggregation(&mut self, window: &Window, delivery: &Delivery) {
        let rounds = if self.full_bw_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        let rounds = self.round_start.then_some(rounds);
        self.aggregation.update(window, delivery, self.bw(), rounds);
    }
}
