//! A probability distribution on a contiguous range of lattice points.

use super::Shift;

/// Probabilities of the lattice points from `first` on.
#[derive(Clone, Debug, Default)]
pub(super) struct LatticeDistribution {
    first: usize,
    mass: Vec<f64>,
}

impl LatticeDistribution {
    /// Returns the distribution with probability 1 at time 0.
    pub fn at_zero() -> Self {
        Self {
            first: 0,
            mass: vec![1.0],
        }
    }

    /// Returns the points with positive probability, ascending.
    pub fn points(&self) -> impl Iterator<Item = (usize, f64)> {
        (self.first..)
            .zip(self.mass.iter().copied())
            .filter(|(_, mass)| *mass > 0.0)
    }

    /// Adds `weight` times `from`, shifted by `shift`.
    pub fn add(&mut self, from: &LatticeDistribution, weight: f64, shift: Shift) {
        if from.mass.is_empty() || weight == 0.0 {
            return;
        }
        self.add_at(from, weight * (1.0 - shift.fraction), shift.points);
        if shift.fraction > 0.0 {
            self.add_at(from, weight * shift.fraction, shift.points + 1);
        }
    }

    fn add_at(&mut self, from: &LatticeDistribution, weight: f64, points: usize) {
        let first = from.first + points;
        self.extend_range(first, first + from.mass.len());
        let into = self.mass.iter_mut().skip(first - self.first);
        for (into, mass) in into.zip(&from.mass) {
            *into += weight * mass;
        }
    }

    /// Extends the range to include the points from `first` to before `end`.
    fn extend_range(&mut self, first: usize, end: usize) {
        if self.mass.is_empty() {
            self.first = first;
        } else if first < self.first {
            let missing = self.first - first;
            self.mass.splice(0..0, std::iter::repeat_n(0.0, missing));
            self.first = first;
        }
        if end > self.first + self.mass.len() {
            self.mass.resize(end - self.first, 0.0);
        }
    }

    /// Adds the resends at the maximum timer that follow `firsts` and earlier resends. Each follows after a
    /// timeout `shift`. The row contains the resends at the maximum timer.
    pub fn add_repeated_timeouts(&mut self, firsts: &LatticeDistribution, loss: f64, shift: Shift) {
        self.add(firsts, loss, shift);
        let mut at = 0;
        while let Some(&mass) = self.mass.get(at) {
            if mass > MIN_MASS {
                let lost = loss * mass;
                let next = at + shift.points;
                if self.mass.len() < next + 2 {
                    self.mass.resize(next + 2, 0.0);
                }
                if let Some([now, then]) = self.mass.get_mut(next..next + 2) {
                    *now += lost * (1.0 - shift.fraction);
                    *then += lost * shift.fraction;
                }
            }
            at += 1;
        }
    }

    /// Multiplies all probabilities by `by`.
    pub fn scale(&mut self, by: f64) {
        self.mass.iter_mut().for_each(|mass| *mass *= by);
    }

    /// Removes both ends of the range, as far as their total probability is negligible.
    pub fn trim(&mut self) {
        let negligible = |masses: &mut dyn Iterator<Item = &f64>| {
            masses
                .scan(0.0, |sum, mass| {
                    *sum += mass;
                    Some(*sum)
                })
                .take_while(|sum| *sum <= MAX_TRIMMED_MASS)
                .count()
        };
        let last = negligible(&mut self.mass.iter().rev());
        self.mass.truncate(self.mass.len() - last);
        let first = negligible(&mut self.mass.iter());
        self.mass.drain(..first);
        self.first += first;
    }
}

/// The probability below which no further resends are computed.
const MIN_MASS: f64 = 1e-25;

/// The probability that may be discarded at each end of a row, per packet.
const MAX_TRIMMED_MASS: f64 = 1e-19;
