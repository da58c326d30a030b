//! Congestion window validation: the window of a program that writes little or seldom does not grow
//! (RFC 2861, as in Linux).

use super::super::super::congestion::Window;
use super::{Selective, State};
use crate::Stack;

/// The use of the window.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    initial_window: u32,
    /// The time of the last transmission.
    pub last_sent_ns: u64,
    /// True if the window limited transmission in the current round trip.
    limited: bool,
    /// The maximum number of segments in flight in the current round trip.
    most_out: u32,
    /// The end of the current round trip: it ends when all segments before this one are acknowledged.
    end: u32,
    /// The maximum number of segments in flight since the window was last full.
    used: u32,
    /// The time at which the window was last full.
    full_ns: u64,
}

impl Usage {
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            initial_window: stack.initial_window_pkts,
            last_sent_ns: 0,
            limited: false,
            most_out: 0,
            end: 0,
            used: 0,
            full_ns: 0,
        }
    }
}

impl Selective {
    /// Returns true if the window may grow.
    pub(super) fn is_window_used(&self) -> bool {
        let Window { cwnd, .. } = self.window;
        let twice = self.usage.most_out.saturating_mul(2);
        self.usage.limited || self.window.in_slow_start() && cwnd < twice
    }

    /// Returns the slow-start threshold that keeps the current window.
    fn threshold_to_keep(&self) -> u32 {
        let Window { cwnd, ssthresh } = self.window;
        match self.state {
            State::Recovery | State::Reduced | State::Loss => ssthresh,
            State::Open | State::Disorder => ssthresh.max(cwnd / 2 + cwnd / 4),
        }
    }

    /// Restarts after the program has written. After an idle time longer than the timeout, the window is
    /// halved for each timeout that has passed, down to the initial window.
    pub(in super::super) fn wake(&mut self, now_ns: u64) {
        let timeout_ns = self.rtt.timeout_ns();
        let mut idle_ns = now_ns.saturating_sub(self.usage.last_sent_ns);
        let is_idle = self.segments.out() == 0 && idle_ns > timeout_ns;
        if !is_idle || self.window.cwnd == 0 || self.congestion.model().is_some() {
            return;
        }
        self.window.ssthresh = self.threshold_to_keep();
        let least = self.usage.initial_window.min(self.window.cwnd);
        while idle_ns > timeout_ns && self.window.cwnd > least {
            self.window.cwnd /= 2;
            idle_ns -= timeout_ns;
        }
        self.window.cwnd = self.window.cwnd.max(least);
        self.usage.full_ns = now_ns;
        self.usage.used = 0;
    }

    /// Records the use of the window after all segments that can be sent now are sent.
    pub(super) fn note_usage(&mut self, now_ns: u64, any: bool) {
        let full = self.segments.in_flight() >= self.window.cwnd;
        if !any && !full {
            return;
        }
        let out = self.segments.out();
        let over = self.acknowledged() >= self.usage.end;
        if over || full || !self.usage.limited && out > self.usage.most_out {
            self.usage.limited = full;
            self.usage.most_out = out;
            self.usage.end = self.segments.next();
        }
        if self.is_window_used() {
            self.usage.used = 0;
            self.usage.full_ns = now_ns;
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if now_ns - self.usage.full_ns >= self.rtt.timeout_ns() {
            self.shrink_unused(now_ns);
        }
    }

    /// Gives up half of the unused window, because the window has not been full for one timeout.
    fn shrink_unused(&mut self, now_ns: u64) {
        let used = self.usage.used.max(self.usage.initial_window);
        let is_open = self.state == State::Open && self.congestion.model().is_none();
        if is_open && used < self.window.cwnd {
            self.window.ssthresh = self.threshold_to_keep();
            self.window.cwnd = (self.window.cwnd + used) / 2;
        }
        self.usage.used = 0;
        self.usage.full_ns = now_ns;
    }
}
