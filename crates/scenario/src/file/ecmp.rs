//! `ecmp` in `[simulation]`

use netflow_document::{Findings, Read, Value, ValueKind, keyword_enum};
use netflow_network::EcmpWeights;
use schemars::JsonSchema;
use serde::Serialize;

/// Division of traffic among equal-cost paths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EcmpSetting {
    /// `true`: every node divides traffic equally. `false`: traffic is not divided.
    Equal(bool),
    /// Every node divides traffic in proportion to capacity.
    ByCapacity(Weighted),
}

/// Division in proportion to capacity.
#[keyword_enum]
pub enum Weighted {
    /// `"weighted"`
    Weighted,
}

impl EcmpSetting {
    /// Returns the weights of next links; `None` if traffic is not divided.
    pub(crate) fn weights(self) -> Option<EcmpWeights> {
        match self {
            EcmpSetting::Equal(is_divided) => is_divided.then_some(EcmpWeights::Equal),
            EcmpSetting::ByCapacity(Weighted::Weighted) => Some(EcmpWeights::Capacity),
        }
    }
}

impl Read for EcmpSetting {
    const KIND: &'static str = "true, false or \"weighted\"";

    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<EcmpSetting> {
        match value.kind {
            ValueKind::String("weighted") | ValueKind::Cell("weighted") => {
                Some(EcmpSetting::ByCapacity(Weighted::Weighted))
            }
            _ => bool::read(value, key, findings).map(EcmpSetting::Equal),
        }
    }

    fn fallback() -> EcmpSetting {
        EcmpSetting::Equal(false)
    }
}
