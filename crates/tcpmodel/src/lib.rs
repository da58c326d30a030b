//! How long a short TCP transfer takes.
#![warn(missing_docs)]

pub mod rounds;
mod stack;

pub use stack::Stack;
