//! Tests of meters, markers and droppers through the public API, in one binary to shorten the build.

mod faces;
mod properties;
mod refusals;
mod vectors;
