//! Startup and Drain of BBR version 3.

use super::super::bbr::{FULL_GROWTH, FULL_ROUNDS};
use super::super::{Delivery, RecoveryState, Window};
use super::{Bbr3, FULL_LOSSES, State};

impl Bbr3 {
    pub(super) fn on_queue_too_high_in_startup(&mut self) {
        self.full_bw_reached = true;
        self.bounds.inflight_hi = self.inflight(self.max_bw()).max(self.inflight_latest);
    }

    /// Ends Startup after a round trip of recovery with high loss.
    pub(super) fn check_startup_loss(&mut self, delivery: &Delivery) {
        if self.full_bw_reached {
            return;
        }
        self.losses_in_round += u32::from(delivery.newly_lost > 0);
        if self.loss_round_start {
            if delivery.recovery == RecoveryState::Recovery
                && self.losses_in_round >= FULL_LOSSES
                && self.is_inflight_too_high(delivery)
            {
                self.on_queue_too_high_in_startup();
                return;
            }
            self.losses_in_round = 0;
        }
    }

    /// Restarts the search for a bandwidth that no longer grows, from `bandwidth`.
    pub(super) fn reset_full_bw(&mut self, bandwidth: f64) {
        (self.full_bw, self.full_bw_rounds, self.full_bw_now) = (bandwidth, 0, false);
    }

    /// The pipe is full if the bandwidth has grown by less than 25 % in three round trips.
    pub(super) fn check_full_bw_reached(&mut self, delivery: &Delivery) {
        let is_app_limited = delivery.rate.flight.is_some_and(|it| it.is_app_limited);
        if self.full_bw_now || is_app_limited {
            return;
        }
        if self.sample_bw >= FULL_GROWTH * self.full_bw {
            self.reset_full_bw(self.sample_bw);
        } else if self.round_start {
            self.full_bw_rounds += 1;
            self.full_bw_now = self.full_bw_rounds >= FULL_ROUNDS;
            self.full_bw_reached |= self.full_bw_now;
        }
    }

    pub(super) fn check_drain(&mut self, window: &mut Window, delivery: &Delivery) {
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            window.ssthresh = self.inflight(self.max_bw());
            self.reset_congestion_signals();
        }
        if self.state == State::Drain
            && self.in_flight_at_departure(delivery.in_flight, delivery)
                <= self.inflight(self.max_bw())
        {
            self.start_down(delivery.acked.now_ns, delivery.rate.delivered);
        }
    }
}
