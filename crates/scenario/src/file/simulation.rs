//! `[simulation]`

use netflow_network::{Coupling, ModelName, Transport};
use netflow_units::Seconds;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ByteSize, StepSetting, Time, allowed};
use crate::place::Spanned;
use crate::problem::Findings;
use crate::read::{Element, Quantity, Read, Section, Shown, Value, any, word};

/// How to evaluate the network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Simulation {
    /// How long the network is watched.
    pub duration: Time,
    /// From when on a run is summarized, so that means are not of an empty network that fills. `netflow
    /// run --from` says otherwise; series are of the whole run. Default: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Time>,
    /// The longest step, `"auto"`, or a table for steps that adapt. Steps are chosen from the
    /// round-trip times that sources see, and never longer than is right. Default: auto, which is
    /// 50 ms at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Spanned<StepSetting>>,
    /// Size of a data packet on the wire for connections that do not say; rates in pkt/s and
    /// sizes in pkt count packets of this size. Default: 1000 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<ByteSize>,
    /// Anything random depends on it and on nothing else. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<Spanned<u64>>,
    /// Which equations move the queues. `fluid` (the default): conservative, stable at any step,
    /// M/M/1/K blocking. `fluid-literal`: the paper's equations to the letter. `window`, or
    /// `packets`: congestion windows and packets, the default once a connection has a window source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ModelNames>")]
    pub model: Option<Spanned<ModelName>>,
    /// Whether TCP acknowledgements are traffic: 40 B each, on the way back. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acks: Option<Spanned<bool>>,
    /// How the mix of connections travels. `fifo`: what departs from a queue is what arrived one
    /// waiting time ago, and it reaches the next link after the link's delay. `well-mixed`: what
    /// departs has the mix of the whole queue and reaches the next link at once. Default: fifo;
    /// with adaptive steps and with `fluid-literal`, well-mixed is the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TransportName>")]
    pub transport: Option<Spanned<Transport>>,
    /// With `well-mixed`: what a source with a profile makes of its path. `learned`: it learns its
    /// loss over its last losses, after the way back, as with `fifo`. `implicit`: the profile at its
    /// word, within the step, together with its first link. `lagged`: the same at the start of the
    /// step. Default: learned; with adaptive steps implicit, with `fluid-literal` lagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CouplingName>")]
    pub coupling: Option<Spanned<Coupling>>,
    /// Interval over which arrivals are counted for their burstiness. Default: 100 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burstiness_interval: Option<Time>,
    /// The version of netflow that it was written for, such as `"0.2"`: `netflow check` names every
    /// default that changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_for: Option<Spanned<String>>,
}

/// Which equations move the queues.
#[derive(JsonSchema)]
// For the schema only: the type itself is the fluid crate's.
#[schemars(rename = "Model", rename_all = "kebab-case")]
#[allow(dead_code)]
enum ModelNames {
    Fluid,
    FluidLiteral,
    Window,
    Packets,
}

/// How the mix of connections travels.
#[derive(JsonSchema)]
#[schemars(rename = "Transport", rename_all = "kebab-case")]
#[allow(dead_code)]
enum TransportName {
    Fifo,
    WellMixed,
}

/// What a source makes of its path.
#[derive(JsonSchema)]
#[schemars(rename = "Coupling", rename_all = "kebab-case")]
#[allow(dead_code)]
enum CouplingName {
    Learned,
    Implicit,
    Lagged,
}

impl Default for Simulation {
    /// One minute with every setting at its default.
    fn default() -> Self {
        Simulation {
            duration: Quantity(Seconds(60.0)).into(),
            warmup: None,
            step: None,
            packet_size: None,
            seed: None,
            model: None,
            acks: None,
            transport: None,
            coupling: None,
            burstiness_interval: None,
            written_for: None,
        }
    }
}

impl Element for Simulation {
    const NAME: &'static str = "simulation";
    const KEYS: &'static [&'static str] = &[
        "duration",
        "warmup",
        "step",
        "packet-size",
        "seed",
        "model",
        "acks",
        "transport",
        "coupling",
        "burstiness-interval",
        "written-for",
    ];

    fn read(mut s: Section<'_, '_>) -> Simulation {
        let minute = Quantity(Seconds(60.0));
        let simulation = Simulation {
            duration: s.required(
                "duration",
                &allowed::DURATION,
                "duration = \"60 s\"",
                minute,
            ),
            warmup: s.optional("warmup", &allowed::MOMENT),
            step: s.optional("step", &any()),
            packet_size: s.optional("packet-size", &allowed::PACKET_SIZE),
            seed: s.optional("seed", &any()),
            model: s.optional("model", &any()),
            acks: s.optional("acks", &any()),
            transport: s.optional("transport", &any()),
            coupling: s.optional("coupling", &any()),
            burstiness_interval: s.optional("burstiness-interval", &allowed::INTERVAL),
            written_for: s.optional("written-for", &allowed::VERSION),
        };
        s.finish();
        simulation
    }
}

impl Read for ModelName {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<ModelName> {
        let words = [
            ("fluid", ModelName::Fluid),
            ("fluid-literal", ModelName::FluidLiteral),
            ("window", ModelName::Packets),
            ("packets", ModelName::Packets),
        ];
        word(value, key, &words, &[], findings)
    }
}

impl Read for Transport {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Transport> {
        let words = [
            ("fifo", Transport::Fifo),
            ("well-mixed", Transport::WellMixed),
        ];
        word(value, key, &words, &[], findings)
    }
}

impl Read for Coupling {
    fn read(value: &Value<'_>, key: &str, findings: &mut Findings) -> Option<Coupling> {
        let words = [
            ("learned", Coupling::Learned),
            ("implicit", Coupling::Implicit),
            ("lagged", Coupling::Lagged),
        ];
        word(value, key, &words, &[], findings)
    }
}

impl Shown for ModelName {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

impl Shown for Transport {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

impl Shown for Coupling {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}
