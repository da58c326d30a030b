//! Optimization of IGP metrics by tabu search (Fortz and Thorup, *Internet Traffic Engineering by Optimizing OSPF Weights*,
//! INFOCOM 2000; with failures: *Robust Optimization of OSPF/IS-IS Weights*, INOC 2003).
//!
//! The search lowers the largest load of a link, without failures and after each failure, for ECMP routing. It starts from
//! the present metrics and keeps the best result for each number of changes. A lower bound for any routing comes from
//! the maximum concurrent flow ([`concurrent_flow`]).

mod concurrent_flow;
mod congestion_cost;
mod ecmp_loads;
mod routing_problem;
mod tabu_search;

use netflow_network::{LinkId, Network};

use crate::rows::failure_name;
use crate::{FailureOptions, SteadyError};
use routing_problem::RoutingProblem;
use tabu_search::TabuSearch;

/// Largest metric of OSPF.
pub const MAX_OSPF_METRIC: u32 = 65_535;
/// Largest wide metric of IS-IS (RFC 5305).
pub const MAX_ISIS_METRIC: u32 = 16_777_214;

/// Options of a weight search.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightOptions {
    /// Links by common metric: one metric holds for all links of a group. Every link is in one group.
    pub groups: Vec<Vec<LinkId>>,
    /// Present metric of each group, from 1 to [`MAX_ISIS_METRIC`].
    pub metrics: Vec<u32>,
    /// Failures after which the largest load counts; `None` for the intact network only.
    pub failures: Option<FailureOptions>,
    /// Maximum number of groups whose metric changes; `None` for any number.
    pub max_changes: Option<usize>,
    /// Number of steps of the tabu search.
    pub iterations: usize,
    /// Random seed.
    pub seed: u64,
}

/// Reason why metrics cannot be optimized.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// The failures cannot be listed.
    #[error(transparent)]
    Failures(#[from] SteadyError),
    /// The demand of a connection is unlimited.
    #[error(
        "{connection} is bulk TCP, which fills any link; a weight search needs demands, or applications with a rate"
    )]
    UnlimitedDemand {
        /// Name of the connection.
        connection: String,
    },
    /// The network has a kind of routing that the search does not model.
    #[error("a weight search does not support {element}")]
    Unsupported {
        /// The kind of routing.
        element: &'static str,
    },
    /// A link that traffic can use has no bandwidth at that time.
    #[error("{link} has no bandwidth at this time; choose another time")]
    NoBandwidth {
        /// Name of the link.
        link: String,
    },
    /// No demand has a path over a link.
    #[error("no traffic crosses a link: there is nothing to optimize")]
    NoTraffic,
}

/// Metrics with the largest load that they give.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightSetting {
    /// Metric of each group.
    pub metrics: Vec<u32>,
    /// Number of groups with another metric than at present.
    pub changes: usize,
    /// Largest load of a link over all cases, as a fraction of its bandwidth.
    pub max_load: f64,
    /// Largest load without failures.
    pub intact_load: f64,
}

/// Result of a weight search.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Best settings, from the present metrics on: each has more changes and a lower largest load than the one before it.
    pub settings: Vec<WeightSetting>,
    /// No routing has a lower largest load, whatever paths and shares it uses.
    pub lower_bound: f64,
    /// Failure that gives the lower bound; `None` for the intact network.
    pub bounding_case: Option<String>,
    /// Number of metric settings that were evaluated.
    pub evaluations: u64,
}

/// Fraction above the lowest load that is given up for fewer changes.
const FEWER_CHANGES_TOLERANCE: f64 = 0.01;

impl Weights {
    /// Returns the present metrics.
    pub fn present(&self) -> &WeightSetting {
        &self.settings[0]
    }

    /// Returns the setting with the fewest changes whose largest load is at most 1 % above the lowest one.
    pub fn chosen(&self) -> &WeightSetting {
        let lowest = self.settings[self.settings.len() - 1].max_load;
        let most = lowest * (1.0 + FEWER_CHANGES_TOLERANCE);
        let mut settings = self.settings.iter();
        let found = settings.find(|it| it.max_load <= most);
        found.unwrap_or(&self.settings[0])
    }
}

/// Searches for metrics with which the largest load of a link is lowest, for the demands just before `at_s` and ECMP routing.
/// `progress` is called with the fraction that is done. A stopped search returns the best settings so far. The result is
/// bit-identical for any number of threads.
///
/// # Errors
/// [`WeightsError`].
///
/// # Panics
/// If `groups` and `metrics` differ in length, if a link is in no group, or if a metric is out of range.
pub fn optimize_weights(
    network: &Network,
    at_s: f64,
    options: &WeightOptions,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &mut dyn FnMut(f64),
) -> Result<Weights, WeightsError> {
    let in_range = |metric: &u32| (1..=MAX_ISIS_METRIC).contains(metric);
    assert!(options.metrics.iter().all(in_range), "metrics out of range");
    assert_eq!(options.groups.len(), options.metrics.len());
    let problem = RoutingProblem::new(network, at_s, options)?;
    let (lower_bound, bounding_case) = problem.lower_bound(stop);
    if lower_bound == 0.0 {
        return Err(WeightsError::NoTraffic);
    }
    let mut search = TabuSearch::new(&problem, options, lower_bound);
    search.run(stop, progress);
    Ok(Weights {
        evaluations: search.evaluations(),
        settings: search.into_settings(),
        lower_bound,
        bounding_case: bounding_case
            .map(|case| failure_name(network, &problem.cases[case].failing)),
    })
}

#[cfg(test)]
mod tests;
