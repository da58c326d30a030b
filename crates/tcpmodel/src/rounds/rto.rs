//! The retransmission timeout, from measured round-trip times.

use crate::{RtoRule, Stack};

/// The retransmission timeout of one end.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    rule: RtoRule,
    timestamps: bool,
    clock_s: f64,
    min_s: f64,
    max_s: f64,
    /// Before back-off, in seconds.
    base_s: f64,
    /// Doubles at every timeout.
    backoff: f64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Eighths and quarters of ticks, as BSD keeps them.
    Ticks {
        srtt: i64,
        variance: i64,
        /// Where within a tick the transfer begins, in seconds.
        phase_s: f64,
    },
    Seconds(Measured),
}

/// What exact clocks have measured, in seconds.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// 0 until something was measured.
    srtt_s: f64,
    /// Four times the mean deviation.
    deviation_s: f64,
    /// The largest `deviation_s` of the current round trip (Linux).
    deviation_max_s: f64,
    /// What the timeout has for `deviation_s` (Linux).
    kept_s: f64,
}

impl Rto {
    /// A timeout before anything is measured; `phase` (from 0 to 1) is where the ticks are.
    pub(super) fn new(stack: &Stack, phase: f64) -> Self {
        Self {
            rule: stack.rto_rule,
            timestamps: stack.timestamps,
            clock_s: stack.clock_s,
            min_s: stack.min_rto_s,
            max_s: stack.max_rto_s,
            base_s: stack.initial_rto_s,
            backoff: 1.0,
            state: match stack.rto_rule {
                RtoRule::Ticks => State::Ticks {
                    srtt: 0,
                    variance: 12,
                    phase_s: phase * stack.clock_s,
                },
                RtoRule::Rfc6298 | RtoRule::Linux => State::Seconds(Measured::default()),
            },
        }
    }

    /// Does a packet that was sent again measure the round-trip time?
    pub(super) fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// The timeout, in seconds.
    pub(super) fn timeout_s(&self) -> f64 {
        (self.base_s.max(self.min_s) * self.backoff).min(self.max_s)
    }

    /// The smoothed round-trip time, in seconds; 0 until something was measured.
    pub(super) fn srtt_s(&self) -> f64 {
        match self.state {
            State::Ticks { srtt, .. } => srtt as f64 / 8.0 * self.clock_s,
            State::Seconds(ref measured) => measured.srtt_s,
        }
    }

    /// The timer has fired.
    pub(super) fn back_off(&mut self) {
        if self.timeout_s() < self.max_s {
            self.backoff *= 2.0;
        }
        if let State::Ticks { srtt, variance, .. } = &mut self.state
            && self.backoff > 8.0
        {
            *variance += *srtt >> 3;
            *srtt = 0;
        }
    }

    /// It is at least `least_s` until something is measured.
    pub(super) fn begin_above(&mut self, least_s: f64) {
        self.base_s = self.base_s.max(least_s);
    }

    /// Something new was acknowledged; `measured` says whether that measured a round trip. ns-2
    /// does without.
    pub(super) fn forget_back_off(&mut self, measured: bool) {
        if measured || self.rule == RtoRule::Ticks {
            self.backoff = 1.0;
        }
    }

    /// A packet that was sent at `sent_s` has been acknowledged at `now_s`; `first_of_round` says
    /// that it is the first to be acknowledged of those sent since the last such one.
    pub(super) fn measure(&mut self, now_s: f64, sent_s: f64, first_of_round: bool) {
        match &mut self.state {
            State::Ticks {
                srtt,
                variance,
                phase_s,
            } => {
                let into_tick_s = (sent_s + *phase_s) % self.clock_s;
                let rtt = (((now_s - sent_s + into_tick_s) / self.clock_s) as i64).max(1);
                if *srtt != 0 {
                    let error = rtt - (*srtt >> 3);
                    *srtt = (*srtt + error).max(1);
                    *variance = (*variance + error.abs() - (*variance >> 2)).max(1);
                } else {
                    *srtt = rtt << 3;
                    *variance = rtt << 1;
                }
                self.base_s = (((*variance << 3) + *srtt) >> 3) as f64 * self.clock_s;
            }
            State::Seconds(measured) => {
                let rtt_s = (now_s - sent_s).max(1e-6);
                self.base_s = if self.rule == RtoRule::Linux {
                    measured.linux(rtt_s, first_of_round, self.min_s)
                } else {
                    measured.rfc6298(rtt_s, self.clock_s)
                };
            }
        }
    }
}

impl Measured {
    /// RFC 6298, 2: the timeout, in seconds.
    fn rfc6298(&mut self, rtt_s: f64, clock_s: f64) -> f64 {
        if self.srtt_s == 0.0 {
            self.srtt_s = rtt_s;
            self.deviation_s = 2.0 * rtt_s;
        } else {
            self.deviation_s += (self.srtt_s - rtt_s).abs() - self.deviation_s / 4.0;
            self.srtt_s += (rtt_s - self.srtt_s) / 8.0;
        }
        self.srtt_s + self.deviation_s.max(clock_s)
    }

    /// Linux: the deviation falls slowly, once a round trip, and never below a minimum.
    fn linux(&mut self, rtt_s: f64, first_of_round: bool, least_s: f64) -> f64 {
        if self.srtt_s == 0.0 {
            self.srtt_s = rtt_s;
            self.deviation_s = 2.0 * rtt_s;
            self.kept_s = self.deviation_s.max(least_s);
            self.deviation_max_s = self.kept_s;
            return self.srtt_s + self.kept_s;
        }
        let error_s = rtt_s - self.srtt_s;
        self.srtt_s += error_s / 8.0;
        let mut change_s = error_s.abs() - self.deviation_s / 4.0;
        if error_s < 0.0 && change_s > 0.0 {
            change_s /= 8.0;
        }
        self.deviation_s += change_s;
        self.deviation_max_s = self.deviation_max_s.max(self.deviation_s);
        self.kept_s = self.kept_s.max(self.deviation_max_s);
        if first_of_round {
            self.kept_s -= (self.kept_s - self.deviation_max_s) / 4.0;
            self.deviation_max_s = least_s;
        }
        self.srtt_s + self.kept_s
    }
}
