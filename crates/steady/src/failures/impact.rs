//! Connections affected by a failure.

use std::cmp::Ordering;

use netflow_network::{ConnectionId, Network};

use super::{Failing, LOST_FRACTION_STEP, MIN_LOST_FRACTION};
use crate::{ConnectionSteady, Steady};

/// Factor of the mean delay from which a connection counts as affected.
pub const SLOWDOWN_THRESHOLD: f64 = 2.0;

/// Kind of impact on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpactKind {
    /// Partial loss of goodput.
    Loses,
    /// Longer delay without loss of goodput.
    Slower,
    /// No remaining route.
    NoRoute,
    /// Failure of an end node, which no routing can repair.
    EndpointFails,
}

impl ImpactKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ImpactKind::Loses => "loses",
            ImpactKind::Slower => "slower",
            ImpactKind::NoRoute => "no route",
            ImpactKind::EndpointFails => "its end fails",
        }
    }
}

/// Connection before and after a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffectedConnection {
    /// The connection.
    pub connection: ConnectionId,
    /// Kind of impact.
    pub impact: ImpactKind,
    /// Fraction of its goodput that is lost; negative for a gain.
    pub lost_fraction: f64,
    /// Mean one-way delay before the failure, in seconds.
    pub intact_delay_s: f64,
    /// Mean one-way delay after the failure; `None` if nothing arrives.
    pub delay_s: Option<f64>,
    /// Sending rate in bit/s without failures.
    pub offered_bps: f64,
}

impl AffectedConnection {
    /// Returns whether it loses more than 0.01 % of its goodput, or its delay at least doubles.
    fn is_affected(&self) -> bool {
        let slower = |delay_s: f64| delay_s >= SLOWDOWN_THRESHOLD * self.intact_delay_s;
        self.lost_fraction > LOST_FRACTION_STEP || self.delay_s.is_some_and(slower)
    }

    /// Returns the bit/s that it loses.
    fn lost_bps(&self) -> f64 {
        self.lost_fraction * self.offered_bps
    }

    /// Returns the ratio of the delays after and before.
    fn delay_factor(&self) -> f64 {
        self.delay_s
            .map_or(0.0, |delay_s| delay_s / self.intact_delay_s)
    }
}

/// Returns the impact on the active ones of these connections.
pub(super) fn impacts(
    network: &Network,
    failing: &[Failing],
    changed: impl Iterator<Item = ConnectionId>,
    intact: &Steady,
    after: &[ConnectionSteady],
) -> Vec<AffectedConnection> {
    let all = changed.filter_map(|id| {
        let spec = network.connection_spec(id);
        let bits = 8.0 * spec.packet_size_bytes;
        let (before, now) = (intact.connection(id), &after[id.index()]);
        let lost = 1.0 - now.goodput_pps / before.goodput_pps;
        let ends = [spec.from, spec.to].map(Failing::Node);
        let harm = if ends.iter().any(|end| failing.contains(end)) {
            ImpactKind::EndpointFails
        } else if now.goodput_pps <= 0.0 {
            ImpactKind::NoRoute
        } else if lost > LOST_FRACTION_STEP {
            ImpactKind::Loses
        } else {
            ImpactKind::Slower
        };
        (before.goodput_pps > 0.0).then(|| AffectedConnection {
            connection: id,
            impact: harm,
            lost_fraction: lost,
            intact_delay_s: before.delay_s,
            delay_s: (now.goodput_pps > 0.0).then_some(now.delay_s),
            offered_bps: bits * before.rate_pps,
        })
    });
    all.collect()
}

/// Compares by the fraction of goodput lost, largest first. Ties are in order of demand, then of name.
pub(super) fn by_loss(
    network: &Network,
    a: &AffectedConnection,
    b: &AffectedConnection,
) -> Ordering {
    let steps = |it: &AffectedConnection| (it.lost_fraction / MIN_LOST_FRACTION).round();
    let name = |it: &AffectedConnection| network.connection_name(it.connection);
    let by_loss = steps(b).total_cmp(&steps(a));
    let by_offer = || b.offered_bps.total_cmp(&a.offered_bps);
    by_loss
        .then_with(by_offer)
        .then_with(|| name(a).cmp(name(b)))
}

/// Returns the number of affected connections, where one with `count = n` counts n times, and the
/// first `max_count` of them. The order is by kbit/s lost, then by delay; those with a failed end node
/// are last.
pub(super) fn most_affected(
    network: &Network,
    changed: &[AffectedConnection],
    max_count: usize,
) -> (u64, Vec<AffectedConnection>) {
    let suffering = || changed.iter().filter(|it| it.is_affected());
    let count = |it: &AffectedConnection| u64::from(network.connection_spec(it.connection).count);
    let all = suffering().map(count).sum();
    if max_count == 0 {
        return (all, Vec::new());
    }
    let mut first: Vec<AffectedConnection> = suffering().copied().collect();
    first.sort_by(|a, b| by_loss(network, a, b));
    let ends = |it: &AffectedConnection| it.impact == ImpactKind::EndpointFails;
    let kbps = |it: &AffectedConnection| (it.lost_bps() / 1e3).round();
    // The sort is stable: ties keep their order.
    first.sort_by(|a, b| {
        let by_ends = ends(a).cmp(&ends(b));
        let by_loss = kbps(b).total_cmp(&kbps(a));
        let by_wait = || {
            (b.delay_factor() * 1e4)
                .round()
                .total_cmp(&(a.delay_factor() * 1e4).round())
        };
        by_ends.then(by_loss).then_with(by_wait)
    });
    first.truncate(max_count);
    (all, first)
}
