//! What can be wrong with a question.

pub use netflow_units::OutOfRange as Error;
pub(crate) use netflow_units::ensure;
