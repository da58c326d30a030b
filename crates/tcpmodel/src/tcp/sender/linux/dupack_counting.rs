//! Loss detection without selective acknowledgements, as in Linux (RFC 6582). Every duplicate
//! acknowledgement counts as a segment that has arrived. Only one lost segment is known at a time: the
//! first.

use super::super::retransmission_queue::LOST;
use super::{AckInfo, LinuxSender, Resend, State};

impl LinuxSender {
    /// Processes the cumulative acknowledgement of `segments` segments: one was missing, the others were
    /// counted.
    pub(super) fn ack_counted(&mut self, segments: u32, info: &mut AckInfo) {
        let sacked = self.segments.sacked;
        info.delivered = segments.saturating_sub(sacked).max(1);
        self.segments.sacked = sacked.saturating_sub(segments - 1);
        self.limit_dupack_count();
    }

    /// Counts a duplicate acknowledgement as an arrived segment.
    fn count_dupack(&mut self, info: &mut AckInfo) {
        if !info.pure_duplicate {
            return;
        }
        let before = self.segments.sacked;
        self.segments.sacked += 1;
        self.limit_dupack_count();
        info.delivered += self.segments.sacked.saturating_sub(before);
    }

    /// Limits the count of arrivals to the segments in flight minus the lost ones, at least one.
    fn limit_dupack_count(&mut self) {
        let out = self.segments.packets_out();
        let holes = self.segments.lost.max(1).min(out);
        self.segments.sacked = self.segments.sacked.min(out - holes);
    }

    /// Updates the state by counting. Returns the kind of segments to send, if it does not depend on
    /// losses.
    pub(super) fn update_state_by_dupacks(
        &mut self,
        now_ns: u64,
        info: &mut AckInfo,
    ) -> Option<Resend> {
        let recovered = self.acknowledged() >= self.recovery_point;
        if self.state == State::Recovery && recovered {
            self.segments.sacked = 0;
            self.end_recovery(info);
            if self.state == State::Recovery {
                return Some(Resend::Nothing);
            }
            self.end_reduction_unless_undone();
        }
        match self.state {
            State::Loss => {
                let resend = self.after_timeout(info);
                if self.state != State::Open {
                    if resend == Resend::Nothing {
                        return Some(resend);
                    }
                    if self.segments.next() > self.recovery_point && info.pure_duplicate {
                        self.count_dupack(info);
                    } else if info.advanced {
                        self.segments.sacked = 0;
                    }
                    return Some(resend);
                }
            }
            State::Recovery if !info.advanced => self.count_dupack(info),
            State::Recovery => {
                if self.undo_partially(info) {
                    return Some(Resend::Nothing);
                }
                if self.state == State::Recovery {
                    self.mark_first_lost(now_ns, info);
                }
            }
            State::Open | State::Disorder | State::Reduced => {
                if info.advanced {
                    self.segments.sacked = 0;
                }
                self.count_dupack(info);
                if self.segments.sacked >= self.rules.dupack_threshold {
                    self.mark_first_lost(now_ns, info);
                }
            }
        }
        None
    }

    /// Marks the first unacknowledged segment as lost.
    fn mark_first_lost(&mut self, now_ns: u64, info: &mut AckInfo) {
        let first = self.acknowledged();
        let Some(it) = self.segments.get(first) else {
            return;
        };
        if it.marks & LOST != 0 {
            return;
        }
        self.mark_lost(now_ns, first);
        info.newly_lost = true;
    }
}
