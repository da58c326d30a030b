//! A windowed maximum filter over rounds.

/// A maximum over a window of rounds, estimated from the best, second and third best values (Kathleen
/// Nichols' algorithm, as in Linux's `win_minmax.c`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [(u64, f64); 3],
}

impl WindowedMax {
    pub(super) fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Adds a value of this round.
    pub(super) fn add(&mut self, window: u64, round: u64, value: f64) {
        let new = (round, value);
        let [first, second, third] = self.best;
        if value >= first.1 || round - third.0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.1 {
            self.best = [first, new, new];
        } else if value >= third.1 {
            self.best[2] = new;
        }
        self.expire(window, new);
    }

    /// Removes expired values, and spreads the three over the window.
    fn expire(&mut self, window: u64, new: (u64, f64)) {
        let [first, second, third] = self.best;
        let age = new.0 - first.0;
        if age > window {
            self.best = [second, third, new];
            if new.0 - self.best[0].0 > window {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && age > window / 4 {
            self.best = [first, new, new];
        } else if third.0 == second.0 && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result never exceeds the maximum of the window, and is at least the last value.
    #[test]
    fn result_is_bounded_by_the_window_maximum() {
        let mut max = WindowedMax::default();
        let values: Vec<f64> = (0..400_u32)
            .map(|i| f64::from((i * 7919) % 101) + 1.0)
            .collect();
        for (i, &value) in values.iter().enumerate() {
            max.add(10, i as u64, value);
            let window = &values[i.saturating_sub(10)..=i];
            let most = window.iter().copied().fold(0.0, f64::max);
            assert!(max.get() <= most && max.get() >= value, "{i}");
        }
        // An increase has effect at once; a decrease after the window.
        max.add(10, 400, 1000.0);
        for i in 401..=410 {
            max.add(10, i, 1.0);
            assert_eq!(max.get(), 1000.0);
        }
        max.add(10, 411, 1.0);
        assert_eq!(max.get(), 1.0);
    }
}
