//! Online tuning of the number of threads: measures whether several threads are faster than one.
//!
//! Threads that often wait for each other lose much time if other processes use the machine. So the choice
//! does not depend on the network alone. The results do not depend on the choice.

use std::time::Duration;

/// Number of intervals in a block that is measured; a block ends earlier after `MAX_BLOCK_S` seconds. Its first
/// interval is not measured because the caches are cold.
const BLOCK: u32 = 8;
const MAX_BLOCK_S: f64 = 0.1;
/// Number of blocks until the other mode is tried: `BACKOFF` after a trial that was faster. After a trial
/// that was slower, the number doubles from 1, at most to `MAX_BACKOFF`.
const BACKOFF: u32 = 4;
const MAX_BACKOFF: u32 = 32;

/// Choice of a mode: one thread or several. The cost of a packet changes with the traffic. So a mode is
/// compared with the other one in the block just before.
#[derive(Clone, Debug)]
pub(crate) struct Tuner {
    /// True if several threads are used now.
    pub use_threads: bool,
    /// True if both modes have been compared.
    pub is_tuned: bool,
    /// True during a trial. `before_s` is the cost of a packet before it, in seconds.
    is_probing: bool,
    before_s: f64,
    /// Intervals, measured seconds and packets of this block.
    intervals: u32,
    elapsed_s: f64,
    pkts: u64,
    /// Number of blocks until the next trial, and its initial value.
    blocks_until_trial: u32,
    backoff: u32,
}

impl Default for Tuner {
    fn default() -> Tuner {
        Tuner {
            use_threads: false,
            is_tuned: false,
            is_probing: false,
            before_s: 0.0,
            intervals: 0,
            elapsed_s: 0.0,
            pkts: 0,
            blocks_until_trial: 0,
            backoff: 1,
        }
    }
}

impl Tuner {
    /// Discards the current block and trial, because later intervals are not comparable.
    pub fn pause(&mut self) {
        if std::mem::take(&mut self.is_probing) {
            self.use_threads = !self.use_threads;
        }
        (self.intervals, self.elapsed_s, self.pkts) = (0, 0.0, 0);
    }

    /// Records an interval that took `took`, in which `pkts` packets arrived at links.
    pub fn record(&mut self, took: Duration, pkts: u64) {
        self.intervals += 1;
        if self.intervals > 1 {
            self.elapsed_s += took.as_secs_f64();
            self.pkts += pkts;
        }
        let is_over = self.intervals >= BLOCK || self.elapsed_s >= MAX_BLOCK_S;
        if !is_over || self.pkts == 0 {
            return;
        }
        let cost_s = self.elapsed_s / self.pkts as f64;
        (self.intervals, self.elapsed_s, self.pkts) = (0, 0.0, 0);
        if self.is_probing {
            (self.is_probing, self.is_tuned) = (false, true);
            self.backoff = if cost_s < self.before_s {
                BACKOFF
            } else {
                self.use_threads = !self.use_threads;
                (2 * self.backoff).min(MAX_BACKOFF)
            };
            self.blocks_until_trial = self.backoff;
        } else if self.blocks_until_trial > 0 {
            self.blocks_until_trial -= 1;
        } else {
            (self.is_probing, self.before_s) = (true, cost_s);
            self.use_threads = !self.use_threads;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of intervals of 1000 with several threads, if these take `took_ms` and one takes 10
    /// ms.
    fn multi_threaded_intervals(took_ms: impl Fn(u32) -> u64) -> u32 {
        let mut tuner = Tuner::default();
        let mut several = 0;
        for i in 0..1000 {
            several += u32::from(tuner.use_threads);
            let ms = if tuner.use_threads { took_ms(i) } else { 10 };
            tuner.record(Duration::from_millis(ms), 1000);
        }
        several
    }

    /// A trial during a change to more traffic, which makes packets cheaper, is repeated soon.
    #[test]
    fn trial_during_traffic_growth_is_repeated() {
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
    fn faster_mode_is_used_and_slower_retried() {
        assert!(multi_threaded_intervals(|_| 6) > 850);
        assert!(multi_threaded_intervals(|_| 12) < 150);
        assert!(multi_threaded_intervals(|_| 100) < 50);
        // Two threads are tried after two long intervals.
        let mut tuner = Tuner::default();
        for _ in 0..2 {
            assert!(!tuner.use_threads);
            tuner.record(Duration::from_millis(300), 1000);
        }
        assert!(tuner.use_threads);
        // A machine with other load at first.
        assert!(multi_threaded_intervals(|i| if i < 300 { 100 } else { 6 }) > 250);
    }
}
