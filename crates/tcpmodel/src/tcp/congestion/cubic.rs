//! CUBIC (RFC 9438) with HyStart, as Linux's `tcp_cubic` has them: in whole packets and jiffies.

use super::{Acked, Clock, Increase, Share, Window, curve};

/// Smaller windows are not looked at by HyStart.
const HYSTART_LEAST: u32 = 16;
/// Acknowledgements closer to each other are of one train.
const TRAIN_NS: u64 = 2_000_000;
/// Packets of 1448 B that hosts may keep together (four times 64 KiB), but not for longer than this
/// (`hystart_ack_delay` of Linux).
const TOGETHER: u64 = 181;
const TOGETHER_NS: u64 = 1_000_000;
/// Round trips looked at before their least one counts.
const SAMPLES: u32 = 8;
/// By how much round trips must have grown: an eighth, in these bounds.
const DELAY_NS: (u64, u64) = (4_000_000, 16_000_000);

/// CUBIC's state.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    clock: Clock,
    share: Share,
    increase: Increase,
    /// The window at the last loss, or what fast convergence makes of it; 0 before any.
    last_max: u32,
    epoch: Option<Epoch>,
    /// When the growth was reckoned last, in jiffies, for which window, and what it was.
    reckoned: (u64, u32, u32),
    /// The shortest round trip; 0 before any.
    delay_min_ns: u64,
    start: HyStart,
}

/// Since congestion avoidance began.
#[derive(Clone, Debug)]
struct Epoch {
    began_ns: u64,
    /// The window that growth slows down at, and when it gets there, in seconds after the beginning.
    origin: u32,
    k_s: f64,
    /// Reno's window with this decrease (RFC 9438, 4.3), and what was acknowledged for its next packet.
    reno: u32,
    acked: u32,
}

/// Finds the end of slow start before packets are lost: by trains of acknowledgements as long as half a
/// round trip, or by round trips that grow.
#[derive(Clone, Debug, Default)]
struct HyStart {
    found: bool,
    /// The round ends when this segment is acknowledged.
    round_end: u32,
    round_start_ns: u64,
    last_ack_ns: u64,
    /// The least round trip of the first of the round, and how many there were.
    least_ns: u64,
    samples: u32,
}

impl HyStart {
    fn begin(&mut self, now_ns: u64, next: u32) {
        *self = HyStart {
            found: self.found,
            round_end: next,
            round_start_ns: now_ns,
            last_ack_ns: now_ns,
            least_ns: u64::MAX,
            samples: 0,
        };
    }

    /// Whether slow start is to end. Rounds begin with windows of any size: one that began in the middle of
    /// a flight would see only the queue that the flight has made.
    fn sees_the_end(&mut self, cwnd: u32, acked: &Acked, rtt_ns: u64, delay_min_ns: u64) -> bool {
        let now_ns = acked.now_ns;
        if acked.acknowledged > self.round_end {
            self.begin(now_ns, acked.next);
        }
        if cwnd < HYSTART_LEAST {
            return false;
        }
        if now_ns - self.last_ack_ns <= TRAIN_NS {
            self.last_ack_ns = now_ns;
            // What the receiver's host may keep together, at the rate of slow start: two windows a round trip.
            let kept_ns = TOGETHER * delay_min_ns / (2 * u64::from(cwnd));
            let long_ns = (delay_min_ns + kept_ns.min(TOGETHER_NS)) / 2;
            self.found |= now_ns - self.round_start_ns > long_ns;
        }
        self.least_ns = self.least_ns.min(rtt_ns);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let grown_ns = (delay_min_ns / 8).clamp(DELAY_NS.0, DELAY_NS.1);
            self.found |= self.least_ns > delay_min_ns + grown_ns;
        }
        self.found
    }
}

impl Cubic {
    pub(super) fn new(clock: Clock, share: Share) -> Self {
        Self {
            clock,
            share,
            increase: Increase::default(),
            last_max: 0,
            epoch: None,
            reckoned: (0, 0, u32::MAX),
            delay_min_ns: 0,
            start: HyStart::default(),
        }
    }

    pub(super) fn lose(&mut self, cwnd: u32) -> u32 {
        let remembered = curve::remembered(cwnd.into(), self.last_max.into(), self.share.0);
        self.last_max = remembered as u32;
        self.epoch = None;
        self.share.of(cwnd)
    }

    /// RFC 9438, 4.8: it begins anew, and so does HyStart.
    pub(super) fn time_out(&mut self, next: u32) {
        *self = Cubic::new(self.clock, self.share);
        self.start.round_end = next;
    }

    /// RFC 9438, 5.8: time in which nothing is sent is no time to grow in.
    pub(super) fn resume(&mut self, now_ns: u64, idle_ns: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began_ns = (epoch.began_ns + idle_ns).min(now_ns);
        }
    }

    pub(super) fn learn(&mut self, window: &mut Window, acked: &Acked) {
        let Some(rtt_ns) = acked.rtt_ns else { return };
        // Right after a loss round trips tell of the full queue.
        if let Some(epoch) = &self.epoch
            && acked.now_ns - epoch.began_ns < 1_000_000_000
        {
            return;
        }
        if self.delay_min_ns == 0 || rtt_ns < self.delay_min_ns {
            self.delay_min_ns = rtt_ns.max(1);
        }
        if self.start.found || !window.in_slow_start() {
            return;
        }
        let (start, delay_min_ns) = (&mut self.start, self.delay_min_ns);
        if start.sees_the_end(window.cwnd, acked, rtt_ns, delay_min_ns) {
            window.ssthresh = window.cwnd;
        }
    }

    pub(super) fn grow(&mut self, window: &mut Window, acked: u32, now_ns: u64) {
        let for_one = self.for_one(window.cwnd, acked, now_ns);
        self.increase.add(&mut window.cwnd, for_one, acked);
    }

    /// How many packets have to be acknowledged for the window to grow by one.
    fn for_one(&mut self, cwnd: u32, acked: u32, now_ns: u64) -> u32 {
        let jiffies = self.clock.jiffies(now_ns);
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let (last, last_cwnd, last_for_one) = self.reckoned;
        let a_while = self.clock.jiffies_per_s() / 32;
        if self.epoch.is_some() && last_cwnd == cwnd && jiffies - last <= a_while {
            return last_for_one;
        }
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            began_ns: now_ns,
            origin: last_max.max(cwnd),
            k_s: curve::k_s(last_max.into(), cwnd.into()),
            reno: cwnd,
            acked,
        });
        // RFC 9438, 4.2: where the window is to be in a round trip.
        let ahead_ns = now_ns - epoch.began_ns + self.delay_min_ns;
        let off = curve::off(ahead_ns as f64 * 1e-9, epoch.k_s);
        let target = f64::from(epoch.origin) + off.trunc();
        let mut for_one = match target > f64::from(cwnd) {
            true => (f64::from(cwnd) / (target - f64::from(cwnd))) as u32,
            false => 100 * cwnd,
        };
        if last_max == 0 {
            for_one = for_one.min(20);
        }
        let for_reno = self.share.for_one(cwnd).max(1.0) as u32;
        while epoch.acked > for_reno {
            epoch.acked -= for_reno;
            epoch.reno += 1;
        }
        if epoch.reno > cwnd {
            for_one = for_one.min(cwnd / (epoch.reno - cwnd));
        }
        // No faster than half again in a round trip.
        let for_one = for_one.max(2);
        self.reckoned = (jiffies, cwnd, for_one);
        for_one
    }
}

#[cfg(test)]
mod tests {
    use super::super::NO_SSTHRESH;
    use super::*;
    use crate::Stack;
    use netflow_units::ns;

    fn cubic() -> Cubic {
        let stack = Stack::builtin("linux-6").unwrap();
        Cubic::new(Clock::new(&stack, 0.0), Share(stack.window_after_loss))
    }

    /// A window's packets, one after the other through each round trip.
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
                    congested: false,
                };
                cubic.learn(&mut window, &acked);
                cubic.grow(&mut window, 1, ns(at_s));
            }
        }
        window.cwnd
    }

    /// RFC 9438, figure 1: W(t) = C (t - K)³ + Wmax. A window of 1000 loses a packet: 700 are left, K
    /// is ∛(300 / 0.4) = 9.086 s. Long round trips, so that Reno is slower: after 5 s the window
    /// is 1000 - 0.4 · 4.086³ = 972.7, after K 1000, after 14 s 1000 + 0.4 · 4.914³ = 1047.5.
    #[test]
    fn the_window_follows_the_cubic() {
        for (until, expected) in [(10, 972.7), (18, 1000.0), (28, 1047.5)] {
            let mut cubic = cubic();
            assert_eq!(cubic.lose(1000), 700);
            let grown = f64::from(rounds(&mut cubic, 700, until, 0.5));
            // Two round trips of growth at that place, at most.
            assert!(
                (grown - expected).abs() < 0.02 * expected,
                "{until}: {grown}"
            );
        }
        let mut cubic = cubic();
        cubic.lose(1000);
        assert_eq!((cubic.lose(900), cubic.last_max), (630, 765));
    }

    /// With short round trips it is Reno with β = 0.7: 3 · 0.3 / 1.7 = 0.529 packets a round trip, but for
    /// what whole numbers lose.
    #[test]
    fn short_round_trips_are_renos() {
        let mut cubic = cubic();
        let cwnd = cubic.lose(20);
        let grown = f64::from(rounds(&mut cubic, cwnd, 40, 0.002));
        assert!((grown - (14.0 + 40.0 * 0.529)).abs() <= 3.0, "{grown}");
    }

    /// RFC 9438, 5.8: a pause of ten seconds does not make the window jump.
    #[test]
    fn time_away_does_not_count() {
        let mut cubic = cubic();
        let cwnd = cubic.lose(100);
        let mut window = Window {
            cwnd,
            ssthresh: cwnd,
        };
        cubic.grow(&mut window, 1, 0);
        cubic.resume(10_000_000_000, 10_000_000_000);
        // At once, after K = ∛(30 / 0.4) = 4.2 s, the target would be 100 + 0.4 · 5.8³ = 178.
        assert!(cubic.for_one(window.cwnd, 1, 10_000_000_000) > 20);
    }

    /// RFC 9438, 4.8: after a timeout the old maximum is forgotten, and the window grows along the convex
    /// half from where slow start ends.
    #[test]
    fn a_timeout_forgets_the_old_maximum() {
        let mut cubic = cubic();
        cubic.lose(1000);
        cubic.time_out(0);
        assert_eq!(cubic.last_max, 0);
        cubic.for_one(500, 1, 0);
        let epoch = cubic.epoch.unwrap();
        assert_eq!((epoch.k_s, epoch.origin), (0.0, 500));
    }

    /// Whether slow start ends with acknowledgements that come so far apart, of round trips in ms that their
    /// numbers say, at a window of 20 packets.
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
                // The first belongs to the round before.
                acknowledged: i,
                next: i + 60,
                rtt_ns: Some(1_000_000 * rtt_ms(i)),
                congested: false,
            };
            cubic.learn(&mut window, &acked);
        }
        window.ssthresh < NO_SSTHRESH
    }

    /// Slow start ends when the least of a round's first round trips has grown by an eighth, at least by 4 ms.
    #[test]
    fn hystart_sees_round_trips_grow() {
        let grown = |by_ms: u64| move |i| if i == 0 { 40 } else { 40 + by_ms };
        // 5 ms between acknowledgements: no trains.
        assert!(!slow_start_ends(5, grown(0)));
        assert!(!slow_start_ends(5, grown(5)));
        assert!(slow_start_ends(5, grown(6)));
    }

    /// A round whose beginning came with a small window is looked at from its beginning: there the queue was
    /// empty, however long it is when the window is large enough.
    #[test]
    fn hystart_begins_rounds_with_small_windows() {
        let mut cubic = cubic();
        let mut window = Window {
            cwnd: 10,
            ssthresh: NO_SSTHRESH,
        };
        // Flights of 10, 20 and 40; in each the queue grows by half a packet's time of 2 ms for each.
        let (mut first, mut flight, mut now_ns) = (1, 10, 0);
        for _ in 0..3 {
            now_ns += 80_000_000;
            for i in 0..flight {
                cubic.learn(
                    &mut window,
                    &Acked {
                        now_ns: now_ns + 3_000_000 * u64::from(i),
                        delivered: 1,
                        may_grow: true,
                        acknowledged: first + i,
                        next: first + flight + 2 * i,
                        rtt_ns: Some(80_000_000 + 1_000_000 * u64::from(i)),
                        congested: false,
                    },
                );
                assert_eq!(window.ssthresh, NO_SSTHRESH, "flight of {flight}, {i}");
                window.cwnd += 1;
            }
            first += flight;
            flight *= 2;
        }
    }

    /// And when a train of acknowledgements is as long as half of the least round trip.
    #[test]
    fn hystart_sees_long_trains() {
        assert!(slow_start_ends(1, |_| 40));
        assert!(!slow_start_ends(3, |_| 40));
    }
}
