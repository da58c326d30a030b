//! Whether several threads are faster than one, found out while they run.
//!
//! Threads that wait for each other again and again lose much where others want the machine, too; so
//! this is no matter of the network alone. What comes out does not depend on it.

use std::time::Duration;

/// So many stretches of time are measured together, or fewer that take so long; the first of them not, since memory is
/// cold.
const BLOCK: u32 = 8;
const LONG_S: f64 = 0.1;
/// A way that was faster than the other one is kept for so many blocks, and the one that it is compared with then; at the start
/// for one. Where it is still the faster one it is kept twice as long each time, at most for so many.
const PATIENCE: u32 = 4;
const MOST_PATIENCE: u32 = 32;

/// One way or the other. What a packet costs changes with the traffic; so a way is compared with the other one as it was
/// just before.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// Whether several threads follow the network now.
    pub several: bool,
    /// Whether both ways have been compared.
    pub is_made: bool,
    /// Whether that is a trial, and how long a packet took before it, in seconds.
    on_trial: bool,
    before_s: f64,
    /// Of this block.
    stretches: u32,
    took_s: f64,
    pkts: u64,
    /// Blocks until the other way is tried, and how many there were last time.
    left: u32,
    patience: u32,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            several: false,
            is_made: false,
            on_trial: false,
            before_s: 0.0,
            stretches: 0,
            took_s: 0.0,
            pkts: 0,
            left: 0,
            patience: 1,
        }
    }
}

impl Choice {
    /// Nothing is to be chosen for a while: what is measured after it has nothing to do with what was before.
    pub fn pause(&mut self) {
        if std::mem::take(&mut self.on_trial) {
            self.several = !self.several;
        }
        (self.stretches, self.took_s, self.pkts) = (0, 0.0, 0);
    }

    /// A stretch of time took so long, in which so many packets arrived at links.
    pub fn note(&mut self, took: Duration, pkts: u64) {
        self.stretches += 1;
        if self.stretches > 1 {
            self.took_s += took.as_secs_f64();
            self.pkts += pkts;
        }
        let is_over = self.stretches >= BLOCK || self.took_s >= LONG_S;
        if !is_over || self.pkts == 0 {
            return;
        }
        let cost_s = self.took_s / self.pkts as f64;
        (self.stretches, self.took_s, self.pkts) = (0, 0.0, 0);
        if self.on_trial {
            (self.on_trial, self.is_made) = (false, true);
            self.patience = match cost_s < self.before_s {
                true => PATIENCE,
                false => {
                    self.several = !self.several;
                    (2 * self.patience).min(MOST_PATIENCE)
                }
            };
            self.left = self.patience;
        } else if self.left > 0 {
            self.left -= 1;
        } else {
            (self.on_trial, self.before_s) = (true, cost_s);
            self.several = !self.several;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand stretches were left to several threads that take so long.
    fn left_to_several(took_ms: impl Fn(u32) -> u64) -> u32 {
        let mut choice = Choice::default();
        let mut several = 0;
        for i in 0..1000 {
            several += u32::from(choice.several);
            let ms = if choice.several { took_ms(i) } else { 10 };
            choice.note(Duration::from_millis(ms), 1000);
        }
        several
    }

    /// A trial that coincides with more traffic, which makes packets cheaper, is made again soon.
    #[test]
    fn traffic_that_grows_misleads_for_a_moment_only() {
        let mut choice = Choice::default();
        let mut several = 0;
        for i in 0..200 {
            let ms = match (i, choice.several) {
                (0..16, _) => 50,
                (_, false) => 10,
                (_, true) => 6,
            };
            several += u32::from(choice.several);
            choice.note(Duration::from_millis(ms), 1000);
        }
        assert!(several > 140, "{several}");
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_not_forgotten() {
        assert!(left_to_several(|_| 6) > 850);
        assert!(left_to_several(|_| 12) < 150);
        assert!(left_to_several(|_| 100) < 50);
        // Two threads are tried after two stretches, where one takes as long as many others.
        let mut choice = Choice::default();
        for _ in 0..2 {
            assert!(!choice.several);
            choice.note(Duration::from_millis(300), 1000);
        }
        assert!(choice.several);
        // A machine that others want at first.
        assert!(left_to_several(|i| if i < 300 { 100 } else { 6 }) > 250);
    }
}
