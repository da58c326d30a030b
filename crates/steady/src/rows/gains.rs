//! What a little more of a link changes.

use netflow_network::Network;
use serde::Serialize;

use crate::Sensitivities;

/// What a little more of one link changes, per unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GainRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Goodput in bit/s by a bit/s of bandwidth.
    pub goodput_bps_per_bps: f64,
    /// Goodput in bit/s by a second of delay.
    pub goodput_bps_per_s: f64,
    /// Goodput in bit/s by a packet of room.
    pub goodput_bps_per_pkt: f64,
    /// Mean delay in seconds by a bit/s of bandwidth.
    pub delay_s_per_bps: f64,
    /// Mean delay in seconds by a second of delay.
    pub delay_s_per_s: f64,
    /// Mean delay in seconds by a packet of room.
    pub delay_s_per_pkt: f64,
    /// Loss probability by a bit/s of bandwidth.
    pub loss_per_bps: f64,
    /// Loss probability by a second of delay.
    pub loss_per_s: f64,
    /// Loss probability by a packet of room.
    pub loss_per_pkt: f64,
}

/// The rows of all links by what they change of goodput, delay and loss; what gains most goodput stands first.
pub fn gains<'a>(
    network: &'a Network,
    goodput: &Sensitivities,
    delay: &Sensitivities,
    loss: &Sensitivities,
) -> Vec<GainRow<'a>> {
    let rows = network.links().map(|id| {
        let at = |all: &Sensitivities| {
            let l = id.index();
            [all.by_bandwidth[l], all.by_delay[l], all.by_buffer[l]]
        };
        let [goodput, delay, loss] = [at(goodput), at(delay), at(loss)];
        GainRow {
            link: network.link_name(id),
            goodput_bps_per_bps: goodput[0],
            goodput_bps_per_s: goodput[1],
            goodput_bps_per_pkt: goodput[2],
            delay_s_per_bps: delay[0],
            delay_s_per_s: delay[1],
            delay_s_per_pkt: delay[2],
            loss_per_bps: loss[0],
            loss_per_s: loss[1],
            loss_per_pkt: loss[2],
        }
    });
    let mut rows: Vec<GainRow<'_>> = rows.collect();
    rows.sort_by(|a, b| b.goodput_bps_per_bps.total_cmp(&a.goodput_bps_per_bps));
    rows
}
