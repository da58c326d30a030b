//! Network evaluation with a queue for every link and a measured profile for every TCP source.
//!
//! (Not related to Cisco's NetFlow protocol.)
//!
//! A network is a set of finite queues, one for every link. Sources send at the rate that TCP
//! reaches at the loss and round-trip time of their paths. Queues fill and drop packets when they
//! are full. netflow simulates this over time, in milliseconds for 100 nodes. It reports queue
//! lengths, losses and rates.
//!
//! This crate is the facade for embedding netflow: one module for each part, and a [`prelude`].
//!
//! | module | contents |
//! |---|---|
//! | [`evaluate`](mod@evaluate) | scenarios evaluated in one call: seeds, summaries, results directories |
//! | [`failures`] | failure analysis in sentences, tables and a page |
//! | [`latency`](mod@latency) | latency of a short TCP transfer, by several models |
//! | [`network`] | network definitions |
//! | [`plan`](mod@plan) | capacity plans: the cheapest modules and new links |
//! | [`simulation`] | simulation over time |
//! | [`steady`] | steady states, sensitivities and headroom |
//! | [`sweep`] | one scenario in many variants |
//! | [`profile`] | throughput from loss and round-trip time |
//! | [`scenario`] | scenario files |
//! | [`document`] | TOML and CSV with positions and diagnostics |
//! | [`results`] | reading and writing of results directories |
//! | [`tcpmodel`] | models of TCP: short transfers, timeouts, sessions |
//! | [`diffserv`] | meters, markers, conditioners and droppers of DiffServ |
//! | [`trace`] | ns-2 traces and packet captures, and their statistics |
//! | [`compare`] | comparison of a scenario in netflow and ns-2 |
//! | [`report`] | pages and figures of results |
//! | [`workload`] | users of web and terminal applications |
//! | [`units`] | quantities with units |
//! | [`number`] | formatting of numbers |
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
//!     ecmp_share: None,
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
pub mod latency;
pub mod mark;
pub mod number;
pub mod plan;
pub mod resolve_name;
pub mod scenario_edit;
pub mod traces;
pub mod weights;

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

/// Names that most programs need.
pub mod prelude {
    pub use crate::evaluate::{Directory, End, Evaluation, Settings, evaluate};
    pub use crate::profile::Profile;
    pub use crate::results::{Format, Results, Summary, Writer};
    pub use crate::simulation::{
        Acks, Application, Buffer, BuildError, Change, ConnectionId, ConnectionSpec, DropPolicy,
        EventSpec, Explanation, FluidOptions, Interval, LinkId, LinkSpec, Model, Network,
        NetworkBuilder, NodeId, Options, Outcome, Recorder, Red, Run, RunError, Simulation, Source,
        State, Step,
    };
}
