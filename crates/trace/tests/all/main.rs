//! Integration tests of the trace crate. One binary builds much faster than one per file.

mod analysis;
mod malformed;
mod read_captures;
mod read_ns2;
mod read_samples;
mod sender;
