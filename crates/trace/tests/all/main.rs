//! Traces, from outside. One binary: it builds in a fraction of the time of one for each file.

mod analysis;
mod malformed;
mod read_captures;
mod read_ns2;
mod read_samples;
mod sender;
