//! The set of values of a timer with exponential back-off.

use super::Timers;

/// Two sequences of doubled timers that end at the same maximum.
///
/// The values are in the order of back-off: the initial timer and its doublings, the base timer and its
/// doublings, the maximum.
#[derive(Clone, Debug)]
pub(super) struct BackoffTimers {
    timers_s: Vec<f64>,
    /// The index of the base timer.
    pub base: usize,
}

impl BackoffTimers {
    pub fn new(timers: &Timers) -> Self {
        let doublings = |from_s: f64| {
            std::iter::successors(Some(from_s), |timer_s| Some(2.0 * timer_s))
                .take_while(|timer_s| *timer_s < timers.max_s)
        };
        let mut timers_s = Vec::with_capacity(32);
        timers_s.extend(doublings(timers.initial_s));
        let base = timers_s.len();
        timers_s.extend(doublings(timers.base_s));
        timers_s.push(timers.max_s);
        Self { timers_s, base }
    }

    /// Returns all timers in seconds; the last is the maximum.
    pub fn timers_s(&self) -> &[f64] {
        &self.timers_s
    }

    /// Returns the index of the maximum.
    pub fn max_index(&self) -> usize {
        self.timers_s.len() - 1
    }

    /// Returns the index of the initial timer: 0, unless the initial timer is the maximum.
    pub fn initial(&self) -> usize {
        if self.base == 0 { self.max_index() } else { 0 }
    }

    /// Returns the index of the timer after a timeout.
    pub fn next(&self, index: usize) -> usize {
        let max_index = self.max_index();
        if index + 1 == self.base || index == max_index {
            max_index
        } else {
            index + 1
        }
    }
}
