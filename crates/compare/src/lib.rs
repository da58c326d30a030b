//! A scenario evaluated by netflow and run by a referee, side by side.
//!
//! A [`Runner`] runs a scenario once per seed: [`Ns2`] is a real ns-2 on the script that the scenario crate
//! exports, [`Ns3`] a real ns-3 on the program that it does, [`Linux`] the TCP of this machine's kernel over an emulated network. [`Ensemble`] is what the runs say together, [`Side`] what netflow says, and [`Comparison`] puts
//! one beside the other. Runs made elsewhere come in as packet traces ([`from_traces`]) and as
//! results directories ([`Side::of_results`]).
//!
//! ```no_run
//! use netflow_compare::{Comparison, Ensemble, Ns2, Referee, Runner, Settings, Side};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = netflow_scenario::load("scenarios/topology.toml".as_ref(), &[])?;
//! let settings = Settings { seeds: 3, ..Settings::default() };
//! let side = Side::evaluate(&scenario, &settings)?;
//! let runs = Ns2::find()?.run_seeds(&scenario, &settings, &|_| {}, &|| false)?;
//! let comparison = Comparison::new(&side, &Ensemble::of(Referee::Ns2, &runs));
//! println!("queues: error {:.0} %", 100.0 * comparison.totals.queue_error);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod comparison;
mod ensemble;
mod error;
mod files;
mod from_trace;
#[cfg(target_os = "linux")]
mod linux;
mod ns2;
mod ns3;
mod program;
mod runner;
mod side;

pub use comparison::{BUSIEST, Comparison, ConnectionComparison, Estimate, LinkComparison, Totals};
pub use ensemble::{Ensemble, Spread};
pub use error::Error;
pub use files::write_ensemble;
pub use from_trace::{from_trace, from_traces};
#[cfg(target_os = "linux")]
pub use linux::Linux;
pub use netflow_results::Referee;
pub use ns2::Ns2;
pub use ns3::Ns3;
pub use runner::{Costs, Runner, Settings};
pub use side::Side;

/// One run: what happened at every link and to every connection, interval by interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Ends of the intervals in seconds.
    pub times_s: Vec<f64>,
    /// By link: its name, and one of these per interval.
    pub links: Vec<(String, Vec<LinkInterval>)>,
    /// By connection.
    pub connections: Vec<(String, Vec<ConnectionInterval>)>,
    /// By connection that had packets delivered, how long they took, where that was measured.
    pub delays: Vec<(String, Delay)>,
    /// What the run cost in seconds, where it was measured: of processors, or by the clock where it is
    /// that which passes.
    pub cost_s: Option<f64>,
    /// Why it does not count, if it does not.
    pub doubt: Option<String>,
    /// What it does not tell of, in words, where that is not all.
    pub untold: Vec<String>,
}

/// How long packets took from a sender to its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    /// Median, in seconds.
    pub p50_s: f64,
    /// 95 of 100 took no longer.
    pub p95_s: f64,
}

/// A link over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkInterval {
    /// Packets that arrived.
    pub arrived_pkts: f64,
    /// Packets that were lost.
    pub lost_pkts: f64,
    /// Packets that the queue marked (CE, RFC 3168); `None` where that is not counted.
    pub marked_pkts: Option<f64>,
    /// Mean queue in packets, the one in service included; not a number where the bandwidth is not known, which a trace
    /// does not hold.
    pub queue_pkts: f64,
    /// Fraction of the time the link was busy; not a number likewise.
    pub utilization: f64,
}

/// A connection (all `count` of it) over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionInterval {
    /// Data packets sent.
    pub sent_pkts: f64,
    /// Data packets delivered (in ns-2: acknowledged).
    pub delivered_pkts: f64,
}

impl Run {
    /// Lengths of the intervals in seconds.
    fn lengths_s(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let before = std::iter::once(0.0).chain(self.times_s.iter().copied());
        self.times_s
            .iter()
            .zip(before)
            .map(|(end, start)| end - start)
    }
}
