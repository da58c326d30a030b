//! Rows of a trace over time, which `bandwidth = { trace = "FILE.csv" }` reads

use netflow_document::{Spanned, table};

use super::{RateSetting, Time, allowed};

/// Row of a trace over time. A last row with a time only ends the trace.
#[table(name = "row")]
pub struct TraceRow {
    /// Time from which the row applies.
    #[key(allowed = allowed::MOMENT, example = "0.5 s")]
    pub time: Time,
    /// Bandwidth; 0 keeps the queue.
    #[key(allowed = allowed::RATE_OR_ZERO, example = "8 Mbit/s")]
    pub bandwidth: Option<RateSetting>,
    /// Propagation delay.
    #[key(allowed = allowed::DELAY, example = "20 ms")]
    pub delay: Option<Time>,
    /// Probability of independent packet loss.
    #[key(allowed = allowed::LOSS, example = "1 %")]
    pub loss: Option<Spanned<f64>>,
}
