//! Downsampling of time series that preserves their peaks.

use std::ops::Range;

/// Grid of time intervals (buckets) for downsampling.
#[derive(Clone, Debug)]
pub struct DownsamplingGrid {
    samples: usize,
    /// Number of buckets; equal to the number of samples without downsampling.
    buckets: usize,
    per_bucket: usize,
}

impl DownsamplingGrid {
    /// Returns a grid from `samples` samples to at most `points` points (at least two).
    pub fn new(samples: usize, points: usize) -> DownsamplingGrid {
        if samples <= points.max(2) {
            DownsamplingGrid {
                samples,
                buckets: samples,
                per_bucket: 1,
            }
        } else {
            DownsamplingGrid {
                samples,
                buckets: (points / 2).max(1),
                per_bucket: 2,
            }
        }
    }

    /// Returns a grid of at most `max_buckets` buckets with one value each.
    pub fn single_valued(samples: usize, max_buckets: usize) -> DownsamplingGrid {
        DownsamplingGrid {
            samples,
            buckets: samples.min(max_buckets.max(1)),
            per_bucket: 1,
        }
    }

    /// Returns true if samples are omitted.
    pub fn omits_samples(&self) -> bool {
        self.buckets < self.samples
    }

    /// Returns the sample range of each bucket, which is never empty.
    pub fn buckets(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (samples, buckets) = (self.samples as u128, self.buckets as u128);
        let edge = move |i: u128| (i * samples / buckets.max(1)) as usize;
        (0..buckets).map(move |i| edge(i)..edge(i + 1))
    }

    /// Returns the times of the points: the first and the last of every bucket.
    pub fn times(&self, times_s: &[f64]) -> Vec<f64> {
        self.bucket_pairs(times_s, |here| {
            (here.first().copied(), here.last().copied())
        })
    }

    /// Returns the minimum and the maximum of every bucket, in their order.
    pub fn extremes(&self, values: &[f64]) -> Vec<f64> {
        self.bucket_pairs(values, |here| {
            let numbered = || {
                here.iter()
                    .copied()
                    .enumerate()
                    .filter(|(_, v)| !v.is_nan())
            };
            let low = numbered().min_by(|a, b| a.1.total_cmp(&b.1));
            let high = numbered().max_by(|a, b| a.1.total_cmp(&b.1));
            match (low, high) {
                (Some(low), Some(high)) if low.0 <= high.0 => (Some(low.1), Some(high.1)),
                (low, high) => (high.map(|it| it.1), low.map(|it| it.1)),
            }
        })
    }

    /// Returns the minimum of every bucket, for each of its points.
    pub fn bucket_minima(&self, values: &[f64]) -> Vec<f64> {
        self.bucket_pairs(values, |here| {
            let low = here.iter().copied().filter(|v| !v.is_nan());
            let low = low.min_by(f64::total_cmp);
            (low, low)
        })
    }

    /// Returns the maximum of every bucket, for each of its points.
    pub fn bucket_maxima(&self, values: &[f64]) -> Vec<f64> {
        self.bucket_pairs(values, |here| {
            let high = here.iter().copied().filter(|v| !v.is_nan());
            let high = high.max_by(f64::total_cmp);
            (high, high)
        })
    }

    fn bucket_pairs(
        &self,
        values: &[f64],
        of: impl Fn(&[f64]) -> (Option<f64>, Option<f64>),
    ) -> Vec<f64> {
        let mut thinned = Vec::with_capacity(self.buckets * self.per_bucket);
        for range in self.buckets() {
            let (first, second) = of(values.get(range).unwrap_or_default());
            thinned.push(first.unwrap_or(f64::NAN));
            if self.per_bucket == 2 {
                thinned.push(second.unwrap_or(f64::NAN));
            }
        }
        thinned
    }
}

/// Returns the mean without NaN.
pub fn mean(values: &[f64]) -> f64 {
    let numbers = values.iter().filter(|v| !v.is_nan());
    let n = numbers.clone().count();
    numbers.sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_series_are_not_downsampled() {
        for n in [0, 1, 2, 10] {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let thinning = DownsamplingGrid::new(values.len(), 10);
            assert_eq!(thinning.extremes(&values), values);
            assert_eq!(thinning.times(&values), values);
            assert!(!thinning.omits_samples());
        }
    }

    #[test]
    fn single_peaks_and_gaps_are_preserved() {
        for at in 0..1000 {
            let mut values = vec![1.0; 1000];
            values[at] = 7.0;
            values[(at + 500) % 1000] = -3.0;
            let thin = DownsamplingGrid::new(1000, 60).extremes(&values);
            assert_eq!(thin.len(), 60);
            assert_eq!(thin.iter().filter(|v| **v == 7.0).count(), 1, "{at}");
            assert_eq!(thin.iter().filter(|v| **v == -3.0).count(), 1, "{at}");
        }
    }

    #[test]
    fn extremes_keep_order_and_times_increase() {
        let values = [0.0, 5.0, 1.0, 2.0, 9.0, 3.0, 4.0, 4.0];
        let thinning = DownsamplingGrid::new(8, 4);
        assert_eq!(thinning.extremes(&values), [0.0, 5.0, 9.0, 3.0]);
        let times: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(thinning.times(&times), [0.0, 3.0, 4.0, 7.0]);
    }

    #[test]
    fn nan_does_not_hide_values() {
        let values = [f64::NAN, 5.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN];
        let thin = DownsamplingGrid::new(6, 4).extremes(&values);
        assert_eq!(thin[..2], [5.0, 5.0]);
        assert!(thin[2..].iter().all(|v| v.is_nan()));
    }
}
