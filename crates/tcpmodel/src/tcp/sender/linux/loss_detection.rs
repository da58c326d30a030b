//! Loss detection: by time (RACK, RFC 8985) or by counting later arrivals (RFC 6675).

use super::super::retransmission_queue::{LOST, RETRANSMITTED, SACKED};
use super::{AckInfo, LinuxSender, State, Timer, report_lost};

/// The maximum degree of reordering (Linux's `tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// The reordering seen so far (Linux's `tcp_check_sack_reordering`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    /// The number of later arrivals that indicates a loss.
    pub degree: u32,
    pub is_seen: bool,
    /// The time that RACK waits for reordered segments, in quarters of the minimum round-trip time.
    quarters: u64,
    /// The number of recoveries until that is one quarter again.
    recoveries_left: u32,
    /// True if a D-SACK shows that RACK did not wait long enough, and the number of segments delivered at the last
    /// increase.
    is_too_short: bool,
    increased_at: u64,
}

/// The number of recoveries for which an increase lasts (`TCP_RACK_RECOVERY_THRESH`), and the largest increase.
const RECOVERIES_PER_INCREASE: u32 = 16;
const MAX_QUARTERS: u64 = 255;

impl Reordering {
    pub(super) fn new(dupack_threshold: u32) -> Self {
        Self {
            degree: dupack_threshold,
            is_seen: false,
            quarters: 1,
            recoveries_left: 0,
            is_too_short: false,
            increased_at: 0,
        }
    }

    /// Records a D-SACK of a segment that was not a tail loss probe.
    pub(super) fn record_duplicate(&mut self) {
        self.is_too_short |= self.is_seen;
    }

    /// Records that all retransmissions of a recovery were spurious.
    pub(super) fn on_spurious_recovery(&mut self) {
        self.recoveries_left = (self.recoveries_left + 1).min(RECOVERIES_PER_INCREASE);
    }

    /// Records the end of a recovery with losses.
    pub(super) fn on_recovery_end(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
    }

    /// Records the arrival of a segment that was sent only once, after those before `highest`.
    pub(super) fn record(&mut self, segment: u32, highest: u32) {
        if segment < highest {
            self.degree = self.degree.max((highest - segment).min(MAX_REORDERING));
            self.is_seen = true;
        }
    }
}

impl LinuxSender {
    /// Returns one past the highest segment that has arrived.
    pub(super) fn highest_arrived(&self) -> u32 {
        let first = self.segments.first();
        if self.segments.sacked == 0 {
            return first;
        }
        self.scoreboard.end().unwrap_or(first)
    }

    /// Adapts the time that RACK waits for reordered segments to D-SACKs, at most once per round trip (RFC 8985, 6.2,
    /// step 4; `tcp_rack_update_reo_wnd`).
    pub(super) fn update_reordering_time(&mut self) {
        let Some(prior_delivered) = self.rate.prior_delivered().filter(|&prior| prior > 0) else {
            return;
        };
        let it = &mut self.reordering;
        it.is_too_short &= prior_delivered >= it.increased_at;
        if std::mem::take(&mut it.is_too_short) {
            it.quarters = (it.quarters + 1).min(MAX_QUARTERS);
            it.recoveries_left = RECOVERIES_PER_INCREASE;
            it.increased_at = self.rate.delivered;
        } else if it.recoveries_left == 0 {
            it.quarters = 1;
        }
    }

    /// Runs RACK: segments sent long enough before a delivered one are lost.
    pub(super) fn detect_losses(&mut self, now_ns: u64, info: &mut AckInfo) {
        if self.segments.packets_out() == 0 || !self.latest_is_new {
            return;
        }
        self.latest_is_new = false;
        let again_before = self.segments.retransmitted;
        let lost_before = self.segments.lost;
        let wait_ns = self.mark_lost_segments(now_ns);
        if wait_ns > 0 {
            let delay_ns = wait_ns + self.clock.min_delay_ns();
            self.set_timer(now_ns, Timer::Reordering, delay_ns);
            info.set_timer = false;
        }
        info.lost_again = self.segments.retransmitted < again_before;
        info.newly_lost = self.segments.lost > lost_before || info.lost_again;
    }

    /// Marks lost segments. Returns the time in ns until the next segment counts as lost; 0 without one.
    pub(super) fn mark_lost_segments(&mut self, now_ns: u64) -> u64 {
        let is_evident = matches!(self.state, State::Recovery | State::Loss)
            || self.segments.sacked >= self.reordering.degree;
        let tolerated_ns = if is_evident && !self.reordering.is_seen {
            0
        } else {
            let waits_ns = (self.min_rtt_ns / 4).saturating_mul(self.reordering.quarters);
            waits_ns.min(self.rtt.srtt_ns())
        };
        if !self.rules.rack {
            self.mark_lost_by_count(now_ns);
            return 0;
        }
        let Some(latest) = self.latest_order else {
            return 0;
        };
        let due_ns = self.latest_rtt_ns + tolerated_ns;
        let (rate, congestion, window) = (&mut self.rate, &mut self.congestion, self.window);
        let waits = self.segments.mark_lost_before(
            latest,
            |it| it.sent_ns + due_ns <= now_ns,
            |stamp| report_lost(rate, congestion, window, now_ns, stamp),
        );
        waits.map_or(0, |it| (it.sent_ns + due_ns).saturating_sub(now_ns))
    }

    /// Marks segments as lost if enough later ones have arrived (RFC 6675).
    fn mark_lost_by_count(&mut self, now_ns: u64) {
        let mut after = 0;
        for segment in (self.segments.first()..self.segments.next()).rev() {
            let marks = self.segments.get(segment).map_or(0, |it| it.marks);
            if marks & SACKED != 0 {
                after += 1;
            } else if after >= self.reordering.degree && marks & (LOST | RETRANSMITTED) == 0 {
                self.mark_lost(now_ns, segment);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Stack;
    use crate::tcp::{Ack, RecoveryState, Sacks, Sender};

    const MS: u64 = 1_000_000;

    /// Returns a sender with a round-trip time of 20 ms, and ten segments in flight since time 0.
    fn sender() -> Sender {
        let stack = Stack {
            clock_s: 0.0,
            timestamps: false,
            ..Stack::builtin("linux-6").unwrap()
        };
        let mut sender = Sender::new(&stack, 1460, 100_000, [0.0, 0.0]);
        sender.measure(20 * MS, 0);
        sender.open(0, 10, None);
        sender.offer(10);
        let mut out = Vec::new();
        sender.send(0, &mut out);
        assert_eq!(out.len(), 10);
        sender
    }

    /// Acknowledges segments at a time. Returns the segments that are sent.
    fn acknowledge(
        sender: &mut Sender,
        ms: u64,
        cumulative: u32,
        blocks: &[(u32, u32)],
    ) -> Vec<u32> {
        let mut sacks = Sacks::default();
        for &(first, end) in blocks {
            sacks.push(first, end);
        }
        let ack = Ack {
            cumulative,
            sacks,
            pure: true,
            ..Ack::default()
        };
        let mut out = Vec::new();
        sender.receive(ms * MS, &ack, &mut out);
        out
    }

    /// Segments that arrive late are reordered, which is not a loss. With a high degree of reordering, SACKs grow
    /// the window, too.
    #[test]
    fn reordering_grows_the_window() {
        let mut sender = sender();
        assert!(acknowledge(&mut sender, 20, 0, &[(8, 9)]).is_empty());
        assert_eq!(sender.cwnd_pkts(), 10.0);
        // Segment 2 arrives after segment 8: a degree of 7.
        assert!(acknowledge(&mut sender, 20, 0, &[(2, 3), (8, 9)]).is_empty());
        assert_eq!(sender.cwnd_pkts(), 11.0);
        // Neither the threshold of three segments nor the time indicates a loss.
        assert!(acknowledge(&mut sender, 21, 0, &[(2, 4), (8, 9)]).is_empty());
        let recovery = sender.loss_recovery().unwrap();
        assert_eq!(
            (recovery.state, recovery.lost),
            (RecoveryState::Disorder, 0)
        );
        acknowledge(&mut sender, 22, 10, &[]);
        assert_eq!(sender.cwnd_pkts(), 19.0);
    }

    /// Reports segments 1, 2 and 8 one by one. All before segment 8 count as lost; segment 0 is sent again.
    fn lose_seven() -> Sender {
        let mut sender = sender();
        assert!(acknowledge(&mut sender, 20, 0, &[(1, 2)]).is_empty());
        assert!(acknowledge(&mut sender, 20, 0, &[(1, 3)]).is_empty());
        assert_eq!(acknowledge(&mut sender, 20, 0, &[(1, 3), (8, 9)]), [0]);
        assert_eq!(sender.loss_recovery().unwrap().lost, 6);
        sender
    }

    /// After reordering, RACK waits for a quarter of the minimum round-trip time in recovery, too. Segment 9 was
    /// sent before the retransmission that arrives, and has not arrived.
    #[test]
    fn reordering_delays_rack() {
        // Segments 0 to 2: nothing was reordered, and segment 9 counts as lost.
        let mut sender = lose_seven();
        acknowledge(&mut sender, 42, 3, &[(8, 9)]);
        assert_eq!(sender.loss_recovery().unwrap().lost, 6);
        // Segment 3, too, which was not sent again: it was reordered. Segment 9 may be so, too.
        let mut sender = lose_seven();
        acknowledge(&mut sender, 42, 4, &[(8, 9)]);
        assert_eq!(sender.loss_recovery().unwrap().lost, 4);
    }

    /// SACK blocks of an acknowledgement that a later one has overtaken make room for further segments, while the
    /// window stays as it is.
    #[test]
    fn late_acknowledgements_report_arrivals() {
        let mut sender = lose_seven();
        assert_eq!(acknowledge(&mut sender, 40, 4, &[(8, 9)]), [4, 5, 6]);
        let cwnd_pkts = sender.cwnd_pkts();
        assert!(acknowledge(&mut sender, 41, 3, &[]).is_empty());
        assert_eq!(acknowledge(&mut sender, 42, 3, &[(5, 7)]), [7]);
        assert_eq!(sender.cwnd_pkts(), cwnd_pkts);
        assert_eq!(sender.acknowledged(), 4);
    }
}
