//! Analyses of a trace: summary, time series of links and connections, burstiness.
//!
//! Each analysis processes one event after the other (`on`) and returns its results at the end
//! (`finish`). Its memory contains the future results and the packets in flight. So memory is not
//! constant, but bounded:
//!
//! | | memory | limit |
//! |---|---|---|
//! | [`Summary`] | 80 bytes per flow and direction, 60 per link | [`MAX_FLOWS`] flows, and as many links |
//! | [`Connections`] | [`sender`]'s, 190 bytes per flow, 72 per interval of a flow | both limits |
//! | [`Links`] | 80 bytes per interval of a link, 8 per waiting packet | [`MAX_INTERVALS`] |
//! | [`Burstiness`] | 4 bytes per interval of a link | [`MAX_INTERVALS`] |
//!
//! A flow has intervals from its first packet to its last.
//!
//! Measured as the peak resident memory of the command per flow. The traces have 500 000 ns-2 flows of
//! one packet each, or as many captured connections with data in both directions: `summary` 360 and 780
//! bytes, `connections` 550 and 1150, `samples` 530 and 1070.
//!
//! Events beyond these limits are left out and counted: `left_out`, `flows_left_out`. Results from which
//! events were left out must not be shown.
//!
//! [`MAX_FLOWS`]: crate::sender::MAX_FLOWS
//! [`sender`]: crate::sender

use std::sync::Arc;

mod bandwidth;
mod burstiness;
mod connections;
mod links;
mod queue_tracker;
mod summary;

pub use burstiness::{Burstiness, IntervalVariation};
pub use connections::{ConnectionSeries, ConnectionTraceInterval, Connections};
pub use links::{LinkSeries, LinkTraceInterval, Links, TraceTotals};
pub use summary::{LinkEvents, Summary};

/// Maximum number of intervals of all links or connections together. It limits memory if a time is out of
/// order, or an interval is far too short.
pub const MAX_INTERVALS: usize = 1 << 22;

/// Returns the number of intervals until `end_ns`, including the last partial one.
fn intervals(end_ns: i64, every_ns: i64) -> usize {
    let every_ns = every_ns.unsigned_abs().max(1);
    let count = end_ns.max(1).unsigned_abs().div_ceil(every_ns);
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Returns whether `rows` rows of intervals until `now_ns` exceed [`MAX_INTERVALS`].
fn exceeds_max_intervals(now_ns: i64, every_ns: i64, rows: usize) -> bool {
    intervals(now_ns.saturating_add(1), every_ns).saturating_mul(rows.max(1)) > MAX_INTERVALS
}

/// Returns the rows of all series, interval by interval.
fn rows_in_time_order<'a, B: 'a, R>(
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

/// Converts seconds to nanoseconds, from 1 to `i64::MAX`.
fn interval_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round().clamp(1.0, i64::MAX as f64) as i64
}
