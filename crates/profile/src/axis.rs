//! Finding the interval of an axis that a value lies in, without searching.

/// Increasing values, with a table that leads to the interval in one step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    values: Vec<f64>,
    /// 1 / width of each interval.
    inverse_widths: Vec<f64>,
    first: f64,
    buckets_per_unit: f64,
    /// The interval in which each bucket begins.
    starts: Vec<u32>,
}

impl Axis {
    /// `values` are finite and increase; there is at least one.
    pub(crate) fn new(values: Vec<f64>) -> Self {
        let first = values.first().copied().unwrap_or(0.0);
        let last = values.last().copied().unwrap_or(0.0);
        let width = last - first;
        let narrowest = values
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(f64::INFINITY, f64::min);
        // Buckets no wider than the narrowest interval: then at most one boundary lies in each.
        let wanted = if width > 0.0 {
            (width / narrowest).ceil()
        } else {
            1.0
        };
        let buckets = if wanted <= 1024.0 {
            wanted as usize
        } else {
            1024
        };
        let buckets_per_unit = if width > 0.0 {
            buckets as f64 / width
        } else {
            0.0
        };
        let starts = (0..=buckets)
            .map(|bucket| {
                // Half a bucket early, so that rounding can never place a value before its start.
                let edge = first + (bucket as f64 - 0.5) / buckets_per_unit;
                let after = values.partition_point(|&value| value <= edge);
                after.saturating_sub(1).min(values.len().saturating_sub(2)) as u32
            })
            .collect();
        let inverse_widths = values
            .windows(2)
            .map(|pair| 1.0 / (pair[1] - pair[0]))
            .collect();
        Self {
            values,
            inverse_widths,
            first,
            buckets_per_unit,
            starts,
        }
    }

    pub(crate) fn intervals(&self) -> usize {
        self.inverse_widths.len().max(1)
    }

    /// The interval of `x`, and how far `x` is through it (0 to 1). `x` lies within the axis.
    #[inline]
    pub(crate) fn locate(&self, x: f64) -> (usize, f64) {
        let bucket =
            (((x - self.first) * self.buckets_per_unit) as usize).min(self.starts.len() - 1);
        let mut i = self.starts[bucket] as usize;
        while i + 1 < self.inverse_widths.len() && x >= self.values[i + 1] {
            i += 1;
        }
        match self.inverse_widths.get(i) {
            Some(inverse_width) => (i, (x - self.values[i]) * inverse_width),
            None => (0, 0.0),
        }
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
