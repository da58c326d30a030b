//! Pacing: the delays between packets.

use super::super::NEVER;

/// The number of the first paced packet. Earlier packets of a connection leave without pacing
/// (`tcp_update_skb_after_send`).
const FIRST_PACED: u32 = 10;

/// A pacer, which determines when the next packet may leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// The earliest departure time of the next burst.
    next_departure_ns: f64,
    /// The number of packets that may still leave in this burst.
    burst_left: u32,
    /// The lateness of the current burst. Delays are shortened by it, at most by half.
    late_ns: f64,
    /// True if a packet waits.
    is_waiting: bool,
    /// The number of packets sent, counted up to `FIRST_PACED`.
    sent: u32,
}

impl Pacer {
    /// Returns the time at which a waiting packet may leave.
    pub(super) fn until_ns(&self) -> u64 {
        if self.is_waiting {
            self.next_departure_ns()
        } else {
            NEVER
        }
    }

    /// Returns the earliest departure time of the next burst; it may have passed.
    pub(super) fn next_departure_ns(&self) -> u64 {
        self.next_departure_ns.ceil() as u64
    }

    /// Returns true if a packet waited for this time, and clears the wait.
    pub(super) fn end_wait(&mut self, now_ns: u64) -> bool {
        let ends = self.until_ns() <= now_ns;
        self.is_waiting &= !ends;
        ends
    }

    /// Returns true if a packet may leave now, and counts it as sent. `pacing` is the rate in packets per
    /// nanosecond and the number of packets per burst; `None` without pacing.
    pub(super) fn try_send(&mut self, now_ns: u64, pacing: Option<(f64, u32)>) -> bool {
        let Some((rate, burst_pkts)) = pacing else {
            return true;
        };
        let now = now_ns as f64;
        if self.burst_left == 0 {
            self.is_waiting = now < self.next_departure_ns;
            if self.is_waiting {
                return false;
            }
            self.burst_left = burst_pkts;
            self.late_ns = now - self.next_departure_ns;
            self.next_departure_ns = now;
        }
        self.burst_left -= 1;
        self.sent = (self.sent + 1).min(FIRST_PACED);
        if self.sent < FIRST_PACED {
            return true;
        }
        let gap_ns = 1.0 / rate;
        let saved_ns = self.late_ns.min(gap_ns / 2.0);
        self.late_ns -= saved_ns;
        self.next_departure_ns += gap_ns - saved_ns;
        true
    }

    /// Ends the burst because nothing more can be sent now.
    pub(super) fn end_burst(&mut self) {
        self.burst_left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets at one per microsecond, in pairs: a pair every two microseconds.
    #[test]
    fn packets_leave_at_the_rate() {
        let mut pacer = Pacer {
            sent: FIRST_PACED,
            ..Pacer::default()
        };
        let mut left = Vec::new();
        for now_ns in (1_000_000..1_010_000).step_by(100) {
            if pacer.until_ns() != NEVER && !pacer.end_wait(now_ns) {
                continue;
            }
            while pacer.try_send(now_ns, Some((1e-3, 2))) {
                left.push(now_ns);
            }
            pacer.end_burst();
        }
        // The first pair is late, so its delays are halved.
        assert_eq!(
            left[..6],
            [
                1_000_000, 1_000_000, 1_001_000, 1_001_000, 1_003_000, 1_003_000
            ]
        );
        assert_eq!(left.len(), 12);
        let mut fresh = Pacer::default();
        let at_once = (0..20).filter(|_| fresh.try_send(0, Some((1e-3, 2))));
        assert_eq!(at_once.count(), 10);
        assert!(pacer.try_send(0, None));
    }
}
