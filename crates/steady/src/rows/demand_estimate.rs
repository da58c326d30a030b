//! Rows of an estimated traffic matrix.

use netflow_network::{LinkId, Network, NodeId};
use serde::Serialize;

use crate::{DemandEstimate, Fit};

/// Row of an estimated demand.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EstimatedDemandRow<'a> {
    /// Sender.
    pub from: &'a str,
    /// Receiver.
    pub to: &'a str,
    /// Rate in bit/s of IP packets.
    pub rate_bps: f64,
    /// Fraction of all demands.
    pub share: f64,
}

/// Row of a link: measured load, and load by the estimated demands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkFitRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Measured load in bit/s; `None` if it was not measured.
    pub measured_bps: Option<f64>,
    /// Load in bit/s by the estimated demands.
    pub estimated_bps: f64,
    /// Difference as a fraction of the measured load; `None` if it was not measured.
    pub error: Option<f64>,
}

/// Row of a node: traffic that enters and leaves the network there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeFitRow<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Measured traffic that enters the network, in bit/s; `None` if it was not measured.
    pub measured_in_bps: Option<f64>,
    /// Sum of the estimated demands from the node, in bit/s.
    pub in_bps: f64,
    /// Measured traffic that leaves the network, in bit/s; `None` if it was not measured.
    pub measured_out_bps: Option<f64>,
    /// Sum of the estimated demands to the node, in bit/s.
    pub out_bps: f64,
}

/// Returns the estimated demands, largest first.
pub fn estimated_demands<'a>(
    network: &'a Network,
    found: &DemandEstimate,
) -> Vec<EstimatedDemandRow<'a>> {
    let total_bps = found.total_bps();
    let rows = found.demands.iter().map(|it| EstimatedDemandRow {
        from: network.node_name(it.from),
        to: network.node_name(it.to),
        rate_bps: it.rate_bps,
        share: it.rate_bps / total_bps,
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|a, b| b.rate_bps.total_cmp(&a.rate_bps));
    rows
}

/// Returns all links: measured ones first, by error, then by load.
pub fn link_fits<'a>(network: &'a Network, found: &DemandEstimate) -> Vec<LinkFitRow<'a>> {
    let row = |it: &Fit<LinkId>| LinkFitRow {
        link: network.link_name(it.of),
        measured_bps: it.measured_bps,
        estimated_bps: it.estimated_bps,
        error: it.error(),
    };
    let mut rows: Vec<_> = found.links.iter().map(row).collect();
    // Smaller errors are rounding errors.
    let key = |it: &LinkFitRow<'_>| {
        let error = it.error.map_or(-1, |error| (error * 1e6) as i64);
        (error, it.estimated_bps)
    };
    rows.sort_by(|a, b| {
        let ((error_a, load_a), (error_b, load_b)) = (key(a), key(b));
        let by_load = load_b.total_cmp(&load_a);
        error_b.cmp(&error_a).then(by_load).then(a.link.cmp(b.link))
    });
    rows
}

/// Returns the nodes, in the order of the network.
pub fn node_fits<'a>(network: &'a Network, found: &DemandEstimate) -> Vec<NodeFitRow<'a>> {
    let both = found.entering.iter().zip(&found.leaving);
    let row = |(entering, leaving): (&Fit<NodeId>, &Fit<NodeId>)| NodeFitRow {
        node: network.node_name(entering.of),
        measured_in_bps: entering.measured_bps,
        in_bps: entering.estimated_bps,
        measured_out_bps: leaving.measured_bps,
        out_bps: leaving.estimated_bps,
    };
    both.map(row).collect()
}
