//! Measurement of experiments, where the system supports it.

use netflow_workload::ResponseTimes;

use crate::cell::Cell;

/// Reason why there is no measurement.
#[derive(Debug)]
pub enum MeasureError {
    /// The machine lacks a requirement.
    Unavailable(String),
    /// The machine was too busy for the measurement to count.
    Inconclusive(String),
    /// Another error.
    Failed(String),
}

impl MeasureError {
    pub(crate) fn failed(error: impl ToString) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<netflow_testbed::Error> for MeasureError {
    fn from(error: netflow_testbed::Error) -> Self {
        match error {
            netflow_testbed::Error::Unavailable { .. } => Self::Unavailable(error.to_string()),
            other => Self::failed(other),
        }
    }
}

/// Measures experiments in parallel for one seed.
pub fn measure(cells: &[Cell], seed: u64) -> Vec<Result<ResponseTimes, MeasureError>> {
    #[cfg(target_os = "linux")]
    return crate::namespaces::measure(cells, seed);
    #[cfg(not(target_os = "linux"))]
    return cells.iter().map(|_| Err(elsewhere(seed))).collect();
}

/// Returns the processing time of server and client per file in seconds: the median over loopback.
///
/// # Errors
/// If the server cannot listen, or the machine is too busy.
pub fn service_s() -> Result<f64, MeasureError> {
    #[cfg(target_os = "linux")]
    return crate::namespaces::service_s();
    #[cfg(not(target_os = "linux"))]
    return Err(elsewhere(0));
}

#[cfg(not(target_os = "linux"))]
fn elsewhere(_seed: u64) -> MeasureError {
    MeasureError::Unavailable("network namespaces are Linux's".to_owned())
}
