//! Running mean and variance of a number over several runs (Welford's algorithm).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Count, mean and sum of squared deviations from the mean (Welford), over the runs that have a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunningVariance {
    count: u32,
    mean: f64,
    squares: f64,
}

impl RunningVariance {
    /// Returns the moments of these numbers; `None` for an empty list.
    pub fn of(values: &[f64]) -> Option<RunningVariance> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(RunningVariance {
            count: u32::try_from(values.len()).ok()?,
            mean,
            squares: values.iter().map(|value| (value - mean).powi(2)).sum(),
        })
    }

    /// Adds the value of a run. NaN, which is a missing value, is ignored.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    /// Returns the number of runs that have a value.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the mean over these runs; `None` without a value.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the standard deviation over these runs; `None` with fewer than two.
    pub fn std(&self) -> Option<f64> {
        let freedom = f64::from(self.count) - 1.0;
        (freedom > 0.0).then(|| (self.squares.max(0.0) / freedom).sqrt())
    }

    /// Returns half the width of the 95 % confidence interval of the mean, by Student's t; `None` with
    /// fewer than two runs.
    pub fn ci95(&self) -> Option<f64> {
        Some(self.std()? * half_width(self.count as usize))
    }
}

/// Returns half the width of the 95 % confidence interval of a mean over `n` runs, in standard
/// deviations.
pub(crate) fn half_width(n: usize) -> f64 {
    let quantile = StudentsT::new(0.0, 1.0, n as f64 - 1.0);
    quantile.map_or(f64::NAN, |t| t.inverse_cdf(0.975)) / (n as f64).sqrt()
}
