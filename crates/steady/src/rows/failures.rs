//! Rows of a failure analysis.

use netflow_network::Network;
use serde::Serialize;

use crate::{AfterFailure, Failing, FailureCase, FailureKind, Failures, Worst};

/// Row of one failure case; steady-state columns are empty if there is no steady state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FailureRow<'a> {
    /// Rank of the case; 1 is the worst.
    pub rank: usize,
    /// Failed elements.
    pub failure: String,
    /// Kind of the failed elements.
    pub kind: String,
    /// True if a steady state exists after the failure.
    pub has_steady_state: bool,
    /// Error if there is none.
    pub reason: Option<String>,
    /// Residual of the steady state.
    pub residual: Option<f64>,
    /// The highest load of a link: demand over bandwidth.
    pub max_load: Option<f64>,
    /// The link with that load.
    pub max_load_link: Option<&'a str>,
    /// Number of links with a load above 90 %, rounded to 0.01 %.
    pub links_above_90_percent: Option<usize>,
    /// Largest mean one-way delay of a connection's packets, in seconds.
    pub max_delay_s: Option<f64>,
    /// The connection with that delay.
    pub max_delay_connection: Option<&'a str>,
    /// The largest loss probability of a link.
    pub max_loss: Option<f64>,
    /// The link with that loss.
    pub max_loss_link: Option<&'a str>,
    /// Goodput in bit/s of IP packets.
    pub goodput_bps: Option<f64>,
    /// Goodput lost by the failure, in bit/s; 0 if the goodput rises.
    pub lost_goodput_bps: Option<f64>,
    /// Lost goodput, as a fraction of the intact network's goodput.
    pub lost_goodput: Option<f64>,
    /// Number of connections that lose their route; a connection with `count = n` counts n times.
    pub unroutable_connections: u64,
    /// Fraction of the intact network's goodput that these connections have.
    pub unroutable_goodput: f64,
    /// Number of affected connections. They lose more than 0.01 % of their goodput, or their delay
    /// at least doubles. A connection with `count = n` counts n times.
    pub affected_connections: Option<u64>,
    /// Connection with the largest relative loss of goodput.
    pub worst_affected: Option<&'a str>,
    /// Fraction of its goodput that this connection loses.
    pub worst_affected_loss: Option<f64>,
    /// True if flows take one of several equal-cost paths as a whole, although routers would split
    /// them.
    pub rerouted_unsplit: bool,
}

/// Row of one connection affected by a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AffectedRow<'a> {
    /// Rank of the failure; 1 is the worst.
    pub rank: usize,
    /// Failed elements.
    pub failure: String,
    /// Affected connection.
    pub connection: &'a str,
    /// Kind of impact: it `loses` goodput, is `slower`, has `no route`, or `its end fails`.
    pub effect: &'static str,
    /// Fraction of its goodput that is lost; negative for a gain.
    pub lost_goodput: f64,
    /// Mean one-way delay of its packets without failures, in seconds.
    pub intact_delay_s: f64,
    /// Mean one-way delay of its packets after the failure, in seconds; `None` if nothing arrives.
    pub delay_s: Option<f64>,
    /// Sending rate in bit/s without failures.
    pub offered_bps: f64,
}

/// Row of one link over all failures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkUnderFailureRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Load without failures: demand over bandwidth.
    pub load: f64,
    /// The highest load under any failure.
    pub max_load: f64,
    /// Demand in that case, in bit/s on the wire.
    pub max_load_bps: f64,
    /// The failure with the highest load; `None` if no failure raises the load.
    pub failure: Option<String>,
    /// Index of that failure among the cases, by rank.
    #[serde(skip)]
    pub case: Option<usize>,
}

/// Row of the network without failures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntactRow<'a> {
    /// Residual of the steady state.
    pub residual: f64,
    /// The highest load of a link: demand over bandwidth.
    pub max_load: Option<f64>,
    /// The link with that load.
    pub max_load_link: Option<&'a str>,
    /// Number of links with a load above 90 %, rounded to 0.01 %.
    pub links_above_90_percent: usize,
    /// Largest mean one-way delay of a connection's packets, in seconds.
    pub max_delay_s: Option<f64>,
    /// The connection with that delay.
    pub max_delay_connection: Option<&'a str>,
    /// The largest loss probability of a link.
    pub max_loss: Option<f64>,
    /// The link with that loss.
    pub max_loss_link: Option<&'a str>,
    /// Goodput in bit/s of IP packets.
    pub goodput_bps: f64,
}

impl FailureRow<'_> {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> FailureRow<'static> {
        FailureRow {
            reason: Some(String::new()),
            max_load_link: Some(""),
            links_above_90_percent: Some(0),
            affected_connections: Some(0),
            max_delay_connection: Some(""),
            max_loss_link: Some(""),
            worst_affected: Some(""),
            ..FailureRow::default()
        }
    }
}

impl LinkUnderFailureRow<'_> {
    /// Returns a row with every optional column set.
    pub fn with_all_columns() -> LinkUnderFailureRow<'static> {
        LinkUnderFailureRow {
            failure: Some(String::new()),
            ..LinkUnderFailureRow::default()
        }
    }
}

/// Returns the rows of the cases, worst first.
pub fn failures<'a>(network: &'a Network, found: &Failures) -> Vec<FailureRow<'a>> {
    let ranked = found.ranked().into_iter().enumerate();
    let rows = ranked.map(|(place, i)| failure_row(network, found, place + 1, &found.cases[i]));
    rows.collect()
}

/// Returns the rows of the kept affected connections, worst case first.
pub fn affected<'a>(network: &'a Network, found: &Failures) -> Vec<AffectedRow<'a>> {
    let cases = found.ranked().into_iter().enumerate();
    let after = cases.filter_map(|(place, i)| {
        let case = &found.cases[i];
        Some((place + 1, case, case.outcome.as_ref().ok()?))
    });
    let rows = after.flat_map(|(rank, case, after)| {
        after.affected.iter().map(move |it| AffectedRow {
            rank,
            failure: failure_name(network, &case.failing),
            connection: network.connection_name(it.connection),
            effect: it.impact.name(),
            lost_goodput: it.lost_fraction,
            intact_delay_s: it.intact_delay_s,
            delay_s: it.delay_s,
            offered_bps: it.offered_bps,
        })
    });
    rows.collect()
}

fn failure_row<'a>(
    network: &'a Network,
    found: &Failures,
    rank: usize,
    case: &FailureCase,
) -> FailureRow<'a> {
    let intact_bps = found.intact.totals.goodput_bps;
    let share = |bps: f64| {
        if intact_bps > 0.0 {
            bps / intact_bps
        } else {
            0.0
        }
    };
    let kinds: Vec<&str> = case.failing.iter().map(|it| it.kind().name()).collect();
    let row = FailureRow {
        rank,
        failure: failure_name(network, &case.failing),
        kind: kinds.join(" + "),
        unroutable_connections: case.blocked,
        unroutable_goodput: share(case.blocked_bps),
        rerouted_unsplit: case.moved_whole > 0,
        ..FailureRow::default()
    };
    let after: &AfterFailure = match &case.outcome {
        Ok(after) => after,
        Err(error) => {
            return FailureRow {
                reason: Some(error.to_string()),
                ..row
            };
        }
    };
    let worst = WorstColumns::of(network, &after.worst);
    FailureRow {
        has_steady_state: true,
        residual: Some(after.residual),
        max_load: worst.load.0,
        max_load_link: worst.load.1,
        links_above_90_percent: Some(after.worst.busy_links),
        max_delay_s: worst.delay_s.0,
        max_delay_connection: worst.delay_s.1,
        max_loss: worst.loss.0,
        max_loss_link: worst.loss.1,
        goodput_bps: Some(after.goodput_bps),
        lost_goodput_bps: Some(after.lost_bps.max(0.0)),
        lost_goodput: Some(share(after.lost_bps.max(0.0))),
        affected_connections: Some(after.affected_count),
        worst_affected: after
            .worst_affected
            .map(|(id, _)| network.connection_name(id)),
        worst_affected_loss: after.worst_affected.map(|(_, lost)| lost),
        ..row
    }
}

/// Returns the name of the failed elements.
pub(crate) fn failure_name(network: &Network, failing: &[Failing]) -> String {
    let names: Vec<String> = failing.iter().map(|it| it.name(network)).collect();
    names.join(" + ")
}

/// Returns the rows of the links, in the network's order.
pub fn under_failures<'a>(network: &'a Network, found: &Failures) -> Vec<LinkUnderFailureRow<'a>> {
    let mut rank = vec![0; found.cases.len()];
    for (place, case) in found.ranked().into_iter().enumerate() {
        rank[case] = place;
    }
    let links = network.links().zip(&found.links);
    let rows = links.map(|(id, it)| LinkUnderFailureRow {
        link: network.link_name(id),
        load: it.intact_load,
        max_load: it.max_load,
        max_load_bps: it.load_bps,
        failure: it
            .worst_case
            .map(|i| failure_name(network, &found.cases[i].failing)),
        case: it.worst_case.map(|i| rank[i]),
    });
    rows.collect()
}

/// Returns the row of the network without failures.
pub fn intact<'a>(network: &'a Network, found: &Failures) -> IntactRow<'a> {
    let at = &found.intact_worst;
    let worst = WorstColumns::of(network, at);
    IntactRow {
        residual: found.intact.residual,
        max_load: worst.load.0,
        max_load_link: worst.load.1,
        links_above_90_percent: at.busy_links,
        max_delay_s: worst.delay_s.0,
        max_delay_connection: worst.delay_s.1,
        max_loss: worst.loss.0,
        max_loss_link: worst.loss.1,
        goodput_bps: found.intact.totals.goodput_bps,
    }
}

/// Returns the warning that flows move as a whole in some cases, where routers would split them.
pub fn moved_parts_warning(moved: usize, all: usize) -> String {
    format!(
        "in {moved} of {all} cases (`*`, `rerouted_unsplit`) flows move to one of several equal-cost paths: the load of \
         this path is overestimated"
    )
}

/// Returns the kinds of failures present, single or pairs, in order.
pub fn failure_kinds(rows: &[FailureRow<'_>]) -> Vec<String> {
    let names = FailureKind::ALL.map(FailureKind::name);
    let two = |a: usize| {
        names[a..]
            .iter()
            .map(move |b| format!("{} + {b}", names[a]))
    };
    let pairs = (0..names.len()).flat_map(two);
    let all = names.iter().map(ToString::to_string).chain(pairs);
    all.filter(|kind| rows.iter().any(|row| row.kind == *kind))
        .collect()
}

/// Worst values of a state with the names of their links or connections.
struct WorstColumns<'a> {
    load: (Option<f64>, Option<&'a str>),
    delay_s: (Option<f64>, Option<&'a str>),
    loss: (Option<f64>, Option<&'a str>),
}

impl<'a> WorstColumns<'a> {
    fn of(network: &'a Network, worst: &Worst) -> WorstColumns<'a> {
        WorstColumns {
            load: worst
                .load
                .map(|(id, it)| (it, network.link_name(id)))
                .unzip(),
            delay_s: worst
                .delay_s
                .map(|(id, it)| (it, network.connection_name(id)))
                .unzip(),
            loss: worst
                .loss
                .map(|(id, it)| (it, network.link_name(id)))
                .unzip(),
        }
    }
}
