//! ProbeBW of BBR version 3: the cycle of its four states, and the upper bound.

use super::super::{Delivery, Lost, RecoveryState, Window};
use super::{
    AckPhase, BETA, Bbr3, ECN_REPROBE_GAIN, ECN_THRESHOLD, LOSS_THRESHOLD, NO_BOUND, PROBE_BASE_US,
    PROBE_MAX_ROUNDS, PROBE_RANDOM_ROUNDS, PROBE_RANDOM_US, State,
};

impl Bbr3 {
    pub(super) fn start_down(&mut self, now_ns: u64, delivered: u64) {
        self.reset_congestion_signals();
        self.bw_probe_up_count = u32::MAX;
        self.rounds_since_probe = (self.random.bits() % PROBE_RANDOM_ROUNDS) as u32;
        self.probe_wait_ns = 1000 * (PROBE_BASE_US + self.random.bits() % PROBE_RANDOM_US);
        self.cycle_at_ns = now_ns;
        self.ack_phase = AckPhase::ProbeStopping;
        self.round_end = delivered;
        self.set_state(State::ProbeBwDown);
    }

    pub(super) fn start_cruise(&mut self) {
        let bounds = &mut self.bounds;
        if bounds.inflight_lo != NO_BOUND {
            bounds.inflight_lo = bounds.inflight_lo.min(bounds.inflight_hi);
        }
        self.set_state(State::ProbeBwCruise);
    }

    pub(super) fn start_refill(&mut self, delivered: u64, probe_up_rounds: u32) {
        self.reset_lower_bounds();
        (self.bw_probe_up_rounds, self.bw_probe_up_acks) = (probe_up_rounds, 0);
        self.stopped_risky_probe = false;
        self.ack_phase = AckPhase::Refilling;
        self.round_end = delivered;
        self.set_state(State::ProbeBwRefill);
    }

    pub(super) fn start_up(&mut self, window: &Window, delivery: &Delivery) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.round_end = delivery.rate.delivered;
        self.cycle_at_ns = delivery.acked.now_ns;
        self.reset_full_bw(self.sample_bw);
        self.set_state(State::ProbeBwUp);
        self.raise_inflight_hi_slope(window);
    }

    /// Doubles the growth of the upper bound in each round trip.
    pub(super) fn raise_inflight_hi_slope(&mut self, window: &Window) {
        let growth = 1 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.bw_probe_up_count = (window.cwnd / growth).max(1);
    }

    /// Raises the upper bound if it limits the window.
    pub(super) fn probe_inflight_hi_upward(&mut self, window: &Window, delivery: &Delivery) {
        if !self.is_limited_by_inflight_hi(window, delivery) {
            return;
        }
        self.bw_probe_up_acks += delivery.acked.delivered;
        if self.bw_probe_up_acks >= self.bw_probe_up_count {
            let more = self.bw_probe_up_acks / self.bw_probe_up_count;
            self.bw_probe_up_acks -= more * self.bw_probe_up_count;
            self.bounds.inflight_hi += more;
            self.may_skip = false;
        }
        if self.round_start {
            self.raise_inflight_hi_slope(window);
        }
    }

    pub(super) fn is_limited_by_inflight_hi(&self, window: &Window, delivery: &Delivery) -> bool {
        delivery.is_cwnd_limited && window.cwnd >= self.bounds.inflight_hi
    }

    /// Returns true if loss or marks of the latest flight are too high.
    pub(super) fn is_inflight_too_high(&self, delivery: &Delivery) -> bool {
        delivery.rate.flight.is_some_and(|it| {
            is_loss_too_high(it.lost, it.in_flight)
                || self.is_ecn_eligible && it.marked > ECN_THRESHOLD.part_of(it.delivered as u32)
        })
    }

    /// Sets the upper bound once per probe, to the flight that was too high, and ends the probe.
    pub(super) fn on_inflight_too_high(&mut self, window: Window, in_flight: u32, lost: &Lost) {
        self.prev_probe_too_high = true;
        self.bw_probe_samples = false;
        if !lost.flight.is_app_limited {
            let least = BETA.rest().part_of(self.target_inflight(window.cwnd));
            self.bounds.inflight_hi = in_flight.max(least);
        }
        if self.state == State::ProbeBwUp {
            self.start_down(lost.now_ns, lost.delivered);
        }
    }

    /// Updates the upper bounds. Returns true if the state has changed.
    pub(super) fn adapt_upper_bounds(&mut self, window: &Window, delivery: &Delivery) -> bool {
        let flight = delivery.rate.flight;
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.bw_probe_samples = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !flight.is_some_and(|it| it.is_app_limited) {
                    self.advance_max_bw();
                }
                if self.stopped_risky_probe && !self.prev_probe_too_high {
                    self.start_refill(delivery.rate.delivered, 0);
                    return true;
                }
            }
        }
        let Some(flight) = flight else {
            return false;
        };
        if self.is_inflight_too_high(delivery) {
            if self.bw_probe_samples {
                let lost = Lost {
                    now_ns: delivery.acked.now_ns,
                    delivered: delivery.rate.delivered,
                    flight,
                };
                self.on_inflight_too_high(*window, flight.in_flight, &lost);
            }
        } else if self.bounds.inflight_hi != NO_BOUND {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(flight.in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_hi_upward(window, delivery);
            }
        }
        false
    }

    /// Starts a probe if it is time: after 2 to 3 s, or earlier if Reno would have a loss at this window.
    pub(super) fn check_time_to_probe(&mut self, window: &Window, delivery: &Delivery) -> bool {
        let delivered = delivery.rate.delivered;
        if self.is_ecn_eligible
            && self.ecn_in_cycle
            && !self.loss_in_cycle
            && delivery.recovery == RecoveryState::Open
        {
            let first = ECN_REPROBE_GAIN.part_of(self.bounds.inflight_hi).max(1);
            self.start_refill(delivered, first.ilog2());
            return true;
        }
        let rounds = self.target_inflight(window.cwnd).min(PROBE_MAX_ROUNDS);
        let is_due = delivery.acked.now_ns > self.cycle_at_ns + self.probe_wait_ns
            || self.rounds_since_probe >= rounds;
        if is_due {
            self.start_refill(delivered, 0);
        }
        is_due
    }

    pub(super) fn update_cycle(&mut self, window: &Window, delivery: &Delivery) {
        if !self.full_bw_reached || self.adapt_upper_bounds(window, delivery) {
            return;
        }
        let in_flight = self.in_flight_at_departure(delivery.in_flight_before, delivery);
        match self.state {
            State::Startup | State::Drain | State::ProbeRtt => {}
            State::ProbeBwCruise => {
                self.check_time_to_probe(window, delivery);
            }
            State::ProbeBwRefill => {
                if self.round_start {
                    self.bw_probe_samples = true;
                    self.start_up(window, delivery);
                }
            }
            State::ProbeBwUp => {
                let is_over = if self.prev_probe_too_high && in_flight >= self.bounds.inflight_hi {
                    self.stopped_risky_probe = true;
                    true
                } else if self.is_limited_by_inflight_hi(window, delivery) {
                    self.reset_full_bw(self.sample_bw);
                    false
                } else {
                    self.full_bw_now
                };
                if is_over {
                    self.prev_probe_too_high = false;
                    self.start_down(delivery.acked.now_ns, delivery.rate.delivered);
                }
            }
            State::ProbeBwDown => {
                if !self.check_time_to_probe(window, delivery)
                    && in_flight <= self.inflight_with_headroom()
                    && in_flight <= self.inflight(self.max_bw())
                {
                    self.start_cruise();
                }
            }
        }
    }
}

/// Returns true if more than 2 % of the packets in flight were lost.
pub(super) fn is_loss_too_high(lost: u32, in_flight: u32) -> bool {
    in_flight > 0 && lost > LOSS_THRESHOLD.part_of(in_flight)
}

/// Returns the packets in flight at which the loss rate of this flight exceeded the threshold.
pub(super) fn inflight_at_loss_threshold(lost: u32, in_flight: u32) -> u32 {
    let before = u64::from(in_flight - 1);
    let lost_before = u64::from(lost - 1);
    let threshold = u64::from(LOSS_THRESHOLD.0);
    let budget = (before * threshold + 255) >> 8;
    let prefix = (budget.saturating_sub(lost_before) << 8) / (256 - threshold);
    (before + prefix) as u32
}
