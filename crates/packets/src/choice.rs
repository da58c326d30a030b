//! Whether several threads are faster than one, found out while they run.
//!
//! Threads that wait for each other again and again lose much where others want the machine, too; so
//! this is no matter of the network alone. What comes out does not depend on it.

use std::time::Duration;

/// So many stretches of time are measured together, or fewer that take so long; the first of them not, since memory is
/// cold.
const BLOCK: u32 = 8;
const LONG_S: f64 = 0.1;
/// After so many blocks the slower way is tried again; later, if it was far slower.
const TRY_AFTER: u32 = 20;
const TRY_LATER: u32 = 60;

/// One way or the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// Whether several threads follow the network now.
    pub several: bool,
    /// Seconds that a packet takes with one thread, and with several, once that is known.
    cost_s: [Option<f64>; 2],
    /// Of this block.
    stretches: u32,
    took_s: f64,
    pkts: u64,
    /// Blocks until the other way is tried.
    patience: u32,
}

impl Choice {
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
        self.cost_s[usize::from(self.several)] = Some(self.took_s / self.pkts as f64);
        (self.stretches, self.took_s, self.pkts) = (0, 0.0, 0);
        let [Some(one_s), Some(several_s)] = self.cost_s else {
            self.several = !self.several;
            return;
        };
        let best = several_s < one_s;
        if self.several == best && self.patience == 0 {
            self.several = !best;
            let is_close = one_s.max(several_s) < 1.5 * one_s.min(several_s);
            self.patience = if is_close { TRY_AFTER } else { TRY_LATER };
        } else {
            self.several = best;
            self.patience = self.patience.saturating_sub(1);
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
