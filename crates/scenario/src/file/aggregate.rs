//! `[[aggregate]]`

use schemars::JsonSchema;
use serde::Serialize;

use super::{PacketCount, RateSetting, Time, allowed};
use crate::place::Spanned;
use crate::problem::Findings;
use crate::read::{Element, Quantity, Read, Section, Shown, Value, any, word};
use netflow_units::{BitsPerSecond, Rate};

/// A conditioned aggregate (DiffServ): the connections that name it are metered together, and
/// their packets marked with a drop precedence where they enter the network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Aggregate {
    /// Its name, unique: what connections call it.
    pub name: Spanned<String>,
    /// Rate up to which packets are DP0, the last to be dropped.
    pub committed_rate: RateSetting,
    /// Rate beyond which packets are DP2, the first to be dropped. Needed by `standard`, `sw` and
    /// `trtcm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<RateSetting>,
    /// What marks its packets.
    pub conditioner: Spanned<ConditionerName>,
    /// Averaging interval of the rate estimator, without effect on `srtcm` and `trtcm`. Default:
    /// 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averaging: Option<Time>,
    /// The round-trip time that `rtt`, `rtt-rto` and `rtt-sw` reckon with. Default: the mean of
    /// its packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Time>,
    /// The retransmission timeout that `rtt-rto` reckons with. Default: three round-trip times, at
    /// least 200 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<Time>,
    /// Window below which `sw` and `rtt-sw` mark a packet DP0. Default: 3 pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small_window: Option<PacketCount>,
}

/// The conditioners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionerName {
    /// By the rate alone: the time sliding window three colour marker of RFC 2859.
    Standard,
    /// Less DP2 for aggregates with a long round-trip time.
    Rtt,
    /// Less DP2 for a long round-trip time and a long retransmission timeout.
    RttRto,
    /// As `rtt`; packets sent with a small window are DP0.
    RttSw,
    /// As `standard`; packets sent with a small window are DP0.
    Sw,
    /// Single rate three colour marker of RFC 2697.
    Srtcm,
    /// Two rate three colour marker of RFC 2698.
    Trtcm,
}

impl ConditionerName {
    pub(crate) const ALL: [(&'static str, ConditionerName); 7] = [
        ("standard", ConditionerName::Standard),
        ("rtt", ConditionerName::Rtt),
        ("rtt-rto", ConditionerName::RttRto),
        ("rtt-sw", ConditionerName::RttSw),
        ("sw", ConditionerName::Sw),
        ("srtcm", ConditionerName::Srtcm),
        ("trtcm", ConditionerName::Trtcm),
    ];
}

impl Read for ConditionerName {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<ConditionerName> {
        word(value, key, &ConditionerName::ALL, &[], findings)
    }
}

impl Shown for ConditionerName {
    fn shown(&self) -> String {
        let mut all = ConditionerName::ALL.iter();
        all.find(|(_, name)| name == self)
            .map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}

impl Element for Aggregate {
    const NAME: &'static str = "aggregate";
    const KEYS: &'static [&'static str] = &[
        "name",
        "committed-rate",
        "peak-rate",
        "conditioner",
        "averaging",
        "rtt",
        "rto",
        "small-window",
    ];

    fn read(mut s: Section<'_, '_>) -> Aggregate {
        let name: Spanned<String> = s.required("name", &any(), "name = \"A1\"", String::new());
        s.call(|| format!("aggregate.{}", *name));
        let rate = Quantity(Rate::BitsPerSecond(BitsPerSecond(1e6)));
        let aggregate = Aggregate {
            name,
            committed_rate: s.required(
                "committed-rate",
                &allowed::RATE,
                "committed-rate = \"2 Mbit/s\"",
                rate,
            ),
            peak_rate: s.optional("peak-rate", &allowed::RATE),
            conditioner: s.required(
                "conditioner",
                &any(),
                "conditioner = \"standard\"",
                ConditionerName::Standard,
            ),
            averaging: s.optional("averaging", &allowed::DURATION),
            rtt: s.optional("rtt", &allowed::DURATION),
            rto: s.optional("rto", &allowed::DURATION),
            small_window: s.optional("small-window", &allowed::WINDOW),
        };
        s.finish();
        aggregate
    }
}
