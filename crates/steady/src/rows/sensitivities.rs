//! Rows of sensitivities and of bandwidth upgrades.

use std::cmp::Reverse;

use netflow_network::Network;
use serde::Serialize;

use crate::{ConnectionSelection, Measure, Sensitivities, Solver, Steady, SteadyError, Upgrade};

/// Row of the sensitivities to one link, per unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SensitivityRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Goodput in bit/s per bit/s of bandwidth.
    pub goodput_bps_per_bps: f64,
    /// Goodput in bit/s per second of delay.
    pub goodput_bps_per_s: f64,
    /// Goodput in bit/s per packet of buffer.
    pub goodput_bps_per_pkt: f64,
    /// Mean delay in seconds per bit/s of bandwidth; `None` for a selection that sends bursts.
    pub delay_s_per_bps: Option<f64>,
    /// Mean delay in seconds per second of delay.
    pub delay_s_per_s: Option<f64>,
    /// Mean delay in seconds per packet of buffer.
    pub delay_s_per_pkt: Option<f64>,
    /// 95th percentile of the delay in seconds per bit/s of bandwidth.
    pub delay_p95_s_per_bps: f64,
    /// 95th percentile of the delay in seconds per second of delay.
    pub delay_p95_s_per_s: f64,
    /// 95th percentile of the delay in seconds per packet of buffer.
    pub delay_p95_s_per_pkt: f64,
    /// Loss probability per bit/s of bandwidth.
    pub loss_per_bps: f64,
    /// Loss probability per second of delay.
    pub loss_per_s: f64,
    /// Loss probability per packet of buffer.
    pub loss_per_pkt: f64,
}

impl SensitivityRow<'_> {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> SensitivityRow<'static> {
        SensitivityRow {
            delay_s_per_bps: Some(0.0),
            delay_s_per_s: Some(0.0),
            delay_s_per_pkt: Some(0.0),
            ..SensitivityRow::default()
        }
    }
}

/// Row of the sensitivities to one connection's demand: its rate if fixed, else the number of such
/// connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DemandSensitivityRow<'a> {
    /// Name of the connection.
    pub connection: &'a str,
    /// Goodput in bit/s per unit of the demand factor, which is 1.
    pub goodput_bps_per_factor: f64,
    /// Mean delay in seconds per unit of the factor; `None` for a selection that sends bursts.
    pub delay_s_per_factor: Option<f64>,
    /// 95th percentile of the delay in seconds per unit of the factor.
    pub delay_p95_s_per_factor: f64,
    /// Loss probability per unit of the factor.
    pub loss_per_factor: f64,
}

impl DemandSensitivityRow<'_> {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> DemandSensitivityRow<'static> {
        DemandSensitivityRow {
            delay_s_per_factor: Some(0.0),
            ..DemandSensitivityRow::default()
        }
    }
}

/// Sensitivities of all measures, for all data or for selected connections.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureSensitivities {
    /// Sensitivities of [`Measure::Goodput`].
    pub goodput: Sensitivities,
    /// Sensitivities of [`Measure::Delay`]; `None` for a selection that sends bursts, because their
    /// own wait is only estimated.
    pub delay: Option<Sensitivities>,
    /// Sensitivities of [`Measure::DelayP95`].
    pub delay_p95: Sensitivities,
    /// Sensitivities of [`Measure::Loss`].
    pub loss: Sensitivities,
}

impl MeasureSensitivities {
    /// Computes the sensitivities at a steady state.
    ///
    /// # Errors
    /// As [`Solver::sensitivities`]; [`SteadyError::NoTraffic`] if none of these connections is
    /// active.
    pub fn at(
        solver: &mut Solver,
        steady: &Steady,
        which: ConnectionSelection<'_>,
    ) -> Result<MeasureSensitivities, SteadyError> {
        check_any_sends(solver.network(), steady, which)?;
        let in_bursts = solver.any_bursty(which);
        let mut by = |measure| solver.sensitivities(steady, measure, which);
        Ok(MeasureSensitivities {
            goodput: by(Measure::Goodput)?,
            delay: if in_bursts {
                None
            } else {
                Some(by(Measure::Delay)?)
            },
            delay_p95: by(Measure::DelayP95)?,
            loss: by(Measure::Loss)?,
        })
    }

    /// Returns the names of the connections that make some derivatives one-sided.
    pub fn one_sided_because_of<'a>(&self, network: &'a Network) -> Vec<&'a str> {
        // Kinks of profiles and limits are common to all measures; only the percentile has more.
        let bends = self.delay_p95.at_kinks.iter();
        bends.map(|&id| network.connection_name(id)).collect()
    }
}

/// Returns an error if none of these connections is active, because all derivatives are then 0.
fn check_any_sends(
    network: &Network,
    steady: &Steady,
    which: ConnectionSelection<'_>,
) -> Result<(), SteadyError> {
    let blocked = &steady.without_route;
    let (any_sends, has_no_route, who) = match which {
        ConnectionSelection::All => {
            let any_sends = steady.connections.iter().any(|it| it.sending);
            (any_sends, !blocked.is_empty(), "the network".to_owned())
        }
        ConnectionSelection::Only(ids) => {
            let names = ids.iter().map(|&id| network.connection_name(id));
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            (
                ids.iter().any(|&id| steady.connection(id).sending),
                ids.iter().any(|id| blocked.contains(id)),
                names.join(", "),
            )
        }
    };
    if any_sends {
        Ok(())
    } else {
        Err(SteadyError::NoTraffic {
            who,
            because: if has_no_route {
                "no route exists"
            } else {
                "all sources are inactive at that time"
            },
        })
    }
}

/// Returns the rows of all links, largest goodput gain first. Ties (to 10⁻⁹ bit/s per bit/s) are in
/// order of the reduction of delay.
pub fn link_sensitivities<'a>(
    network: &'a Network,
    gains: &MeasureSensitivities,
) -> Vec<SensitivityRow<'a>> {
    let rows = network.links().map(|id| {
        let at = |all: &Sensitivities| {
            let l = id.index();
            [all.by_bandwidth[l], all.by_delay[l], all.by_buffer[l]]
        };
        let (goodput, delay) = (at(&gains.goodput), gains.delay.as_ref().map(at));
        let (delay_p95, loss) = (at(&gains.delay_p95), at(&gains.loss));
        SensitivityRow {
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
    let mut rows: Vec<SensitivityRow<'_>> = rows.collect();
    let steps = |row: &SensitivityRow<'_>| quantize(row.goodput_bps_per_bps, 1e-9);
    rows.sort_by(|a, b| {
        let by_goodput = steps(b).cmp(&steps(a));
        let delay =
            |row: &SensitivityRow<'_>| row.delay_s_per_bps.unwrap_or(row.delay_p95_s_per_bps);
        by_goodput.then(delay(a).total_cmp(&delay(b)))
    });
    rows
}

/// Returns the rows of all active connections by their demand's sensitivities, largest increase of
/// loss first. Ties (to 10⁻¹²) are in order of the increase of delay.
pub fn demand_sensitivities<'a>(
    network: &'a Network,
    at: &Steady,
    gains: &MeasureSensitivities,
) -> Vec<DemandSensitivityRow<'a>> {
    let sending = network
        .connections()
        .filter(|&id| at.connection(id).sending);
    let rows = sending.map(|id| {
        let of = |all: &Sensitivities| all.by_demand[id.index()];
        DemandSensitivityRow {
            connection: network.connection_name(id),
            goodput_bps_per_factor: of(&gains.goodput),
            delay_s_per_factor: gains.delay.as_ref().map(of),
            delay_p95_s_per_factor: of(&gains.delay_p95),
            loss_per_factor: of(&gains.loss),
        }
    });
    let mut rows: Vec<DemandSensitivityRow<'_>> = rows.collect();
    let loss = |row: &DemandSensitivityRow<'_>| quantize(row.loss_per_factor, 1e-12);
    let delay = |row: &DemandSensitivityRow<'_>| {
        row.delay_s_per_factor.unwrap_or(row.delay_p95_s_per_factor)
    };
    rows.sort_by(|a, b| loss(b).cmp(&loss(a)).then(delay(b).total_cmp(&delay(a))));
    rows
}

/// Row of the effect of more bandwidth on one link, from a new solution.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UpgradeRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Increase of the goodput, in bit/s.
    pub goodput_bps: f64,
    /// Increase of the mean delay, in seconds.
    pub delay_s: f64,
    /// Increase of the loss probability.
    pub loss_probability: f64,
    /// Load of the upgraded link: demand over bandwidth.
    pub load: f64,
}

/// Returns the rows of upgraded links, largest goodput gain first. Ties (to 10⁻⁶ of all goodput)
/// are in order of the reduction of the mean delay, to 10⁻⁶ of it.
pub fn upgrades<'a>(
    network: &'a Network,
    without: &Steady,
    with: &[Upgrade],
) -> Vec<UpgradeRow<'a>> {
    let rows = with.iter().map(|with| UpgradeRow {
        link: network.link_name(with.link),
        goodput_bps: with.totals.goodput_bps - without.totals.goodput_bps,
        delay_s: with.totals.delay_s - without.totals.delay_s,
        loss_probability: with.totals.loss_probability - without.totals.loss_probability,
        load: with.load,
    });
    let mut rows: Vec<UpgradeRow<'_>> = rows.collect();
    let (goodput_bps, delay_s) = (without.totals.goodput_bps, without.totals.delay_s);
    let gain = |row: &UpgradeRow<'_>| quantize(row.goodput_bps, 1e-6 * goodput_bps.max(1.0));
    let delay = |row: &UpgradeRow<'_>| quantize(row.delay_s, 1e-6 * delay_s.max(1e-9));
    rows.sort_by_key(|row| (Reverse(gain(row)), delay(row)));
    rows
}

/// Rounds a value to a number of steps.
fn quantize(value: f64, step: f64) -> i64 {
    (value / step).round() as i64
}
