//! Steady state as table rows, for text and machine-readable output.

mod availability;
mod demand_estimate;
mod failures;
mod headroom;
mod plan;
mod sensitivities;
mod transfers;
mod weights;

pub use availability::{
    AvailabilityRow, NetworkAvailabilityRow, SloVerdict, availability, network_availability,
};
pub use demand_estimate::{
    EstimatedDemandRow, LinkFitRow, NodeFitRow, estimated_demands, link_fits, node_fits,
};
pub(crate) use failures::failure_name;
pub use failures::{
    AffectedRow, FailureRow, IntactRow, LinkUnderFailureRow, affected, failure_kinds, failures,
    intact, moved_parts_warning, under_failures,
};
pub use headroom::{HeadroomRow, HeadroomUnderFailuresRow, headroom, headroom_under_failures};
pub use plan::{PlanRow, plan};
pub use sensitivities::{
    DemandSensitivityRow, MeasureSensitivities, SensitivityRow, UpgradeRow, demand_sensitivities,
    link_sensitivities, upgrades,
};
pub use transfers::{TransferRow, transfers};
pub use weights::{WeightRow, WeightSettingRow, weights};

use netflow_network::Network;
use netflow_profile::Provenance;
use serde::Serialize;

use crate::{BindingConstraint, Steady};

/// Row of one link, from [`LinkSteady`](crate::LinkSteady).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Demand over bandwidth; above 1 on an overloaded link.
    pub load: f64,
    /// Demand in bit/s on the wire, without losses upstream.
    pub load_bps: f64,
    /// Fraction of the time that the link is busy.
    pub utilization: f64,
    /// True if load and utilization are estimates: at least 10 % of the traffic is from sources
    /// with an estimated goodput.
    pub utilization_is_estimate: bool,
    /// Arrival rate in packets/s.
    pub offered_pps: f64,
    /// Arrival rate in bit/s on the wire.
    pub offered_bps: f64,
    /// Mean queue in packets, the packet in service included.
    pub queue_pkts: f64,
    /// Mean sojourn time of an accepted packet, in seconds.
    pub delay_s: f64,
    /// True if queue and delay are estimates.
    pub queue_is_estimate: bool,
    /// Probability that an arriving packet is dropped.
    pub loss_probability: f64,
    /// True if the loss is an estimate.
    pub loss_is_estimate: bool,
}

/// Row of one connection, from [`ConnectionSteady`](crate::ConnectionSteady).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConnectionRow<'a> {
    /// Name of the connection.
    pub connection: &'a str,
    /// Number of connections; rates are their totals.
    pub count: u32,
    /// True if the connection is active and has a route.
    pub sending: bool,
    /// Sending rate in packets/s.
    pub rate_pps: f64,
    /// Goodput in packets/s.
    pub goodput_pps: f64,
    /// Goodput in bit/s of IP packets.
    pub goodput_bps: f64,
    /// True if goodput and rate are estimates.
    pub goodput_is_estimate: bool,
    /// Probability that a packet is lost on its path.
    pub loss_probability: f64,
    /// True if the loss is an estimate.
    pub loss_is_estimate: bool,
    /// Mean one-way delay of a packet, in seconds.
    pub delay_s: f64,
    /// True if delay and round-trip time are estimates.
    pub delay_is_estimate: bool,
    /// Round-trip time in seconds; `None` for unresponsive sources.
    pub rtt_s: Option<f64>,
    /// Constraint that limits the rate, in words; `None` if the connection is inactive.
    pub limited_by: Option<&'static str>,
    /// Provenance of the rate in its profile; empty if that is measured.
    pub profile_use: &'static str,
}

impl ConnectionRow<'_> {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> ConnectionRow<'static> {
        ConnectionRow {
            limited_by: Some(""),
            ..ConnectionRow::default()
        }
    }
}

/// Returns the rows of all links, in the network's order.
pub fn links<'a>(network: &'a Network, steady: &Steady) -> Vec<LinkRow<'a>> {
    let rows = network.links().map(|id| {
        let it = steady.link(id);
        LinkRow {
            link: network.link_name(id),
            load: it.load,
            load_bps: it.load_bps,
            utilization: it.utilization,
            utilization_is_estimate: it.utilization_is_estimate,
            offered_pps: it.offered_pps,
            offered_bps: it.offered_bps,
            queue_pkts: it.queue_pkts,
            delay_s: it.delay_s,
            queue_is_estimate: it.estimate.is_some(),
            loss_probability: it.loss_probability,
            loss_is_estimate: it.loss_is_estimate(),
        }
    });
    rows.collect()
}

/// Returns the rows of all connections, in the network's order.
pub fn connections<'a>(network: &'a Network, steady: &Steady) -> Vec<ConnectionRow<'a>> {
    let rows = network.connections().map(|id| {
        let (spec, it) = (network.connection_spec(id), steady.connection(id));
        ConnectionRow {
            connection: network.connection_name(id),
            count: spec.count,
            sending: it.sending,
            rate_pps: it.rate_pps,
            goodput_pps: it.goodput_pps,
            goodput_bps: 8.0 * spec.packet_size_bytes * it.goodput_pps,
            goodput_is_estimate: it.goodput_is_estimate,
            loss_probability: it.loss_probability,
            loss_is_estimate: it.loss_is_estimate,
            delay_s: it.delay_s,
            delay_is_estimate: it.delay_is_estimate,
            rtt_s: it.rtt_s,
            limited_by: it.sending.then(|| limited_by(it.limited_by)),
            profile_use: match it.provenance {
                Provenance::Measured => "",
                other => other.name(),
            },
        }
    });
    rows.collect()
}

fn limited_by(held: BindingConstraint) -> &'static str {
    match held {
        BindingConstraint::OwnRate => "fixed rate",
        BindingConstraint::Profile => "profile",
        BindingConstraint::Window => "maximum window",
        BindingConstraint::Application => "application",
    }
}
