//! Probability on a stretch of the lattice.

use super::Shift;

/// Probabilities of lattice points from `first` on.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    first: usize,
    mass: Vec<f64>,
}

impl Row {
    /// Time 0, for certain.
    pub fn certain() -> Self {
        Self {
            first: 0,
            mass: vec![1.0],
        }
    }

    /// The points that have any probability, ascending.
    pub fn points(&self) -> impl Iterator<Item = (usize, f64)> {
        (self.first..)
            .zip(self.mass.iter().copied())
            .filter(|(_, mass)| *mass > 0.0)
    }

    /// Adds `weight` times what is in `from`, later by `shift`.
    pub fn add(&mut self, from: &Row, weight: f64, shift: Shift) {
        if from.mass.is_empty() || weight == 0.0 {
            return;
        }
        self.add_at(from, weight * (1.0 - shift.part), shift.points);
        if shift.part > 0.0 {
            self.add_at(from, weight * shift.part, shift.points + 1);
        }
    }

    fn add_at(&mut self, from: &Row, weight: f64, points: usize) {
        let first = from.first + points;
        self.cover(first, first + from.mass.len());
        let into = self.mass.iter_mut().skip(first - self.first);
        for (into, mass) in into.zip(&from.mass) {
            *into += weight * mass;
        }
    }

    /// Makes room for the points from `first` to before `end`.
    fn cover(&mut self, first: usize, end: usize) {
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

    /// These are resends with the longest timer; adds those that follow them, and `firsts`, by a
    /// timeout each.
    pub fn climb_in_place(&mut self, firsts: &Row, loss: f64, shift: Shift) {
        self.add(firsts, loss, shift);
        let mut at = 0;
        while let Some(&mass) = self.mass.get(at) {
            if mass > NOTHING {
                let lost = loss * mass;
                let next = at + shift.points;
                if self.mass.len() < next + 2 {
                    self.mass.resize(next + 2, 0.0);
                }
                if let Some([now, then]) = self.mass.get_mut(next..next + 2) {
                    *now += lost * (1.0 - shift.part);
                    *then += lost * shift.part;
                }
            }
            at += 1;
        }
    }

    /// Multiplies everything.
    pub fn scale(&mut self, by: f64) {
        self.mass.iter_mut().for_each(|mass| *mass *= by);
    }

    /// Forgets the ends, as far as they are next to nothing together.
    pub fn trim(&mut self) {
        let negligible = |masses: &mut dyn Iterator<Item = &f64>| {
            masses
                .scan(0.0, |sum, mass| {
                    *sum += mass;
                    Some(*sum)
                })
                .take_while(|sum| *sum <= NEGLIGIBLE)
                .count()
        };
        let last = negligible(&mut self.mass.iter().rev());
        self.mass.truncate(self.mass.len() - last);
        let first = negligible(&mut self.mass.iter());
        self.mass.drain(..first);
        self.first += first;
    }
}

/// What is left of a probability when it ceases to be followed.
const NOTHING: f64 = 1e-25;

/// What may be lost at an end of a row with every packet.
const NEGLIGIBLE: f64 = 1e-19;
