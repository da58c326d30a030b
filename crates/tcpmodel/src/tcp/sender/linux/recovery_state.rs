//! The state machine of Linux's loss recovery (`tcp_fastretrans_alert`).

use super::super::super::Ack;
use super::super::super::congestion::Algorithm;
use super::{AckInfo, LinuxSender, ProportionalRateReduction, Resend, State, lost};

impl LinuxSender {
    /// Updates the state, and returns the kind of segments to send.
    pub(super) fn update_state(&mut self, now_ns: u64, info: &mut AckInfo) -> Resend {
        if info.congested {
            // Marks prove the congestion, so the window stays reduced.
            self.undo.prior_ssthresh = None;
        }
        if self.state == State::Open {
            self.undo.first_repair = None;
        }
        if self.state == State::Reduced && self.acknowledged() > self.recovery_point {
            self.end_reduction();
            self.state = State::Open;
        }
        let decided = if self.rules.sack {
            self.update_state_by_sack(now_ns, info)
        } else {
            self.update_state_by_dupacks(now_ns, info)
        };
        if let Some(resend) = decided {
            return resend;
        }
        if self.state != State::Recovery {
            if self.segments.lost == 0 {
                self.try_to_open(info);
                return Resend::Nothing;
            }
            self.enter_recovery(info.congested);
        }
        Resend::Lost
    }

    /// Updates the state with selective acknowledgements. Returns the kind of segments to send, if it does
    /// not depend on losses.
    fn update_state_by_sack(&mut self, now_ns: u64, info: &mut AckInfo) -> Option<Resend> {
        if self.acknowledged() >= self.recovery_point && self.state == State::Recovery {
            self.end_recovery(info);
            self.end_reduction_unless_undone();
        }
        match self.state {
            State::Recovery => {
                if info.advanced && self.undo_partially(info) {
                    return Some(Resend::Nothing);
                }
                if self.undo_by_duplicates() {
                    self.try_to_open(info);
                }
            }
            State::Open | State::Disorder => {
                self.undo_by_duplicates();
            }
            State::Reduced | State::Loss => {}
        }
        if self.state != State::Loss {
            self.detect_losses(now_ns, info);
            return None;
        }
        let resend = self.after_timeout(info);
        self.detect_losses(now_ns, info);
        let reopened = self.state == State::Open;
        (!reopened && !info.lost_again).then_some(resend)
    }

    /// Updates the state without losses. ECN marks reduce the window as a loss does, once per round trip
    /// (RFC 3168, 6.1.2).
    fn try_to_open(&mut self, info: &AckInfo) {
        self.forget_repairs();
        if info.congested && self.state < State::Reduced {
            self.undo.disable();
            self.state = State::Reduced;
            self.recovery_point = self.segments.next();
            self.begin_reduction(true);
        }
        if self.state != State::Reduced {
            self.keep_open();
        }
    }

    /// Leaves loss recovery.
    pub(super) fn keep_open(&mut self) {
        let state = if self.segments.sacked > 0 || self.segments.retransmitted > 0 {
            State::Disorder
        } else {
            State::Open
        };
        if self.state != state {
            self.state = state;
            self.recovery_point = self.segments.next();
        }
    }

    pub(super) fn enter_recovery(&mut self, by_mark: bool) {
        self.forget_repairs();
        self.undo.prior_ssthresh = None;
        self.begin_undo();
        let (is_reduced, prior_ssthresh) = (self.state == State::Reduced, self.threshold_to_keep());
        self.state = State::Recovery;
        self.recovery_point = self.segments.next();
        self.probe_end = 0;
        self.fast_retransmits += 1;
        if !is_reduced {
            if !by_mark {
                self.undo.prior_ssthresh = Some(prior_ssthresh);
            }
            self.begin_reduction(false);
        }
        self.congestion.on_recovery(self.window);
    }

    /// Starts a window reduction after a loss or a mark.
    pub(super) fn begin_reduction(&mut self, by_mark: bool) {
        self.prr = ProportionalRateReduction {
            prior_cwnd: self.window.cwnd,
            ..ProportionalRateReduction::default()
        };
        self.window.ssthresh = self.congestion.on_congestion_event(self.window, by_mark);
    }

    /// Ends a window reduction: all segments before the recovery point are acknowledged.
    pub(super) fn end_reduction(&mut self) {
        if !self.congestion.owns_window() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    pub(super) fn after_timeout(&mut self, info: &AckInfo) -> Resend {
        let recovered = self.acknowledged() >= self.recovery_point;
        if info.advanced && self.may_undo(info) {
            self.undo_timeout(self.rules.sack);
            return Resend::Nothing;
        }
        if self.frto {
            if info.original {
                self.undo_timeout(true);
                return Resend::Nothing;
            }
            if self.segments.next() > self.recovery_point {
                if info.sacked || info.pure_duplicate && !info.duplicate {
                    self.frto = false;
                }
            } else if info.advanced && !recovered {
                self.recovery_point = self.segments.next();
                if self.may_send_new() {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.end_recovery(info);
            self.frto = false;
            return Resend::Nothing;
        }
        Resend::Lost
    }

    pub(super) fn end_probe(&mut self, now_ns: u64, ack: &Ack, info: &mut AckInfo) {
        if self.probe_end == 0 || ack.cumulative < self.probe_end {
            return;
        }
        if self.probe_again && !info.duplicate_probe && ack.cumulative > self.probe_end {
            // The probe repaired a loss that nothing else reported.
            if let Some(control) = self.congestion.as_window_control() {
                control.on_tail_loss(self.window, &lost(&self.rate, now_ns, &self.probed));
            }
            self.begin_reduction(false);
            self.end_reduction();
            self.probe_end = 0;
        } else if !self.probe_again || info.duplicate_probe || info.pure_duplicate {
            self.probe_end = 0;
        } else {
            info.acks_tail_probe = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::{Ack, Sender};
    use crate::{CongestionControl, Stack};

    const MS: u64 = 1_000_000;

    /// Returns the windows after 3 s of acknowledgements. Segment 9 of ten is acknowledged after its tail loss probe, as
    /// lost or, with a D-SACK, as delayed.
    fn window_after_probe(congestion: CongestionControl, is_lost: bool) -> f64 {
        let mut stack = Stack {
            timestamps: false,
            ..Stack::builtin("linux-6").unwrap()
        };
        stack.set_congestion(congestion);
        let (mut sender, mut out) = (Sender::new(&stack, 1460, 1000, [0.0, 0.0]), Vec::new());
        sender.measure(20 * MS, 0);
        sender.open(0, 10, Some(10));
        sender.offer(10);
        sender.send(0, &mut out);
        let ack = |cumulative, duplicate| Ack {
            cumulative,
            duplicate,
            pure: true,
            ce_counter: Some(0),
            ..Ack::default()
        };
        sender.receive(20 * MS, &ack(9, None), &mut out);
        out.clear();
        let mut now_ns = 0;
        while out.is_empty() {
            now_ns = sender.timer_ns();
            sender.time_out(now_ns, &mut out);
        }
        assert_eq!(out, [9]);
        // More data, so that an acknowledgement beyond the probe shows the loss.
        sender.offer(2000);
        sender.send(now_ns, &mut out);
        let duplicate = (!is_lost).then_some(9);
        sender.receive(now_ns + 20 * MS, &ack(10, duplicate), &mut out);
        for i in 1..100 {
            let (next, now_ns) = (sender.sent(), now_ns + 20 * MS + i * MS);
            if next > 10 + i as u32 {
                sender.receive(now_ns, &ack(10 + i as u32, None), &mut out);
            }
        }
        sender.cwnd_pkts()
    }

    /// A loss that a tail loss probe repairs reduces the window, also that of Prague, which has it in a fraction of a
    /// packet. A probe that was not necessary does not.
    #[test]
    fn repaired_tails_reduce_windows() {
        for congestion in [
            CongestionControl::Reno,
            CongestionControl::Cubic,
            CongestionControl::Dctcp,
            CongestionControl::Prague,
        ] {
            let [lost, late] = [true, false].map(|is_lost| window_after_probe(congestion, is_lost));
            assert!(lost < late - 2.0, "{congestion:?}: {lost} {late}");
        }
    }
}
