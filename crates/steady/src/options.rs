//! Options of the steady-state solver.

use crate::SteadyError;
use crate::solver::check;

/// Options of the steady-state solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyOptions {
    /// Largest residual, relative in load.
    pub tolerance: f64,
    /// Number of random starting points in addition to the first, which search for other steady
    /// states; at most [`MAX_STARTS`](Self::MAX_STARTS).
    pub starts: u32,
    /// Random seed.
    pub seed: u64,
}

impl Default for SteadyOptions {
    /// Returns a tolerance of 1e-10 without random starting points.
    fn default() -> Self {
        SteadyOptions {
            tolerance: 1e-10,
            starts: 0,
            seed: 1,
        }
    }
}

impl SteadyOptions {
    /// Largest number of random starting points.
    pub const MAX_STARTS: u32 = 100_000;

    pub(crate) fn check(&self) -> Result<(), SteadyError> {
        let good = (1e-14..=1e-2).contains(&self.tolerance);
        check("tolerance", self.tolerance, good, "1e-14 to 1e-2")?;
        let good = self.starts <= Self::MAX_STARTS;
        check("starts", f64::from(self.starts), good, "0 to 100000")
    }
}
