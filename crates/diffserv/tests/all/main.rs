//! Tests of meters, markers and droppers through the public API, in one binary to shorten the build.

mod invalid_settings;
mod packet_vs_expected;
mod properties;
mod vectors;
