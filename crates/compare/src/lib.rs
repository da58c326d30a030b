//! Comparison of netflow with reference simulators (ns-2, ns-3) and with Linux TCP.
//!
//! A [`Runner`] runs a scenario once per seed. [`Ns2`] runs ns-2 with the exported script, [`Ns3`] runs the
//! exported ns-3 program, and [`Linux`] runs the TCP of the kernel over an emulated network. [`Ensemble`]
//! contains the runs, [`NetflowRun`] the result of netflow, and [`Comparison`] the errors. Other runs
//! can be read from packet traces ([`from_traces`]) and from results directories
//! ([`NetflowRun::from_results`]).
//!
//! ```no_run
//! use netflow_compare::{Comparison, Ensemble, NetflowRun, Ns2, ReferenceSystem, Runner, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = netflow_scenario::load("scenarios/topology.toml".as_ref(), &[])?;
//! let settings = Settings { seeds: 3, ..Settings::default() };
//! let netflow_run = NetflowRun::evaluate(&scenario, &settings)?;
//! let runs = Ns2::find()?.run_seeds(&scenario, &settings, &|_| {}, &|| false)?;
//! let comparison = Comparison::new(&netflow_run, &Ensemble::of(ReferenceSystem::Ns2, &runs));
//! println!("queues: error {:.0} %", 100.0 * comparison.totals.queue_error);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod comparison;
mod ensemble;
mod ensemble_csv;
mod error;
mod external_program;
mod from_trace;
#[cfg(target_os = "linux")]
mod linux;
mod netflow_run;
mod ns2;
mod ns3;
mod reference_runner;

pub use comparison::{
    ComparedValue, Comparison, ConnectionComparison, LinkComparison, MAX_BUSIEST_LINKS, Totals,
};
pub use ensemble::{Ensemble, RunStatistics};
pub use ensemble_csv::write_ensemble;
pub use error::Error;
pub use from_trace::{from_trace, from_traces};
#[cfg(target_os = "linux")]
pub use linux::Linux;
pub use netflow_results::ReferenceSystem;
pub use netflow_run::NetflowRun;
pub use ns2::Ns2;
pub use ns3::Ns3;
pub use reference_runner::{Costs, Runner, Settings};

/// One run: the time series of all links and connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Ends of the intervals in seconds.
    pub times_s: Vec<f64>,
    /// Name and intervals of each link.
    pub links: Vec<(String, Vec<LinkInterval>)>,
    /// Name and intervals of each connection.
    pub connections: Vec<(String, Vec<ConnectionInterval>)>,
    /// One-way delay of each connection with delivered packets, if measured.
    pub delays: Vec<(String, Delay)>,
    /// Cost of the run in seconds, if measured: CPU time, or elapsed time for real-time runs.
    pub cost_s: Option<f64>,
    /// Reason why the run is unreliable, if it is.
    pub doubt: Option<String>,
    /// Descriptions of unavailable quantities.
    pub untold: Vec<String>,
}

/// One-way delay of packets from a sender to its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    /// Median in seconds.
    pub p50_s: f64,
    /// 95th percentile in seconds.
    pub p95_s: f64,
}

/// Measurements of a link in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkInterval {
    /// Arrived packets.
    pub arrived_pkts: f64,
    /// Lost packets.
    pub lost_pkts: f64,
    /// Packets that the queue marked (CE, RFC 3168); `None` if not counted.
    pub marked_pkts: Option<f64>,
    /// Mean queue in packets, including the one in service; NaN if the bandwidth is unknown, because a trace
    /// does not contain it.
    pub queue_pkts: f64,
    /// Utilization, 0–1; NaN if the bandwidth is unknown.
    pub utilization: f64,
}

/// Measurements of a connection in one interval, summed over its `count`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionInterval {
    /// Data packets sent.
    pub sent_pkts: f64,
    /// Data packets delivered (in ns-2: acknowledged).
    pub delivered_pkts: f64,
}

impl Run {
    /// Returns the lengths of the intervals in seconds.
    fn lengths_s(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let before = std::iter::once(0.0).chain(self.times_s.iter().copied());
        self.times_s
            .iter()
            .zip(before)
            .map(|(end, start)| end - start)
    }
}
