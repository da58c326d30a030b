//! Congestion window validation: the window of a program that writes little or seldom does not grow
//! (RFC 2861, as in Linux).

use super::super::super::congestion::Window;
use super::{LinuxSender, State};
use crate::Stack;

/// The use of the window.
#[derive(Clone, Debug)]
pub(super) struct CwndValidation {
    initial_window: u32,
    /// The time of the last transmission.
    pub last_sent_ns: u64,
    /// True if the window limited transmission in the current round trip.
    pub limited: bool,
    /// The maximum number of segments in flight in the current round trip.
    max_in_flight: u32,
    /// The end of the current round trip: it ends when all segments before this one are acknowledged.
    round_end: u32,
    /// The maximum number of segments in flight since the window was last full.
    max_out_since_full: u32,
    /// The time at which the window was last full.
    full_ns: u64,
}

impl CwndValidation {
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            initial_window: stack.initial_window_pkts,
            last_sent_ns: 0,
            limited: false,
            max_in_flight: 0,
            round_end: 0,
            max_out_since_full: 0,
            full_ns: 0,
        }
    }
}

impl LinuxSender {
    /// Returns true if the window may grow.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        let Window { cwnd, .. } = self.window;
        let twice = self.validation.max_in_flight.saturating_mul(2);
        self.validation.limited || self.window.in_slow_start() && cwnd < twice
    }

    /// Returns the slow-start threshold that keeps the current window.
    pub(super) fn threshold_to_keep(&self) -> u32 {
        let Window { cwnd, ssthresh } = self.window;
        match self.state {
            State::Recovery | State::Reduced => ssthresh,
            State::Open | State::Disorder | State::Loss => ssthresh.max(cwnd / 2 + cwnd / 4),
        }
    }

    /// Restarts after the program has written. After an idle time longer than the timeout, the window is
    /// halved for each timeout that has passed, down to the initial window.
    pub(in super::super) fn restart_after_idle(&mut self, now_ns: u64) {
        let timeout_ns = self.rtt.timeout_ns();
        let mut idle_ns = now_ns.saturating_sub(self.validation.last_sent_ns);
        let is_idle = self.segments.packets_out() == 0 && idle_ns > timeout_ns;
        if !is_idle || self.window.cwnd == 0 || self.congestion.owns_window() {
            return;
        }
        self.window.ssthresh = self.threshold_to_keep();
        let least = self.validation.initial_window.min(self.window.cwnd);
        while idle_ns > timeout_ns && self.window.cwnd > least {
            self.window.cwnd /= 2;
            idle_ns -= timeout_ns;
        }
        self.window.cwnd = self.window.cwnd.max(least);
        self.validation.full_ns = now_ns;
        self.validation.max_out_since_full = 0;
    }

    /// Records the use of the window after all segments that can be sent now are sent. A window that `is_deferred` for a
    /// larger burst counts as full.
    pub(super) fn validate_cwnd(&mut self, now_ns: u64, has_sent: bool, is_deferred: bool) {
        let full = is_deferred || self.segments.in_flight() >= self.window.cwnd;
        if !has_sent && !full {
            return;
        }
        let out = self.segments.packets_out();
        let over = self.acknowledged() >= self.validation.round_end;
        if over || full || !self.validation.limited && out > self.validation.max_in_flight {
            self.validation.limited = full;
            self.validation.max_in_flight = out;
            self.validation.round_end = self.segments.next();
        }
        if self.is_cwnd_limited() {
            self.validation.max_out_since_full = 0;
            self.validation.full_ns = now_ns;
            return;
        }
        self.validation.max_out_since_full = self.validation.max_out_since_full.max(out);
        if now_ns - self.validation.full_ns >= self.rtt.timeout_ns() {
            self.reduce_unused_cwnd(now_ns);
        }
    }

    /// Gives up half of the unused window, because the window has not been full for one timeout.
    fn reduce_unused_cwnd(&mut self, now_ns: u64) {
        let used = self
            .validation
            .max_out_since_full
            .max(self.validation.initial_window);
        let is_open = self.state == State::Open && !self.congestion.owns_window();
        if is_open && used < self.window.cwnd {
            self.window.ssthresh = self.threshold_to_keep();
            self.window.cwnd = (self.window.cwnd + used) / 2;
        }
        self.validation.max_out_since_full = 0;
        self.validation.full_ns = now_ns;
    }
}
