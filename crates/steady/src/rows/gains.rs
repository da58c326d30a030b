//! What a little more of a link changes.

use std::cmp::Reverse;

use netflow_network::{LinkId, Network};
use serde::Serialize;

use crate::{Measure, Sensitivities, Solver, Steady, SteadyError, Which};

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
    /// Mean delay in seconds by a bit/s of bandwidth; nothing of what comes in bursts, alone.
    pub delay_s_per_bps: Option<f64>,
    /// Mean delay in seconds by a second of delay.
    pub delay_s_per_s: Option<f64>,
    /// Mean delay in seconds by a packet of room.
    pub delay_s_per_pkt: Option<f64>,
    /// 95th percentile of the delays in seconds by a bit/s of bandwidth.
    pub delay_p95_s_per_bps: f64,
    /// 95th percentile of the delays in seconds by a second of delay.
    pub delay_p95_s_per_s: f64,
    /// 95th percentile of the delays in seconds by a packet of room.
    pub delay_p95_s_per_pkt: f64,
    /// Loss probability by a bit/s of bandwidth.
    pub loss_per_bps: f64,
    /// Loss probability by a second of delay.
    pub loss_per_s: f64,
    /// Loss probability by a packet of room.
    pub loss_per_pkt: f64,
}

impl GainRow<'_> {
    /// One that has every column.
    pub fn with_all_columns() -> GainRow<'static> {
        GainRow {
            delay_s_per_bps: Some(0.0),
            delay_s_per_s: Some(0.0),
            delay_s_per_pkt: Some(0.0),
            ..GainRow::default()
        }
    }
}

/// What more of one connection's demand changes: its rate, if it has one of its own, else the number of such connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DemandGainRow<'a> {
    /// Its name.
    pub connection: &'a str,
    /// Goodput in bit/s by a factor of the demand, which is 1.
    pub goodput_bps_per_factor: f64,
    /// Mean delay in seconds by that; nothing of what comes in bursts, alone.
    pub delay_s_per_factor: Option<f64>,
    /// 95th percentile of the delays in seconds by that.
    pub delay_p95_s_per_factor: f64,
    /// Loss probability by that.
    pub loss_per_factor: f64,
}

impl DemandGainRow<'_> {
    /// One that has every column.
    pub fn with_all_columns() -> DemandGainRow<'static> {
        DemandGainRow {
            delay_s_per_factor: Some(0.0),
            ..DemandGainRow::default()
        }
    }
}

/// The derivatives of what data does, all of it or that of some connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Gains {
    /// Of [`Measure::Goodput`].
    pub goodput: Sensitivities,
    /// Of [`Measure::Delay`]; nothing if not of all, and some of it comes in bursts: its own wait is only estimated.
    pub delay: Option<Sensitivities>,
    /// Of [`Measure::DelayP95`].
    pub delay_p95: Sensitivities,
    /// Of [`Measure::Loss`].
    pub loss: Sensitivities,
}

impl Gains {
    /// At a steady state.
    ///
    /// # Errors
    /// As [`Solver::sensitivities`]; [`SteadyError::NothingSends`] if none of these does.
    pub fn at(
        solver: &mut Solver,
        steady: &Steady,
        which: Which<'_>,
    ) -> Result<Gains, SteadyError> {
        some_send(solver.network(), steady, which)?;
        let in_bursts = solver.any_comes_in_bursts(which);
        let mut by = |measure| solver.sensitivities(steady, measure, which);
        Ok(Gains {
            goodput: by(Measure::Goodput)?,
            delay: match in_bursts {
                true => None,
                false => Some(by(Measure::Delay)?),
            },
            delay_p95: by(Measure::DelayP95)?,
            loss: by(Measure::Loss)?,
        })
    }

    /// The connections because of which some derivatives are one-sided, by name.
    pub fn one_sided_because_of<'a>(&self, network: &'a Network) -> Vec<&'a str> {
        // Profiles and limits bend for all measures alike; only the percentile has bends of its own.
        let bends = self.delay_p95.at_bends.iter();
        bends.map(|&id| network.connection_name(id)).collect()
    }
}

/// An error if none of these sends: nothing changes what they get.
fn some_send(network: &Network, steady: &Steady, which: Which<'_>) -> Result<(), SteadyError> {
    let blocked = &steady.without_route;
    let (any_sends, has_no_route, who) = match which {
        Which::All => {
            let any_sends = steady.connections.iter().any(|it| it.sending);
            (any_sends, !blocked.is_empty(), "the network".to_owned())
        }
        Which::Only(ids) => {
            let names = ids.iter().map(|&id| network.connection_name(id));
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            (
                ids.iter().any(|&id| steady.connection(id).sending),
                ids.iter().any(|id| blocked.contains(id)),
                names.join(", "),
            )
        }
    };
    match any_sends {
        true => Ok(()),
        false => Err(SteadyError::NothingSends {
            who,
            because: match has_no_route {
                true => "there is no route",
                false => "what there is has not begun, or has ended",
            },
        }),
    }
}

/// The rows of all links by what they change; what gains most goodput stands first, and of what gains the same (to
/// 10⁻⁹ bit/s by a bit/s) what shortens the delay most.
pub fn gains<'a>(network: &'a Network, gains: &Gains) -> Vec<GainRow<'a>> {
    let rows = network.links().map(|id| {
        let at = |all: &Sensitivities| {
            let l = id.index();
            [all.by_bandwidth[l], all.by_delay[l], all.by_buffer[l]]
        };
        let (goodput, delay) = (at(&gains.goodput), gains.delay.as_ref().map(at));
        let (delay_p95, loss) = (at(&gains.delay_p95), at(&gains.loss));
        GainRow {
            link: network.link_name(id),
            goodput_bps_per_bps: goodput[0],
            goodput_bps_per_s: goodput[1],
            goodput_bps_per_pkt: goodput[2],
            delay_s_per_bps: delay.map(|it| it[0]),
            delay_s_per_s: delay.map(|it| it[1]),
            delay_s_per_pkt: delay.map(|it| it[2]),
            delay_p95_s_per_bps: delay_p95[0],
            delay_p95_s_per_s: delay_p95[1],
            delay_p95_s_per_pkt: delay_p95[2],
            loss_per_bps: loss[0],
            loss_per_s: loss[1],
            loss_per_pkt: loss[2],
        }
    });
    let mut rows: Vec<GainRow<'_>> = rows.collect();
    let steps = |row: &GainRow<'_>| steps(row.goodput_bps_per_bps, 1e-9);
    rows.sort_by(|a, b| {
        let by_goodput = steps(b).cmp(&steps(a));
        let delay = |row: &GainRow<'_>| row.delay_s_per_bps.unwrap_or(row.delay_p95_s_per_bps);
        by_goodput.then(delay(a).total_cmp(&delay(b)))
    });
    rows
}

/// The rows of all connections that send by what more of their demand changes; what adds most loss (to 10⁻¹²) stands first,
/// and of what adds the same what lengthens delays most.
pub fn demand_gains<'a>(
    network: &'a Network,
    at: &Steady,
    gains: &Gains,
) -> Vec<DemandGainRow<'a>> {
    let sending = network
        .connections()
        .filter(|&id| at.connection(id).sending);
    let rows = sending.map(|id| {
        let of = |all: &Sensitivities| all.by_demand[id.index()];
        DemandGainRow {
            connection: network.connection_name(id),
            goodput_bps_per_factor: of(&gains.goodput),
            delay_s_per_factor: gains.delay.as_ref().map(of),
            delay_p95_s_per_factor: of(&gains.delay_p95),
            loss_per_factor: of(&gains.loss),
        }
    });
    let mut rows: Vec<DemandGainRow<'_>> = rows.collect();
    let loss = |row: &DemandGainRow<'_>| steps(row.loss_per_factor, 1e-12);
    let delay =
        |row: &DemandGainRow<'_>| row.delay_s_per_factor.unwrap_or(row.delay_p95_s_per_factor);
    rows.sort_by(|a, b| loss(b).cmp(&loss(a)).then(delay(b).total_cmp(&delay(a))));
    rows
}

/// What a link with more bandwidth changes, solved again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UpgradeRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// By how much more goodput, in bit/s.
    pub goodput_bps: f64,
    /// By how much more mean delay, in seconds.
    pub delay_s: f64,
    /// By how much more loss probability.
    pub loss_probability: f64,
    /// Load of the link then: demand over bandwidth.
    pub load: f64,
}

/// The rows of links that have more in a steady state of their own than in this one; what gains most goodput stands
/// first, and of what gains the same, to a millionth of all goodput, what shortens the mean delay most, to a millionth
/// of it.
pub fn upgrades<'a>(
    network: &'a Network,
    without: &Steady,
    with: &[(LinkId, Steady)],
) -> Vec<UpgradeRow<'a>> {
    let rows = with.iter().map(|(link, with)| UpgradeRow {
        link: network.link_name(*link),
        goodput_bps: with.totals.goodput_bps - without.totals.goodput_bps,
        delay_s: with.totals.delay_s - without.totals.delay_s,
        loss_probability: with.totals.loss_probability - without.totals.loss_probability,
        load: with.link(*link).load,
    });
    let mut rows: Vec<UpgradeRow<'_>> = rows.collect();
    let (goodput_bps, delay_s) = (without.totals.goodput_bps, without.totals.delay_s);
    let gain = |row: &UpgradeRow<'_>| steps(row.goodput_bps, 1e-6 * goodput_bps.max(1.0));
    let delay = |row: &UpgradeRow<'_>| steps(row.delay_s, 1e-6 * delay_s.max(1e-9));
    rows.sort_by_key(|row| (Reverse(gain(row)), delay(row)));
    rows
}

/// How many such steps it is.
fn steps(value: f64, step: f64) -> i64 {
    (value / step).round() as i64
}
