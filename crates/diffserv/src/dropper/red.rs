//! Random early detection of a queue that tells no precedences apart, as ns-2's `RED` does it.

use super::curve::Slopes;
use super::{Curve, Spread};

/// What random early detection says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Early {
    /// It is taken.
    Taken,
    /// It is dropped by chance; where its sender has ECN it may be marked instead (RFC 3168, section 7).
    ByChance,
    /// It is dropped because all are.
    All,
}

/// The average queue and what it drops: drops are spread uniformly and are at least 1/p packets apart. In
/// this it differs from [`ActiveQueue`](super::ActiveQueue), which is ns-2's DiffServ module: an idle link
/// could have sent whole packets only, and a packet that finds at most one other waiting is never dropped.
#[derive(Clone, Debug)]
pub struct RedAverage {
    slopes: Slopes,
    /// Weight of a packet in the average.
    weight: f64,
    average_pkts: f64,
    min_pkts: f64,
    /// Packets since the last drop, or since the average crossed the lower threshold.
    since_drop: f64,
    above: bool,
    /// Packets/ns that the link serves: what a pause is worth.
    packets_per_ns: f64,
}

impl RedAverage {
    /// Of a link that takes `packet_ns` to send a mean packet.
    pub fn new(curve: Curve, gentle: bool, weight: f64, packet_ns: f64) -> RedAverage {
        RedAverage {
            slopes: curve.slopes(gentle),
            weight,
            average_pkts: 0.0,
            min_pkts: curve.min_pkts,
            since_drop: 0.0,
            above: false,
            packets_per_ns: 1.0 / packet_ns,
        }
    }

    /// What becomes of a packet that finds so many waiting, after `idle_ns` with nobody there if
    /// there is nobody; a random number in [0, 1) is drawn where it matters.
    pub fn judge(
        &mut self,
        waiting: usize,
        idle_ns: Option<u64>,
        uniform: impl FnOnce() -> f64,
    ) -> Early {
        if let Some(idle_ns) = idle_ns {
            let missed = (idle_ns as f64 * self.packets_per_ns).floor();
            self.average_pkts *= libm::pow(1.0 - self.weight, missed);
        }
        self.average_pkts += self.weight * (waiting as f64 - self.average_pkts);
        self.since_drop += 1.0;
        if self.average_pkts < self.min_pkts || waiting <= 1 {
            self.above = false;
            return Early::Taken;
        }
        let p = self.slopes.probability(self.average_pkts);
        let early = if p >= 1.0 {
            Early::All
        } else if !self.above {
            self.above = true;
            self.since_drop = 1.0;
            Early::Taken
        } else if Spread::Wait.drops(p, self.since_drop, 1.0, uniform()) {
            Early::ByChance
        } else {
            Early::Taken
        };
        if early != Early::Taken {
            self.since_drop = 0.0;
        }
        early
    }

    /// The queue was full: what was refused counts as dropped.
    pub fn overflowed(&mut self) {
        self.since_drop = 0.0;
    }

    /// From now on packets take `ratio` times as long.
    pub fn stretch(&mut self, ratio: f64) {
        self.packets_per_ns /= ratio;
    }
}
