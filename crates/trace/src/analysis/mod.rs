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

/// Intervals that are kept, of all links or connections together: a time out of order, or an
/// interval far too short, must not take all memory.
pub const MOST_INTERVALS: usize = 1 << 23;

/// Whether so many rows of intervals until this time are too many.
fn too_many(now_ns: i64, every_ns: i64, rows: usize) -> bool {
    let intervals = (now_ns / every_ns) as usize + 1;
    intervals.saturating_mul(rows.max(1)) > MOST_INTERVALS
}

/// Nanoseconds of a time in seconds; at least one.
fn interval_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round().clamp(1.0, 9e18) as i64
}
