//! The retransmission timeout, from measured round-trip times.

use super::rules::{RtoRule, Rules};

/// The retransmission timeout of one end.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    rule: RtoRule,
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
    Seconds {
        /// 0 until something was measured.
        srtt: f64,
        /// Four times the mean deviation.
        deviation: f64,
        /// The largest `deviation` of the current round trip (Linux).
        deviation_max: f64,
        variance: f64,
    },
}

impl Rto {
    /// A timeout before anything is measured; `phase` (from 0 to 1) is where the ticks are.
    pub(super) fn new(rules: &Rules, phase: f64) -> Self {
        Self {
            rule: rules.rto,
            min_s: rules.min_rto_s,
            max_s: rules.max_rto_s,
            base_s: rules.initial_rto_s,
            backoff: 1.0,
            state: match rules.rto {
                RtoRule::Ticks { tick_s } => State::Ticks {
                    srtt: 0,
                    variance: 12,
                    phase_s: phase * tick_s,
                },
                RtoRule::Rfc6298 | RtoRule::Linux => State::Seconds {
                    srtt: 0.0,
                    deviation: 0.0,
                    deviation_max: 0.0,
                    variance: 0.0,
                },
            },
        }
    }

    /// Does a packet that was sent again measure the round-trip time?
    pub(super) fn has_timestamps(&self) -> bool {
        self.rule == RtoRule::Linux
    }

    /// The timeout, in seconds.
    pub(super) fn timeout_s(&self) -> f64 {
        (self.base_s.max(self.min_s) * self.backoff).min(self.max_s)
    }

    /// The smoothed round-trip time, in seconds; 0 until something was measured.
    pub(super) fn srtt_s(&self) -> f64 {
        match self.state {
            State::Ticks { srtt, .. } => match self.rule {
                RtoRule::Ticks { tick_s } => srtt as f64 / 8.0 * tick_s,
                _ => 0.0,
            },
            State::Seconds { srtt, .. } => srtt,
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

    /// Something new was acknowledged.
    pub(super) fn forget_back_off(&mut self) {
        self.backoff = 1.0;
    }

    /// A packet that was sent at `sent_s` has been acknowledged at `now_s`; `first_of_round` says
    /// that it is the first to be acknowledged of those sent since the last such one.
    pub(super) fn measure(&mut self, now_s: f64, sent_s: f64, first_of_round: bool) {
        match (&mut self.state, self.rule) {
            (
                State::Ticks {
                    srtt,
                    variance,
                    phase_s,
                },
                RtoRule::Ticks { tick_s },
            ) => {
                let into_tick_s = (sent_s + *phase_s) % tick_s;
                let rtt = (((now_s - sent_s + into_tick_s) / tick_s) as i64).max(1);
                if *srtt != 0 {
                    let error = rtt - (*srtt >> 3);
                    *srtt = (*srtt + error).max(1);
                    *variance = (*variance + error.abs() - (*variance >> 2)).max(1);
                } else {
                    *srtt = rtt << 3;
                    *variance = rtt << 1;
                }
                self.base_s = (((*variance << 3) + *srtt) >> 3) as f64 * tick_s;
            }
            (
                State::Seconds {
                    srtt,
                    deviation,
                    deviation_max,
                    variance,
                },
                rule,
            ) => {
                let rtt_s = (now_s - sent_s).max(1e-6);
                let least_s = if rule == RtoRule::Linux {
                    self.min_s
                } else {
                    0.0
                };
                if *srtt == 0.0 {
                    *srtt = rtt_s;
                    *deviation = 2.0 * rtt_s;
                    *variance = deviation.max(least_s);
                    *deviation_max = *variance;
                } else {
                    let error = rtt_s - *srtt;
                    *srtt += error / 8.0;
                    let mut change = error.abs() - *deviation / 4.0;
                    if rule == RtoRule::Linux && error < 0.0 && change > 0.0 {
                        change /= 8.0;
                    }
                    *deviation += change;
                    if rule == RtoRule::Linux {
                        *deviation_max = deviation_max.max(*deviation);
                        *variance = variance.max(*deviation_max);
                        if first_of_round {
                            if *deviation_max < *variance {
                                *variance -= (*variance - *deviation_max) / 4.0;
                            }
                            *deviation_max = least_s;
                        }
                    } else {
                        *variance = *deviation;
                    }
                }
                self.base_s = *srtt + *variance;
            }
            (State::Ticks { .. }, _) => {}
        }
    }
}
