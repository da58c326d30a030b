//! Constant-time lookup of the interval of an axis that contains a value.

/// Increasing values with a bucket table that leads to the interval in one step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    intervals: Vec<Interval>,
    first: f64,
    buckets_per_unit: f64,
    /// Interval at the start of each bucket.
    starts: Vec<u32>,
    /// True if some bucket contains more than one boundary.
    has_shared_buckets: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    low: f64,
    /// Infinite for the last interval, so that its upper end belongs to it.
    high: f64,
    inverse_width: f64,
}

/// Maximum number of buckets: more would not fit into the processor's L1 cache.
const MAX_BUCKETS: f64 = 2048.0;

impl Axis {
    /// Creates an axis of at least one value; values are finite and do not decrease.
    pub(crate) fn new(values: Vec<f64>) -> Self {
        let first = values.first().copied().unwrap_or(0.0);
        let width = values.last().copied().unwrap_or(0.0) - first;
        let mut intervals: Vec<Interval> = values
            .windows(2)
            .map(|pair| {
                let width = pair[1] - pair[0];
                // Logarithms of neighbouring numbers can be equal.
                let inverse_width = if width > 0.0 { 1.0 / width } else { 0.0 };
                Interval {
                    low: pair[0],
                    high: pair[1],
                    inverse_width,
                }
            })
            .collect();
        if intervals.is_empty() {
            intervals.push(Interval {
                low: first,
                high: first,
                inverse_width: 0.0,
            });
        }
        if let Some(last) = intervals.last_mut() {
            last.high = f64::INFINITY;
        }
        // A bucket is at most half as wide as the narrowest interval. Its start is half a bucket
        // early, so at most one boundary is ahead of any value in it.
        let narrowest = values
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(f64::INFINITY, f64::min);
        let wanted = if width > 0.0 {
            (2.0 * width / narrowest).ceil()
        } else {
            1.0
        };
        let buckets = wanted.min(MAX_BUCKETS);
        let buckets_per_unit = if width > 0.0 { buckets / width } else { 0.0 };
        let starts = (0..=buckets as usize)
            .map(|bucket| {
                // Half a bucket early, so that rounding never places a value before its start.
                let edge = first + (bucket as f64 - 0.5) / buckets_per_unit;
                intervals
                    .partition_point(|interval| interval.low <= edge)
                    .saturating_sub(1) as u32
            })
            .collect();
        Self {
            intervals,
            first,
            buckets_per_unit,
            starts,
            has_shared_buckets: wanted > MAX_BUCKETS,
        }
    }

    pub(crate) fn intervals(&self) -> usize {
        self.intervals.len()
    }

    /// Returns the interval of `x` and its relative position there, 0 to 1. `x` must be within the
    /// axis.
    #[inline]
    pub(crate) fn locate(&self, x: f64) -> (usize, f64) {
        let bucket =
            (((x - self.first) * self.buckets_per_unit) as usize).min(self.starts.len() - 1);
        let mut i = self.starts[bucket] as usize;
        i += usize::from(x >= self.intervals[i].high);
        // Not needed for evenly spaced axes.
        if self.has_shared_buckets {
            while x >= self.intervals[i].high {
                i += 1;
            }
        }
        let interval = &self.intervals[i];
        (i, (x - interval.low) * interval.inverse_width)
    }

    /// Returns the reciprocal of an interval's width, or 0 for width 0.
    pub(crate) fn inverse_width(&self, interval: usize) -> f64 {
        self.intervals[interval].inverse_width
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_single_value_is_one_flat_interval() {
        let axis = Axis::new(vec![3.0]);
        assert_eq!((axis.intervals(), axis.locate(3.0)), (1, (0, 0.0)));
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_value(
            steps in prop::collection::vec(prop_oneof![1e-6..1e-3f64, 0.01..10.0f64], 1..40),
            first in -10.0..10.0f64,
            part in 0.0..=1.0f64,
            index in any::<prop::sample::Index>(),
        ) {
            let mut values = vec![first];
            for step in steps {
                values.push(values[values.len() - 1] + step);
            }
            let last = values[values.len() - 1];
            let at_node = values[index.index(values.len())];
            let axis = Axis::new(values.clone());
            for x in [(first + part * (last - first)).min(last), at_node] {
                let (i, t) = axis.locate(x);
                prop_assert!(values[i] <= x && x <= values[i + 1], "{} in {:?}", x, &values[i..i + 2]);
                prop_assert!((0.0..=1.0 + 1e-9).contains(&t));
            }
        }
    }
}
