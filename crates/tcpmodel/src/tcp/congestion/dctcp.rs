//! DCTCP (RFC 8257): the window decreases in proportion to the share of marked packets.

use super::{Acked, AdditiveIncrease, Window};

/// The weight of a round trip in α: g = 1/16.
const G: f64 = 1.0 / 16.0;

/// The state of DCTCP.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    increase: AdditiveIncrease,
    /// α, the smoothed share of marked packets.
    alpha: f64,
    /// The segments delivered and those marked in this round trip.
    delivered: u32,
    congested: u32,
    /// The end of the round trip: it ends when this segment is acknowledged.
    round_end: u32,
}

impl Default for Dctcp {
    /// Returns the initial state. As in Linux, α is 1 before the first round trip.
    fn default() -> Self {
        Self {
            increase: AdditiveIncrease::default(),
            alpha: 1.0,
            delivered: 0,
            congested: 0,
            round_end: 0,
        }
    }
}

impl Dctcp {
    pub(super) fn on_ack(&mut self, acked: &Acked) {
        self.delivered += acked.delivered;
        if acked.congested {
            self.congested += acked.delivered;
        }
        if acked.acknowledged > self.round_end {
            if self.delivered > 0 {
                let share = f64::from(self.congested) / f64::from(self.delivered);
                self.alpha += G * (share - self.alpha);
            }
            (self.delivered, self.congested) = (0, 0);
            self.round_end = acked.next;
        }
    }

    /// Returns the reduced window (RFC 8257, 3.3, equation 9).
    pub(super) fn reduce(&mut self, cwnd: u32) -> u32 {
        let less = (f64::from(cwnd) * self.alpha / 2.0).floor() as u32;
        (cwnd - less.min(cwnd)).max(2)
    }

    pub(super) fn on_rto(&mut self) {
        self.increase = AdditiveIncrease::default();
    }

    pub(super) fn increase_window(&mut self, window: &mut Window, acked: u32) {
        let acks_per_increment = window.cwnd;
        self.increase
            .add(&mut window.cwnd, acks_per_increment, acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a share F of packets marked in every round trip, α converges to F. The error decreases as
    /// (1 - g)^n.
    #[test]
    fn alpha_converges_to_the_marked_share() {
        for (of_ten, share) in [(0, 0.0), (3, 0.3), (10, 1.0)] {
            let mut dctcp = Dctcp::default();
            let mut next = 0;
            for round in 1..=60 {
                for i in 0..10 {
                    next += 1;
                    dctcp.on_ack(&Acked {
                        now_ns: 0,
                        delivered: 1,
                        may_grow: true,
                        acknowledged: next,
                        next: next + 9,
                        rtt_ns: None,
                        congested: i < of_ten,
                    });
                }
                let expected = share + (1.0 - share) * (1.0 - G).powi(round);
                assert!((dctcp.alpha - expected).abs() < 0.05, "{round}");
            }
            let left = f64::from(dctcp.reduce(1000));
            assert!((left - 1000.0 * (1.0 - share / 2.0)).abs() < 30.0, "{left}");
        }
    }
}
