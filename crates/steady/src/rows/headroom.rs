//! Rows of headroom computations.

use netflow_network::Network;
use serde::Serialize;

use super::failures::failure_name;
use crate::{BindingKind, Bounds, Headroom, HeadroomUnderFailures};

/// Result of a headroom computation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomRow<'a> {
    /// Time in seconds.
    pub at_s: f64,
    /// Requested bound of the utilization; `None` without one.
    pub max_utilization: Option<f64>,
    /// Requested bound of the mean one-way delay, in seconds; `None` without one.
    pub max_delay_s: Option<f64>,
    /// Requested bound of the loss probability; `None` without one.
    pub max_loss: Option<f64>,
    /// `all demands`, or the name of the scaled demands.
    pub scaled: &'a str,
    /// Largest admissible factor; `None` if the bounds are violated at every factor.
    pub factor: Option<f64>,
    /// Sending rate at that factor, in packets/s.
    pub rate_pps: f64,
    /// Goodput at that factor, in bit/s.
    pub goodput_bps: f64,
    /// Fraction of packets lost at that factor.
    pub loss_probability: f64,
    /// Bound that is reached first.
    pub binding: Option<BindingKind>,
    /// Link or connection of that bound.
    pub binding_at: Option<&'a str>,
}

/// Returns the row of request and result; `scaled` names the scaled demands, if not all.
pub fn headroom<'a>(
    network: &'a Network,
    at_s: f64,
    bounds: &Bounds,
    scaled: Option<&'a str>,
    found: &Headroom,
) -> HeadroomRow<'a> {
    let given = |bound: f64| Some(bound).filter(|bound| bound.is_finite());
    HeadroomRow {
        at_s,
        max_utilization: given(bounds.utilization),
        max_delay_s: given(bounds.delay_s),
        max_loss: given(bounds.loss),
        scaled: scaled.unwrap_or("all demands"),
        factor: found.factor,
        rate_pps: found.steady.totals.rate_pps,
        goodput_bps: found.steady.totals.goodput_bps,
        loss_probability: found.steady.totals.loss_probability,
        binding: found.binding.map(|binding| binding.kind()),
        binding_at: found.binding.map(|binding| binding.name(network)),
    }
}

/// Result of a headroom computation under failures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomUnderFailuresRow<'a> {
    /// Smallest headroom of the intact network and all failures.
    #[serde(flatten)]
    pub least: HeadroomRow<'a>,
    /// Failed elements in that case; `None` for the intact network.
    pub failure: Option<String>,
    /// Factor of the intact network; `None` if the bounds are violated at every factor.
    pub intact_factor: Option<f64>,
    /// Bound that the intact network reaches first.
    pub intact_binding: Option<BindingKind>,
    /// Link or connection of that bound.
    pub intact_binding_at: Option<&'a str>,
    /// Number of evaluated failures.
    pub cases: usize,
    /// Number of possible failures.
    pub possible_cases: usize,
    /// Number of failures in which connections lose their route; bounds do not apply to them.
    pub disconnecting_cases: usize,
    /// Number of failures without a steady state, which are left out.
    pub cases_without_steady_state: usize,
    /// Number of failures in which flows take one of several equal-cost paths as a whole, although routers would split
    /// them.
    pub cases_rerouted_unsplit: usize,
}

/// Returns the row of request and result.
pub fn headroom_under_failures<'a>(
    network: &'a Network,
    at_s: f64,
    bounds: &Bounds,
    found: &HeadroomUnderFailures,
) -> HeadroomUnderFailuresRow<'a> {
    let is_intact = found.failing.is_empty();
    HeadroomUnderFailuresRow {
        least: headroom(network, at_s, bounds, None, &found.least),
        failure: (!is_intact).then(|| failure_name(network, &found.failing)),
        intact_factor: found.intact.factor,
        intact_binding: found.intact.binding.map(|binding| binding.kind()),
        intact_binding_at: (found.intact.binding).map(|binding| binding.name(network)),
        cases: found.cases,
        possible_cases: found.possible,
        disconnecting_cases: found.disconnecting,
        cases_without_steady_state: found.without_steady_state,
        cases_rerouted_unsplit: found.moved_whole,
    }
}
