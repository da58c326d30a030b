//! How long a short TCP transfer takes.
#![warn(missing_docs)]

mod error;
pub mod rounds;
pub mod rto;
mod stack;

pub use error::Error;
pub use stack::{Recovery, RtoRule, Stack, StackError, StackErrorKind, builtin_names};
