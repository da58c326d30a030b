//! Bursts of hosts with segmentation offload (TSO, GSO), as in Linux: `tcp_tso_autosize`, `tcp_tso_should_defer`.
//!
//! The host passes several segments to its network device at once. It waits for further acknowledgements until such a
//! burst may be sent. Senders with pacing do not wait: their bursts leave at the pacing rate.

use super::super::super::congestion::Algorithm;
use super::send_buffer::GSO_MAX_BYTES;
use super::{LinuxSender, State};

/// The fraction of the window that is sent without waiting (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u32 = 3;
/// The maximum time to wait for an acknowledgement, and since the last transmission.
const MAX_WAIT_NS: u64 = 1_000_000;
/// The minimum round-trip time in nanoseconds that halves the additional bytes of a burst (`tcp_tso_rtt_log` of 9: 512 µs).
const HALVING_NS: u64 = 512_000;

impl LinuxSender {
    /// Returns the number of segments in a burst: those of 1 ms at the pacing rate, and more for short round-trip times.
    pub(super) fn burst_segments(&self) -> u32 {
        let halvings = u32::try_from(self.min_rtt_ns / HALVING_NS).unwrap_or(u32::MAX);
        let more_bytes = GSO_MAX_BYTES.checked_shr(halvings).unwrap_or(0);
        let more = f64::from(more_bytes) / self.send_buffer.data_bytes();
        let most = f64::from(self.send_buffer.max_gso_segments());
        (self.gso_segments() + more).min(most) as u32
    }

    /// Returns true if a burst of `burst` segments waits for an acknowledgement that is expected soon.
    pub(super) fn defers(&self, now_ns: u64, burst: u32) -> bool {
        let is_paced = self.congestion.pacing().is_some();
        let has_paused = now_ns > self.validation.last_sent_ns + MAX_WAIT_NS;
        if is_paced || has_paused || matches!(self.state, State::Recovery | State::Loss) {
            return false;
        }
        let window_left = self.window.cwnd - self.segments.in_flight();
        let peer = self.receive_window_segments();
        let limit = window_left.min(peer - self.segments.packets_out());
        let chunk = self.window.cwnd.min(peer) / WINDOW_DIVISOR;
        let unsent = self.written() - self.segments.next();
        if limit >= burst || limit >= chunk || limit >= unsent {
            return false;
        }
        let srtt_ns = self.rtt.srtt_ns();
        let first = self.segments.get(self.acknowledged());
        first.is_some_and(|first| first.sent_ns + srtt_ns <= now_ns + MAX_WAIT_NS.min(srtt_ns / 2))
    }
}

#[cfg(test)]
mod tests {
    use crate::Stack;
    use crate::tcp::{Ack, Sender};

    const MS: u64 = 1_000_000;

    /// Returns the numbers of segments sent after each of 90 acknowledgements of two segments, 0.05 ms apart, in congestion
    /// avoidance. The window is 400 packets, the round-trip time 10 ms, so that 40 segments are acknowledged in 1 ms.
    fn bursts(segmentation_offload: bool) -> Vec<usize> {
        let stack = Stack {
            segmentation_offload,
            timestamps: false,
            ..Stack::builtin("linux-6").unwrap()
        };
        let mut sender = Sender::new(&stack, 1500, 100_000, [0.0, 0.0]);
        sender.measure(10 * MS, 0);
        sender.open(0, 400, Some(400));
        sender.offer(1_000_000);
        let (mut out, mut sizes) = (Vec::new(), Vec::new());
        let ack = |cumulative| Ack {
            cumulative,
            pure: true,
            window: Some(50_000),
            ..Ack::default()
        };
        sender.receive(0, &ack(0), &mut out);
        assert_eq!(out.len(), 400);
        for i in 1..=90 {
            out.clear();
            sender.receive(10 * MS + u64::from(i) * MS / 20, &ack(2 * i), &mut out);
            sizes.push(out.len());
        }
        sizes
    }

    /// Without offload, each acknowledgement sends two segments. With it, bursts have those of 1 ms.
    #[test]
    fn offload_sends_bursts() {
        let single = bursts(false);
        assert!(
            single.iter().all(|&size| (2..=3).contains(&size)),
            "{single:?}"
        );
        let all = bursts(true);
        let bursts: Vec<usize> = all.iter().copied().filter(|&size| size > 0).collect();
        // The first leaves at once, because nothing was sent for 10 ms.
        assert_eq!(bursts[0], 2);
        assert!(
            bursts[1..].iter().all(|&size| (33..45).contains(&size)),
            "{all:?}"
        );
        assert!(bursts.len() >= 3, "{all:?}");
    }
}
