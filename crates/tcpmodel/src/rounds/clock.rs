//! Timers, and when they fire.

use super::rules::Timers;

/// The clock of an end: how its timers are rounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    timers: Timers,
    /// Where, within the coarsest bucket of the wheel, the transfer begins; in seconds.
    phase_s: f64,
}

/// A timer of a wheel this far ahead, in jiffies, goes to the next level.
const LEVEL: f64 = 64.0;
/// A bucket of a level is so many buckets of the level before it.
const COARSER: f64 = 8.0;

impl Clock {
    /// A clock that reads `phase` (from 0 to 1) of its longest period at time 0.
    pub(super) fn new(timers: Timers, phase: f64) -> Self {
        let phase_s = match timers {
            Timers::Exact => 0.0,
            Timers::Wheel { jiffy_s } => phase * 32768.0 * jiffy_s,
        };
        Self { timers, phase_s }
    }

    /// When a timer fires that is set at `now_s` for `delay_s` later.
    pub(super) fn after(&self, now_s: f64, delay_s: f64) -> f64 {
        match self.timers {
            Timers::Exact => now_s + delay_s,
            Timers::Wheel { jiffy_s } => {
                let jiffies = (delay_s / jiffy_s - 1e-6).ceil();
                let due = ((now_s + self.phase_s) / jiffy_s).floor() + jiffies;
                let mut bucket = 1.0;
                while jiffies >= LEVEL * bucket && bucket < 32768.0 {
                    bucket *= COARSER;
                }
                ((due / bucket).floor() + 1.0) * bucket * jiffy_s - self.phase_s
            }
        }
    }

    /// The shortest delay that is worth a timer, in seconds.
    pub(super) fn least_s(&self) -> f64 {
        match self.timers {
            Timers::Exact => 0.0,
            Timers::Wheel { jiffy_s } => 2.0 * jiffy_s,
        }
    }
}
