//! Timers, and when they fire.

use crate::{RtoRule, Stack};

/// The clock of an end: when a timer that is due fires.
///
/// That is at once, but for Linux, whose timers fire when the bucket of a hierarchical wheel comes
/// by: up to an eighth late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// 0 for exact timers.
    jiffy_s: f64,
    /// Where, within the coarsest bucket of the wheel, the transfer begins; in seconds.
    phase_s: f64,
}

/// A timer of a wheel this far ahead, in jiffies, goes to the next level.
const LEVEL: f64 = 64.0;
/// A bucket of a level is so many buckets of the level before it.
const COARSER: f64 = 8.0;
/// A bucket of the coarsest level, in jiffies.
const COARSEST: f64 = 32768.0;

impl Clock {
    /// A clock that reads `phase` (from 0 to 1) of its longest period at time 0.
    pub(super) fn new(stack: &Stack, phase: f64) -> Self {
        let jiffy_s = match stack.rto_rule {
            RtoRule::Linux => stack.clock_s,
            RtoRule::Ticks | RtoRule::Rfc6298 => 0.0,
        };
        Self {
            jiffy_s,
            phase_s: phase * COARSEST * jiffy_s,
        }
    }

    /// When a timer fires that is set at `now_s` for `delay_s` later.
    pub(super) fn after(&self, now_s: f64, delay_s: f64) -> f64 {
        if self.jiffy_s == 0.0 {
            return now_s + delay_s;
        }
        let jiffies = (delay_s / self.jiffy_s - 1e-6).ceil();
        let due = ((now_s + self.phase_s) / self.jiffy_s).floor() + jiffies;
        let mut bucket = 1.0;
        while jiffies >= LEVEL * bucket && bucket < COARSEST {
            bucket *= COARSER;
        }
        ((due / bucket).floor() + 1.0) * bucket * self.jiffy_s - self.phase_s
    }

    /// The shortest delay that is worth a timer, in seconds.
    pub(super) fn least_s(&self) -> f64 {
        2.0 * self.jiffy_s
    }
}
