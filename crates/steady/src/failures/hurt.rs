//! Who suffers from a failure.

use netflow_network::{ConnectionId, Network};

use super::{Failing, NOTHING, STEP};
use crate::Steady;

/// A mean delay that is so many times what it was hurts.
pub const SLOWER: f64 = 2.0;

/// What a failure does to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// It loses goodput, but not all of it.
    Loses,
    /// It loses none, but waits.
    Slower,
    /// There is no way left for it.
    NoRoute,
    /// It begins or ends at a node that fails: no network can help.
    EndFails,
}

impl Harm {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Harm::Loses => "loses",
            Harm::Slower => "slower",
            Harm::NoRoute => "no route",
            Harm::EndFails => "its end fails",
        }
    }
}

/// A connection before and after a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hurt {
    /// Which.
    pub connection: ConnectionId,
    /// What the failure does to it.
    pub harm: Harm,
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

    /// Bit/s that it loses.
    fn lost_bps(&self) -> f64 {
        self.lost * self.offered_bps
    }

    /// How many times as long its packets take.
    fn slowed(&self) -> f64 {
        self.delay_s
            .map_or(0.0, |delay_s| delay_s / self.intact_delay_s)
    }
}

/// All that send when nothing fails, whoever loses the largest part of its goodput first; among equals who offers
/// most, then by name.
pub(super) fn ranked(
    network: &Network,
    failing: &[Failing],
    intact: &Steady,
    after: &Steady,
) -> Vec<Hurt> {
    let all = network.connections().filter_map(|id| {
        let spec = network.connection_spec(id);
        let bits = 8.0 * spec.packet_size_bytes;
        let (before, now) = (intact.connection(id), after.connection(id));
        let lost = 1.0 - now.goodput_pps / before.goodput_pps;
        let ends = [spec.from, spec.to].map(Failing::Node);
        let harm = if ends.iter().any(|end| failing.contains(end)) {
            Harm::EndFails
        } else if now.goodput_pps <= 0.0 {
            Harm::NoRoute
        } else if lost > STEP {
            Harm::Loses
        } else {
            Harm::Slower
        };
        (before.goodput_pps > 0.0).then(|| Hurt {
            connection: id,
            harm,
            lost,
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

/// How many of them suffer, one with `count = n` being n, and `most` of those at most: whoever loses most kbit/s
/// first, then who waits longer; those whose ends fail behind all others.
pub(super) fn suffering(network: &Network, ranked: &[Hurt], most: usize) -> (u64, Vec<Hurt>) {
    let suffering = || ranked.iter().filter(|it| it.suffers());
    let count = |it: &Hurt| u64::from(network.connection_spec(it.connection).count);
    let all = suffering().map(count).sum();
    if most == 0 {
        return (all, Vec::new());
    }
    let mut first: Vec<Hurt> = suffering().copied().collect();
    let ends = |it: &Hurt| it.harm == Harm::EndFails;
    let kbps = |it: &Hurt| (it.lost_bps() / 1e3).round();
    // Those who are as badly off keep their order.
    first.sort_by(|a, b| {
        let by_ends = ends(a).cmp(&ends(b));
        let by_loss = kbps(b).total_cmp(&kbps(a));
        let by_wait = || {
            (b.slowed() * 1e4)
                .round()
                .total_cmp(&(a.slowed() * 1e4).round())
        };
        by_ends.then(by_loss).then_with(by_wait)
    });
    first.truncate(most);
    (all, first)
}
