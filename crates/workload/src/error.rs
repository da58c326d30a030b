//! Error of an invalid workload.

pub use netflow_units::OutOfRange as Error;
pub(crate) use netflow_units::ensure;
