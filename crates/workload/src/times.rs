//! Many times of one sort: their mean, percentiles and distribution.

use serde::{Deserialize, Serialize};

/// Times of one sort, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    sorted_s: Vec<f64>,
}

/// The usual numbers of many times; all in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// The mean.
    pub mean_s: f64,
    /// The shortest.
    pub min_s: f64,
    /// The median.
    pub median_s: f64,
    /// The 70th percentile.
    pub p70_s: f64,
    /// The 80th percentile.
    pub p80_s: f64,
    /// The 90th percentile.
    pub p90_s: f64,
    /// The 95th percentile.
    pub p95_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// The longest.
    pub max_s: f64,
}

/// A step of a distribution: many times that are nearly the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// In whole round trips.
    pub round_trips: u32,
    /// The share of all times that are within the tolerance of it.
    pub share: f64,
}

impl Times {
    /// In any order; what is not a finite number is left out.
    pub fn new(mut times_s: Vec<f64>) -> Self {
        times_s.retain(|time_s| time_s.is_finite());
        times_s.sort_unstable_by(f64::total_cmp);
        Self { sorted_s: times_s }
    }

    /// All of them in seconds, ascending.
    pub fn sorted_s(&self) -> &[f64] {
        &self.sorted_s
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted_s.len()
    }

    /// The mean in seconds; NaN without any.
    pub fn mean_s(&self) -> f64 {
        self.sorted_s.iter().sum::<f64>() / self.sorted_s.len() as f64
    }

    /// The standard error of the mean in seconds; NaN with fewer than two.
    pub fn standard_error_s(&self) -> f64 {
        let n = self.sorted_s.len() as f64;
        let mean_s = self.mean_s();
        let squares: f64 = self.sorted_s.iter().map(|x| (x - mean_s).powi(2)).sum();
        (squares / (n - 1.0) / n).sqrt()
    }

    /// What a share `q` (from 0 to 1) of the times stays below, in seconds; NaN without any.
    pub fn quantile(&self, q: f64) -> f64 {
        netflow_units::quantile(&self.sorted_s, q)
    }

    /// The usual numbers; `None` without any times.
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

    /// Points `(seconds, share up to it)` of the distribution, one for each of at most `most`
    /// equally many times; the last is the longest.
    pub fn cdf(&self, most: usize) -> Vec<(f64, f64)> {
        let n = self.sorted_s.len();
        let points = n.min(most.max(1));
        (1..=points)
            .map(|i| {
                let rank = (i * n).div_ceil(points);
                (self.sorted_s[rank - 1], i as f64 / points as f64)
            })
            .collect()
    }

    /// Where times stand together at whole multiples of `rtt_s`: each multiple that at least one
    /// in a hundred times exceeds by no more than `within_s` (and falls short of by no more than a
    /// tenth of that), up to a hundred round trips.
    pub fn steps(&self, rtt_s: f64, within_s: f64) -> Vec<Step> {
        let n = self.sorted_s.len() as f64;
        (1..=100_u32)
            .map(|round_trips| {
                let at_s = f64::from(round_trips) * rtt_s;
                let up_to = |x: f64| self.sorted_s.partition_point(|&time_s| time_s <= x);
                let inside = up_to(at_s + within_s) - up_to(at_s - 0.1 * within_s);
                Step {
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

    /// 1 to 100: half of them lie below 50.5, their mean is 50.5 and its error √(100·101/12)/√100.
    #[test]
    fn one_to_a_hundred() {
        let times = Times::new((1..=100).rev().map(f64::from).collect());
        let summary = times.summary().unwrap();
        assert_eq!(summary.count, 100);
        assert_eq!(summary.mean_s, 50.5);
        assert_eq!((summary.min_s, summary.max_s), (1.0, 100.0));
        assert_eq!((summary.median_s, summary.p95_s), (50.5, 95.05));
        let expected = (100.0_f64 * 101.0 / 12.0 / 100.0).sqrt();
        approx::assert_relative_eq!(times.standard_error_s(), expected, max_relative = 1e-12);
    }

    #[test]
    fn nothing_is_no_summary() {
        assert_eq!(Times::new(vec![f64::NAN]).summary(), None);
        assert!(Times::default().quantile(0.5).is_nan());
        assert!(Times::default().cdf(10).is_empty());
        assert!(Times::default().steps(0.1, 0.01).is_empty());
    }

    /// Half at one round trip, a quarter at two, the rest between.
    #[test]
    fn steps_stand_at_round_trips() {
        let mut times = vec![0.1; 50];
        times.extend([0.2005; 25]);
        times.extend([0.15; 25]);
        let steps = Times::new(times).steps(0.1, 0.002);
        let found: Vec<(u32, f64)> = steps
            .iter()
            .map(|step| (step.round_trips, step.share))
            .collect();
        assert_eq!(found, [(1, 0.5), (2, 0.25)]);
    }

    proptest! {
        #[test]
        fn the_cdf_rises_to_one(times in prop::collection::vec(0.0..10.0_f64, 1..500), most in 1..300_usize) {
            let times = Times::new(times);
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
