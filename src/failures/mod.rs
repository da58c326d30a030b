//! Presentation of failure analyses: sentences, tables and a page, as in `netflow failures`.
//!
//! ```
//! use netflow::failures::FailureReport;
//! use netflow::steady::{FailureOptions, failures};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"
//!     simulation = { duration = "10 s" }
//!     link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms" }]
//!     connection = [{ from = "A", to = "B", source = { constant = "1 Mbit/s" } }]
//! "#;
//! let scenario = netflow::scenario::from_str("two.toml", text, ".".as_ref(), &[])
//!     .map_err(|problems| problems.into_vec().remove(0).message)?;
//! let network = &scenario.network;
//! let at_s = scenario.options.duration_s;
//! let found = failures(network, at_s, &FailureOptions::default(), &|| false)?.ok_or("it was stopped")?;
//! let seen = FailureReport::new(network, &found, at_s);
//! assert!(seen.summary().iter().any(|line| line.contains("A<->B costs 100 % of the goodput")));
//! let page = seen.page("two.toml".as_ref(), &scenario.node_annotations).html();
//! assert!(page.contains("Failures of two.toml"));
//! # Ok(())
//! # }
//! ```

mod narrative;
mod page;
mod tables;

use netflow_network::Network;
use netflow_steady::Failures;
use netflow_steady::rows::{self, FailureRow, LinkUnderFailureRow};

pub use tables::lost_goodput_text;

/// Failure analysis of a network, and the rows that describe it.
#[derive(Debug)]
pub struct FailureReport<'a> {
    network: &'a Network,
    failures: &'a Failures,
    at_s: f64,
    /// Failure cases by rank, worst first.
    pub cases: Vec<FailureRow<'a>>,
    /// Every link, in the network's order.
    pub links: Vec<LinkUnderFailureRow<'a>>,
}

impl<'a> FailureReport<'a> {
    /// Creates the rows of an analysis of this network, with the sources that are active just
    /// before `at_s` seconds.
    pub fn new(network: &'a Network, found: &'a Failures, at_s: f64) -> FailureReport<'a> {
        FailureReport {
            network,
            failures: found,
            at_s,
            cases: rows::failures(network, found),
            links: rows::under_failures(network, found),
        }
    }

    /// Returns the number of cases without a steady state.
    pub fn without_steady_state(&self) -> usize {
        self.cases
            .iter()
            .filter(|case| !case.has_steady_state)
            .count()
    }
}
