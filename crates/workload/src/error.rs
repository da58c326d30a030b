//! What can be wrong with a workload.

pub use netflow_units::OutOfRange as Error;
pub(crate) use netflow_units::ensure;
