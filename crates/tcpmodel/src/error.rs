//! The error type of this crate: a number outside its allowed range.

pub use netflow_units::OutOfRange as Error;
pub(crate) use netflow_units::ensure;
