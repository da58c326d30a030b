//! How much of the window is used: a program that writes little, or seldom, does not earn a larger
//! one (RFC 2861, as Linux has it).

use super::{Selective, State};
use crate::Stack;

/// What is known about the use of the window.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    initial_window: f64,
    /// When anything was sent last, in seconds.
    pub last_sent_s: f64,
    /// Was it the window that kept more from being sent, within the current window?
    limited: bool,
    /// The most segments that were out within the current window.
    most_out: u32,
    /// The current window ends when everything before this segment is acknowledged.
    end: u32,
    /// The most segments that were out since the window was last full.
    used: u32,
    /// When that was, in seconds.
    full_s: f64,
}

impl Usage {
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            initial_window: f64::from(stack.initial_window_pkts),
            last_sent_s: 0.0,
            limited: false,
            most_out: 0,
            end: 0,
            used: 0,
            full_s: 0.0,
        }
    }
}

impl Selective {
    /// May the window grow?
    pub(super) fn is_window_used(&self) -> bool {
        self.usage.limited
            || self.window < self.threshold && self.window < 2.0 * f64::from(self.usage.most_out)
    }

    /// The slow start threshold that remembers the present window.
    fn threshold_to_keep(&self) -> f64 {
        match self.state {
            State::Recovery | State::Loss => self.threshold,
            State::Open | State::Disorder => self.threshold.max((0.75 * self.window).floor()),
        }
    }

    /// A program writes something. After nothing was sent for longer than the timeout, the window
    /// is halved for each timeout that has passed, down to the initial one.
    pub(in super::super) fn wake(&mut self, now_s: f64) {
        let timeout_s = self.rto.timeout_s();
        let mut idle_s = now_s - self.usage.last_sent_s;
        if self.out() > 0 || self.window == 0.0 || idle_s <= timeout_s {
            return;
        }
        self.threshold = self.threshold_to_keep();
        let least = self.usage.initial_window.min(self.window);
        idle_s -= timeout_s;
        while idle_s > 0.0 && self.window > least {
            self.window = (0.5 * self.window).floor();
            idle_s -= timeout_s;
        }
        self.window = self.window.max(least);
        self.usage.full_s = now_s;
        self.usage.used = 0;
    }

    /// Everything that could be sent now is.
    pub(super) fn note_usage(&mut self, now_s: f64, any: bool) {
        let full = self.in_flight() + 1.0 > self.window;
        if !any && !full {
            return;
        }
        let out = self.out();
        let over = self.acknowledged >= self.usage.end;
        if over || full || !self.usage.limited && out > self.usage.most_out {
            self.usage.limited = full;
            self.usage.most_out = out;
            self.usage.end = self.next;
        }
        if self.is_window_used() {
            self.usage.used = 0;
            self.usage.full_s = now_s;
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if now_s - self.usage.full_s >= self.rto.timeout_s() {
            self.shrink_unused(now_s);
        }
    }

    /// The window has not been full for a timeout: half of what was not used is given up.
    fn shrink_unused(&mut self, now_s: f64) {
        let used = f64::from(self.usage.used).max(self.usage.initial_window);
        if self.state == State::Open && used < self.window {
            self.threshold = self.threshold_to_keep();
            self.window = ((self.window + used) / 2.0).floor();
        }
        self.usage.used = 0;
        self.usage.full_s = now_s;
    }
}
