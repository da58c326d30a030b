//! `source = { window = … }` in `[[connection]]`

use netflow_network::TcpVariant;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{PacketCount, Time, allowed};
use crate::place::Spanned;
use crate::problem::Findings;
use crate::read::{Read, Section, Shown, Value, any, word};

/// A TCP source that carries its congestion window. What is not given is as in ns-2.35.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WindowSetting {
    /// How it reacts to losses: `"tahoe"`, `"reno"`, `"newreno"`, `"vegas"` or `"cubic"`.
    #[serde(serialize_with = "name")]
    #[schemars(with = "VariantName")]
    pub window: Spanned<TcpVariant>,
    /// Whether the receiver acknowledges only every second packet, or after 100 ms. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Spanned<bool>>,
    /// Window after the first acknowledgement. Default: 2 pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<PacketCount>,
    /// Retransmission timeout before the first measurement. Default: 3 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Time>,
    /// Shortest retransmission timeout. Default: 200 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Time>,
    /// Longest retransmission timeout. Default: 60 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rto: Option<Time>,
    /// It waits up to this, at random, before it sends: without that, connections at a drop-tail
    /// queue can lock phase. Default: 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_jitter: Option<Time>,
    /// Vegas: with fewer packets than this in the queues, it grows. Default: 1 pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<PacketCount>,
    /// Vegas: with more than this, it shrinks. Default: 3 pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<PacketCount>,
    /// Vegas: with more than this, slow start ends. Default: 1 pkt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<PacketCount>,
}

/// How a TCP reacts to losses.
#[derive(JsonSchema)]
// For the schema only: the type itself is the fluid crate's.
#[schemars(rename = "TcpVariant", rename_all = "lowercase")]
#[allow(dead_code)]
enum VariantName {
    Tahoe,
    Reno,
    NewReno,
    Vegas,
    Cubic,
}

const NAMES: [(&str, TcpVariant); 5] = [
    ("tahoe", TcpVariant::Tahoe),
    ("reno", TcpVariant::Reno),
    ("newreno", TcpVariant::NewReno),
    ("vegas", TcpVariant::Vegas),
    ("cubic", TcpVariant::Cubic),
];

impl WindowSetting {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "window",
        "delayed-ack",
        "initial-window",
        "initial-rto",
        "min-rto",
        "max-rto",
        "send-jitter",
        "alpha",
        "beta",
        "gamma",
    ];

    /// What else there is beside the variant, which was read already.
    pub(crate) fn beside(window: Spanned<TcpVariant>, s: &mut Section<'_, '_>) -> WindowSetting {
        WindowSetting {
            window,
            delayed_ack: s.optional("delayed-ack", &any()),
            initial_window: s.optional("initial-window", &allowed::WINDOW),
            initial_rto: s.optional("initial-rto", &allowed::TIMEOUT),
            min_rto: s.optional("min-rto", &allowed::TIMEOUT),
            max_rto: s.optional("max-rto", &allowed::TIMEOUT),
            send_jitter: s.optional("send-jitter", &allowed::DELAY),
            alpha: s.optional("alpha", &allowed::SURPLUS),
            beta: s.optional("beta", &allowed::SURPLUS),
            gamma: s.optional("gamma", &allowed::SURPLUS),
        }
    }

    /// The variant's name.
    pub fn name(&self) -> &'static str {
        variant_name(*self.window)
    }
}

fn variant_name(variant: TcpVariant) -> &'static str {
    let named = NAMES.iter().find(|(_, known)| *known == variant);
    named.map_or("reno", |(name, _)| name)
}

fn name<S: Serializer>(variant: &Spanned<TcpVariant>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(variant_name(**variant))
}

/// On its own, where there are no other sources.
impl Read for WindowSetting {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<WindowSetting> {
        let mut s = Section::of(value, key, Self::KEYS, findings)?;
        let example = "window = \"reno\"";
        let window = s.required("window", &any(), example, TcpVariant::Reno);
        let setting = WindowSetting::beside(window, &mut s);
        s.finish();
        Some(setting)
    }
}

impl Shown for WindowSetting {
    fn shown(&self) -> String {
        self.name().to_owned()
    }
}

impl Read for TcpVariant {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<TcpVariant> {
        word(value, key, &NAMES, &[], findings)
    }
}

impl Shown for TcpVariant {
    fn shown(&self) -> String {
        variant_name(*self).to_owned()
    }
}
