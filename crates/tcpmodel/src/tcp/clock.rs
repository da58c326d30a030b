//! Timers, and when they fire.

use crate::{RtoRule, Stack};

/// The clock of an end: when a timer that is due fires.
///
/// That is at once, but for Linux, whose timers fire when the bucket of a hierarchical wheel comes
/// by: up to an eighth late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// 0 for exact timers.
    jiffy_ns: u64,
    /// Where, within the coarsest bucket of the wheel, the transfer begins.
    phase_ns: u64,
}

/// A timer of a wheel this far ahead, in jiffies, goes to the next level.
const LEVEL: u64 = 64;
/// A bucket of a level is so many buckets of the level before it.
const COARSER: u64 = 8;
/// A bucket of the coarsest level, in jiffies.
const COARSEST: u64 = 32768;

impl Clock {
    /// A clock that reads `phase` (from 0 to 1) of its longest period at time 0.
    pub(crate) fn new(stack: &Stack, phase: f64) -> Self {
        let jiffy_ns = match stack.rto_rule {
            RtoRule::Linux => netflow_units::ns(stack.clock_s),
            RtoRule::Ticks | RtoRule::Rfc6298 => 0,
        };
        Self {
            jiffy_ns,
            phase_ns: (phase * (COARSEST * jiffy_ns) as f64) as u64,
        }
    }

    /// When a timer fires that is set at `now_ns` for `delay_ns` later.
    pub(crate) fn after(&self, now_ns: u64, delay_ns: u64) -> u64 {
        if self.jiffy_ns == 0 {
            return now_ns.saturating_add(delay_ns);
        }
        let jiffies = delay_ns.div_ceil(self.jiffy_ns);
        let due = (now_ns + self.phase_ns) / self.jiffy_ns + jiffies;
        let mut bucket = 1;
        while jiffies >= LEVEL * bucket && bucket < COARSEST {
            bucket *= COARSER;
        }
        (due / bucket + 1) * bucket * self.jiffy_ns - self.phase_ns
    }

    /// The shortest delay that is worth a timer.
    pub(crate) fn least_ns(&self) -> u64 {
        2 * self.jiffy_ns
    }

    /// Whole jiffies since some moment: what CUBIC reads; milliseconds where timers are exact.
    pub(crate) fn jiffies(&self, now_ns: u64) -> u64 {
        match self.jiffy_ns {
            0 => now_ns / 1_000_000,
            jiffy_ns => (now_ns + self.phase_ns) / jiffy_ns,
        }
    }

    /// Jiffies per second.
    pub(crate) fn jiffies_per_s(&self) -> u64 {
        match self.jiffy_ns {
            0 => 1000,
            jiffy_ns => (1_000_000_000 / jiffy_ns).max(1),
        }
    }
}
