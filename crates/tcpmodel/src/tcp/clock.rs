//! Timer granularity of an end of a connection.

use crate::{RtoRule, Stack};

/// The clock of an end, which determines when a timer fires.
///
/// Exact timers fire when they are due. Linux's timers fire when the bucket of a hierarchical timer wheel
/// expires, so they are late by up to 1/8 of their delay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The duration of a jiffy; 0 for exact timers.
    jiffy_ns: u64,
    /// The start of the transfer within the coarsest bucket of the wheel.
    phase_ns: u64,
}

/// The smallest delay, in jiffies of the current level, that belongs to the next level of the wheel.
const WHEEL_LEVEL_JIFFIES: u64 = 64;
/// The ratio of the bucket sizes of consecutive levels.
const WHEEL_LEVEL_RATIO: u64 = 8;
/// The bucket size of the coarsest level, in jiffies.
const MAX_WHEEL_BUCKET_JIFFIES: u64 = 32768;

impl Clock {
    /// Returns a clock at `phase` (from 0 to 1) of its longest period at time 0.
    pub(crate) fn new(stack: &Stack, phase: f64) -> Self {
        let jiffy_ns = match stack.rto_rule {
            RtoRule::Linux => netflow_units::ns(stack.clock_s),
            RtoRule::Ticks | RtoRule::Rfc6298 => 0,
        };
        Self {
            jiffy_ns,
            phase_ns: (phase * (MAX_WHEEL_BUCKET_JIFFIES * jiffy_ns) as f64) as u64,
        }
    }

    /// Returns the time at which a timer fires that is set at `now_ns` with a delay of `delay_ns`.
    pub(crate) fn after(&self, now_ns: u64, delay_ns: u64) -> u64 {
        if self.jiffy_ns == 0 {
            return now_ns.saturating_add(delay_ns);
        }
        let jiffies = delay_ns.div_ceil(self.jiffy_ns);
        let due = (now_ns + self.phase_ns) / self.jiffy_ns + jiffies;
        let mut bucket = 1;
        while jiffies >= WHEEL_LEVEL_JIFFIES * bucket && bucket < MAX_WHEEL_BUCKET_JIFFIES {
            bucket *= WHEEL_LEVEL_RATIO;
        }
        (due / bucket + 1) * bucket * self.jiffy_ns - self.phase_ns
    }

    /// Returns the shortest delay for which a timer is set.
    pub(crate) fn min_delay_ns(&self) -> u64 {
        2 * self.jiffy_ns
    }

    /// Returns the number of jiffies since a fixed origin, the time base of CUBIC; milliseconds with exact
    /// timers.
    pub(crate) fn jiffies(&self, now_ns: u64) -> u64 {
        match self.jiffy_ns {
            0 => now_ns / 1_000_000,
            jiffy_ns => (now_ns + self.phase_ns) / jiffy_ns,
        }
    }

    /// Returns the number of jiffies per second.
    pub(crate) fn jiffies_per_s(&self) -> u64 {
        match self.jiffy_ns {
            0 => 1000,
            jiffy_ns => (1_000_000_000 / jiffy_ns).max(1),
        }
    }
}
