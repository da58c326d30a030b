//! RED for a queue without drop precedences, as in the `RED` queue of ns-2.

use super::curve::Slopes;
use super::{Curve, DropSpacing};

/// Decision of RED on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedDecision {
    /// Admitted.
    Admit,
    /// Dropped at random; marked instead if its sender uses ECN (RFC 3168, section 7).
    RandomDrop,
    /// Dropped with probability 1.
    ForcedDrop,
}

/// Average queue and drop decisions of RED. Drops are spread uniformly, at least 1/p packets apart. There are
/// two differences from [`DiffServQueue`](super::DiffServQueue), the DiffServ module of ns-2. Idle time counts in
/// whole packets, and a packet that finds at most one waiting packet is never dropped.
#[derive(Clone, Debug)]
pub struct RedAverage {
    slopes: Slopes,
    /// Weight of a packet in the average (w_q).
    weight: f64,
    average_pkts: f64,
    min_pkts: f64,
    /// Packets since the last drop, or since the average crossed the lower threshold.
    since_drop: f64,
    above_min: bool,
    /// Service rate in packets/ns, by which idle time is converted.
    packets_per_ns: f64,
}

impl RedAverage {
    /// Returns RED for a link with a mean service time of `packet_ns`.
    pub fn new(curve: Curve, gentle: bool, weight: f64, packet_ns: f64) -> RedAverage {
        RedAverage {
            slopes: curve.slopes(gentle),
            weight,
            average_pkts: 0.0,
            min_pkts: curve.min_pkts,
            since_drop: 0.0,
            above_min: false,
            packets_per_ns: 1.0 / packet_ns,
        }
    }

    /// Decides on a packet that finds `waiting` packets. `idle_ns` is the idle time before it, if the link is
    /// idle. A random number in [0, 1) is drawn only when needed.
    pub fn on_arrival(
        &mut self,
        waiting: usize,
        idle_ns: Option<u64>,
        uniform: impl FnOnce() -> f64,
    ) -> RedDecision {
        if let Some(idle_ns) = idle_ns {
            let missed = (idle_ns as f64 * self.packets_per_ns).floor();
            self.average_pkts *= libm::pow(1.0 - self.weight, missed);
        }
        self.average_pkts += self.weight * (waiting as f64 - self.average_pkts);
        self.since_drop += 1.0;
        if self.average_pkts < self.min_pkts || waiting <= 1 {
            self.above_min = false;
            return RedDecision::Admit;
        }
        let p = self.slopes.probability(self.average_pkts);
        let decision = if p >= 1.0 {
            RedDecision::ForcedDrop
        } else if !self.above_min {
            self.above_min = true;
            self.since_drop = 1.0;
            RedDecision::Admit
        } else if DropSpacing::WaitThenUniform.drops(p, self.since_drop, 1.0, uniform()) {
            RedDecision::RandomDrop
        } else {
            RedDecision::Admit
        };
        if decision != RedDecision::Admit {
            self.since_drop = 0.0;
        }
        decision
    }

    /// Records the drop of a packet by the full buffer.
    pub fn on_overflow(&mut self) {
        self.since_drop = 0.0;
    }

    /// Multiplies the mean service time by `ratio`.
    pub fn scale_service_time(&mut self, ratio: f64) {
        self.packets_per_ns /= ratio;
    }
}
