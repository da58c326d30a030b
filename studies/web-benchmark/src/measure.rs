//! Cells measured, where that can be done.

use netflow_workload::Waits;

use crate::cell::Cell;

/// Why there is no measurement.
#[derive(Debug)]
pub enum Unmeasured {
    /// This machine has not what it takes.
    Unavailable(String),
    /// It was done, but this machine was too busy for it to count.
    Inconclusive(String),
    /// Something else went wrong.
    Failed(String),
}

impl Unmeasured {
    pub(crate) fn failed(error: impl ToString) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<netflow_testbed::Error> for Unmeasured {
    fn from(error: netflow_testbed::Error) -> Self {
        match error {
            netflow_testbed::Error::Unavailable { .. } => Self::Unavailable(error.to_string()),
            other => Self::failed(other),
        }
    }
}

/// Measures cells for a seed, all at once.
pub fn measure(cells: &[Cell], seed: u64) -> Vec<Result<Waits, Unmeasured>> {
    #[cfg(target_os = "linux")]
    return crate::namespaces::measure(cells, seed);
    #[cfg(not(target_os = "linux"))]
    return cells.iter().map(|_| Err(elsewhere(seed))).collect();
}

/// What server and client of this machine add to the wait for a file, in seconds: the median over
/// loopback.
///
/// # Errors
/// If no server can listen, or this machine is too busy.
pub fn service_s() -> Result<f64, Unmeasured> {
    #[cfg(target_os = "linux")]
    return crate::namespaces::service_s();
    #[cfg(not(target_os = "linux"))]
    return Err(elsewhere(0));
}

#[cfg(not(target_os = "linux"))]
fn elsewhere(_seed: u64) -> Unmeasured {
    Unmeasured::Unavailable("network namespaces are Linux's".to_owned())
}
