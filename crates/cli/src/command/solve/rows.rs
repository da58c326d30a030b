//! A steady state as rows, for tables and for programs.

use netflow::profile::ProfileUse;
use netflow::scenario::DemandNote;
use netflow::simulation::Network;
use netflow::steady::{Held, Solver, Steady, Transfers};
use serde::Serialize;

#[derive(Default, Serialize)]
pub struct LinkRow<'a> {
    pub link: &'a str,
    pub utilization: f64,
    pub offered_pps: f64,
    pub offered_bps: f64,
    pub queue_pkts: f64,
    pub delay_s: f64,
    pub loss_probability: f64,
}

#[derive(Default, Serialize)]
pub struct ConnectionRow<'a> {
    pub connection: &'a str,
    pub count: u32,
    pub sending: bool,
    pub rate_pps: f64,
    pub goodput_pps: f64,
    pub goodput_bps: f64,
    pub loss_probability: f64,
    pub delay_s: f64,
    pub rtt_s: Option<f64>,
    pub held_by: Option<&'static str>,
    pub profile_use: &'static str,
}

pub fn links<'a>(network: &'a Network, steady: &Steady) -> Vec<LinkRow<'a>> {
    let rows = network.links().map(|id| {
        let it = steady.link(id);
        LinkRow {
            link: network.link_name(id),
            utilization: it.utilization,
            offered_pps: it.offered_pps,
            offered_bps: it.offered_bps,
            queue_pkts: it.queue_pkts,
            delay_s: it.delay_s,
            loss_probability: it.loss_probability,
        }
    });
    rows.collect()
}

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
            loss_probability: it.loss_probability,
            delay_s: it.delay_s,
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

/// Transfers of a demand that come and go.
#[derive(Default, Serialize)]
pub struct TransferRow<'a> {
    pub demand: &'a str,
    pub mean_bytes: f64,
    pub alone_s: f64,
    /// `None` where ever more of them would be under way.
    pub mean_s: Option<f64>,
}

pub fn transfers<'a>(
    demands: &'a [DemandNote],
    solver: &Solver,
    steady: &Steady,
) -> Vec<TransferRow<'a>> {
    let rows = demands.iter().filter_map(|it| {
        let transfers = Transfers {
            size: &it.size,
            payload_bytes: it.payload_bytes,
            initial_window_pkts: it.initial_window_pkts,
        };
        let times = solver.transfer_times(steady, it.connection, &transfers)?;
        Some(TransferRow {
            demand: &it.name,
            mean_bytes: it.size.mean(),
            alone_s: times.alone_s,
            mean_s: Some(times.mean_s).filter(|mean_s| mean_s.is_finite()),
        })
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
