//! What happens to a network if something fails: every link, node and risk group by itself, or every two of
//! them.
//!
//! Each failure is a network of its own: connections go where the network's events would have them go, and the
//! steady state is looked for near that of the intact network.

mod cases;
mod hurt;
mod worst;

use netflow_network::{ConnectionId, Detours, Network};
use rayon::prelude::*;

use crate::{Solver, Steady, SteadyError, SteadyOptions};
use cases::Cases;
pub use cases::{Failing, FailureKind};
pub use hurt::{Harm, Hurt, SLOWER};
pub use worst::{BUSY, Worst};

/// Goodput of which less is no loss: what Newton's method leaves is far below.
const NOTHING: f64 = 1e-8;
/// Loads that differ by no more are the same.
const SAME: f64 = 1e-6;
/// Lost goodput is ranked in steps of this part of the intact goodput: what differs by less is as bad.
const STEP: f64 = 1e-4;
/// Loads of links that are kept in memory until they are evaluated in order.
const KEPT: usize = 4_000_000;

/// What is to fail, and how steady states are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureOptions {
    /// Links, duplex links as one.
    pub links: bool,
    /// Nodes, with all their links.
    pub nodes: bool,
    /// Risk groups.
    pub groups: bool,
    /// Every two of them at once, instead of each by itself.
    pub pairs: bool,
    /// Only so many of the cases, drawn at random.
    pub sample: Option<usize>,
    /// What is drawn hangs on it.
    pub seed: u64,
    /// Of each case, so many of those who suffer are kept.
    pub who: usize,
    /// How steady states are looked for.
    pub steady: SteadyOptions,
}

impl Default for FailureOptions {
    /// All that there is, each by itself.
    fn default() -> Self {
        FailureOptions {
            links: true,
            nodes: true,
            groups: true,
            pairs: false,
            sample: None,
            seed: 1,
            who: 0,
            steady: SteadyOptions::default(),
        }
    }
}

/// A network under failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Failures {
    /// The network when nothing fails.
    pub intact: Steady,
    /// Where that is at its worst.
    pub intact_worst: Worst,
    /// All cases in order: links, nodes, groups, or pairs of these.
    pub cases: Vec<FailureCase>,
    /// How many cases there are, of which those were drawn; as many, if none were.
    pub possible: usize,
    /// What would have failed and is down already, by events.
    pub down_already: Vec<Failing>,
    /// Of each link what the failures do to it.
    pub links: Vec<LinkUnderFailure>,
}

/// One failure.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureCase {
    /// What fails: one thing or two.
    pub failing: Vec<Failing>,
    /// Connections that send when nothing fails, and have no route now; one with `count = n` is n.
    pub blocked: u64,
    /// Their goodput in the intact network, in bit/s.
    pub blocked_bps: f64,
    /// How many classes of flows took one of several paths of equal cost as a whole, which routers would divide again.
    pub moved_whole: usize,
    /// What the others do; an error where no steady state was found.
    pub rest: Result<AfterFailure, SteadyError>,
}

/// A network at rest after a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct AfterFailure {
    /// How far from rest it is: see [`Steady::residual`].
    pub residual: f64,
    /// Where it is at its worst.
    pub worst: Worst,
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// How much less that is than without the failure; negative, if it is more.
    pub lost_bps: f64,
    /// Who loses the largest part of its goodput, and which; among equals who offers most, then by name.
    pub hit: Option<(ConnectionId, f64)>,
    /// Connections that lose more than 0.01 % of their goodput, or whose delay at least doubles; one with
    /// `count = n` is n.
    pub suffering: u64,
    /// The first of them: whoever loses most kbit/s first, then who waits longer; those whose ends fail behind all others.
    pub hurt: Vec<Hurt>,
}

/// A link over all failures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkUnderFailure {
    /// Load when nothing fails: demand over bandwidth.
    pub intact: f64,
    /// The highest load.
    pub worst: f64,
    /// Bit/s on the wire demanded of it then.
    pub load_bps: f64,
    /// The case with the highest load; `None` if no failure raises the load.
    pub by: Option<usize>,
}

impl Failures {
    /// In how many cases what moves is not divided as routers would, if in any.
    pub fn moved_parts_warning(&self) -> Option<String> {
        let moved = self.cases.iter().filter(|case| case.moved_whole > 0);
        let (moved, all) = (moved.count(), self.cases.len());
        (moved > 0).then(|| {
            format!(
                "in {moved} of {all} cases (`*`, `moved_whole`) flows that were on one path (`count`, `flows`, calls) have several of equal cost, and all take one of \
                 them: that one may be told too busy, and the others too little"
            )
        })
    }

    /// The cases from the worst on: first those that do not come to rest; then by lost goodput, in hundredths
    /// of a percent of the intact; then by the highest load; then in order.
    pub fn ranked(&self) -> Vec<usize> {
        let mut ranked: Vec<usize> = (0..self.cases.len()).collect();
        let intact_bps = self.intact.totals.goodput_bps;
        let key = |i: usize| match &self.cases[i].rest {
            Err(_) => (i64::MAX, 0.0),
            Ok(after) => {
                let lost = after.lost_bps / intact_bps.max(f64::MIN_POSITIVE) / STEP;
                let busiest = after.worst.load.map_or(0.0, |(_, it)| it);
                (lost.round() as i64, (busiest / SAME).round())
            }
        };
        ranked.sort_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        ranked
    }
}

/// What failures do to a network that is as it is just before `at_s`; `None` if it was stopped. The cases are
/// shared among the threads of the current rayon pool; the result has the same bits for any number of them.
///
/// # Errors
/// Those of [`Solver::new`] and [`Solver::solve`] about the intact network; [`SteadyError::NothingFails`],
/// [`SteadyError::TooManyCases`].
pub fn failures(
    network: &Network,
    at_s: f64,
    options: &FailureOptions,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Failures>, SteadyError> {
    let mut solver = Solver::new(network, at_s)?;
    let detours = Detours::new(network, at_s);
    let cases = Cases::new(network, options, detours.down_before())?;
    let intact = solver.solve(&options.steady)?;
    let analysis = Analysis {
        network,
        at_s,
        options: &options.steady,
        who: options.who,
        detours,
        intact: &intact,
    };
    let mut links: Vec<LinkUnderFailure> = intact.links.iter().map(LinkUnderFailure::new).collect();
    let mut found: Vec<FailureCase> = Vec::with_capacity(cases.all.len());
    let together = (KEPT / links.len().max(1)).clamp(64, 4096);
    for some in cases.all.chunks(together) {
        let some: Option<Vec<_>> = some
            .par_iter()
            .map(|&case| (!stop()).then(|| analysis.case(&cases, case)))
            .collect();
        let Some(some) = some else { return Ok(None) };
        for (case, at) in some {
            for (link, at) in links.iter_mut().zip(at) {
                link.under(found.len(), at);
            }
            found.push(case);
        }
    }
    Ok(Some(Failures {
        intact_worst: Worst::of(&intact, network),
        possible: cases.possible,
        down_already: cases.down_already,
        cases: found,
        links,
        intact,
    }))
}

impl LinkUnderFailure {
    fn new(intact: &crate::LinkSteady) -> LinkUnderFailure {
        LinkUnderFailure {
            intact: intact.load,
            worst: intact.load,
            load_bps: intact.load_bps,
            by: None,
        }
    }

    /// Takes in the load of one case. Of equal loads the first case counts.
    fn under(&mut self, case: usize, (load, load_bps): (f64, f64)) {
        if load > self.worst + SAME {
            (self.worst, self.load_bps, self.by) = (load, load_bps, Some(case));
        }
    }
}

/// What all cases have in common.
struct Analysis<'a> {
    network: &'a Network,
    at_s: f64,
    options: &'a SteadyOptions,
    who: usize,
    detours: Detours,
    intact: &'a Steady,
}

impl Analysis<'_> {
    /// One case, and the load of every link as a fraction and in bit/s; nothing without a steady state.
    fn case(&self, cases: &Cases, case: cases::Case) -> (FailureCase, Vec<(f64, f64)>) {
        let failing = cases.failing(case);
        let routes = self.detours.around(&cases.links(self.network, case));
        let (mut blocked, mut blocked_bps) = (0, 0.0);
        let rest = Solver::rerouted(self.network, self.at_s, &routes).and_then(|mut solver| {
            for &id in &solver.problem.without_route {
                if self.intact.connection(id).sending {
                    blocked += u64::from(self.network.connection_spec(id).count);
                    blocked_bps += self.goodput_bps(self.intact, id);
                }
            }
            solver.solve_from(self.intact, self.options)
        });
        let used = rest.iter().flat_map(|steady| &steady.links);
        let links = used.map(|link| (link.load, link.load_bps));
        let links = links.collect();
        let case = FailureCase {
            rest: rest.map(|steady| self.after(&failing, &steady)),
            failing,
            blocked,
            blocked_bps,
            moved_whole: routes.moved_whole,
        };
        (case, links)
    }

    fn after(&self, failing: &[Failing], steady: &Steady) -> AfterFailure {
        let ranked = hurt::ranked(self.network, failing, self.intact, steady);
        let hit = ranked.first().filter(|it| it.lost > NOTHING);
        let (suffering, hurt) = hurt::suffering(self.network, &ranked, self.who);
        AfterFailure {
            residual: steady.residual,
            worst: Worst::of(steady, self.network),
            goodput_bps: steady.totals.goodput_bps,
            lost_bps: self.intact.totals.goodput_bps - steady.totals.goodput_bps,
            hit: hit.map(|it| (it.connection, it.lost)),
            suffering,
            hurt,
        }
    }

    fn goodput_bps(&self, steady: &Steady, id: ConnectionId) -> f64 {
        let bits = 8.0 * self.network.connection_spec(id).packet_size_bytes;
        bits * steady.connection(id).goodput_pps
    }
}
