//! CUBIC (RFC 9438) with HyStart, in whole packets and jiffies as in Linux's `tcp_cubic`.

use super::{
    Acked, AdditiveIncrease, Algorithm, Clock, IdlePeriod, MultiplicativeDecrease, Window,
    cubic_window,
};
use crate::Stack;

/// The smallest window in packets at which HyStart is active.
const HYSTART_MIN_CWND: u32 = 16;
/// The maximum spacing of acknowledgements in a train.
const ACK_TRAIN_SPACING_NS: u64 = 2_000_000;
/// The number of packets of 1448 B that hosts may aggregate (four times 64 KiB), and the maximum duration
/// of that (`hystart_ack_delay` of Linux).
const AGGREGATION_PKTS: u64 = 181;
const MAX_AGGREGATION_NS: u64 = 1_000_000;
/// The number of round-trip samples per round before their minimum is used.
const MIN_RTT_SAMPLES: u32 = 8;
/// Bounds of the increase of the round-trip time that ends slow start; between them, it is 1/8.
const DELAY_INCREASE_NS: (u64, u64) = (4_000_000, 16_000_000);

/// The state of CUBIC.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    clock: Clock,
    decrease: MultiplicativeDecrease,
    increase: AdditiveIncrease,
    /// W_max: the window at the last loss, after fast convergence; 0 before any loss.
    last_max: u32,
    epoch: Option<Epoch>,
    /// The last computed growth: time in jiffies, window, and result.
    cached: (u64, u32, u32),
    /// The minimum round-trip time; 0 before the first measurement.
    delay_min_ns: u64,
    has_hystart: bool,
    hystart: HyStart,
}

/// The state since congestion avoidance began.
#[derive(Clone, Debug)]
struct Epoch {
    began_ns: u64,
    /// The plateau of the cubic function in packets, and K, its time after the beginning in seconds.
    origin: u32,
    k_s: f64,
    /// W_est, Reno's window (RFC 9438, 4.3), and packets acknowledged towards its next increase.
    reno_cwnd: u32,
    acked: u32,
}

/// HyStart: detection of the end of slow start before losses. It uses the duration of acknowledgement
/// trains (half a round trip), and the increase of the round-trip time.
#[derive(Clone, Debug, Default)]
struct HyStart {
    exited: bool,
    /// The end of the round: it ends when this segment is acknowledged.
    round_end: u32,
    round_start_ns: u64,
    last_ack_ns: u64,
    /// The minimum of the first round-trip times of the round, and their number.
    min_rtt_ns: u64,
    samples: u32,
}

impl HyStart {
    fn start_round(&mut self, now_ns: u64, next: u32) {
        *self = HyStart {
            exited: self.exited,
            round_end: next,
            round_start_ns: now_ns,
            last_ack_ns: now_ns,
            min_rtt_ns: u64::MAX,
            samples: 0,
        };
    }

    /// Returns true if slow start should end. Rounds are tracked at all window sizes. A round that began in
    /// the middle of a flight would see only the queue made by that flight.
    fn should_exit_slow_start(
        &mut self,
        cwnd: u32,
        acked: &Acked,
        rtt_ns: u64,
        delay_min_ns: u64,
    ) -> bool {
        let now_ns = acked.now_ns;
        if acked.acknowledged > self.round_end {
            self.start_round(now_ns, acked.next);
        }
        if cwnd < HYSTART_MIN_CWND {
            return false;
        }
        if now_ns - self.last_ack_ns <= ACK_TRAIN_SPACING_NS {
            self.last_ack_ns = now_ns;
            // The time of aggregated packets at the rate of slow start: two windows per round trip.
            let aggregation_ns = AGGREGATION_PKTS * delay_min_ns / (2 * u64::from(cwnd));
            let threshold_ns = (delay_min_ns + aggregation_ns.min(MAX_AGGREGATION_NS)) / 2;
            self.exited |= now_ns - self.round_start_ns > threshold_ns;
        }
        self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
        if self.samples < MIN_RTT_SAMPLES {
            self.samples += 1;
        } else {
            let grown_ns = (delay_min_ns / 8).clamp(DELAY_INCREASE_NS.0, DELAY_INCREASE_NS.1);
            self.exited |= self.min_rtt_ns > delay_min_ns + grown_ns;
        }
        self.exited
    }
}

impl Cubic {
    fn with(clock: Clock, decrease: MultiplicativeDecrease, has_hystart: bool) -> Self {
        Self {
            clock,
            decrease,
            increase: AdditiveIncrease::default(),
            last_max: 0,
            epoch: None,
            cached: (0, 0, u32::MAX),
            delay_min_ns: 0,
            has_hystart,
            hystart: HyStart::default(),
        }
    }

    /// Returns the number of packets that must be acknowledged for the window to grow by one. It is
    /// cwnd / (W_cubic(t + RTT) − cwnd) (RFC 9438, 4.4), or less if Reno's window W_est grows faster (4.3).
    /// W_cubic(t) is the window at time t of the epoch (4.2).
    fn acks_per_increment(&mut self, cwnd: u32, acked: u32, now_ns: u64) -> u32 {
        let jiffies = self.clock.jiffies(now_ns);
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let (last, last_cwnd, last_acks_per_increment) = self.cached;
        let cache_jiffies = self.clock.jiffies_per_s() / 32;
        if self.epoch.is_some() && last_cwnd == cwnd && jiffies - last <= cache_jiffies {
            return last_acks_per_increment;
        }
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            began_ns: now_ns,
            origin: last_max.max(cwnd),
            k_s: cubic_window::k_s(last_max.into(), cwnd.into()),
            reno_cwnd: cwnd,
            acked,
        });
        // RFC 9438, 4.2: the target is the window one round trip ahead.
        let ahead_ns = now_ns - epoch.began_ns + self.delay_min_ns;
        let deviation = cubic_window::window_deviation(ahead_ns as f64 * 1e-9, epoch.k_s);
        let target = f64::from(epoch.origin) + deviation.trunc();
        let mut acks_per_increment = if target > f64::from(cwnd) {
            (f64::from(cwnd) / (target - f64::from(cwnd))) as u32
        } else {
            100 * cwnd
        };
        if last_max == 0 {
            acks_per_increment = acks_per_increment.min(20);
        }
        let reno_acks_per_increment = self.decrease.acks_per_increment(cwnd).max(1.0) as u32;
        while epoch.acked > reno_acks_per_increment {
            epoch.acked -= reno_acks_per_increment;
            epoch.reno_cwnd += 1;
        }
        if epoch.reno_cwnd > cwnd {
            acks_per_increment = acks_per_increment.min(cwnd / (epoch.reno_cwnd - cwnd));
        }
        // The window grows by at most 50 % per round trip.
        let acks_per_increment = acks_per_increment.max(2);
        self.cached = (jiffies, cwnd, acks_per_increment);
        acks_per_increment
    }
}

impl Algorithm for Cubic {
    fn new(stack: &Stack, clock: Clock, _phase: f64) -> Self {
        Self::with(clock, MultiplicativeDecrease::new(stack), stack.hystart)
    }

    fn on_congestion_event(&mut self, window: Window, _by_mark: bool) -> u32 {
        let remembered = cubic_window::w_max_after_loss(
            window.cwnd.into(),
            self.last_max.into(),
            self.decrease.0,
        );
        self.last_max = remembered as u32;
        self.epoch = None;
        self.decrease.apply(window.cwnd)
    }

    /// Resets the state, with HyStart, after a timeout (RFC 9438, 4.8).
    fn on_rto(&mut self, _window: Window, next: u32) {
        *self = Cubic::with(self.clock, self.decrease, self.has_hystart);
        self.hystart.round_end = next;
    }

    /// Excludes an idle period from the time of the epoch (RFC 9438, 5.8).
    fn on_idle_restart(&mut self, _window: &mut Window, idle: &IdlePeriod) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began_ns = (epoch.began_ns + idle.idle_ns).min(idle.now_ns);
        }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let Some(rtt_ns) = acked.rtt_ns else { return };
        // Right after a loss, round-trip times include the full queue.
        if let Some(epoch) = &self.epoch
            && acked.now_ns - epoch.began_ns < 1_000_000_000
        {
            return;
        }
        if self.delay_min_ns == 0 || rtt_ns < self.delay_min_ns {
            self.delay_min_ns = rtt_ns.max(1);
        }
        if !self.has_hystart || self.hystart.exited || !window.in_slow_start() {
            return;
        }
        let (hystart, delay_min_ns) = (&mut self.hystart, self.delay_min_ns);
        if hystart.should_exit_slow_start(window.cwnd, acked, rtt_ns, delay_min_ns) {
            window.ssthresh = window.cwnd;
        }
    }

    fn increase_window(&mut self, window: &mut Window, acked: u32, now_ns: u64) {
        let acks_per_increment = self.acks_per_increment(window.cwnd, acked, now_ns);
        self.increase
            .add(&mut window.cwnd, acks_per_increment, acked);
    }
}

#[cfg(test)]
mod tests {
    use super::super::NO_SSTHRESH;
    use super::*;
    use netflow_units::ns;

    fn cubic() -> Cubic {
        let stack = Stack::builtin("linux-6").unwrap();
        Cubic::new(&stack, Clock::new(&stack, 0.0), 0.0)
    }

    fn window(cwnd: u32) -> Window {
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }

    /// Returns the slow-start threshold after a loss.
    fn lose(cubic: &mut Cubic, cwnd: u32) -> u32 {
        cubic.on_congestion_event(window(cwnd), false)
    }

    /// Acknowledges the packets of each window, spread over each round trip. Returns the window.
    fn rounds(cubic: &mut Cubic, cwnd: u32, rounds: u32, rtt_s: f64) -> u32 {
        let mut window = Window {
            cwnd,
            ssthresh: cwnd,
        };
        for round in 0..rounds {
            let n = window.cwnd;
            for i in 0..n {
                let at_s = rtt_s * (f64::from(round) + f64::from(i) / f64::from(n));
                let acked = Acked {
                    now_ns: ns(at_s),
                    delivered: 1,
                    may_grow: true,
                    acknowledged: 0,
                    next: 0,
                    rtt_ns: Some(ns(rtt_s)),
                    marked: 0,
                };
                cubic.on_ack(&mut window, &acked);
                cubic.increase_window(&mut window, 1, ns(at_s));
            }
        }
        window.cwnd
    }

    /// RFC 9438, figure 1: W(t) = C (t - K)³ + Wmax. A window of 1000 loses a packet: 700 are left, K is
    /// ∛(300 / 0.4) = 9.086 s. Round trips are long, so that Reno is slower. The window is 1000 - 0.4 ·
    /// 4.086³ = 972.7 after 5 s, 1000 after K, and 1000 + 0.4 · 4.914³ = 1047.5 after 14 s.
    #[test]
    fn window_follows_the_cubic_function() {
        for (until, expected) in [(10, 972.7), (18, 1000.0), (28, 1047.5)] {
            let mut cubic = cubic();
            assert_eq!(lose(&mut cubic, 1000), 700);
            let grown = f64::from(rounds(&mut cubic, 700, until, 0.5));
            // The tolerance is at most two round trips of growth.
            assert!(
                (grown - expected).abs() < 0.02 * expected,
                "{until}: {grown}"
            );
        }
        let mut cubic = cubic();
        lose(&mut cubic, 1000);
        assert_eq!((lose(&mut cubic, 900), cubic.last_max), (630, 765));
    }

    /// With short round trips, CUBIC is Reno with β = 0.7: 3 · 0.3 / 1.7 = 0.529 packets per round trip,
    /// minus rounding.
    #[test]
    fn short_round_trips_use_the_reno_window() {
        let mut cubic = cubic();
        let cwnd = lose(&mut cubic, 20);
        let grown = f64::from(rounds(&mut cubic, cwnd, 40, 0.002));
        assert!((grown - (14.0 + 40.0 * 0.529)).abs() <= 3.0, "{grown}");
    }

    /// RFC 9438, 5.8: the window does not jump after a pause of ten seconds.
    #[test]
    fn idle_time_is_excluded_from_the_epoch() {
        let mut cubic = cubic();
        let cwnd = lose(&mut cubic, 100);
        let mut window = Window {
            cwnd,
            ssthresh: cwnd,
        };
        cubic.increase_window(&mut window, 1, 0);
        let idle = IdlePeriod {
            now_ns: 10_000_000_000,
            idle_ns: 10_000_000_000,
            is_app_limited: true,
        };
        cubic.on_idle_restart(&mut window, &idle);
        // After K = ∛(30 / 0.4) = 4.2 s, the target would be 100 + 0.4 · 5.8³ = 178.
        assert!(cubic.acks_per_increment(window.cwnd, 1, 10_000_000_000) > 20);
    }

    /// RFC 9438, 4.8: a timeout clears W_max. The window then grows along the convex part from the end of
    /// slow start.
    #[test]
    fn a_timeout_resets_w_max() {
        let mut cubic = cubic();
        lose(&mut cubic, 1000);
        cubic.on_rto(window(10), 0);
        assert_eq!(cubic.last_max, 0);
        cubic.acks_per_increment(500, 1, 0);
        let epoch = cubic.epoch.unwrap();
        assert_eq!((epoch.k_s, epoch.origin), (0.0, 500));
    }

    /// Returns true if slow start ends at a window of 20 packets. Acknowledgements are `gap_ms` apart;
    /// `rtt_ms` maps their number to the round-trip time in ms.
    fn slow_start_ends(gap_ms: u64, rtt_ms: impl Fn(u32) -> u64) -> bool {
        let mut cubic = cubic();
        let mut window = Window {
            cwnd: 20,
            ssthresh: NO_SSTHRESH,
        };
        for i in 0..40 {
            let acked = Acked {
                now_ns: 1_000_000 * gap_ms * u64::from(i),
                delivered: 1,
                may_grow: true,
                // The first belongs to the previous round.
                acknowledged: i,
                next: i + 60,
                rtt_ns: Some(1_000_000 * rtt_ms(i)),
                marked: 0,
            };
            cubic.on_ack(&mut window, &acked);
        }
        window.ssthresh < NO_SSTHRESH
    }

    /// Slow start ends if the minimum of a round's first round-trip times has increased by 1/8, at least by
    /// 4 ms.
    #[test]
    fn hystart_detects_rtt_increase() {
        let grown = |by_ms: u64| move |i| if i == 0 { 40 } else { 40 + by_ms };
        // 5 ms between acknowledgements: no trains.
        assert!(!slow_start_ends(5, grown(0)));
        assert!(!slow_start_ends(5, grown(5)));
        assert!(slow_start_ends(5, grown(6)));
    }

    /// A round that begins with a small window is measured from its beginning. The queue was empty then,
    /// even if it is long once the window is large enough.
    #[test]
    fn hystart_begins_rounds_with_small_windows() {
        let mut cubic = cubic();
        let mut window = Window {
            cwnd: 10,
            ssthresh: NO_SSTHRESH,
        };
        // Flights of 10, 20 and 40 packets. In each, the queue grows by half a packet's time of 2 ms per
        // packet.
        let (mut first, mut flight, mut now_ns) = (1, 10, 0);
        for _ in 0..3 {
            now_ns += 80_000_000;
            for i in 0..flight {
                cubic.on_ack(
                    &mut window,
                    &Acked {
                        now_ns: now_ns + 3_000_000 * u64::from(i),
                        delivered: 1,
                        may_grow: true,
                        acknowledged: first + i,
                        next: first + flight + 2 * i,
                        rtt_ns: Some(80_000_000 + 1_000_000 * u64::from(i)),
                        marked: 0,
                    },
                );
                assert_eq!(window.ssthresh, NO_SSTHRESH, "flight of {flight}, {i}");
                window.cwnd += 1;
            }
            first += flight;
            flight *= 2;
        }
    }

    /// Slow start ends if a train of acknowledgements lasts half of the minimum round-trip time.
    #[test]
    fn hystart_detects_long_ack_trains() {
        assert!(slow_start_ends(1, |_| 40));
        assert!(!slow_start_ends(3, |_| 40));
    }
}
