//! Loss detection: by time (RACK, RFC 8985) or by counting later arrivals (RFC 6675).

use super::super::retransmission_queue::{LOST, RETRANSMITTED, SACKED};
use super::{AckInfo, LinuxSender, State, Timer, report_lost};

impl LinuxSender {
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
        let tolerated_ns = if self.state == State::Recovery
            || self.state == State::Loss
            || self.segments.sacked >= self.rules.dupack_threshold
        {
            0
        } else {
            (self.min_rtt_ns / 4).min(self.rtt.srtt_ns())
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
            } else if after >= self.rules.dupack_threshold && marks & (LOST | RETRANSMITTED) == 0 {
                self.mark_lost(now_ns, segment);
            }
        }
    }
}
