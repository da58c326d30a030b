//! Pauses between packets that pacing makes.

use super::super::NEVER;

/// Packets before this one leave for nothing: that is when a connection begins (`tcp_update_skb_after_send`).
const FIRST_PAID: u32 = 10;

/// When the next packet may leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    /// What has left until now is paid for at this time.
    paid_ns: f64,
    /// How many more may leave together now.
    left: u32,
    /// How late the present burst was: pauses are shortened by that, at most by half.
    late_ns: f64,
    /// Something waits.
    waits: bool,
    /// Packets that have left, as far as that matters.
    sent: u32,
}

impl Pause {
    /// When somebody who waits may send.
    pub(super) fn until_ns(&self) -> u64 {
        match self.waits {
            true => self.paid_ns.ceil() as u64,
            false => NEVER,
        }
    }

    /// Whether somebody waited for this moment, who then does so no longer.
    pub(super) fn ends(&mut self, now_ns: u64) -> bool {
        let ends = self.until_ns() <= now_ns;
        self.waits &= !ends;
        ends
    }

    /// Whether a packet may leave now; then it does. `pacing` is the rate in packets per nanosecond and
    /// how many leave together, or nothing where packets do not wait.
    pub(super) fn lets_go(&mut self, now_ns: u64, pacing: Option<(f64, u32)>) -> bool {
        let Some((rate, together)) = pacing else {
            return true;
        };
        let now = now_ns as f64;
        if self.left == 0 {
            self.waits = now < self.paid_ns;
            if self.waits {
                return false;
            }
            self.left = together;
            self.late_ns = now - self.paid_ns;
            self.paid_ns = now;
        }
        self.left -= 1;
        self.sent = (self.sent + 1).min(FIRST_PAID);
        if self.sent < FIRST_PAID {
            return true;
        }
        let gap_ns = 1.0 / rate;
        let saved_ns = self.late_ns.min(gap_ns / 2.0);
        self.late_ns -= saved_ns;
        self.paid_ns += gap_ns - saved_ns;
        true
    }

    /// There is no more to send now.
    pub(super) fn end_burst(&mut self) {
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets at one per microsecond, two together: a pair every two microseconds.
    #[test]
    fn packets_leave_at_the_rate() {
        let mut pause = Pause {
            sent: FIRST_PAID,
            ..Pause::default()
        };
        let mut left = Vec::new();
        for now_ns in (1_000_000..1_010_000).step_by(100) {
            if pause.until_ns() != NEVER && !pause.ends(now_ns) {
                continue;
            }
            while pause.lets_go(now_ns, Some((1e-3, 2))) {
                left.push(now_ns);
            }
            pause.end_burst();
        }
        // The first pair has waited for nobody: its pauses are half as long.
        assert_eq!(
            left[..6],
            [
                1_000_000, 1_000_000, 1_001_000, 1_001_000, 1_003_000, 1_003_000
            ]
        );
        assert_eq!(left.len(), 12);
        let mut fresh = Pause::default();
        let at_once = (0..20).filter(|_| fresh.lets_go(0, Some((1e-3, 2))));
        assert_eq!(at_once.count(), 10);
        assert!(pause.lets_go(0, None));
    }
}
