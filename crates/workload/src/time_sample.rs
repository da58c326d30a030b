//! Statistics of a sample of times: mean, percentiles and distribution.

use serde::{Deserialize, Serialize};

/// A sorted sample of times in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSample {
    sorted_s: Vec<f64>,
}

/// Summary statistics of a sample, all in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean_s: f64,
    /// Minimum.
    pub min_s: f64,
    /// Median.
    pub median_s: f64,
    /// 70th percentile.
    pub p70_s: f64,
    /// 80th percentile.
    pub p80_s: f64,
    /// 90th percentile.
    pub p90_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// Maximum.
    pub max_s: f64,
}

/// Cluster of times near a whole number of base round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttCluster {
    /// Number of base round-trip times.
    pub round_trips: u32,
    /// Fraction of all times within the tolerance.
    pub share: f64,
}

impl TimeSample {
    /// Sorts times given in any order. Values that are not finite are removed.
    pub fn new(mut times_s: Vec<f64>) -> Self {
        times_s.retain(|time_s| time_s.is_finite());
        times_s.sort_unstable_by(f64::total_cmp);
        Self { sorted_s: times_s }
    }

    /// Returns all times in seconds, ascending.
    pub fn sorted_s(&self) -> &[f64] {
        &self.sorted_s
    }

    /// Returns the number of times.
    pub fn count(&self) -> usize {
        self.sorted_s.len()
    }

    /// Returns the mean in seconds; NaN for an empty sample.
    pub fn mean_s(&self) -> f64 {
        self.sorted_s.iter().sum::<f64>() / self.sorted_s.len() as f64
    }

    /// Returns the standard error of the mean in seconds; NaN with fewer than two times.
    pub fn standard_error_s(&self) -> f64 {
        let n = self.sorted_s.len() as f64;
        let mean_s = self.mean_s();
        let squares: f64 = self.sorted_s.iter().map(|x| (x - mean_s).powi(2)).sum();
        (squares / (n - 1.0) / n).sqrt()
    }

    /// Returns the quantile at `q` (0 to 1) in seconds; NaN for an empty sample.
    pub fn quantile(&self, q: f64) -> f64 {
        netflow_units::quantile(&self.sorted_s, q)
    }

    /// Returns the summary statistics, or `None` for an empty sample.
    pub fn summary(&self) -> Option<Summary> {
        (!self.sorted_s.is_empty()).then(|| Summary {
            count: self.sorted_s.len() as u64,
            mean_s: self.mean_s(),
            min_s: self.quantile(0.0),
            median_s: self.quantile(0.5),
            p70_s: self.quantile(0.7),
            p80_s: self.quantile(0.8),
            p90_s: self.quantile(0.9),
            p95_s: self.quantile(0.95),
            p99_s: self.quantile(0.99),
            max_s: self.quantile(1.0),
        })
    }

    /// Returns at most `most` points `(seconds, cumulative share)` of the distribution, with equal shares
    /// between them. The last is the maximum.
    pub fn cdf(&self, max_points: usize) -> Vec<(f64, f64)> {
        let n = self.sorted_s.len();
        let points = n.min(max_points.max(1));
        (1..=points)
            .map(|i| {
                let rank = (i * n).div_ceil(points);
                (self.sorted_s[rank - 1], i as f64 / points as f64)
            })
            .collect()
    }

    /// Returns the clusters of times at whole multiples of `rtt_s`, up to 100 round trips. Times in a cluster
    /// exceed the multiple by at most `within_s`, or fall short of it by at most 0.1 `within_s`. A cluster
    /// contains at least 1 % of the times.
    pub fn rtt_clusters(&self, rtt_s: f64, within_s: f64) -> Vec<RttCluster> {
        let n = self.sorted_s.len() as f64;
        (1..=100_u32)
            .map(|round_trips| {
                let at_s = f64::from(round_trips) * rtt_s;
                let up_to = |x: f64| self.sorted_s.partition_point(|&time_s| time_s <= x);
                let inside = up_to(at_s + within_s) - up_to(at_s - 0.1 * within_s);
                RttCluster {
                    round_trips,
                    share: inside as f64 / n,
                }
            })
            .filter(|step| step.share >= 0.01)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1 to 100: half of them are below 50.5, the mean is 50.5 and its standard error is √(100·101/12)/√100.
    #[test]
    fn statistics_of_one_to_a_hundred() {
        let times = TimeSample::new((1..=100).rev().map(f64::from).collect());
        let summary = times.summary().unwrap();
        assert_eq!(summary.count, 100);
        assert_eq!(summary.mean_s, 50.5);
        assert_eq!((summary.min_s, summary.max_s), (1.0, 100.0));
        assert_eq!((summary.median_s, summary.p95_s), (50.5, 95.05));
        let expected = (100.0_f64 * 101.0 / 12.0 / 100.0).sqrt();
        approx::assert_relative_eq!(times.standard_error_s(), expected, max_relative = 1e-12);
    }

    #[test]
    fn an_empty_sample_has_no_summary() {
        assert_eq!(TimeSample::new(vec![f64::NAN]).summary(), None);
        assert!(TimeSample::default().quantile(0.5).is_nan());
        assert!(TimeSample::default().cdf(10).is_empty());
        assert!(TimeSample::default().rtt_clusters(0.1, 0.01).is_empty());
    }

    /// Half at one round trip, a quarter at two, the rest between.
    #[test]
    fn clusters_are_at_round_trips() {
        let mut times = vec![0.1; 50];
        times.extend([0.2005; 25]);
        times.extend([0.15; 25]);
        let steps = TimeSample::new(times).rtt_clusters(0.1, 0.002);
        let found: Vec<(u32, f64)> = steps
            .iter()
            .map(|step| (step.round_trips, step.share))
            .collect();
        assert_eq!(found, [(1, 0.5), (2, 0.25)]);
    }

    proptest! {
        #[test]
        fn the_cdf_rises_to_one(times in prop::collection::vec(0.0..10.0_f64, 1..500), most in 1..300_usize) {
            let times = TimeSample::new(times);
            let cdf = times.cdf(most);
            prop_assert!(cdf.len() <= most);
            prop_assert!(cdf.is_sorted());
            prop_assert_eq!(cdf.last().copied(), Some((times.quantile(1.0), 1.0)));
            for &(x, share) in &cdf {
                let up_to = times.sorted_s().iter().filter(|&&time| time <= x).count();
                prop_assert!(up_to as f64 >= share * times.count() as f64 - 1e-9);
            }
        }
    }
}
