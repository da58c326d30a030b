//! Who suffers from a failure.

use netflow_network::{ConnectionId, Network};

use super::{NOTHING, STEP};
use crate::Steady;

/// A mean delay that is so many times what it was hurts.
pub const SLOWER: f64 = 2.0;

/// A connection before and after a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hurt {
    /// Which.
    pub connection: ConnectionId,
    /// The part of its goodput that it loses; negative, if it gains.
    pub lost: f64,
    /// Mean time from sending to arrival before, in seconds.
    pub intact_delay_s: f64,
    /// The same after it; `None` if nothing arrives any more.
    pub delay_s: Option<f64>,
    /// Bit/s that it sends when nothing fails.
    pub offered_bps: f64,
}

impl Hurt {
    /// Whether it loses more than a hundredth of a percent of its goodput, or its delay doubles at least.
    fn suffers(&self) -> bool {
        let slower = |delay_s: f64| delay_s >= SLOWER * self.intact_delay_s;
        self.lost > STEP || self.delay_s.is_some_and(slower)
    }
}

/// All that send when nothing fails, whoever loses the largest part of its goodput first; among equals who offers
/// most, then by name.
pub(super) fn ranked(network: &Network, intact: &Steady, after: &Steady) -> Vec<Hurt> {
    let all = network.connections().filter_map(|id| {
        let bits = 8.0 * network.connection_spec(id).packet_size_bytes;
        let (before, now) = (intact.connection(id), after.connection(id));
        (before.goodput_pps > 0.0).then(|| Hurt {
            connection: id,
            lost: 1.0 - now.goodput_pps / before.goodput_pps,
            intact_delay_s: before.delay_s,
            delay_s: (now.goodput_pps > 0.0).then_some(now.delay_s),
            offered_bps: bits * before.rate_pps,
        })
    });
    let mut all: Vec<Hurt> = all.collect();
    let steps = |it: &Hurt| (it.lost / NOTHING).round();
    let name = |it: &Hurt| network.connection_name(it.connection);
    all.sort_by(|a, b| {
        let by_loss = steps(b).total_cmp(&steps(a));
        let by_offer = b.offered_bps.total_cmp(&a.offered_bps);
        by_loss.then(by_offer).then_with(|| name(a).cmp(name(b)))
    });
    all
}

/// How many of them suffer, one with `count = n` being n, and the first `most` of those.
pub(super) fn suffering(network: &Network, ranked: &[Hurt], most: usize) -> (u64, Vec<Hurt>) {
    let suffering = || ranked.iter().filter(|it| it.suffers());
    let count = |it: &Hurt| u64::from(network.connection_spec(it.connection).count);
    let all = suffering().map(count).sum();
    (all, suffering().take(most).copied().collect())
}
