//! Undo of window reductions after spurious retransmissions, as in Linux 6.18.
//!
//! A recovery was spurious in one of these cases:
//! - An acknowledgement echoes a packet sent before the first retransmission (Eifel, RFC 3522, 4015).
//! - All retransmissions are reported as duplicates (D-SACK, RFC 2883, 3708).
//! - After a timeout, segments sent only once arrive (F-RTO, RFC 5682).
//!
//! Window and threshold then return to their values before it. Marks (ECN) prove congestion, so they forbid it.

use super::super::super::Ack;
use super::super::super::congestion::Algorithm;
use super::super::retransmission_queue::{EVER_RETRANSMITTED, RETRANSMITTED};
use super::{AckInfo, LinuxSender, State};

/// The granularity of Linux's timestamps.
const TIMESTAMP_NS: u64 = 1_000_000;

/// The state before the last reduction, and the retransmissions since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The first unacknowledged segment at the start of recovery; `None` if nothing can be undone.
    start: Option<u32>,
    /// The number of repairs not reported as duplicates; `None` before the first one.
    not_duplicated: Option<u32>,
    /// The slow-start threshold to restore; `None` if the window stays reduced.
    pub prior_ssthresh: Option<u32>,
    /// The first repair of this episode.
    pub first_repair: Option<FirstRepair>,
    /// True if the number of episodes is odd.
    is_odd: bool,
    /// The numbers of all retransmissions, and of all duplicates reported.
    pub retransmissions: u64,
    duplicates: u64,
}

/// The first retransmission of a segment that is considered lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstRepair {
    at_ns: u64,
    /// True if the segment was sent before with the same timestamp, so that echoes do not distinguish them.
    is_ambiguous: bool,
}

impl Undo {
    /// Counts the repair of a segment that was sent before at `before_ns`.
    pub(super) fn on_repair(&mut self, now_ns: u64, before_ns: u64) {
        if self.first_repair.is_none() {
            self.is_odd = !self.is_odd;
            self.first_repair = Some(FirstRepair {
                at_ns: now_ns,
                is_ambiguous: before_ns / TIMESTAMP_NS == now_ns / TIMESTAMP_NS,
            });
        }
        self.not_duplicated = Some(self.not_duplicated.unwrap_or(0) + 1);
    }

    /// Keeps the current window.
    pub(super) fn disable(&mut self) {
        (self.start, self.prior_ssthresh) = (None, None);
    }

    /// Returns true if all repairs arrived twice.
    fn are_all_duplicated(&self) -> bool {
        self.start.is_some() && self.not_duplicated == Some(0)
    }
}

impl LinuxSender {
    /// Returns whether the number of repair episodes is odd.
    pub(in super::super) fn has_odd_episode(&self) -> bool {
        self.undo.is_odd
    }

    /// Begins a recovery that may be undone (`tcp_init_undo`).
    pub(super) fn begin_undo(&mut self) {
        let has_probe = self.probe_end > 0
            && self.probe_again
            && (self.segments.get(self.probe_end - 1))
                .is_none_or(|it| it.marks & RETRANSMITTED == 0);
        let before = self.segments.retransmitted + u32::from(has_probe);
        self.undo.start = Some(self.acknowledged());
        self.undo.not_duplicated = Some(before).filter(|&before| before > 0);
    }

    /// Ends the episode unless a retransmission may be in flight.
    pub(super) fn forget_repairs(&mut self) {
        let first = self.segments.get(self.acknowledged());
        let is_first_repeated = first.is_some_and(|it| it.marks & EVER_RETRANSMITTED != 0);
        if self.segments.retransmitted == 0 && !is_first_repeated {
            self.undo.first_repair = None;
        }
    }

    /// Counts the duplicate that an acknowledgement reports (`tcp_check_dsack`).
    pub(super) fn mark_duplicate(&mut self, ack: &Ack, info: &mut AckInfo) {
        let Some(segment) = ack.duplicate.filter(|_| self.rules.sack) else {
            return;
        };
        info.duplicate_probe = self.probe_end == segment + 1;
        self.undo.duplicates += 1;
        if self.undo.duplicates > self.undo.retransmissions {
            // The network duplicated a segment.
            return;
        }
        info.duplicate = true;
        info.delivered += 1;
        self.rate.delivered += 1;
        if !info.duplicate_probe {
            self.reordering.record_duplicate();
        }
        let was_repaired = segment < self.acknowledged()
            || (self.segments.get(segment)).is_some_and(|it| it.marks & EVER_RETRANSMITTED != 0);
        if let Some(left) = &mut self.undo.not_duplicated
            && was_repaired
            && self.undo.start.is_some_and(|start| segment >= start)
        {
            *left = left.saturating_sub(1);
        }
    }

    /// Returns true if the echoed packet was sent before the first repair, or there was no repair
    /// (`tcp_packet_delayed`).
    fn was_delayed(&self, info: &AckInfo) -> bool {
        let Some(first) = self.undo.first_repair else {
            return self.rules.sack || self.acknowledged() < self.recovery_point;
        };
        self.rtt.has_timestamps()
            && match (info.echo_ns, info.echo_odd_episode) {
                (Some(echo_ns), _) => echo_ns / TIMESTAMP_NS < first.at_ns / TIMESTAMP_NS,
                (None, Some(is_odd)) => is_odd != self.undo.is_odd && !first.is_ambiguous,
                (None, None) => false,
            }
    }

    /// Returns true if the last recovery was spurious.
    pub(super) fn may_undo(&self, info: &AckInfo) -> bool {
        self.undo.are_all_duplicated() || self.undo.start.is_some() && self.was_delayed(info)
    }

    /// Restores window and threshold (`tcp_undo_cwnd_reduction`). Segments that have not arrived are checked for losses
    /// again.
    fn undo_reduction(&mut self) {
        if let Some(prior_ssthresh) = self.undo.prior_ssthresh {
            match self.congestion.as_window_control() {
                Some(control) => control.undo(&mut self.window),
                None => self.window.cwnd = self.window.cwnd.max(self.prr.prior_cwnd),
            }
            self.window.ssthresh = self.window.ssthresh.max(prior_ssthresh);
        }
        self.undo.start = None;
        self.latest_is_new = true;
    }

    /// Ends recovery, and restores the window if it was spurious. Without SACK, the state lasts until another segment is
    /// acknowledged: duplicates caused by retransmissions would indicate another loss (RFC 6582).
    pub(super) fn end_recovery(&mut self, info: &AckInfo) {
        if self.may_undo(info) {
            self.undo_reduction();
        } else {
            self.reordering.on_recovery_end();
        }
        if !self.prevents_opening() {
            self.state = State::Open;
        }
    }

    /// Returns true if the state must last until another segment is acknowledged.
    fn prevents_opening(&mut self) -> bool {
        let prevents = !self.rules.sack && self.acknowledged() == self.recovery_point;
        if prevents {
            self.forget_repairs();
        }
        prevents
    }

    /// Restores the window if all retransmissions were duplicates. Returns whether they were.
    pub(super) fn undo_by_duplicates(&mut self) -> bool {
        let all = self.undo.are_all_duplicated();
        if all {
            self.reordering.on_spurious_recovery();
            self.undo_reduction();
        }
        all
    }

    /// Restores the window in fast recovery if a delayed segment has filled a gap (`tcp_try_undo_partial`). Returns true
    /// if nothing may be retransmitted now, because a retransmission is in flight.
    pub(super) fn undo_partially(&mut self, info: &AckInfo) -> bool {
        if self.undo.start.is_none() || !self.was_delayed(info) {
            return false;
        }
        let highest = self.highest_arrived();
        self.reordering.record(info.prior_acknowledged, highest);
        if self.segments.retransmitted > 0 {
            return true;
        }
        self.forget_repairs();
        self.segments.clear_loss_marks();
        self.undo_reduction();
        self.keep_open();
        false
    }

    /// Undoes a spurious timeout, and leaves recovery if it `opens` (`tcp_try_undo_loss`).
    pub(super) fn undo_timeout(&mut self, opens: bool) {
        self.segments.clear_loss_marks();
        self.undo_reduction();
        self.timeouts_in_a_row = 0;
        if !self.prevents_opening() && opens {
            self.frto = false;
            self.state = State::Open;
        }
    }

    /// Ends a window reduction that was not undone.
    pub(super) fn end_reduction_unless_undone(&mut self) {
        if self.undo.start.is_some() {
            self.end_reduction();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::sender::SenderKind;
    use crate::tcp::{Ack, RecoveryState, Sacks, Sender};
    use crate::{CongestionControl, Recovery, Stack};

    const MS: u64 = 1_000_000;

    /// Senders of ten segments with a round-trip time of 100 ms.
    fn stack(congestion: CongestionControl) -> Stack {
        let mut stack = Stack {
            clock_s: 0.0,
            tail_loss_probe: false,
            ..Stack::builtin("linux-6").unwrap()
        };
        stack.set_congestion(congestion);
        stack
    }

    fn sender(stack: &Stack) -> Sender {
        let mut sender = Sender::new(stack, 1460, 100_000, [0.0, 0.0]);
        sender.measure(100 * MS, 0);
        sender.open(0, 10, None);
        sender.offer(10);
        sender.send(0, &mut Vec::new());
        sender
    }

    fn ack(cumulative: u32, blocks: &[(u32, u32)], sent_ms: u64) -> Ack {
        let mut sacks = Sacks::default();
        for &(first, end) in blocks {
            sacks.push(first, end);
        }
        Ack {
            cumulative,
            sacks,
            pure: true,
            echo_ns: Some(sent_ms * MS),
            ..Ack::default()
        }
    }

    /// Returns a sender that has repaired segment 0, which was only late, at 100 ms.
    fn repaired(stack: &Stack) -> Sender {
        let (mut sender, mut out) = (sender(stack), Vec::new());
        for end in 2..5 {
            sender.receive(100 * MS, &ack(0, &[(1, end)], 0), &mut out);
        }
        assert_eq!(out, [0]);
        assert_eq!(
            sender.loss_recovery().unwrap().state,
            RecoveryState::Recovery
        );
        sender
    }

    /// The arrival of segment 0 is acknowledged with the timestamp of its first transmission, or with the episode before
    /// the repair. Every control that has reduced its window then restores it, except BBR, whose window follows its
    /// model.
    #[test]
    fn timestamps_undo_recovery() {
        for congestion in CongestionControl::all() {
            for by_episode in [false, true] {
                let stack = stack(congestion);
                let mut sender = repaired(&stack);
                let mut late = ack(10, &[], 0);
                if by_episode {
                    (late.echo_ns, late.echo_odd_episode) = (None, Some(false));
                }
                sender.receive(101 * MS, &late, &mut Vec::new());
                assert!(
                    sender.cwnd_pkts() >= 10.0,
                    "{congestion:?}: {}",
                    sender.cwnd_pkts()
                );
                assert_eq!(
                    sender.state().ssthresh_pkts,
                    f64::INFINITY,
                    "{congestion:?}"
                );
                assert_eq!(sender.loss_recovery().unwrap().state, RecoveryState::Open);
            }
        }
    }

    /// Segments that only a late acknowledgement reports are marked, but never count as delivered.
    #[test]
    fn late_acknowledgements_deliver_nothing() {
        let mut sender = sender(&stack(CongestionControl::Bbr));
        let delivered = |sender: &Sender| match &sender.0 {
            SenderKind::Linux(linux) => linux.rate.delivered,
            SenderKind::Classic(_) => 0,
        };
        sender.receive(100 * MS, &ack(2, &[], 0), &mut Vec::new());
        assert_eq!(delivered(&sender), 2);
        let late = Ack {
            duplicate: Some(0),
            ..ack(1, &[(4, 6)], 0)
        };
        sender.receive(101 * MS, &late, &mut Vec::new());
        assert_eq!(sender.loss_recovery().unwrap().sacked, 2);
        assert_eq!(delivered(&sender), 2);
        sender.receive(102 * MS, &ack(6, &[], 0), &mut Vec::new());
        assert_eq!(sender.loss_recovery().unwrap().sacked, 0);
        assert_eq!(delivered(&sender), 4);
    }

    /// A repair that arrives first was necessary: its timestamp is that of the repair.
    #[test]
    fn losses_are_not_undone() {
        for (echo_ns, echo_odd_episode) in [(Some(100 * MS), None), (None, Some(true))] {
            let mut sender = repaired(&stack(CongestionControl::Cubic));
            let repair = Ack {
                echo_ns,
                echo_odd_episode,
                ..ack(10, &[], 0)
            };
            sender.receive(200 * MS, &repair, &mut Vec::new());
            // 70 % of ten packets, and one packet of growth.
            assert_eq!(sender.cwnd_pkts(), 8.0);
        }
    }

    /// Without timestamps, the D-SACK of the repair restores the window: with the acknowledgement that ends recovery, or
    /// later, also in an overtaken one.
    #[test]
    fn duplicates_undo_recovery() {
        let plain = Stack {
            timestamps: false,
            ..stack(CongestionControl::Cubic)
        };
        let duplicate = |cumulative| Ack {
            duplicate: Some(0),
            ..ack(cumulative, &[], 0)
        };
        let mut sender = repaired(&plain);
        sender.receive(200 * MS, &duplicate(10), &mut Vec::new());
        // Slow start continues, with the seven segments acknowledged and the duplicate.
        assert_eq!(sender.cwnd_pkts(), 18.0);
        let mut sender = repaired(&plain);
        sender.receive(101 * MS, &ack(10, &[], 0), &mut Vec::new());
        assert_eq!(sender.cwnd_pkts(), 8.0);
        sender.receive(200 * MS, &duplicate(9), &mut Vec::new());
        assert_eq!(sender.cwnd_pkts(), 10.0);
        assert_eq!(sender.state().ssthresh_pkts, f64::INFINITY);
        // More duplicates than retransmissions are made by the network.
        let mut sender = repaired(&plain);
        sender.receive(101 * MS, &ack(0, &[(1, 5)], 0), &mut Vec::new());
        for segment in [2, 0] {
            let duplicate = Ack {
                duplicate: Some(segment),
                ..ack(0, &[(1, 5)], 0)
            };
            sender.receive(102 * MS, &duplicate, &mut Vec::new());
        }
        assert_eq!(
            sender.loss_recovery().unwrap().state,
            RecoveryState::Recovery
        );
    }

    /// An acknowledgement of new data with a mark keeps the window reduced.
    #[test]
    fn marks_forbid_undo() {
        let ecn = Stack {
            ecn: true,
            ..stack(CongestionControl::Cubic)
        };
        let mut sender = repaired(&ecn);
        let marked = Ack {
            congested: true,
            ..ack(0, &[(1, 6)], 0)
        };
        sender.receive(101 * MS, &marked, &mut Vec::new());
        sender.receive(102 * MS, &ack(10, &[], 0), &mut Vec::new());
        assert!(sender.cwnd_pkts() < 9.0, "{}", sender.cwnd_pkts());
    }

    /// Segments 0 and 1 are late. The arrival of segment 0 restores the window before recovery ends, unless the repair of
    /// segment 1 is in flight, too: then nothing more is repaired.
    #[test]
    fn partial_acknowledgements_undo_recovery() {
        for repairs in [1, 2] {
            let (mut sender, mut out) = (sender(&stack(CongestionControl::Cubic)), Vec::new());
            for end in 3..8 {
                sender.receive(100 * MS, &ack(0, &[(2, end)], 0), &mut out);
                if out.len() == repairs {
                    break;
                }
            }
            assert_eq!(out, [0, 1][..repairs]);
            sender.receive(101 * MS, &ack(1, &[(2, 8)], 0), &mut out);
            assert_eq!(out.len(), repairs);
            let recovery = sender.loss_recovery().unwrap();
            if repairs == 1 {
                assert_eq!(
                    (recovery.state, recovery.lost),
                    (RecoveryState::Disorder, 0)
                );
                assert!(sender.cwnd_pkts() >= 10.0, "{}", sender.cwnd_pkts());
            } else {
                assert_eq!(recovery.state, RecoveryState::Recovery);
            }
            sender.receive(102 * MS, &ack(8, &[], 0), &mut out);
            assert_eq!(sender.loss_recovery().unwrap().state, RecoveryState::Open);
            assert!(sender.cwnd_pkts() >= 10.0, "{}", sender.cwnd_pkts());
        }
    }

    /// After a spurious timeout, timestamps restore the window with and without SACK. Without, the state lasts until a
    /// segment beyond the recovery point is acknowledged.
    #[test]
    fn timestamps_undo_timeouts() {
        for recovery in [Recovery::Rack, Recovery::NewReno] {
            let stack = Stack {
                recovery,
                ..stack(CongestionControl::Reno)
            };
            let (mut sender, mut out) = (sender(&stack), Vec::new());
            let timeout_ns = sender.timer_ns();
            sender.time_out(timeout_ns, &mut out);
            assert_eq!((out.as_slice(), sender.cwnd_pkts()), (&[0][..], 1.0));
            sender.receive(timeout_ns + MS, &ack(10, &[], 0), &mut out);
            assert!(sender.cwnd_pkts() >= 10.0, "{}", sender.cwnd_pkts());
            let state = sender.loss_recovery().unwrap().state;
            let expected = match recovery {
                Recovery::NewReno => RecoveryState::Loss,
                _ => RecoveryState::Open,
            };
            assert_eq!(state, expected);
            sender.offer(11);
            sender.send(timeout_ns + MS, &mut out);
            sender.receive(timeout_ns + 101 * MS, &ack(11, &[], 700), &mut out);
            assert_eq!(sender.loss_recovery().unwrap().state, RecoveryState::Open);
        }
    }

    /// After reordering, a D-SACK of a repair lets RACK wait for half of the minimum round-trip time instead of a
    /// quarter.
    #[test]
    fn duplicates_lengthen_reordering_time() {
        let (mut sender, mut out) = (sender(&stack(CongestionControl::Cubic)), Vec::new());
        // Segment 2 was reordered.
        sender.receive(100 * MS, &ack(0, &[(8, 9)], 0), &mut out);
        sender.receive(100 * MS, &ack(0, &[(2, 3), (8, 9)], 0), &mut out);
        while out.is_empty() {
            let at_ns = sender.timer_ns();
            sender.time_out(at_ns, &mut out);
            assert!(at_ns < 130 * MS, "{at_ns}");
        }
        sender.receive(150 * MS, &ack(10, &[], 0), &mut out);
        let repaired = Ack {
            duplicate: Some(0),
            ..ack(10, &[], 0)
        };
        sender.receive(230 * MS, &repaired, &mut out);
        sender.offer(20);
        out.clear();
        sender.send(300 * MS, &mut out);
        assert!(out.len() >= 9);
        out.clear();
        sender.receive(400 * MS, &ack(10, &[(11, 12)], 300), &mut out);
        out.retain(|&segment| segment == 10);
        while out.is_empty() {
            let at_ns = sender.timer_ns();
            sender.time_out(at_ns, &mut out);
            out.retain(|&segment| segment == 10);
            assert!(
                out.is_empty() || (448 * MS..460 * MS).contains(&at_ns),
                "{at_ns}"
            );
        }
    }
}
