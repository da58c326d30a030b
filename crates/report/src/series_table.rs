//! Conversion of rows into one time series per name and quantity.

use std::collections::HashMap;

use netflow_results::Row;

/// Time series of all links or connections on common times.
#[derive(Clone, Debug, Default)]
pub struct SeriesTable {
    /// Ascending times in seconds.
    pub times_s: Vec<f64>,
    quantities: usize,
    /// Series per name and quantity; NaN for missing values.
    values: Vec<Vec<f64>>,
}

impl SeriesTable {
    /// Builds the series of the given names from rows; other names are ignored.
    pub fn new<R: Row>(rows: &[R], names: &[String]) -> SeriesTable {
        let places: HashMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), i))
            .collect();
        let quantities = R::TABLE.values.len();
        let rows = rows.iter().filter_map(|row| {
            let (time_s, keys, values) = row.columns();
            let place = *places.get(&**keys.first()?)?;
            time_s.is_finite().then_some((time_s, place, values))
        });
        SeriesTable::of(rows, names.len(), quantities)
    }

    /// Builds the series from `(time, place, values)` rows.
    pub fn of(
        rows: impl Iterator<Item = (f64, usize, Vec<f64>)>,
        names: usize,
        quantities: usize,
    ) -> SeriesTable {
        let rows: Vec<_> = rows.collect();
        let mut times_s: Vec<f64> = rows.iter().map(|row| row.0).collect();
        times_s.sort_by(f64::total_cmp);
        times_s.dedup();
        let mut values = vec![vec![f64::NAN; times_s.len()]; names * quantities];
        let mut at = 0;
        for (time_s, place, row) in rows {
            if times_s.get(at) != Some(&time_s) {
                at = times_s.partition_point(|t| *t < time_s);
            }
            for (quantity, value) in row.into_iter().enumerate().take(quantities) {
                let series = values.get_mut(place * quantities + quantity);
                if let Some(cell) = series.and_then(|series| series.get_mut(at)) {
                    *cell = value;
                }
            }
        }
        SeriesTable {
            times_s,
            quantities,
            values,
        }
    }

    /// Returns the series on other times, with NaN for missing times.
    pub fn resampled_at(self, times_s: &[f64]) -> SeriesTable {
        if self.times_s == times_s {
            return self;
        }
        let place = |time_s: &f64| self.times_s.binary_search_by(|t| t.total_cmp(time_s)).ok();
        let places: Vec<Option<usize>> = times_s.iter().map(place).collect();
        let moved = |series: &Vec<f64>| {
            let value = |place: &Option<usize>| series.get((*place)?).copied();
            places
                .iter()
                .map(|at| value(at).unwrap_or(f64::NAN))
                .collect()
        };
        SeriesTable {
            times_s: times_s.to_vec(),
            quantities: self.quantities,
            values: self.values.iter().map(moved).collect(),
        }
    }

    /// Treats 0 of a quantity as missing, for example the RTT of a connection that has not started.
    pub fn without_zeros(mut self, quantity: usize) -> SeriesTable {
        let all = self.values.iter_mut().skip(quantity);
        for value in all.step_by(self.quantities.max(1)).flatten() {
            if *value == 0.0 {
                *value = f64::NAN;
            }
        }
        self
    }

    /// Returns the series of a quantity for the name at this place; empty if it does not exist.
    pub fn series(&self, place: usize, quantity: usize) -> &[f64] {
        if quantity < self.quantities {
            self.values.get(place * self.quantities + quantity)
        } else {
            None
        }
        .map_or(&[], Vec::as_slice)
    }

    /// Applies `of` to the values of all names at each time.
    pub fn aggregate(&self, quantity: usize, of: impl Fn(&mut [f64]) -> f64) -> Vec<f64> {
        let mut here = Vec::new();
        let at = |i: usize| {
            here.clear();
            let all = self
                .values
                .iter()
                .skip(quantity)
                .step_by(self.quantities.max(1));
            here.extend(
                all.filter_map(|series| series.get(i))
                    .filter(|v| !v.is_nan()),
            );
            of(&mut here)
        };
        (0..self.times_s.len()).map(at).collect()
    }
}

/// Returns the union of the times of both.
pub fn union_of_times(a: &SeriesTable, b: &SeriesTable) -> Vec<f64> {
    let mut times_s = [a.times_s.as_slice(), &b.times_s].concat();
    times_s.sort_by(f64::total_cmp);
    times_s.dedup();
    times_s
}

/// Returns the sum; NaN of an empty slice.
pub fn sum(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        f64::NAN
    } else {
        values.iter().sum()
    }
}

/// Returns a function that computes this quantile; NaN of an empty slice.
pub fn quantile(fraction: f64) -> impl Fn(&mut [f64]) -> f64 {
    move |values| {
        values.sort_by(f64::total_cmp);
        netflow_units::quantile(values, fraction)
    }
}
