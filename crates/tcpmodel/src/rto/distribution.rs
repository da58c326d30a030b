//! A distribution of times.

/// A distribution of times: a probability for each of finitely many.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// In seconds, ascending.
    times_s: Vec<f64>,
    /// The probability of that time or less.
    cumulative: Vec<f64>,
}

impl Distribution {
    /// Times that ascend, each with its probability. What is missing to 1 is beyond all of them.
    pub(crate) fn new(atoms: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (mut times_s, mut cumulative) = (Vec::new(), Vec::new());
        let mut total = 0.0;
        for (time_s, probability) in atoms {
            total += probability;
            times_s.push(time_s);
            cumulative.push(total);
        }
        Self {
            times_s,
            cumulative,
        }
    }

    /// The distribution of a sample, which is sorted.
    pub(crate) fn of_sorted(sample_s: &[f64]) -> Self {
        let (mut times_s, mut cumulative) = (Vec::new(), Vec::new());
        let mut until = 0;
        for equal in sample_s.chunk_by(|a, b| a == b) {
            until += equal.len();
            times_s.extend(equal.first());
            cumulative.push(until as f64 / sample_s.len() as f64);
        }
        Self {
            times_s,
            cumulative,
        }
    }

    /// The shortest time, in seconds, whose [probability of that or less](Self::cdf) is `q` or
    /// more; infinite where no finite time is enough, as for `q` = 1 after any loss.
    pub fn quantile(&self, q: f64) -> f64 {
        let at = self.cumulative.partition_point(|&below| below < q);
        self.times_s.get(at).copied().unwrap_or(f64::INFINITY)
    }

    /// The probability of `time_s` or less.
    pub fn cdf(&self, time_s: f64) -> f64 {
        let known = self.times_s.partition_point(|&known_s| known_s <= time_s);
        match known.checked_sub(1) {
            None => 0.0,
            Some(last) => self.cumulative.get(last).copied().unwrap_or(0.0),
        }
    }

    /// The times in seconds, ascending, each with the probability of that time or less.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.times_s
            .iter()
            .copied()
            .zip(self.cumulative.iter().copied())
    }

    /// The mean in seconds of the times that are known.
    pub fn mean_s(&self) -> f64 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for (time_s, cumulative) in self.points() {
            sum += time_s * (cumulative - before);
            before = cumulative;
        }
        sum
    }

    /// The same distribution, everything `later_s` later.
    pub(crate) fn later(mut self, later_s: f64) -> Self {
        self.times_s
            .iter_mut()
            .for_each(|time_s| *time_s += later_s);
        self
    }
}
