//! A discrete probability distribution of times.

/// A probability distribution over finitely many times.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Times in seconds, ascending.
    times_s: Vec<f64>,
    /// Cumulative probability of each time.
    cumulative: Vec<f64>,
}

impl Distribution {
    /// Returns the distribution of ascending times, each with its probability. Probability missing to 1
    /// lies beyond all of them.
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

    /// Returns the empirical distribution of a sorted sample.
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

    /// Returns the shortest time, in seconds, with a [cumulative probability](Self::cdf) of `q` or more.
    /// The result is infinite if no finite time has it, for example `q` = 1 with any loss.
    pub fn quantile(&self, q: f64) -> f64 {
        let at = self.cumulative.partition_point(|&below| below < q);
        self.times_s.get(at).copied().unwrap_or(f64::INFINITY)
    }

    /// Returns the probability of `time_s` or less.
    pub fn cdf(&self, time_s: f64) -> f64 {
        let known = self.times_s.partition_point(|&known_s| known_s <= time_s);
        match known.checked_sub(1) {
            None => 0.0,
            Some(last) => self.cumulative.get(last).copied().unwrap_or(0.0),
        }
    }

    /// Returns the times in seconds, ascending, each with its cumulative probability.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.times_s
            .iter()
            .copied()
            .zip(self.cumulative.iter().copied())
    }

    /// Returns the mean of the listed times in seconds.
    pub fn mean_s(&self) -> f64 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for (time_s, cumulative) in self.points() {
            sum += time_s * (cumulative - before);
            before = cumulative;
        }
        sum
    }

    /// Returns the same distribution, shifted by `later_s`.
    pub(crate) fn shifted_by(mut self, later_s: f64) -> Self {
        self.times_s
            .iter_mut()
            .for_each(|time_s| *time_s += later_s);
        self
    }
}
