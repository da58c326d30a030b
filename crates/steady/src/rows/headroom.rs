//! How much more a network carries.

use netflow_network::Network;
use serde::Serialize;

use crate::{BindingKind, Bounds, Headroom};

/// What headroom there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomRow<'a> {
    /// At which time, in seconds.
    pub at_s: f64,
    /// The bounds that were asked for.
    pub max_utilization: Option<f64>,
    /// See [`max_utilization`](Self::max_utilization).
    pub max_delay_s: Option<f64>,
    /// See [`max_utilization`](Self::max_utilization).
    pub max_loss: Option<f64>,
    /// `all demands`, or what was asked for.
    pub scaled: &'a str,
    /// How many times it may be what it is; nothing, if bounds are broken however small it is.
    pub factor: Option<f64>,
    /// Packets/s that are sent then.
    pub rate_pps: f64,
    /// Bit/s that arrive then.
    pub goodput_bps: f64,
    /// Fraction of the packets that is lost then.
    pub loss_probability: f64,
    /// What is met first.
    pub binding: Option<BindingKind>,
    /// Of which link or connection.
    pub binding_at: Option<&'a str>,
}

/// What was asked for, and found; `scaled` is what the demands are called that were scaled, if not all were.
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
        rate_pps: found.at.totals.rate_pps,
        goodput_bps: found.at.totals.goodput_bps,
        loss_probability: found.at.totals.loss_probability,
        binding: found.binding.map(|binding| binding.kind()),
        binding_at: found.binding.map(|binding| binding.name(network)),
    }
}
