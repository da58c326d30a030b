//! Rows in time order, turned into one series per name and quantity.

use std::collections::HashMap;

use netflow_results::Row;

/// The series of everything of a kind, on common times.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Rising.
    pub times_s: Vec<f64>,
    quantities: usize,
    /// Per name and quantity one value per time; NaN where there is none.
    values: Vec<Vec<f64>>,
}

impl Columns {
    /// Of rows; names that are not asked for are passed over.
    pub fn new<R: Row>(rows: &[R], names: &[String]) -> Columns {
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
        Columns::of(rows, names.len(), quantities)
    }

    /// Of `(time, place, values)` rows.
    pub fn of(
        rows: impl Iterator<Item = (f64, usize, Vec<f64>)>,
        names: usize,
        quantities: usize,
    ) -> Columns {
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
        Columns {
            times_s,
            quantities,
            values,
        }
    }

    /// The same on other times; where it has none of them there are no values.
    pub fn onto(self, times_s: &[f64]) -> Columns {
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
        Columns {
            times_s: times_s.to_vec(),
            quantities: self.quantities,
            values: self.values.iter().map(moved).collect(),
        }
    }

    /// Where this quantity is 0 there is none: the round-trip time of who does not send yet.
    pub fn without_zeros(mut self, quantity: usize) -> Columns {
        let all = self.values.iter_mut().skip(quantity);
        for value in all.step_by(self.quantities.max(1)).flatten() {
            if *value == 0.0 {
                *value = f64::NAN;
            }
        }
        self
    }

    /// The values of a quantity of the name at this place; empty where there is none.
    pub fn series(&self, place: usize, quantity: usize) -> &[f64] {
        match quantity < self.quantities {
            true => self.values.get(place * self.quantities + quantity),
            false => None,
        }
        .map_or(&[], Vec::as_slice)
    }

    /// Over time, what `of` makes of the values that all names have then.
    pub fn over_all(&self, quantity: usize, of: impl Fn(&mut [f64]) -> f64) -> Vec<f64> {
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

/// The times of both.
pub fn times_of_both(a: &Columns, b: &Columns) -> Vec<f64> {
    let mut times_s = [a.times_s.as_slice(), &b.times_s].concat();
    times_s.sort_by(f64::total_cmp);
    times_s.dedup();
    times_s
}

/// The sum; NaN of nothing.
pub fn sum(values: &mut [f64]) -> f64 {
    match values.is_empty() {
        true => f64::NAN,
        false => values.iter().sum(),
    }
}

/// The value that this fraction of them is not above; NaN of nothing.
pub fn quantile(fraction: f64) -> impl Fn(&mut [f64]) -> f64 {
    move |values| {
        values.sort_by(f64::total_cmp);
        netflow_units::quantile(values, fraction)
    }
}
