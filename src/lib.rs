//! A network evaluator: every link a queue, every TCP source its measured profile.
//!
//! (Nothing to do with Cisco's NetFlow protocol.)
//!
//! A network is a set of finite queues, one in front of every link. Sources send at the rate that
//! TCP reaches at the loss and the round-trip time of their paths; the queues fill, and lose what
//! they cannot hold. netflow steps this through time, in milliseconds for a hundred nodes, and
//! tells how long the queues are, what is lost and how fast everybody is.
//!
//! This crate is the whole for those who embed it: one module for every part, and a [`prelude`].
//!
//! | module | what is in it |
//! |---|---|
//! | [`evaluate`](mod@evaluate) | scenarios evaluated in one call: seeds, summaries, results directories |
//! | [`failures`] | what failures do to a network, in sentences, tables and a page |
//! | [`latency`](mod@latency) | how long a short TCP transfer takes, by several models |
//! | [`network`] | networks: what they are made of |
//! | [`simulation`] | networks on their way through time |
//! | [`steady`] | where networks come to rest, what gains there, and how much more they carry |
//! | [`sweep`] | one scenario in very many variants |
//! | [`profile`] | throughput from loss and round-trip time |
//! | [`scenario`] | scenario files |
//! | [`document`] | TOML and CSV with places, and what is wrong with them |
//! | [`results`] | results directories, written and read |
//! | [`tcpmodel`] | models of TCP: short transfers, timeouts, conversations |
//! | [`diffserv`] | meters, markers, conditioners and droppers of DiffServ |
//! | [`trace`] | packet traces of ns-2 and captures, and what can be computed from them |
//! | [`compare`] | a scenario evaluated here and run by ns-2, side by side |
//! | [`report`] | pages and figures of results |
//! | [`workload`] | users of the web and of terminals |
//! | [`units`] | quantities with units |
//! | [`number`] | numbers as people read them |
//!
//! # From a file
//!
//! ```no_run
//! use netflow::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = netflow::scenario::load("scenarios/topology.toml".as_ref(), &[])?;
//! let evaluation = netflow::evaluate(&scenario, &Settings::default())?;
//! println!("{} packets were lost", evaluation.summary.totals.lost_pkts);
//! # Ok(())
//! # }
//! ```
//!
//! # In code
//!
//! ```
//! use netflow::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = NetworkBuilder::new();
//! let (a, b) = (builder.node("a"), builder.node("b"));
//! for (from, to) in [(a, b), (b, a)] {
//!     builder.link(LinkSpec { delay_s: 0.02, ..LinkSpec::new(from, to, 8e6) });
//! }
//! builder.connection(ConnectionSpec {
//!     name: "c1".to_owned(),
//!     from: a,
//!     to: b,
//!     source: Source::Constant { rate_pps: 800.0 },
//!     application: Application::Bulk,
//!     start_s: 0.0,
//!     stop_s: None,
//!     size_pkts: None,
//!     count: 1,
//!     max_window_pkts: None,
//!     packet_size_bytes: 1000.0,
//!     path: None,
//!     return_path: None,
//!     flow: None,
//!     divides: None,
//!     transfers: None,
//!     acks: Acks::None,
//! });
//! let network = builder.build().map_err(|errors| errors[0].clone())?;
//! let link = network.link_by_name("a->b").expect("it was just added");
//!
//! let mut simulation = Simulation::new(network, Options { duration_s: 20.0, ..Options::default() })?;
//! while !simulation.is_done() {
//!     simulation.step()?;
//! }
//! // 800 packets/s into a queue that serves 1000: four are there, as in an M/M/1 queue.
//! assert!((simulation.queue_pkts(link) - 4.0).abs() < 0.01);
//! # Ok(())
//! # }
//! ```

pub mod evaluate;
pub mod failures;
pub mod find;
pub mod latency;
pub mod mark;
pub mod number;
pub mod traces;

pub use evaluate::evaluate;
pub use netflow_compare as compare;
pub use netflow_diffserv as diffserv;
pub use netflow_document as document;
pub use netflow_import as import;
pub use netflow_network as network;
pub use netflow_profile as profile;
pub use netflow_report as report;
pub use netflow_results as results;
pub use netflow_scenario as scenario;
pub use netflow_simulation as simulation;
pub use netflow_steady as steady;
pub use netflow_sweep as sweep;
pub use netflow_tcpmodel as tcpmodel;
pub use netflow_trace as trace;
pub use netflow_units as units;
pub use netflow_workload as workload;

/// What most programs need.
pub mod prelude {
    pub use crate::evaluate::{Directory, End, Evaluation, Settings, evaluate};
    pub use crate::profile::Profile;
    pub use crate::results::{Format, Results, Summary, Writer};
    pub use crate::simulation::{
        Acks, Application, Buffer, BuildError, Change, ConnectionId, ConnectionSpec, Coupling,
        DropPolicy, EventSpec, Explanation, FluidOptions, Interval, LinkId, LinkSpec, Model,
        Network, NetworkBuilder, NodeId, Options, Outcome, Recorder, Red, Run, RunError,
        Simulation, Source, State, Step, Transport,
    };
}
