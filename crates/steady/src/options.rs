//! How a steady state is looked for.

use crate::SteadyError;
use crate::solver::check;

/// How a steady state is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyOptions {
    /// How far from rest a link may be, relative in load.
    pub tolerance: f64,
    /// Random starts besides the first, to see whether they lead elsewhere: at most [`MOST_STARTS`](Self::MOST_STARTS).
    pub starts: u32,
    /// Everything random hangs on it.
    pub seed: u64,
}

impl Default for SteadyOptions {
    /// To 1e-10, without random starts.
    fn default() -> Self {
        SteadyOptions {
            tolerance: 1e-10,
            starts: 0,
            seed: 1,
        }
    }
}

impl SteadyOptions {
    /// Random starts at most.
    pub const MOST_STARTS: u32 = 100_000;

    pub(crate) fn check(&self) -> Result<(), SteadyError> {
        let good = (1e-14..=1e-2).contains(&self.tolerance);
        check("tolerance", self.tolerance, good, "1e-14 to 1e-2")?;
        let good = self.starts <= Self::MOST_STARTS;
        check("starts", f64::from(self.starts), good, "0 to 100000")
    }
}
