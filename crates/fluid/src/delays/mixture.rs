//! Mixture of delay distributions over time, with bounded memory.

use std::f64::consts::LN_2;

use netflow_network::Percentiles;
use netflow_network::engine::mean;
use netflow_units::math::ln;
use serde::{Deserialize, Serialize};

use super::delay_law::{DelayDistribution, DelayLaw, Tolerances, quantile_of};

/// Laws by mean, weighted by packets. Laws with similar means are merged, so that memory is bounded; the
/// first three moments of the mixture are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DelayMixture {
    /// Cells in the order of their keys.
    cells: Vec<MixtureCell>,
}

/// Weighted sums of merged laws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct MixtureCell {
    key: i32,
    pkts: f64,
    fixed: f64,
    mean: f64,
    /// Sums of the second and third raw moments of the waiting times.
    square: f64,
    cube: f64,
    most: f64,
}

/// Memory of one cell in bytes.
pub(super) const CELL_BYTES: usize = std::mem::size_of::<MixtureCell>();
/// Cells per factor of 2 of the mean.
const CELLS_PER_OCTAVE: f64 = 4.0;
/// Fraction of the fixed delay below which all means share one cell.
const MIN_MEAN_FRACTION: f64 = 1.0 / 256.0;
/// Fraction of all packets that counts as rounding error.
const ROUNDING_FRACTION: f64 = 1e-12;

impl DelayMixture {
    pub fn add(&mut self, pkts: f64, law: DelayLaw) {
        let least_s = (law.fixed_s * MIN_MEAN_FRACTION).max(1e-12);
        let key = if law.mean_s > least_s {
            (ln(law.mean_s) * (CELLS_PER_OCTAVE / LN_2)).floor() as i32
        } else {
            i32::MIN
        };
        self.insert(MixtureCell {
            key,
            pkts,
            fixed: pkts * law.fixed_s,
            mean: pkts * law.mean_s,
            square: pkts * (law.variance + law.mean_s * law.mean_s),
            cube: pkts * (law.third + law.mean_s * (3.0 * law.variance + law.mean_s * law.mean_s)),
            most: pkts * law.max_s,
        });
    }

    fn insert(&mut self, new: MixtureCell) {
        match self.cells.binary_search_by_key(&new.key, |cell| cell.key) {
            Ok(at) => self.cells[at].add(&new, 1.0),
            Err(at) => self.cells.insert(at, new),
        }
    }

    /// Adds another mixture.
    pub fn merge(&mut self, other: &DelayMixture) {
        for &cell in &other.cells {
            self.insert(cell);
        }
    }

    /// Returns the packets added since the snapshot `before`.
    pub fn since(&self, before: &DelayMixture) -> DelayMixture {
        let mut since = self.clone();
        for cell in &before.cells {
            // Every cell of the snapshot still exists.
            if let Ok(at) = since.cells.binary_search_by_key(&cell.key, |c| c.key) {
                since.cells[at].add(cell, -1.0);
            }
        }
        let all = self.pkts();
        since
            .cells
            .retain(|cell| cell.pkts > ROUNDING_FRACTION * all);
        since
    }

    fn pkts(&self) -> f64 {
        self.cells.iter().map(|cell| cell.pkts).sum()
    }

    /// Returns the mean delay in seconds; `None` without packets.
    pub fn mean_s(&self) -> Option<f64> {
        let time: f64 = self.cells.iter().map(|cell| cell.fixed + cell.mean).sum();
        mean(time, self.pkts())
    }

    /// Returns the 50th, 95th, 99th and 99.9th percentiles; `None` without packets.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let all = self.pkts();
        let parts = self.cells.iter();
        let parts: Vec<(f64, DelayDistribution)> = parts
            .map(|cell| (cell.pkts / all, DelayDistribution::new(cell.law())))
            .collect();
        (all > 0.0).then(|| {
            let fixed_s = parts.iter().map(|(_, it)| it.law().fixed_s);
            let shortest_s = fixed_s.fold(f64::MAX, f64::min);
            // Each search starts at the previous percentile.
            let p50_s = quantile_of(&parts, 0.5, shortest_s, PERCENTILE_TOLERANCES);
            let p95_s = quantile_of(&parts, 0.95, p50_s, PERCENTILE_TOLERANCES);
            let p99_s = quantile_of(&parts, 0.99, p95_s, PERCENTILE_TOLERANCES);
            let p999_s = quantile_of(&parts, 0.999, p99_s, PERCENTILE_TOLERANCES);
            Percentiles {
                p50_s,
                p95_s,
                p99_s,
                p999_s,
            }
        })
    }
}

impl MixtureCell {
    fn add(&mut self, other: &MixtureCell, times: f64) {
        self.pkts += times * other.pkts;
        self.fixed += times * other.fixed;
        self.mean += times * other.mean;
        self.square += times * other.square;
        self.cube += times * other.cube;
        self.most += times * other.most;
    }

    fn law(&self) -> DelayLaw {
        let of = |sum| mean(sum, self.pkts).unwrap_or(0.0);
        let mean_s = of(self.mean);
        let variance = of(self.square) - mean_s * mean_s;
        DelayLaw {
            fixed_s: of(self.fixed),
            mean_s,
            variance,
            third: of(self.cube) - mean_s * (3.0 * variance + mean_s * mean_s),
            max_s: of(self.most),
        }
    }
}

/// Tolerances of percentiles: a delay to 0.1 % does not need a more accurate probability.
const PERCENTILE_TOLERANCES: Tolerances = Tolerances {
    time: 1e-3,
    part: 1e-6,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn law(mean_s: f64, variance: f64, third: f64, most_s: f64) -> DelayLaw {
        DelayLaw {
            fixed_s: 0.1,
            mean_s,
            variance,
            third,
            max_s: most_s,
        }
    }

    fn near(is: f64, should: f64) {
        assert!((is - should).abs() < 2e-3 * should, "{is} {should}");
    }

    /// A queue at load 1 is uniformly distributed; the wait in a light queue is exponential.
    #[test]
    fn uniform_and_exponential_percentiles_are_exact() {
        let mut uniform = DelayMixture::default();
        uniform.add(3.0, law(0.5, 1.0 / 12.0, 0.0, 1.0));
        let of = uniform.percentiles().unwrap();
        near(of.p50_s, 0.6);
        near(of.p999_s, 1.099);
        let mut exponential = DelayMixture::default();
        exponential.add(1.0, law(0.01, 1e-4, 2e-6, 100.0));
        let of = exponential.percentiles().unwrap();
        near(of.p50_s, 0.1 + 0.01 * 2.0_f64.ln());
        near(of.p99_s, 0.1 + 0.01 * 100.0_f64.ln());
    }

    /// 51 % of the packets do not wait and 49 % wait for 1 s. The median wait is 0 s, and the 95th percentile
    /// is 1 s.
    #[test]
    fn mixture_is_weighted_by_packets() {
        let mut mixture = DelayMixture::default();
        mixture.add(51.0, law(0.0, 0.0, 0.0, 2.0));
        mixture.add(49.0, law(1.0, 0.0, 0.0, 2.0));
        let of = mixture.percentiles().unwrap();
        near(of.p50_s, 0.1);
        near(of.p95_s, 1.1);
        assert_eq!(DelayMixture::default().percentiles(), None);
    }

    #[test]
    fn difference_to_snapshot_equals_new_packets() {
        let (mut before, mut alone) = (DelayMixture::default(), DelayMixture::default());
        for i in 1..1000 {
            before.add(f64::from(i), law(1e-3 * f64::from(i), 1e-7, 0.0, 10.0));
        }
        let mut all = before.clone();
        for i in 1..100 {
            let new = law(2e-4 * f64::from(i), 1e-8, 0.0, 10.0);
            all.add(2.0, new);
            alone.add(2.0, new);
        }
        let (since, alone) = (all.since(&before), alone.percentiles().unwrap());
        let since = since.percentiles().unwrap();
        near(since.p50_s, alone.p50_s);
        near(since.p999_s, alone.p999_s);
        assert_eq!(all.since(&all).percentiles(), None);
    }
}
