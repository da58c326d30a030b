//! How the window grows in congestion avoidance: Reno's way, or by the time since the last loss
//! (CUBIC, RFC 9438), as Linux has it.

use crate::Stack;

/// C of RFC 9438, 5: packets per cubic second.
const C: f64 = 0.4;

/// Growth in congestion avoidance.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    /// What a loss leaves of the window (RFC 9438, β).
    decrease: f64,
    /// What has been gathered for the next packet.
    credit: f64,
    cubic: Option<Cubic>,
}

#[derive(Clone, Debug, Default)]
struct Cubic {
    /// The window at the last loss, or what fast convergence makes of it; 0 before any.
    last_max: f64,
    epoch: Option<Epoch>,
}

/// Since congestion avoidance began.
#[derive(Clone, Debug)]
struct Epoch {
    began_s: f64,
    /// The window that growth slows down at, and when it gets there, in seconds after the beginning.
    origin: f64,
    k_s: f64,
    /// Reno's window with this decrease (RFC 9438, 4.3), and what was acknowledged for its next packet.
    reno: f64,
    acknowledged: f64,
}

impl Growth {
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            decrease: stack.window_after_loss,
            credit: 0.0,
            cubic: stack.cubic_growth.then(Cubic::default),
        }
    }

    /// A loss: the slow start threshold it leaves of a window.
    pub(super) fn lose(&mut self, window: f64) -> f64 {
        if let Some(cubic) = &mut self.cubic {
            // RFC 9438, 4.7
            let converges = window < cubic.last_max;
            let kept = if converges {
                (1.0 + self.decrease) / 2.0
            } else {
                1.0
            };
            cubic.last_max = kept * window;
            cubic.epoch = None;
        }
        (window * self.decrease).floor().max(2.0)
    }

    /// A timeout: nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.credit = 0.0;
        if let Some(cubic) = &mut self.cubic {
            *cubic = Cubic::default();
        }
    }

    /// Nothing was sent for so long, in seconds: that is no time to grow in.
    pub(super) fn pause(&mut self, now_s: f64, idle_s: f64) {
        if let Some(epoch) = self.cubic.as_mut().and_then(|cubic| cubic.epoch.as_mut()) {
            epoch.began_s = (epoch.began_s + idle_s.max(0.0)).min(now_s);
        }
    }

    /// So many packets were delivered: the window now. `min_rtt_s` is the shortest round trip.
    pub(super) fn grow(&mut self, now_s: f64, window: f64, delivered: f64, min_rtt_s: f64) -> f64 {
        let per_packet = match &mut self.cubic {
            // RFC 9438, 4.3; 1 for a window that is halved.
            None => window * (1.0 + self.decrease) / (3.0 * (1.0 - self.decrease)),
            Some(cubic) => {
                cubic.packets_for_one(now_s, window, delivered, min_rtt_s, self.decrease)
            }
        };
        let mut window = window;
        self.credit += delivered / per_packet;
        while self.credit >= 1.0 {
            self.credit -= 1.0;
            window += 1.0;
        }
        window
    }
}

impl Cubic {
    /// How many packets have to be delivered for the window to grow by one.
    fn packets_for_one(
        &mut self,
        now_s: f64,
        window: f64,
        delivered: f64,
        min_rtt_s: f64,
        decrease: f64,
    ) -> f64 {
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            began_s: now_s,
            origin: last_max.max(window),
            k_s: ((last_max - window).max(0.0) / C).cbrt(),
            reno: window,
            acknowledged: 0.0,
        });
        epoch.acknowledged += delivered;
        // RFC 9438, 4.2: where the window is to be in a round trip.
        let target = epoch.origin + C * (now_s + min_rtt_s - epoch.began_s - epoch.k_s).powi(3);
        let mut packets = if target > window {
            window / (target - window)
        } else {
            100.0 * window
        };
        if last_max == 0.0 {
            packets = packets.min(20.0);
        }
        let for_reno = window * (1.0 + decrease) / (3.0 * (1.0 - decrease));
        while epoch.acknowledged > for_reno {
            epoch.acknowledged -= for_reno;
            epoch.reno += 1.0;
        }
        if epoch.reno > window {
            packets = packets.min(window / (epoch.reno - window));
        }
        // No faster than half again in a round trip.
        packets.max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;
    use crate::Stack;

    fn cubic() -> Growth {
        Growth::new(&Stack::builtin("linux-6").unwrap())
    }

    /// RFC 9438, figure 1: W(t) = C (t - K)³ + Wmax. A window of 1000 loses a packet: 700 are left, K
    /// is ∛(300 / 0.4) = 9.086 s. Long round trips, so that Reno is slower: after 5 s the window
    /// is 1000 - 0.4 · 4.086³ = 972.7, after K 1000, after 14 s 1000 + 0.4 · 4.914³ = 1047.5.
    #[test]
    fn the_window_follows_the_cubic() {
        let mut growth = cubic();
        let mut window = growth.lose(1000.0);
        assert_eq!(window, 700.0);
        let rtt_s = 0.5;
        for (until, expected) in [(10, 972.7), (18, 1000.0), (28, 1047.5)] {
            let mut now = growth.clone();
            let mut grown = window;
            for round in 0..until {
                // The window's packets, one after the other through a round trip.
                let n = grown as u32;
                for i in 0..n {
                    let at_s = rtt_s * (f64::from(round) + f64::from(i) / f64::from(n));
                    grown = now.grow(at_s, grown, 1.0, rtt_s);
                }
            }
            // Two round trips of growth at that place, at most.
            assert!(
                (grown - expected).abs() < 0.02 * expected,
                "{until}: {grown}"
            );
        }
        window = growth.lose(900.0);
        assert_eq!(window, 630.0);
    }

    /// With short round trips it is Reno with β = 0.7: 3 · 0.3 / 1.7 = 0.529 packets a round trip.
    #[test]
    fn short_round_trips_are_renos() {
        let mut growth = cubic();
        let mut window = growth.lose(20.0);
        for round in 0..40 {
            for i in 0..window as u32 {
                let at_s = 0.002 * f64::from(round) + 1e-5 * f64::from(i);
                window = growth.grow(at_s, window, 1.0, 0.002);
            }
        }
        assert!((window - (14.0 + 40.0 * 0.529)).abs() <= 2.0, "{window}");
    }
}
