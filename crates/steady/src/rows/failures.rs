//! Failures.

use netflow_network::Network;
use serde::Serialize;

use crate::{AfterFailure, Failing, FailureCase, FailureKind, Failures, Worst};

/// One failure; what only a network at rest has is empty where there is no rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FailureRow<'a> {
    /// 1 is the worst.
    pub rank: usize,
    /// What fails.
    pub failure: String,
    /// What sort of thing that is, or sorts.
    pub kind: String,
    /// Whether the network comes to rest after it.
    pub rests: bool,
    /// If not, why.
    pub why_not: Option<String>,
    /// How far from rest it is.
    pub residual: Option<f64>,
    /// The highest load of a link: demand over bandwidth.
    pub max_load: Option<f64>,
    /// The link with that load.
    pub max_load_link: Option<&'a str>,
    /// Number of links with a load above 90 %, rounded to 0.01 %.
    pub links_above_90_percent: Option<usize>,
    /// The largest mean delay of a connection's packets, one way.
    pub max_delay_s: Option<f64>,
    /// Of which.
    pub max_delay_connection: Option<&'a str>,
    /// The largest loss probability of a link.
    pub max_loss: Option<f64>,
    /// Of which.
    pub max_loss_link: Option<&'a str>,
    /// Bit/s that arrive.
    pub goodput_bps: Option<f64>,
    /// Goodput lost by the failure; 0 if goodput rises.
    pub lost_goodput_bps: Option<f64>,
    /// The same as a fraction of the intact network's goodput.
    pub lost_goodput: Option<f64>,
    /// Connections that have no route any more; one with `count = n` is n.
    pub blocked_connections: u64,
    /// Their part of the intact network's goodput.
    pub blocked_goodput: f64,
    /// Connections that lose more than 0.01 % of their goodput, or whose delay at least doubles; one with
    /// `count = n` is n.
    pub hurt_connections: Option<u64>,
    /// Who loses the largest part of its goodput.
    pub hardest_hit: Option<&'a str>,
    /// Which part.
    pub hardest_hit_lost: Option<f64>,
    /// Whether flows that were on one path have several of equal cost and all take one, where routers would divide them.
    pub moved_whole: bool,
}

/// Who suffers from a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HurtRow<'a> {
    /// That of the failure: 1 is the worst.
    pub rank: usize,
    /// What fails.
    pub failure: String,
    /// Who suffers.
    pub connection: &'a str,
    /// How: it `loses` goodput, is `slower`, has `no route`, or `its end fails`.
    pub harm: &'static str,
    /// The part of its goodput that it loses; negative, if it gains.
    pub lost_goodput: f64,
    /// The mean delay of its packets when nothing fails, one way.
    pub intact_delay_s: f64,
    /// The same after the failure; nothing, if nothing arrives.
    pub delay_s: Option<f64>,
    /// Bit/s that it sends when nothing fails.
    pub offered_bps: f64,
}

/// What a link carries under any failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkUnderFailureRow<'a> {
    /// `FROM->TO`.
    pub link: &'a str,
    /// Load when nothing fails: demand over bandwidth.
    pub load: f64,
    /// The highest load under any failure.
    pub max_load: f64,
    /// Bit/s on the wire demanded of it then.
    pub load_bps: f64,
    /// The failure with the highest load; nothing if no failure raises the load.
    pub failure: Option<String>,
    /// The place of that failure among the cases, by rank.
    #[serde(skip)]
    pub case: Option<usize>,
}

/// The network when nothing fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntactRow<'a> {
    /// How far from rest it is.
    pub residual: f64,
    /// The highest load of a link: demand over bandwidth.
    pub max_load: Option<f64>,
    /// The link with that load.
    pub max_load_link: Option<&'a str>,
    /// Number of links with a load above 90 %, rounded to 0.01 %.
    pub links_above_90_percent: usize,
    /// The largest mean delay of a connection's packets, one way.
    pub max_delay_s: Option<f64>,
    /// Of which.
    pub max_delay_connection: Option<&'a str>,
    /// The largest loss probability of a link.
    pub max_loss: Option<f64>,
    /// Of which.
    pub max_loss_link: Option<&'a str>,
    /// Bit/s that arrive.
    pub goodput_bps: f64,
}

impl FailureRow<'_> {
    /// One that has every column.
    pub fn with_all_columns() -> FailureRow<'static> {
        FailureRow {
            why_not: Some(String::new()),
            max_load_link: Some(""),
            links_above_90_percent: Some(0),
            hurt_connections: Some(0),
            max_delay_connection: Some(""),
            max_loss_link: Some(""),
            hardest_hit: Some(""),
            ..FailureRow::default()
        }
    }
}

impl LinkUnderFailureRow<'_> {
    /// One that has every column.
    pub fn with_all_columns() -> LinkUnderFailureRow<'static> {
        LinkUnderFailureRow {
            failure: Some(String::new()),
            ..LinkUnderFailureRow::default()
        }
    }
}

/// The cases, worst first.
pub fn failures<'a>(network: &'a Network, found: &Failures) -> Vec<FailureRow<'a>> {
    let ranked = found.ranked().into_iter().enumerate();
    let rows = ranked.map(|(place, i)| case(network, found, place + 1, &found.cases[i]));
    rows.collect()
}

/// Those who suffer, of the worst case first: as many of each as were kept.
pub fn hurt<'a>(network: &'a Network, found: &Failures) -> Vec<HurtRow<'a>> {
    let cases = found.ranked().into_iter().enumerate();
    let after = cases.filter_map(|(place, i)| {
        let case = &found.cases[i];
        Some((place + 1, case, case.rest.as_ref().ok()?))
    });
    let rows = after.flat_map(|(rank, case, after)| {
        after.hurt.iter().map(move |it| HurtRow {
            rank,
            failure: name(network, &case.failing),
            connection: network.connection_name(it.connection),
            harm: it.harm.name(),
            lost_goodput: it.lost,
            intact_delay_s: it.intact_delay_s,
            delay_s: it.delay_s,
            offered_bps: it.offered_bps,
        })
    });
    rows.collect()
}

fn case<'a>(
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
        failure: name(network, &case.failing),
        kind: kinds.join(" + "),
        blocked_connections: case.blocked,
        blocked_goodput: share(case.blocked_bps),
        moved_whole: case.moved_whole > 0,
        ..FailureRow::default()
    };
    let after: &AfterFailure = match &case.rest {
        Ok(after) => after,
        Err(error) => {
            return FailureRow {
                why_not: Some(error.to_string()),
                ..row
            };
        }
    };
    let worst = Places::of(network, &after.worst);
    FailureRow {
        rests: true,
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
        hurt_connections: Some(after.suffering),
        hardest_hit: after.hit.map(|(id, _)| network.connection_name(id)),
        hardest_hit_lost: after.hit.map(|(_, lost)| lost),
        ..row
    }
}

/// What fails in a case.
fn name(network: &Network, failing: &[Failing]) -> String {
    let names: Vec<String> = failing.iter().map(|it| it.name(network)).collect();
    names.join(" + ")
}

/// The links, in the network's order.
pub fn under_failures<'a>(network: &'a Network, found: &Failures) -> Vec<LinkUnderFailureRow<'a>> {
    let mut rank = vec![0; found.cases.len()];
    for (place, case) in found.ranked().into_iter().enumerate() {
        rank[case] = place;
    }
    let links = network.links().zip(&found.links);
    let rows = links.map(|(id, it)| LinkUnderFailureRow {
        link: network.link_name(id),
        load: it.intact,
        max_load: it.worst,
        load_bps: it.load_bps,
        failure: it.by.map(|i| name(network, &found.cases[i].failing)),
        case: it.by.map(|i| rank[i]),
    });
    rows.collect()
}

/// The network when nothing fails.
pub fn intact<'a>(network: &'a Network, found: &Failures) -> IntactRow<'a> {
    let at = &found.intact_worst;
    let worst = Places::of(network, at);
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

/// The kinds of single failures that there are, or those of pairs, in order.
pub fn kinds_of_failures(rows: &[FailureRow<'_>]) -> Vec<String> {
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

/// The worst of a state, and the names of where it is.
struct Places<'a> {
    load: (Option<f64>, Option<&'a str>),
    delay_s: (Option<f64>, Option<&'a str>),
    loss: (Option<f64>, Option<&'a str>),
}

impl<'a> Places<'a> {
    fn of(network: &'a Network, worst: &Worst) -> Places<'a> {
        Places {
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
