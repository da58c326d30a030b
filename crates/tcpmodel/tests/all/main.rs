//! Integration tests of the crate. They are one binary because it builds much faster than one per file.

mod latency;
mod reference;
mod rto;
mod stack;
mod steady;
mod transfer_simulation;
mod windows;
