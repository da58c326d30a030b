//! What is in a trace: summaries, the series of links and of connections, burstiness.
//!
//! Each takes one event after the other (`on`) and says at the end what it found (`finish`); what
//! it keeps meanwhile is what it will say, and the packets that are under way.

mod bandwidth;
mod burstiness;
mod connections;
mod links;
mod queue;
mod summary;

pub use burstiness::{Burstiness, Spread};
pub use connections::{ConnectionBin, ConnectionSeries, Connections};
pub use links::{LinkBin, LinkSeries, Links, TraceTotals};
pub use summary::{LinkEvents, Summary};

/// Nanoseconds of a time in seconds; at least one.
fn interval_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round().clamp(1.0, 9e18) as i64
}
