//! Estimation of the smoothed round-trip time and of the retransmission timeout (RFC 6298, Linux, BSD
//! ticks).

use netflow_units::ns;

use crate::{RtoRule, Stack};

/// The round-trip time estimator of one end.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    rule: RtoRule,
    timestamps: bool,
    /// The clock granularity. Times are in fractional nanoseconds in this struct.
    clock: f64,
    min: f64,
    max: f64,
    /// The timeout before back-off.
    base: f64,
    /// The back-off factor, doubled at every timeout.
    backoff: f64,
    state: State,
    /// The sum of all measurements in nanoseconds, and their number.
    sum: (u64, u64),
}

#[derive(Clone, Debug)]
enum State {
    /// Srtt in 1/8 ticks and variance in 1/4 ticks, as in BSD.
    Ticks {
        srtt: i64,
        variance: i64,
        /// The start of the transfer within a tick, in nanoseconds.
        phase_ns: u64,
        tick_ns: u64,
    },
    Exact(Measured),
}

/// The estimates of exact clocks, in nanoseconds.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// The smoothed round-trip time; 0 before the first measurement.
    srtt: f64,
    /// Four times the mean deviation.
    deviation: f64,
    /// The largest `deviation` of the current round trip (Linux's `mdev_max`).
    deviation_max: f64,
    /// The value added to `srtt` in the timeout (Linux's `rttvar`).
    rttvar: f64,
}

impl RttEstimator {
    /// Returns the estimator before any measurement. `phase`, from 0 to 1, is the position within a tick at
    /// time 0.
    pub(crate) fn new(stack: &Stack, phase: f64) -> Self {
        let bounds_s = [stack.min_rto_s, stack.max_rto_s];
        let ticking = Self::with_ticks(stack.initial_rto_s, bounds_s, stack.clock_s, phase);
        Self {
            rule: stack.rto_rule,
            timestamps: stack.timestamps,
            state: match stack.rto_rule {
                RtoRule::Ticks => ticking.state,
                RtoRule::Rfc6298 | RtoRule::Linux => State::Exact(Measured::default()),
            },
            ..ticking
        }
    }

    /// Returns true if retransmitted packets measure the round-trip time, too, because of timestamps.
    pub(crate) fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Returns ns-2's estimator with a clock of ticks. The initial timeout and its bounds are in seconds.
    pub(crate) fn with_ticks(
        initial_s: f64,
        [min_s, max_s]: [f64; 2],
        tick_s: f64,
        phase: f64,
    ) -> Self {
        Self {
            rule: RtoRule::Ticks,
            timestamps: false,
            clock: 1e9 * tick_s,
            min: 1e9 * min_s,
            max: 1e9 * max_s,
            base: 1e9 * initial_s,
            backoff: 1.0,
            state: State::Ticks {
                srtt: 0,
                variance: 12,
                phase_ns: ns(phase * tick_s),
                tick_ns: ns(tick_s).max(1),
            },
            sum: (0, 0),
        }
    }

    /// Returns the retransmission timeout, back-off included.
    pub(crate) fn timeout_ns(&self) -> u64 {
        let least = match self.rule {
            RtoRule::Ticks => 2.0 * self.clock,
            RtoRule::Rfc6298 | RtoRule::Linux => 0.0,
        };
        let timeout = self.base.max(self.min) * self.backoff;
        rounded_ns(timeout.max(least).min(self.max))
    }

    /// Returns the smoothed round-trip time; 0 before the first measurement.
    pub(crate) fn srtt_ns(&self) -> u64 {
        match &self.state {
            State::Ticks { srtt, tick_ns, .. } => *srtt as u64 * tick_ns / 8,
            State::Exact(measured) => rounded_ns(measured.srtt),
        }
    }

    /// Returns the sum of all measurements in nanoseconds, and their number.
    pub(crate) fn sum(&self) -> (u64, u64) {
        self.sum
    }

    /// Doubles the timeout after the timer has fired.
    pub(crate) fn back_off(&mut self) {
        let is_short = self.rule == RtoRule::Ticks && self.backoff < 64.0;
        if is_short || self.base.max(self.min) * self.backoff < self.max {
            self.backoff *= 2.0;
        }
        if let State::Ticks { srtt, variance, .. } = &mut self.state
            && self.backoff > 8.0
        {
            *variance += *srtt >> 3;
            *srtt = 0;
        }
    }

    /// Sets a lower bound of the timeout until the first measurement.
    pub(crate) fn set_min_initial_rto(&mut self, min_s: f64) {
        self.base = self.base.max(1e9 * min_s);
    }

    /// Ends back-off after new data was acknowledged, if that measured a round trip (`measured`). ns-2 does
    /// not require a measurement.
    pub(crate) fn reset_backoff(&mut self, measured: bool) {
        if measured || self.rule == RtoRule::Ticks {
            self.backoff = 1.0;
        }
    }

    /// Adds a measurement: a packet sent at `sent_ns` was acknowledged at `now_ns`. `first_of_round` marks
    /// the first acknowledgement of a round trip.
    pub(crate) fn measure(&mut self, now_ns: u64, sent_ns: u64, first_of_round: bool) {
        let rtt_ns = now_ns.saturating_sub(sent_ns);
        self.sum = (self.sum.0 + rtt_ns, self.sum.1 + 1);
        match &mut self.state {
            State::Ticks {
                srtt,
                variance,
                phase_ns,
                tick_ns,
            } => {
                let into_tick_ns = (sent_ns + *phase_ns) % *tick_ns;
                let rtt = (((rtt_ns + into_tick_ns) / *tick_ns) as i64).max(1);
                if *srtt != 0 {
                    let error = rtt - (*srtt >> 3);
                    *srtt = (*srtt + error).max(1);
                    *variance = (*variance + error.abs() - (*variance >> 2)).max(1);
                } else {
                    *srtt = rtt << 3;
                    *variance = rtt << 1;
                }
                self.base = (((*variance << 3) + *srtt) >> 3) as f64 * *tick_ns as f64;
            }
            State::Exact(measured) => {
                let rtt = (rtt_ns as f64).max(1e3);
                self.base = if self.rule == RtoRule::Linux {
                    measured.linux(rtt, first_of_round, self.min)
                } else {
                    measured.rfc6298(rtt, self.clock)
                };
            }
        }
    }
}

/// Returns the nearest integer; called at every acknowledgement.
#[inline]
fn rounded_ns(time_ns: f64) -> u64 {
    (time_ns + 0.5) as u64
}

impl Measured {
    /// Updates the estimates and returns the timeout (RFC 6298, 2).
    fn rfc6298(&mut self, rtt: f64, clock: f64) -> f64 {
        if self.srtt == 0.0 {
            self.srtt = rtt;
            self.deviation = 2.0 * rtt;
        } else {
            self.deviation += (self.srtt - rtt).abs() - self.deviation / 4.0;
            self.srtt += (rtt - self.srtt) / 8.0;
        }
        self.srtt + self.deviation.max(clock)
    }

    /// Updates the estimates as Linux does and returns the timeout. The deviation decreases slowly, once a
    /// round trip, and not below a minimum.
    fn linux(&mut self, rtt: f64, first_of_round: bool, least: f64) -> f64 {
        if self.srtt == 0.0 {
            self.srtt = rtt;
            self.deviation = 2.0 * rtt;
            self.rttvar = self.deviation.max(least);
            self.deviation_max = self.rttvar;
            return self.srtt + self.rttvar;
        }
        let error = rtt - self.srtt;
        self.srtt += error / 8.0;
        let mut change = error.abs() - self.deviation / 4.0;
        if error < 0.0 && change > 0.0 {
            change /= 8.0;
        }
        self.deviation += change;
        self.deviation_max = self.deviation_max.max(self.deviation);
        self.rttvar = self.rttvar.max(self.deviation_max);
        if first_of_round {
            self.rttvar -= (self.rttvar - self.deviation_max) / 4.0;
            self.deviation_max = least;
        }
        self.srtt + self.rttvar
    }
}
