//! Meters: how much of a stream is within its profile, and how fast it is.

mod bucket;
mod tsw;

pub use bucket::TokenBucket;
pub(crate) use bucket::{Bucket, Clock};
pub use tsw::Tsw;
pub(crate) use tsw::ensure_interval;
