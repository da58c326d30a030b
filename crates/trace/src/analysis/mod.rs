//! What is in a trace: summaries, the series of links and of connections, burstiness.
//!
//! Each takes one event after the other (`on`) and says at the end what it found (`finish`); what
//! it keeps meanwhile is what it will say, and the packets that are under way. That is no constant memory,
//! but bounded:
//!
//! | | keeps | at most |
//! |---|---|---|
//! | [`Summary`] | 80 bytes a flow of either direction, 60 a link | [`MOST_FLOWS`](crate::sender::MOST_FLOWS) flows, as many links |
//! | [`Connections`] | what [`sender`](crate::sender) keeps, 190 bytes a flow, and 72 for every interval from its first packet to its last | as many flows, and [`MOST_INTERVALS`] |
//! | [`Links`] | 80 bytes for every interval of a link, 8 for every packet that waits | [`MOST_INTERVALS`] |
//! | [`Burstiness`] | 4 bytes for every interval of a link | [`MOST_INTERVALS`] |
//!
//! Measured as the most that the command has resident, for each of 500 000 flows of ns-2 of a packet each, and for each
//! of as many captured connections with data both ways: `summary` 360 and 780 bytes, `connections` 550 and 1150,
//! `samples` 530 and 1070.
//!
//! What would be more is left out and counted: `left_out`, `flows_left_out`. Numbers of which anything was left
//! out are not to be shown.

use std::sync::Arc;

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
pub const MOST_INTERVALS: usize = 1 << 22;

/// Intervals until this time, the last one begun.
fn intervals(end_ns: i64, every_ns: i64) -> usize {
    let every_ns = every_ns.unsigned_abs().max(1);
    let count = end_ns.max(1).unsigned_abs().div_ceil(every_ns);
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Whether so many rows of intervals until this time are too many.
fn too_many(now_ns: i64, every_ns: i64, rows: usize) -> bool {
    intervals(now_ns.saturating_add(1), every_ns).saturating_mul(rows.max(1)) > MOST_INTERVALS
}

/// The rows of all series, interval by interval.
fn in_time_order<'a, B: 'a, R>(
    series: Vec<(&'a [B], Arc<str>)>,
    row: fn(&B, &Arc<str>) -> R,
) -> impl Iterator<Item = R> {
    let intervals = series.iter().map(|(bins, _)| bins.len()).max();
    (0..intervals.unwrap_or(0)).flat_map(move |i| {
        let rows = series
            .iter()
            .filter_map(|(bins, name)| Some(row(bins.get(i)?, name)));
        rows.collect::<Vec<R>>()
    })
}

/// Nanoseconds of a time in seconds; at least one, at most as many as there are.
fn interval_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round().clamp(1.0, i64::MAX as f64) as i64
}
