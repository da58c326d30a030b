//! Failures as rows, for tables and for programs.

use netflow::steady::{AfterFailure, Failing, FailureCase, FailureKind, Worst};
use serde::Serialize;

use super::Seen;

/// One failure; what only a network at rest has is empty where there is no rest.
#[derive(Default, Serialize)]
pub struct CaseRow<'a> {
    pub rank: usize,
    pub failure: String,
    pub kind: String,
    pub rests: bool,
    pub why_not: Option<String>,
    pub residual: Option<f64>,
    pub max_utilization: Option<f64>,
    pub max_utilization_link: Option<&'a str>,
    pub links_above_90_percent: Option<usize>,
    pub max_delay_s: Option<f64>,
    pub max_delay_connection: Option<&'a str>,
    pub max_loss: Option<f64>,
    pub max_loss_link: Option<&'a str>,
    pub goodput_bps: Option<f64>,
    pub lost_goodput_bps: Option<f64>,
    pub lost_goodput: Option<f64>,
    pub blocked_connections: u64,
    pub blocked_goodput: f64,
    pub hardest_hit: Option<&'a str>,
    pub hardest_hit_lost: Option<f64>,
}

/// What a link carries under any failure.
#[derive(Default, Serialize)]
pub struct LinkRow<'a> {
    pub link: &'a str,
    pub utilization: f64,
    pub max_utilization: f64,
    pub offered_bps: f64,
    pub failure: Option<String>,
    /// The place of that failure among the cases, by rank.
    #[serde(skip)]
    pub case: Option<usize>,
}

/// The network when nothing fails.
#[derive(Serialize)]
pub struct IntactRow<'a> {
    pub residual: f64,
    pub max_utilization: Option<f64>,
    pub max_utilization_link: Option<&'a str>,
    pub links_above_90_percent: usize,
    pub max_delay_s: Option<f64>,
    pub max_delay_connection: Option<&'a str>,
    pub max_loss: Option<f64>,
    pub max_loss_link: Option<&'a str>,
    pub goodput_bps: f64,
}

/// The cases, worst first.
pub fn cases<'a>(seen: &Seen<'a>) -> Vec<CaseRow<'a>> {
    let ranked = seen.found.ranked().into_iter().enumerate();
    let rows = ranked.map(|(place, i)| case(seen, place + 1, &seen.found.cases[i]));
    rows.collect()
}

fn case<'a>(seen: &Seen<'a>, rank: usize, case: &FailureCase) -> CaseRow<'a> {
    let network = seen.network;
    let intact_bps = seen.found.intact.totals.goodput_bps;
    let share = |bps: f64| {
        if intact_bps > 0.0 {
            bps / intact_bps
        } else {
            0.0
        }
    };
    let kinds: Vec<&str> = case.failing.iter().map(|it| it.kind().name()).collect();
    let row = CaseRow {
        rank,
        failure: name(seen, &case.failing),
        kind: kinds.join(" + "),
        blocked_connections: case.blocked,
        blocked_goodput: share(case.blocked_bps),
        ..CaseRow::default()
    };
    let after: &AfterFailure = match &case.rest {
        Ok(after) => after,
        Err(error) => {
            return CaseRow {
                why_not: Some(error.to_string()),
                ..row
            };
        }
    };
    let worst = Places::of(seen, &after.worst);
    CaseRow {
        rests: true,
        residual: Some(after.residual),
        max_utilization: worst.utilization.0,
        max_utilization_link: worst.utilization.1,
        links_above_90_percent: Some(after.worst.busy_links),
        max_delay_s: worst.delay_s.0,
        max_delay_connection: worst.delay_s.1,
        max_loss: worst.loss.0,
        max_loss_link: worst.loss.1,
        goodput_bps: Some(after.goodput_bps),
        lost_goodput_bps: Some(after.lost_bps),
        lost_goodput: Some(share(after.lost_bps)),
        hardest_hit: after.hit.map(|(id, _)| network.connection_name(id)),
        hardest_hit_lost: after.hit.map(|(_, lost)| lost),
        ..row
    }
}

/// What fails in a case.
fn name(seen: &Seen<'_>, failing: &[Failing]) -> String {
    let names: Vec<String> = failing.iter().map(|it| it.name(seen.network)).collect();
    names.join(" + ")
}

pub fn links<'a>(seen: &Seen<'a>) -> Vec<LinkRow<'a>> {
    let mut rank = vec![0; seen.found.cases.len()];
    for (place, case) in seen.found.ranked().into_iter().enumerate() {
        rank[case] = place;
    }
    let links = seen.network.links().zip(&seen.found.links);
    let rows = links.map(|(id, it)| LinkRow {
        link: seen.network.link_name(id),
        utilization: it.intact,
        max_utilization: it.worst,
        offered_bps: it.offered_bps,
        failure: it.by.map(|i| name(seen, &seen.found.cases[i].failing)),
        case: it.by.map(|i| rank[i]),
    });
    rows.collect()
}

pub fn intact<'a>(seen: &Seen<'a>) -> IntactRow<'a> {
    let at = &seen.found.intact_worst;
    let worst = Places::of(seen, at);
    IntactRow {
        residual: seen.found.intact.residual,
        max_utilization: worst.utilization.0,
        max_utilization_link: worst.utilization.1,
        links_above_90_percent: at.busy_links,
        max_delay_s: worst.delay_s.0,
        max_delay_connection: worst.delay_s.1,
        max_loss: worst.loss.0,
        max_loss_link: worst.loss.1,
        goodput_bps: seen.found.intact.totals.goodput_bps,
    }
}

/// The kinds of single failures that there are, or those of pairs, in order.
pub fn kinds(rows: &[CaseRow<'_>]) -> Vec<String> {
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
    utilization: (Option<f64>, Option<&'a str>),
    delay_s: (Option<f64>, Option<&'a str>),
    loss: (Option<f64>, Option<&'a str>),
}

impl<'a> Places<'a> {
    fn of(seen: &Seen<'a>, worst: &Worst) -> Places<'a> {
        let network = seen.network;
        Places {
            utilization: worst
                .utilization
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
