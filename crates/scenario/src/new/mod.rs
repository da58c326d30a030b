//! Scenarios to start from.
