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
    /// Packet-delivery trace: `{ trace = "lte.up" }`.
    Trace(Box<TraceSettings>),
}

/// Packet-delivery trace.
#[table]
#[schemars(rename = "Trace")]
pub struct TraceSettings {
    /// File with a time in whole ms on each line, as `mm-link` of mahimahi reads it. At each time the link delivers up to
    /// 1504 B of the packets that arrived before; each packet counts 4 B more than on the wire. The trace repeats.
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
