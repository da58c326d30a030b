//! What a scenario file says, one file for each element. The descriptions here are the reference
//! of the format: the JSON schema is made of them.

mod aggregate;
mod allowed;
mod application;
mod bandwidth;
mod connection;
mod day;
mod delay_line;
mod demand;
mod distribution;
mod ecmp;
mod event;
mod include;
mod link;
mod link_class;
mod loss;
mod node;
mod ns2_tcp;
mod overhead;
mod paths;
pub mod planning_tables;
mod queue;
mod scalar_or_table;
mod simulation;
mod source;
mod srlg;
mod stack;
mod step;
mod token_bucket;
mod trace_row;
mod unavailability;
mod workload;

pub use aggregate::{Aggregate, ConditionerName};
pub use application::{ApplicationSetting, OnOffSetting};
pub use bandwidth::{BandwidthSetting, TraceSettings};
pub use connection::Connection;
pub use day::{Day, Factors};
pub use delay_line::{
    JitterDistributionName, JitterDistributionSetting, JitterSetting, JitterSettings,
    ReorderingGap, ReorderingSetting, SlotSettings,
};
pub use demand::{Demand, DemandKind};
pub(crate) use demand::{VOICE_PACKET, VOICE_PPS};
pub(crate) use distribution::distribution;
pub use distribution::{DistributionSetting, Exponential, LogNormal, Pareto, Rows, Variable};
pub use ecmp::{EcmpSetting, Weighted};
pub use event::{Event, Set};
pub use include::{Gravity, GravityWeight, Include};
pub use link::{Link, Reverse};
pub use link_class::LinkClass;
pub use loss::{Gilbert, LossCauses, LossSetting, OutageSettings};
pub use node::Node;
pub use ns2_tcp::{Ns2TcpSetting, VariantSetting};
pub use overhead::{CellsSetting, Frame, OverheadSetting};
pub use paths::{PathSetting, Paths, SharedPath, Shortest};
pub use queue::{
    AckFilterSetting, Cake, CakeDiscipline, CoDel, CoDelDiscipline, Curve, DualPi2,
    DualPi2Discipline, IsolationSetting, Pie, PieDiscipline, Plain, QueueSetting, Red,
    RedDiscipline, Rio, RioDiscipline, RttPreset, RttSetting, TinsSetting,
};
pub use simulation::{ModelSetting, Simulation};
pub use source::{SourceSetting, UsersSourceSetting};
pub use srlg::{RiskGroups, Srlg};
pub use stack::StackSetting;
pub use step::{Auto, StepSetting};
pub use token_bucket::{Absent, TokenBucket, TokenBucketSetting};
pub use trace_row::TraceRow;
pub(crate) use unavailability::Unavailability;
pub use workload::{ApplicationName, Counts, Places, Sizes, Times, Workload};

use netflow_document::{
    Fields, FileId, Findings, Overrides, Quantity, Section, SourceSpan, Spanned, Table, table,
};
use netflow_units::{BufferSize, Bytes, LongSeconds, Packets, Rate, Seconds, Size};

/// A time, such as `"20 ms"`.
pub type Time = Spanned<Quantity<Seconds>>;
/// A time between failures or to repair, such as `"2000 d"`.
pub type LongTime = Spanned<Quantity<LongSeconds>>;
/// A rate, such as `"8 Mbit/s"` or `"1000 pkt/s"`.
pub type RateSetting = Spanned<Quantity<Rate>>;
/// A size in bytes, such as `"1500 B"`.
pub type ByteSize = Spanned<Quantity<Bytes>>;
/// A size in packets, such as `"64 pkt"`.
pub type PacketCount = Spanned<Quantity<Packets>>;
/// A size in bytes or packets, such as `"150 KB"` or `"100 pkt"`.
pub type SizeSetting = Spanned<Quantity<Size>>;
/// Room in a queue, as a setting.
pub type BufferSetting = Spanned<Quantity<BufferSize>>;

/// A network, its traffic, and how to evaluate it.
///
/// Keys are written in kebab-case. A value with a dimension is a string with its unit: time `s ms us min h d`; rate
/// `bit/s kbit/s Mbit/s Gbit/s`, `B/s KB/s MB/s GB/s`, `pkt/s`; size `B KB MB GB KiB MiB GiB`; packets `pkt`. k
/// and K are 1000, Ki is 1024.
#[table]
pub struct Scenario {
    /// Settings of the evaluation.
    #[key(element)]
    pub simulation: Simulation,
    /// CSV tables with more nodes, links, connections, demands and events.
    #[key(element)]
    pub include: Option<Include>,
    /// Nodes with a label, a position, a population or an unavailability. Other nodes need no table: the links define them.
    #[key(name = "node")]
    pub nodes: Vec<Node>,
    /// Links, each with its queue.
    #[key(name = "link")]
    pub links: Vec<Link>,
    /// Shared-risk groups with an unavailability. Other groups need no table: `srlg` of the links defines them.
    #[key(name = "srlg")]
    pub srlgs: Vec<Srlg>,
    /// Connections: traffic of given sources.
    #[key(name = "connection")]
    pub connections: Vec<Connection>,
    /// Demands: traffic from node to node, given by its rate.
    #[key(name = "demand")]
    pub demands: Vec<Demand>,
    /// Daily profiles: factors of demands over 24 hours.
    #[key(name = "day")]
    pub days: Vec<Day>,
    /// DiffServ aggregates: connections whose packets are metered and marked together.
    #[key(name = "aggregate")]
    pub aggregates: Vec<Aggregate>,
    /// Workloads: users and their applications.
    #[key(name = "workload")]
    pub workloads: Vec<Workload>,
    /// Events: changes and failures of links during the run.
    #[key(name = "event")]
    pub events: Vec<Event>,
}

impl Scenario {
    /// The scenario as a TOML text, which reads back as an equal one.
    ///
    /// # Errors
    /// None that a scenario could cause.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Reads only the workloads.
    pub(crate) fn read_workloads(fields: Fields<'_>, findings: &mut Findings) -> Vec<Workload> {
        let mut top = Scenario::section("the file", fields, findings);
        let workloads = top.list();
        top.finish();
        workloads
    }

    /// Reads the document; what cannot be read is reported and replaced.
    pub(crate) fn read(
        fields: Fields<'_>,
        overrides: &Overrides,
        findings: &mut Findings,
    ) -> Scenario {
        let mut top = Scenario::section("the scenario", fields, findings).with_overrides(overrides);
        let scenario = Scenario::fields(&mut top);
        top.finish();
        scenario
    }

    fn section<'r, 'a>(
        what: &str,
        fields: Fields<'a>,
        findings: &'r mut Findings,
    ) -> Section<'r, 'a> {
        let start = SourceSpan::new(FileId::FIRST, 0..0);
        Section::new(findings, what, fields, start, &[Scenario::KEYS])
    }
}
