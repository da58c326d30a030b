//! Rows of an availability computation.

use serde::Serialize;

use crate::{Availability, Demand, DemandAvailability, ProbabilityRange};

/// Hours of a year.
const HOURS_PER_YEAR: f64 = 8760.0;

/// Comparison of a demand with its service-level objective (SLO).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SloVerdict {
    /// Its availability is at least the objective.
    Met,
    /// Its availability is below the objective.
    Missed,
    /// The objective is within the interval of its availability.
    Undecided,
}

impl SloVerdict {
    /// Compares an availability with the objective.
    pub fn of(availability: ProbabilityRange, slo: f64) -> SloVerdict {
        if availability.low >= slo {
            SloVerdict::Met
        } else if availability.high < slo {
            SloVerdict::Missed
        } else {
            SloVerdict::Undecided
        }
    }

    /// Returns its name: `met`, `missed`, `undecided`.
    pub fn name(self) -> &'static str {
        match self {
            SloVerdict::Met => "met",
            SloVerdict::Missed => "missed",
            SloVerdict::Undecided => "undecided",
        }
    }
}

/// Row of one demand. Minimum and maximum are the limits of an interval: see [`ProbabilityRange`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AvailabilityRow<'a> {
    /// Name of the demand or connection.
    pub demand: &'a str,
    /// Its rate in the intact network in bit/s: the sending rate, or the goodput of TCP.
    pub rate_bps: f64,
    /// Fraction of the time in which it is served.
    pub availability_min: f64,
    /// See `availability_min`.
    pub availability_max: f64,
    /// Hours per year (of 8760 h) in which it is not served.
    pub downtime_min_h: f64,
    /// See `downtime_min_h`.
    pub downtime_max_h: f64,
    /// Hours per year in which it is not served although both end nodes work.
    pub transit_downtime_min_h: f64,
    /// See `transit_downtime_min_h`.
    pub transit_downtime_max_h: f64,
    /// Hours per year in which an end node has failed.
    pub end_downtime_h: f64,
    /// Expected share of its rate that is delivered.
    pub delivered_min: f64,
    /// See `delivered_min`.
    pub delivered_max: f64,
    /// Share of its rate that is delivered without failures.
    pub intact_delivered: f64,
    /// Result for the objective; `None` without one.
    pub slo: Option<SloVerdict>,
}

impl AvailabilityRow<'_> {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> AvailabilityRow<'static> {
        AvailabilityRow {
            slo: Some(SloVerdict::Met),
            ..AvailabilityRow::default()
        }
    }
}

/// Row of all demands together, and of the evaluated states.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkAvailabilityRow {
    /// Time in seconds.
    pub at_s: f64,
    /// Share of its rate from which a demand is served.
    pub served: f64,
    /// Number of elements that can fail.
    pub elements: usize,
    /// Number of states of failed elements that were evaluated one by one, the most probable ones.
    pub states: usize,
    /// Largest number of failed elements up to which these are all states.
    pub all_failures_up_to: usize,
    /// Probability of all other states.
    pub rest: f64,
    /// Number of states drawn from the others; the intervals have a confidence of 95 % then.
    pub sampled_states: usize,
    /// Number of states without a steady state, which count as not evaluated.
    pub states_without_steady_state: usize,
    /// Number of states in which flows take one of several equal-cost paths as a whole, although routers would split
    /// them.
    pub states_rerouted_unsplit: usize,
    /// Number of demands with traffic.
    pub demands: usize,
    /// Number of demands without traffic, which are left out.
    pub demands_without_traffic: usize,
    /// Their rate in bit/s.
    pub rate_bps: f64,
    /// Expected share of this rate that is delivered.
    pub delivered_min: f64,
    /// See `delivered_min`.
    pub delivered_max: f64,
    /// Expected share of this rate that is lost although both end nodes of its demand work.
    pub lost_in_transit_min: f64,
    /// See `lost_in_transit_min`.
    pub lost_in_transit_max: f64,
    /// Expected share of this rate that is lost because an end node of its demand has failed.
    pub lost_at_ends: f64,
    /// Probability that all demands are served.
    pub all_served_min: f64,
    /// See `all_served_min`.
    pub all_served_max: f64,
    /// Probability that all demands whose end nodes work are served.
    pub all_served_in_transit_min: f64,
    /// See `all_served_in_transit_min`.
    pub all_served_in_transit_max: f64,
    /// Service-level objective for the availability of each demand; `None` without one.
    pub slo: Option<f64>,
    /// Number of demands that miss the objective.
    pub slo_missed: Option<usize>,
    /// Number of demands for which the objective is within the interval.
    pub slo_undecided: Option<usize>,
}

impl NetworkAvailabilityRow {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> NetworkAvailabilityRow {
        NetworkAvailabilityRow {
            slo: Some(0.0),
            slo_missed: Some(0),
            slo_undecided: Some(0),
            ..NetworkAvailabilityRow::default()
        }
    }
}

/// Returns the rows of the demands: lowest availability first, then smallest share delivered, then by name.
pub fn availability<'a>(
    demands: &'a [Demand],
    found: &Availability,
    slo: Option<f64>,
) -> Vec<AvailabilityRow<'a>> {
    let mut ranked: Vec<&DemandAvailability> = found.demands.iter().collect();
    let name = |it: &DemandAvailability| &demands[it.demand].name;
    // Differences by rounding do not change the order.
    let steps = |share: f64| (share * 1e12).round() as i64;
    let key = |it: &DemandAvailability| (steps(it.unserved.high), steps(it.lost.high));
    ranked.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| name(a).cmp(name(b))));
    let row = |it: &DemandAvailability| {
        let availability = it.unserved.complement();
        let delivered = it.lost.complement();
        AvailabilityRow {
            demand: &demands[it.demand].name,
            rate_bps: it.rate_bps,
            availability_min: availability.low,
            availability_max: availability.high,
            downtime_min_h: HOURS_PER_YEAR * it.unserved.low,
            downtime_max_h: HOURS_PER_YEAR * it.unserved.high,
            transit_downtime_min_h: HOURS_PER_YEAR * it.unserved_in_transit.low,
            transit_downtime_max_h: HOURS_PER_YEAR * it.unserved_in_transit.high,
            end_downtime_h: HOURS_PER_YEAR * it.end_failed,
            delivered_min: delivered.low,
            delivered_max: delivered.high,
            intact_delivered: 1.0 - it.intact_lost,
            slo: slo.map(|slo| SloVerdict::of(availability, slo)),
        }
    };
    ranked.into_iter().map(row).collect()
}

/// Returns the row of the network.
pub fn network_availability(
    at_s: f64,
    served: f64,
    slo: Option<f64>,
    found: &Availability,
    rows: &[AvailabilityRow<'_>],
) -> NetworkAvailabilityRow {
    let (network, states) = (&found.network, &found.states);
    let delivered = network.lost.complement();
    let all_served = network.any_unserved.complement();
    let in_transit = network.any_unserved_in_transit.complement();
    let count = |verdict| {
        let demands = rows.iter().filter(|row| row.slo == Some(verdict));
        slo.map(|_| demands.count())
    };
    NetworkAvailabilityRow {
        at_s,
        served,
        elements: found.elements,
        states: states.most_probable,
        all_failures_up_to: states.all_failures_up_to,
        rest: states.rest,
        sampled_states: states.sampled,
        states_without_steady_state: states.without_steady_state,
        states_rerouted_unsplit: states.moved_whole,
        demands: rows.len(),
        demands_without_traffic: found.without_traffic.len(),
        rate_bps: network.rate_bps,
        delivered_min: delivered.low,
        delivered_max: delivered.high,
        lost_in_transit_min: network.lost_in_transit.low,
        lost_in_transit_max: network.lost_in_transit.high,
        lost_at_ends: network.lost_at_ends,
        all_served_min: all_served.low,
        all_served_max: all_served.high,
        all_served_in_transit_min: in_transit.low,
        all_served_in_transit_max: in_transit.high,
        slo,
        slo_missed: count(SloVerdict::Missed),
        slo_undecided: count(SloVerdict::Undecided),
    }
}
