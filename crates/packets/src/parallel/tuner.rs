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
const BACKOFF: u32 = 4;
const MAX_BACKOFF: u32 = 32;

/// One way or the other. What a packet costs changes with the traffic; so a way is compared with the other one as it was
/// just before.
#[derive(Clone, Debug)]
pub(crate) struct Tuner {
    /// Whether several threads follow the network now.
    pub use_threads: bool,
    /// Whether both ways have been compared.
    pub is_tuned: bool,
    /// Whether that is a trial, and how long a packet took before it, in seconds.
    is_probing: bool,
    before_s: f64,
    /// Of this block.
    stretches: u32,
    took_s: f64,
    pkts: u64,
    /// Blocks until the other way is tried, and how many there were last time.
    left: u32,
    backoff: u32,
}

impl Default for Tuner {
    fn default() -> Tuner {
        Tuner {
            use_threads: false,
            is_tuned: false,
            is_probing: false,
            before_s: 0.0,
            stretches: 0,
            took_s: 0.0,
            pkts: 0,
            left: 0,
            backoff: 1,
        }
    }
}

impl Tuner {
    /// Nothing is to be chosen for a while: what is measured after it has nothing to do with what was before.
    pub fn pause(&mut self) {
        if std::mem::take(&mut self.is_probing) {
            self.use_threads = !self.use_threads;
        }
        (self.stretches, self.took_s, self.pkts) = (0, 0.0, 0);
    }

    /// A stretch of time took so long, in which so many packets arrived at links.
    pub fn record(&mut self, took: Duration, pkts: u64) {
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
        if self.is_probing {
            (self.is_probing, self.is_tuned) = (false, true);
            self.backoff = match cost_s < self.before_s {
                true => BACKOFF,
                false => {
                    self.use_threads = !self.use_threads;
                    (2 * self.backoff).min(MAX_BACKOFF)
                }
            };
            self.left = self.backoff;
        } else if self.left > 0 {
            self.left -= 1;
        } else {
            (self.is_probing, self.before_s) = (true, cost_s);
            self.use_threads = !self.use_threads;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand stretches were left to several threads that take so long.
    fn left_to_several(took_ms: impl Fn(u32) -> u64) -> u32 {
        let mut tuner = Tuner::default();
        let mut several = 0;
        for i in 0..1000 {
            several += u32::from(tuner.use_threads);
            let ms = if tuner.use_threads { took_ms(i) } else { 10 };
            tuner.record(Duration::from_millis(ms), 1000);
        }
        several
    }

    /// A trial that coincides with more traffic, which makes packets cheaper, is made again soon.
    #[test]
    fn traffic_that_grows_misleads_for_a_moment_only() {
        let mut tuner = Tuner::default();
        let mut several = 0;
        for i in 0..200 {
            let ms = match (i, tuner.use_threads) {
                (0..16, _) => 50,
                (_, false) => 10,
                (_, true) => 6,
            };
            several += u32::from(tuner.use_threads);
            tuner.record(Duration::from_millis(ms), 1000);
        }
        assert!(several > 140, "{several}");
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_not_forgotten() {
        assert!(left_to_several(|_| 6) > 850);
        assert!(left_to_several(|_| 12) < 150);
        assert!(left_to_several(|_| 100) < 50);
        // Two threads are tried after two stretches, where one takes as long as many others.
        let mut tuner = Tuner::default();
        for _ in 0..2 {
            assert!(!tuner.use_threads);
            tuner.record(Duration::from_millis(300), 1000);
        }
        assert!(tuner.use_threads);
        // A machine that others want at first.
        assert!(left_to_several(|i| if i < 300 { 100 } else { 6 }) > 250);
    }
}
