//! Mean and spread of a number over several runs.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How many runs have a value, its mean, and the sum of the squares of what it is off (Welford).
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u32,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Of numbers that are all there; nothing if there are none.
    pub fn of(values: &[f64]) -> Option<Moments> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Moments {
            count: u32::try_from(values.len()).ok()?,
            mean,
            squares: values.iter().map(|value| (value - mean).powi(2)).sum(),
        })
    }

    /// One more run; what it has not measured does not count.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    /// How many runs have a value.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Its mean over them; nothing if there are none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Its standard deviation over the runs; of one, unknown.
    pub fn std(&self) -> Option<f64> {
        let freedom = f64::from(self.count) - 1.0;
        (freedom > 0.0).then(|| (self.squares.max(0.0) / freedom).sqrt())
    }

    /// Half the width of the 95 % confidence interval of the mean, by Student's t; of one run, unknown.
    pub fn ci95(&self) -> Option<f64> {
        Some(self.std()? * half_width(self.count as usize))
    }
}

/// Half the width of the 95 % confidence interval of a mean over `n` runs, in standard deviations.
pub(crate) fn half_width(n: usize) -> f64 {
    let quantile = StudentsT::new(0.0, 1.0, n as f64 - 1.0);
    quantile.map_or(f64::NAN, |t| t.inverse_cdf(0.975)) / (n as f64).sqrt()
}
