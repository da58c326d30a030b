//! Profiles from samples.

mod sample;

pub use sample::{FlowSamples, Sample};
