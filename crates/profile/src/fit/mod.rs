//! Profiles from samples.
