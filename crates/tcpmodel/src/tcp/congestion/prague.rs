//! TCP Prague: congestion control for L4S (RFC 9331; Linux fork of the L4S team, `tcp_prague` 0.6).
//!
//! As with DCTCP, the window decreases in proportion to α, the smoothed share of marked packets. It differs in
//! four ways:
//! - The window grows with every packet that was not marked, also while it is being reduced.
//! - Fractions of a packet are kept, so that low shares of marks count.
//! - Packets are paced at the window per round-trip time.
//! - With a round-trip time below 25 ms, the window grows and shrinks like that of a connection with 25 ms, from
//!   500 round trips after slow start on (RTT independence).
//!
//! The fallback for queues without L4S is off, as is the default. A loss that a tail loss probe repairs has the effect of a
//! mark, because Linux enters the state of a reduction by marks (`tcp_process_tlp_ack`, `prague_enter_cwr`).

use super::{Acked, Algorithm, Clock, Delivery, Lost, RecoveryState, Window, WindowControl};
use crate::{EcnFeedback, EcnRules, Stack};

/// The weight of a round trip in α.
const G: f64 = 1.0 / 16.0;
/// The minimum window in packets.
const MIN_CWND: u32 = 2;
/// The round-trip time below which connections behave as with this one.
const TARGET_RTT_NS: u64 = 25_000_000;
/// The number of round trips after slow start until that begins.
const RTT_TRANSITION_ROUNDS: u32 = 500;
/// The number of bursts per second, and the minimum burst in packets (`tcp_min_tso_segs`).
const BURSTS_PER_S: f64 = 4096.0;
const MIN_BURST_PKTS: u32 = 2;

/// The state of Prague.
#[derive(Clone, Debug)]
pub(crate) struct Prague {
    has_rtt_independence: bool,
    /// α, the smoothed share of marked packets.
    alpha: f64,
    /// The fraction of a packet by which the window is too small, or too large if negative.
    credit: f64,
    /// True after the first mark: the path has an AQM.
    has_seen_mark: bool,
    /// True while losses are repaired: the window does not grow.
    is_in_loss: bool,
    /// The segments delivered and those marked in this round trip.
    delivered: u32,
    marked: u32,
    /// The end of the round trip: it ends when this segment is acknowledged.
    round_end: u32,
    /// The number of round trips since slow start.
    rounds: u32,
    /// The times of the last update of α, and of the last reduction by marks.
    alpha_at_ns: u64,
    reduced_at_ns: u64,
    now_ns: u64,
    srtt_ns: u64,
    /// The pacing rate in packets per nanosecond; 0 before the first round-trip time.
    pacing: f64,
    /// Window and credit before the last reduction by a loss.
    before_loss: (u32, f64),
}

impl Prague {
    /// Returns true if the connection behaves as one with the target round-trip time.
    fn is_rtt_independent(&self, window: &Window) -> bool {
        self.has_rtt_independence && self.rounds >= RTT_TRANSITION_ROUNDS && !window.in_slow_start()
    }

    /// Returns the growth of the window per round trip, in packets. It is below 1 for short round-trip times.
    fn growth(&self, window: &Window) -> f64 {
        if self.is_rtt_independent(window) && self.srtt_ns < TARGET_RTT_NS {
            let ratio = self.srtt_ns as f64 / TARGET_RTT_NS as f64;
            ratio * ratio
        } else {
            1.0
        }
    }

    /// Returns true if the target round-trip time has passed since `at_ns`, or need not have.
    fn has_passed(&self, window: &Window, at_ns: u64) -> bool {
        !self.is_rtt_independent(window) || self.now_ns - at_ns >= TARGET_RTT_NS
    }

    /// Reduces the window by half because of a loss.
    fn on_loss(&mut self, window: Window) {
        self.before_loss = (window.cwnd, self.credit);
        self.credit -= f64::from(window.cwnd) / 2.0 + self.credit / 2.0;
        self.is_in_loss = true;
    }

    fn update_window(&mut self, window: &mut Window, acked: &Acked) {
        let mut unmarked = acked.delivered.saturating_sub(acked.marked);
        if acked.may_grow && !self.is_in_loss && unmarked > 0 {
            if window.in_slow_start() {
                unmarked = window.slow_start(unmarked);
                if unmarked == 0 {
                    return;
                }
            }
            let growth = f64::from(unmarked) * self.growth(window);
            self.credit += growth / f64::from(window.cwnd.max(1));
        }
        if self.credit <= -1.0 {
            self.credit += 1.0;
            window.cwnd -= 1;
            if window.cwnd < MIN_CWND {
                (window.cwnd, self.credit) = (MIN_CWND, 0.0);
            }
            window.ssthresh = window.cwnd;
        } else if self.credit >= 1.0 {
            self.credit -= 1.0;
            window.cwnd += 1;
        }
    }

    /// Ends the round trip if it is over: updates α.
    fn update_alpha(&mut self, window: &Window, acked: &Acked) {
        self.delivered += acked.delivered;
        self.marked += acked.marked;
        if acked.acknowledged < self.round_end || !self.has_passed(window, self.alpha_at_ns) {
            return;
        }
        if self.has_seen_mark {
            let share = f64::from(self.marked) / f64::from(self.delivered.max(1));
            self.alpha += G * (share.min(1.0) - self.alpha);
            self.alpha_at_ns = self.now_ns;
        }
        (self.delivered, self.marked) = (0, 0);
        self.round_end = acked.next;
        if !window.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn set_pacing(&mut self, window: &Window, in_flight: u32) {
        if self.srtt_ns == 0 {
            return;
        }
        self.pacing = f64::from(window.cwnd.max(in_flight)) / self.srtt_ns as f64;
        if window.cwnd < window.ssthresh / 2 {
            self.pacing *= 2.0;
        }
    }
}

impl Algorithm for Prague {
    fn ecn_rules(_stack: &Stack) -> EcnRules {
        EcnRules {
            is_required: true,
            is_l4s: true,
            feedback: EcnFeedback::Accurate,
            marks_retransmissions: true,
        }
    }

    fn new(stack: &Stack, _clock: Clock, _phase: f64) -> Self {
        Self {
            has_rtt_independence: stack.rtt_independence,
            alpha: 1.0,
            credit: 0.0,
            has_seen_mark: false,
            is_in_loss: false,
            delivered: 0,
            marked: 0,
            round_end: 0,
            rounds: 0,
            alpha_at_ns: 0,
            reduced_at_ns: 0,
            now_ns: 0,
            srtt_ns: 0,
            pacing: 0.0,
            before_loss: (0, 0.0),
        }
    }

    fn on_congestion_event(&mut self, window: Window, by_mark: bool) -> u32 {
        if by_mark && self.has_passed(&window, self.reduced_at_ns) {
            self.reduced_at_ns = self.now_ns;
            self.credit -= self.alpha * f64::from(window.cwnd) / 2.0;
        }
        window.ssthresh
    }

    fn on_recovery(&mut self, window: Window) {
        self.on_loss(window);
    }

    fn on_rto(&mut self, window: Window, _next: u32) {
        if !self.is_in_loss {
            self.on_loss(window);
        }
    }

    fn on_ack(&mut self, _window: &mut Window, acked: &Acked) {
        self.now_ns = acked.now_ns;
    }

    fn as_window_control(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }

    fn pacing(&self) -> Option<(f64, u32)> {
        let burst_pkts = (1e9 * self.pacing / BURSTS_PER_S) as u32;
        (self.pacing > 0.0).then_some((self.pacing, burst_pkts.max(MIN_BURST_PKTS)))
    }
}

impl WindowControl for Prague {
    fn open(&mut self, now_ns: u64, window: Window, rtt_ns: u64) {
        (self.now_ns, self.alpha_at_ns) = (now_ns, now_ns);
        self.srtt_ns = rtt_ns;
        self.set_pacing(&window, 0);
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let acked = &delivery.acked;
        self.has_seen_mark |= acked.marked > 0;
        self.is_in_loss &= delivery.recovery >= RecoveryState::Recovery;
        self.srtt_ns = delivery.srtt_ns;
        self.update_window(window, acked);
        self.update_alpha(window, acked);
        self.set_pacing(window, delivery.in_flight);
    }

    fn on_tail_loss(&mut self, window: Window, _lost: &Lost) {
        self.on_congestion_event(window, true);
    }

    fn undo(&mut self, window: &mut Window) {
        let (cwnd, credit) = self.before_loss;
        window.cwnd = window.cwnd.max(cwnd);
        self.credit = credit;
        self.is_in_loss = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::NO_SSTHRESH;
    use crate::tcp::sender::RateSample;

    const MS: u64 = 1_000_000;

    /// A connection in congestion avoidance, with its window and time.
    struct Path {
        prague: Prague,
        window: Window,
        rtt_ns: u64,
        now_ns: u64,
        next: u32,
    }

    impl Path {
        fn new(rtt_ns: u64, window: Window) -> Path {
            let stack = Stack::builtin("linux-6").unwrap();
            let mut prague = Prague::new(&stack, Clock::new(&stack, 0.0), 0.0);
            prague.open(0, window, rtt_ns);
            Path {
                prague,
                window,
                rtt_ns,
                now_ns: 0,
                next: window.cwnd,
            }
        }

        /// Acknowledges one window, packet by packet, of which every `n`-th is marked if `n` > 0.
        fn round(&mut self, n: u32) {
            let cwnd = self.window.cwnd;
            let mut may_reduce = true;
            for i in 1..=cwnd {
                self.now_ns += self.rtt_ns / u64::from(cwnd);
                self.next += 1;
                let acked = Acked {
                    now_ns: self.now_ns,
                    delivered: 1,
                    may_grow: true,
                    acknowledged: self.next - cwnd,
                    next: self.next,
                    rtt_ns: Some(self.rtt_ns),
                    marked: u32::from(n > 0 && i % n == 0),
                };
                self.prague.on_ack(&mut self.window, &acked);
                // At most one reduction per round trip.
                if acked.marked > 0 && may_reduce {
                    self.window.ssthresh = self.prague.on_congestion_event(self.window, true);
                    may_reduce = false;
                }
                let delivery = Delivery {
                    rate: RateSample::default(),
                    acked,
                    in_flight: cwnd,
                    in_flight_before: cwnd,
                    newly_lost: 0,
                    recovery: RecoveryState::Open,
                    srtt_ns: self.rtt_ns,
                    is_cwnd_limited: true,
                    next_departure_ns: 0,
                    acks_tail_probe: false,
                };
                self.prague.on_delivery(&mut self.window, &delivery);
            }
        }
    }

    fn avoidance(cwnd: u32) -> Window {
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }

    /// Without marks the window grows by one packet per round trip; below 25 ms, after 500 round trips, by the
    /// square of the ratio of round-trip times.
    #[test]
    fn growth_is_independent_of_short_round_trips() {
        for (rtt_ms, rounds, growth) in [(40, 600, 1.0), (10, 100, 1.0), (10, 2000, 0.16)] {
            let mut path = Path::new(rtt_ms * MS, avoidance(20));
            (0..rounds).for_each(|_| path.round(0));
            let before = path.window.cwnd;
            (0..100).for_each(|_| path.round(0));
            let grown = f64::from(path.window.cwnd - before) / 100.0;
            assert!((grown - growth).abs() < 0.03, "{rtt_ms} ms: {grown}");
        }
    }

    /// With every tenth packet marked, α is 0.1. Growth of 0.9 packets and a reduction by α/2 per round trip are
    /// equal at a window of 2 · 0.9/0.1 = 18 packets.
    #[test]
    fn window_balances_marks() {
        let mut path = Path::new(40 * MS, avoidance(60));
        (0..400).for_each(|_| path.round(10));
        assert!(
            (path.prague.alpha - 0.1).abs() < 0.03,
            "{}",
            path.prague.alpha
        );
        let mean: u32 = (0..100)
            .map(|_| {
                path.round(10);
                path.window.cwnd
            })
            .sum();
        let mean = f64::from(mean) / 100.0;
        assert!((15.0..21.0).contains(&mean), "{mean}");
    }

    /// The first mark ends slow start. A loss halves the window, and growth stops until it is repaired. The pacing
    /// rate is the window per round-trip time, twice that in slow start.
    #[test]
    fn first_mark_ends_slow_start() {
        let mut path = Path::new(
            40 * MS,
            Window {
                cwnd: 10,
                ssthresh: NO_SSTHRESH,
            },
        );
        path.round(0);
        assert_eq!(path.window.cwnd, 20);
        let pacing = path.prague.pacing().unwrap().0 * 40e6;
        assert!((pacing - 40.0).abs() < 1e-6, "{pacing}");
        path.round(20);
        path.round(0);
        assert!(!path.window.in_slow_start());
        let (before, credit) = (path.window.cwnd, path.prague.credit);
        path.prague.on_recovery(path.window);
        let left = (credit - f64::from(before)) / 2.0;
        assert!((path.prague.credit - left).abs() < 1e-9);
        (0..20).for_each(|_| path.round(0));
        assert!(path.window.cwnd < before + 12, "{}", path.window.cwnd);
    }
}
