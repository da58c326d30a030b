//! How a steady state is looked for.

use crate::SteadyError;
use crate::solver::check;

/// How a steady state is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyOptions {
    /// How far from rest a link may be, relative in load.
    pub tolerance: f64,
    /// Random starts besides the first, to see whether they lead elsewhere.
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
    pub(crate) fn check(&self) -> Result<(), SteadyError> {
        let good = (1e-14..=1e-2).contains(&self.tolerance);
        check("tolerance", self.tolerance, good, "1e-14 to 1e-2")
    }
}
