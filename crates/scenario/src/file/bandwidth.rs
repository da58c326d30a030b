//! `bandwidth` in `[[link]]`

use netflow_document::{
    Findings, Key, Quantity, Read, Spanned, Table, Value, ValueKind, read_table, table,
};
use netflow_units::Rate;
use schemars::JsonSchema;
use serde::Serialize;

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

impl Read for BandwidthSetting {
    const KIND: &'static str = "a rate, or a table";
    const TABLES: &'static [&'static [Key]] = &[TraceSettings::KEYS];

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<BandwidthSetting> {
        if let ValueKind::Table(_) = value.kind {
            let trace = read_table(value, key, findings)?;
            return Some(BandwidthSetting::Trace(Box::new(trace)));
        }
        let rate = value.setting(key, &allowed::RATE, findings)?;
        Some(BandwidthSetting::Rate(*rate))
    }

    fn fallback() -> BandwidthSetting {
        BandwidthSetting::Rate(Quantity::fallback())
    }
}
