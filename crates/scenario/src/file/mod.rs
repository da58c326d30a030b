//! What a scenario file says, one file for each element. The descriptions here are the reference
//! of the format: the JSON schema is made of them.

mod aggregate;
mod allowed;
mod application;
mod connection;
mod distribution;
mod event;
mod include;
mod link;
mod link_class;
mod node;
mod queue;
mod simulation;
mod source;
mod step;
mod window;
mod workload;

pub use aggregate::{Aggregate, ConditionerName};
pub use application::ApplicationSetting;
pub use connection::Connection;
pub use distribution::{DistributionSetting, Exponential, LogNormal, Pareto};
pub(crate) use distribution::{Variable, distribution};
pub use event::{Event, Set};
pub use include::Include;
pub use link::Link;
pub use link_class::LinkClass;
pub use node::Node;
pub use queue::{Curve, Plain, QueueSetting, Red, RedDiscipline, Rio, RioDiscipline};
pub use simulation::Simulation;
pub use source::SourceSetting;
pub use step::{Adaptive, Auto, StepSetting};
pub use window::WindowSetting;
pub use workload::{ApplicationName, Counts, Places, Sizes, Times, Workload};

use netflow_units::{Bytes, Packets, Rate, Seconds, Size};
use schemars::JsonSchema;
use serde::Serialize;
use toml::de::DeTable;

use crate::place::{FileId, Place, Spanned};
use crate::problem::Findings;
use crate::read::{Element, Fields, Overrides, Quantity, Section};

/// A time, such as `"20 ms"`.
pub type Time = Spanned<Quantity<Seconds>>;
/// A rate, such as `"8 Mbit/s"` or `"1000 pkt/s"`.
pub type RateSetting = Spanned<Quantity<Rate>>;
/// A size in bytes, such as `"1500 B"`.
pub type ByteSize = Spanned<Quantity<Bytes>>;
/// A size in packets, such as `"64 pkt"`.
pub type PacketCount = Spanned<Quantity<Packets>>;
/// A size in bytes or packets, such as `"150 KB"` or `"100 pkt"`.
pub type SizeSetting = Spanned<Quantity<Size>>;

/// A network, the traffic in it, and how to evaluate it.
///
/// Keys are written in kebab-case. Everything that has a dimension is a string with its unit: time
/// `s ms us min h`; rate `bit/s kbit/s Mbit/s Gbit/s`, `B/s KB/s MB/s GB/s`, `pkt/s`; size `B KB MB
/// GB KiB MiB GiB`; packets `pkt`. k and K are 1000, Ki is 1024.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// How to evaluate the network.
    pub simulation: Simulation,
    /// Tables in CSV files with more nodes, links, connections and events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<Include>,
    /// Nodes, where there is something to say about them: they are known from the links.
    #[serde(rename = "node", skip_serializing_if = "Vec::is_empty", default)]
    pub nodes: Vec<Node>,
    /// The links, each with its queue.
    #[serde(rename = "link", skip_serializing_if = "Vec::is_empty", default)]
    pub links: Vec<Link>,
    /// The traffic.
    #[serde(rename = "connection", skip_serializing_if = "Vec::is_empty", default)]
    pub connections: Vec<Connection>,
    /// DiffServ: aggregates of connections whose packets are marked.
    #[serde(rename = "aggregate", skip_serializing_if = "Vec::is_empty", default)]
    pub aggregates: Vec<Aggregate>,
    /// Users, and what they do.
    #[serde(rename = "workload", skip_serializing_if = "Vec::is_empty", default)]
    pub workloads: Vec<Workload>,
    /// What happens to links on the way.
    #[serde(rename = "event", skip_serializing_if = "Vec::is_empty", default)]
    pub events: Vec<Event>,
}

impl Scenario {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "simulation",
        "include",
        "node",
        "link",
        "connection",
        "aggregate",
        "workload",
        "event",
    ];

    /// The scenario as a TOML text, which reads back as an equal one.
    ///
    /// # Errors
    /// None that a scenario could cause.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Reads only the workloads.
    pub(crate) fn read_workloads(document: &DeTable<'_>, findings: &mut Findings) -> Vec<Workload> {
        let start = Place::new(FileId::SCENARIO, 0..0);
        let fields = Fields::Toml(document);
        let mut top = Section::new(findings, "the file", fields, start, Self::KEYS);
        let workloads = top.list(Workload::EXAMPLE);
        top.finish();
        workloads
    }

    /// Reads the document; what cannot be read is reported and replaced.
    pub(crate) fn read(
        document: &DeTable<'_>,
        overrides: &Overrides,
        findings: &mut Findings,
    ) -> Scenario {
        let start = Place::new(FileId::SCENARIO, 0..0);
        let mut top = Section::new(
            findings,
            "the scenario",
            Fields::Toml(document),
            start,
            Self::KEYS,
        )
        .with(overrides);
        let simulation = match top.table::<Simulation>() {
            Some(section) => Simulation::read(section),
            None => Simulation::default(),
        };
        if !document.contains_key(Simulation::NAME) {
            top.missing(Simulation::NAME, "[simulation]` and `duration = \"60 s\"");
        }
        let scenario = Scenario {
            simulation,
            include: top.table::<Include>().map(Include::read),
            nodes: top.list("`name = \"A\"`"),
            links: top.list("`from = \"A\"`, `to = \"B\"` and `bandwidth = \"8 Mbit/s\"`"),
            connections: top
                .list("`from = \"A\"`, `to = \"B\"` and `source = { profile = \"ns-reno\" }`"),
            aggregates: top.list(
                "`name = \"A1\"`, `committed-rate = \"2 Mbit/s\"` and `conditioner = \"standard\"`",
            ),
            workloads: top.list(Workload::EXAMPLE),
            events: top.list("`at = \"20 s\"`, `link = \"A->B\"` and `down = true`"),
        };
        top.finish();
        scenario
    }
}
