//! DCTCP (RFC 8257): the window decreases in proportion to the share of marked packets.

use super::{Acked, AdditiveIncrease, Algorithm, Clock, Window};
use crate::{EcnFeedback, EcnRules, Stack};

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

impl Dctcp {
    /// Returns the reduced window (RFC 8257, 3.3, equation 9).
    fn reduce(&mut self, cwnd: u32) -> u32 {
        let less = (f64::from(cwnd) * self.alpha / 2.0).floor() as u32;
        (cwnd - less.min(cwnd)).max(2)
    }
}

impl Algorithm for Dctcp {
    fn ecn_rules(_stack: &Stack) -> EcnRules {
        EcnRules {
            is_required: true,
            feedback: EcnFeedback::Exact,
            marks_retransmissions: true,
            ..EcnRules::OPTIONAL
        }
    }

    /// Returns the initial state. As in Linux, α is 1 before the first round trip.
    fn new(_stack: &Stack, _clock: Clock, _phase: f64) -> Self {
        Self {
            increase: AdditiveIncrease::default(),
            alpha: 1.0,
            delivered: 0,
            congested: 0,
            round_end: 0,
        }
    }

    fn on_congestion_event(&mut self, window: Window, by_mark: bool) -> u32 {
        if by_mark {
            self.reduce(window.cwnd)
        } else {
            // RFC 8257, 3.5
            (window.cwnd / 2).max(2)
        }
    }

    fn on_ack(&mut self, _window: &mut Window, acked: &Acked) {
        self.delivered += acked.delivered;
        self.congested += acked.marked;
        if acked.acknowledged > self.round_end {
            if self.delivered > 0 {
                let share = f64::from(self.congested) / f64::from(self.delivered);
                self.alpha += G * (share - self.alpha);
            }
            (self.delivered, self.congested) = (0, 0);
            self.round_end = acked.next;
        }
    }

    fn on_rto(&mut self, _window: Window, _next: u32) {
        self.increase = AdditiveIncrease::default();
    }

    fn increase_window(&mut self, window: &mut Window, acked: u32, _now_ns: u64) {
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
            let stack = Stack::builtin("linux-6").unwrap();
            let mut dctcp = Dctcp::new(&stack, Clock::new(&stack, 0.0), 0.0);
            let mut window = Window {
                cwnd: 10,
                ssthresh: 10,
            };
            let mut next = 0;
            for round in 1..=60 {
                for i in 0..10 {
                    next += 1;
                    let acked = Acked {
                        now_ns: 0,
                        delivered: 1,
                        may_grow: true,
                        acknowledged: next,
                        next: next + 9,
                        rtt_ns: None,
                        marked: u32::from(i < of_ten),
                    };
                    dctcp.on_ack(&mut window, &acked);
                }
                let expected = share + (1.0 - share) * (1.0 - G).powi(round);
                assert!((dctcp.alpha - expected).abs() < 0.05, "{round}");
            }
            let left = f64::from(dctcp.reduce(1000));
            assert!((left - 1000.0 * (1.0 - share / 2.0)).abs() < 30.0, "{left}");
        }
    }
}
