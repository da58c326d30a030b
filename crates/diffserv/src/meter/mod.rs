//! Meters: token buckets and a rate estimator.

mod bucket;
mod tsw;

pub use bucket::TokenBucket;
pub(crate) use bucket::{Bucket, TokenClock};
pub use tsw::Tsw;
pub(crate) use tsw::ensure_interval;
