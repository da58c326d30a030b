//! Sessions of the users of workloads: arrivals, requests, replies and departures.

pub mod events;
pub mod session;
