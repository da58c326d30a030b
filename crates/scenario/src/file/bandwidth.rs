//! `bandwidth` in `[[link]]`

use netflow_document::{Quantity, Spanned, table};
use netflow_units::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use super::scalar_or_table::scalar_or_table;
use super::{Time, allowed};

/// Bandwidth of a link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BandwidthSetting {
    /// Constant bandwidth: `"8 Mbit/s"`.
    Rate(Quantity<Rate>),
    /// Trace: `{ trace = "lte.up" }`.
    Trace(Box<TraceSettings>),
}

/// Trace that a link follows.
#[table]
#[schemars(rename = "Trace")]
pub struct TraceSettings {
    /// File of the trace, which repeats. There are two kinds.
    ///
    /// A file whose name ends in `.csv` has values over time: columns `time` and `bandwidth`, and `delay` or `loss`
    /// where they change (then the link has no such key). A row applies from its time, counted from the first row, to
    /// the next one. The last row lasts as long as the one before, unless it has a time only: then it ends the trace.
    /// A bandwidth of 0 keeps the queue. Routes, default buffers and other values computed before the run use the
    /// means over time. `solve` rejects it.
    ///
    /// Any other file has a time in whole ms on each line, as `mm-link` of mahimahi reads it. At each time the link
    /// delivers up to 1504 B of the packets that arrived before; each packet counts 4 B more than on the wire. It needs
    /// the packet model.
    #[key(fixed, example = "lte.up")]
    pub trace: Spanned<String>,
    /// Position in the trace at the start of the run. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "30 s")]
    pub offset: Option<Time>,
}

scalar_or_table!(
    BandwidthSetting,
    "a rate, or a table",
    Rate(allowed::RATE),
    Trace(TraceSettings),
    Quantity::fallback()
);
