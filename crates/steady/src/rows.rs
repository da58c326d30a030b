//! A steady state as rows, for tables and for programs.

mod failures;
mod gains;
mod headroom;
mod transfers;

pub use failures::{
    FailureRow, HurtRow, IntactRow, LinkUnderFailureRow, failures, hurt, intact, kinds_of_failures,
    under_failures,
};
pub use gains::{DemandGainRow, GainRow, Gains, UpgradeRow, demand_gains, gains, upgrades};
pub use headroom::{HeadroomRow, headroom};
pub use transfers::{TransferRow, transfers};

use netflow_network::Network;
use netflow_profile::ProfileUse;
use serde::Serialize;

use crate::{Held, Steady};

/// A link at rest, as [`LinkSteady`](crate::LinkSteady) has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Traffic demanded of it over its bandwidth; above 1 on an overloaded link.
    pub load: f64,
    /// Traffic demanded of it in bits/s on the wire: without losses upstream.
    pub load_bps: f64,
    /// Fraction of the time that the link is busy.
    pub utilization: f64,
    /// Whether load and utilization are estimates: sources whose goodput is one send 10 % of its traffic or more.
    pub utilization_is_estimate: bool,
    /// Packets/s that arrive.
    pub offered_pps: f64,
    /// Bits/s on the wire that arrive.
    pub offered_bps: f64,
    /// Mean queue, the packet in service included.
    pub queue_pkts: f64,
    /// Mean time that a packet spends there which gets in.
    pub delay_s: f64,
    /// Whether queue and delay are estimates.
    pub queue_is_estimate: bool,
    /// Probability that a packet is refused.
    pub loss_probability: f64,
    /// Whether it is an estimate.
    pub loss_is_estimate: bool,
}

/// A connection at rest, as [`ConnectionSteady`](crate::ConnectionSteady) has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConnectionRow<'a> {
    /// Its name.
    pub connection: &'a str,
    /// How many connections it is; rates are of all of them together.
    pub count: u32,
    /// Whether it sends, and has a route.
    pub sending: bool,
    /// Packets/s that it sends.
    pub rate_pps: f64,
    /// Packets/s that arrive.
    pub goodput_pps: f64,
    /// Bits/s that arrive.
    pub goodput_bps: f64,
    /// Whether goodput and rate are estimates.
    pub goodput_is_estimate: bool,
    /// Probability that a packet is lost on its way.
    pub loss_probability: f64,
    /// Whether it is an estimate.
    pub loss_is_estimate: bool,
    /// Mean time of a packet from sending to arrival.
    pub delay_s: f64,
    /// Whether delay and round-trip time are estimates.
    pub delay_is_estimate: bool,
    /// Round-trip time; nothing of sources that hear nothing of their packets.
    pub rtt_s: Option<f64>,
    /// What holds it at that rate, in words, if it sends.
    pub held_by: Option<&'static str>,
    /// What its rate rests on, if that is not measured.
    pub profile_use: &'static str,
}

impl ConnectionRow<'_> {
    /// One that has every column.
    pub fn with_all_columns() -> ConnectionRow<'static> {
        ConnectionRow {
            held_by: Some(""),
            ..ConnectionRow::default()
        }
    }
}

/// The rows of all links, in the network's order.
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

/// The rows of all connections, in the network's order.
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
            held_by: it.sending.then(|| held_by(it.held)),
            profile_use: match it.rests_on {
                ProfileUse::Measured => "",
                other => other.name(),
            },
        }
    });
    rows.collect()
}

fn held_by(held: Held) -> &'static str {
    match held {
        Held::Own => "its own rate",
        Held::Profile => "profile",
        Held::OneLossPerWindow => "profile, one loss a window",
        Held::Window => "largest window",
        Held::Application => "application",
        Held::Start => "loss above half",
    }
}
