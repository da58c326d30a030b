//! A sender with cumulative acknowledgements only: Tahoe, Reno and NewReno.

use super::super::{Clock, NEVER, RttEstimator};
use super::TcpState;
use crate::{Recovery, RtoRule, Stack};

/// A sender with fast retransmit or with timeouts only.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    recovery: Recovery,
    /// The number of duplicate acknowledgements that indicates a loss, unless only timeouts do.
    dupack_threshold: u32,
    limited_transmit: bool,
    early_retransmit: bool,
    /// True if the timer is set before the acknowledgement is measured, as in ns-2.
    sets_timer_first: bool,
    /// True if slow start counts acknowledged segments instead of acknowledgements, as in Linux.
    counts_segments: bool,
    decrease: f64,
    clock: Clock,
    pub rtt: RttEstimator,
    /// The maximum number of segments in flight that the other end allows.
    peer_window_segments: u32,
    segments: u32,
    /// The first segment not acknowledged.
    pub acknowledged: u32,
    /// The next segment to send; reset to `acknowledged` at a timeout.
    next: u32,
    /// The first segment never sent.
    sent: u32,
    window: f64,
    ssthresh: f64,
    duplicates: u32,
    in_recovery: bool,
    /// The recovery point: losses before it do not reduce the window again.
    recover: u32,
    after_timeout: bool,
    /// The segment whose round trip is measured, and its send time.
    timed: Option<(u32, u64)>,
    round_end: u32,
    /// The maximum window after a pause.
    initial_window: f64,
    /// The time of the last transmission.
    last_sent_ns: u64,
    pub timer_ns: u64,
    timeouts: u64,
    timeouts_in_a_row: u32,
    fast_retransmits: u64,
}

impl Classic {
    pub(super) fn new(stack: &Stack, peer_window_segments: u32, clock: Clock, phase: f64) -> Self {
        Self {
            recovery: stack.recovery,
            dupack_threshold: stack.duplicate_acks,
            limited_transmit: stack.limited_transmit,
            early_retransmit: stack.early_retransmit,
            sets_timer_first: stack.rto_rule == RtoRule::Ticks,
            counts_segments: stack.rto_rule == RtoRule::Linux,
            decrease: stack.window_after_loss,
            clock,
            rtt: RttEstimator::new(stack, phase),
            peer_window_segments,
            segments: 0,
            acknowledged: 0,
            next: 0,
            sent: 0,
            window: 0.0,
            ssthresh: f64::INFINITY,
            duplicates: 0,
            in_recovery: false,
            recover: 0,
            after_timeout: false,
            timed: None,
            round_end: 0,
            initial_window: f64::from(stack.initial_window_pkts),
            last_sent_ns: 0,
            timer_ns: NEVER,
            timeouts: 0,
            timeouts_in_a_row: 0,
            fast_retransmits: 0,
        }
    }

    /// Opens the connection with `window` packets and the slow-start threshold `threshold`.
    pub(super) fn open(&mut self, window: f64, threshold: f64) {
        self.window = window;
        self.ssthresh = threshold;
    }

    /// Limits the window to the initial one after an idle time longer than the timeout (RFC 5681, 4.1).
    pub(super) fn restart_after_idle(&mut self, now_ns: u64) {
        if self.acknowledged == self.next && now_ns - self.last_sent_ns > self.rtt.timeout_ns() {
            self.window = self.window.min(self.initial_window);
        }
    }

    pub(super) fn offered(&self) -> u32 {
        self.segments
    }

    /// Returns the first segment never sent.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.window
    }

    pub(super) fn peer_window_segments(&self) -> u32 {
        self.peer_window_segments
    }

    /// Returns the numbers of retransmission timeouts and of losses found by duplicate acknowledgements.
    pub(super) fn detected_losses(&self) -> (u64, u64) {
        (self.timeouts, self.fast_retransmits)
    }

    pub(super) fn state(&self) -> TcpState {
        TcpState {
            cwnd_pkts: self.window,
            ssthresh_pkts: self.ssthresh,
            in_flight: self.sent - self.acknowledged,
            in_recovery: self.in_recovery || self.after_timeout,
            ..TcpState::default()
        }
    }

    /// Sets the number of segments available to send.
    pub(super) fn offer(&mut self, segments: u32) {
        self.segments = segments;
    }

    /// Sends the segments that the window allows.
    pub(super) fn send(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        let extra = if self.limited_transmit && !self.in_recovery && !self.after_timeout {
            f64::from(self.duplicates.min(2))
        } else {
            0.0
        };
        let allowed = (self.window + extra)
            .floor()
            .min(f64::from(self.peer_window_segments)) as u32;
        let end = self.segments.min(self.acknowledged.saturating_add(allowed));
        while self.next < end {
            self.transmit(now_ns, self.next, out);
            self.next += 1;
        }
    }

    fn transmit(&mut self, now_ns: u64, segment: u32, out: &mut Vec<u32>) {
        self.last_sent_ns = now_ns;
        if segment >= self.sent {
            self.sent = segment + 1;
            self.timed.get_or_insert((segment, now_ns));
        }
        if self.timer_ns == NEVER {
            self.set_timer(now_ns);
        }
        out.push(segment);
    }

    fn set_timer(&mut self, now_ns: u64) {
        self.timer_ns = self.clock.after(now_ns, self.rtt.timeout_ns());
    }

    /// Processes an acknowledgement; `echo_ns` is the send time of the packet that it answers.
    pub(super) fn receive(
        &mut self,
        now_ns: u64,
        acknowledged: u32,
        pure: bool,
        echo_ns: u64,
        out: &mut Vec<u32>,
    ) {
        if acknowledged > self.acknowledged {
            self.advance(now_ns, acknowledged, echo_ns, out);
        } else if pure && acknowledged < self.acknowledged {
            self.duplicates = 0;
        } else if pure && self.timer_ns < NEVER {
            self.duplicate(now_ns, out);
        }
    }

    fn advance(&mut self, now_ns: u64, acknowledged: u32, echo_ns: u64, out: &mut Vec<u32>) {
        let newly = acknowledged - self.acknowledged;
        self.acknowledged = acknowledged;
        self.timeouts_in_a_row = 0;
        self.next = self.next.max(acknowledged);
        if self.sets_timer_first {
            self.restart_timer(now_ns);
            self.measure(now_ns, echo_ns);
        } else {
            self.measure(now_ns, echo_ns);
            self.restart_timer(now_ns);
        }
        if self.after_timeout && acknowledged >= self.recover {
            self.after_timeout = false;
        }
        if self.in_recovery {
            if self.recovery == Recovery::NewReno && acknowledged < self.recover {
                self.window = (self.window - f64::from(newly) + 1.0).max(1.0);
                self.transmit(now_ns, acknowledged, out);
                self.set_timer(now_ns);
                self.send(now_ns, out);
                return;
            }
            self.window = self.window.min(self.ssthresh);
            self.in_recovery = false;
        }
        self.duplicates = 0;
        self.window += if self.window < self.ssthresh {
            if self.counts_segments {
                f64::from(newly)
            } else {
                1.0
            }
        } else {
            1.0 / self.window
        };
        self.send(now_ns, out);
    }

    fn restart_timer(&mut self, now_ns: u64) {
        if self.acknowledged == self.sent {
            self.timer_ns = NEVER;
        } else {
            self.set_timer(now_ns);
        }
    }

    fn measure(&mut self, now_ns: u64, echo_ns: u64) {
        let first = self.acknowledged > self.round_end;
        let mut measured = self.rtt.has_timestamps();
        if measured {
            self.rtt.measure(now_ns, echo_ns, first);
        } else if let Some((segment, sent_ns)) = self.timed
            && self.acknowledged > segment
        {
            self.timed = None;
            self.rtt.measure(now_ns, sent_ns, first);
            measured = true;
        }
        if first {
            self.round_end = self.sent;
        }
        self.rtt.reset_backoff(measured);
    }

    fn duplicate(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        self.duplicates += 1;
        let dupack_threshold = self.dupack_threshold();
        if self.in_recovery {
            self.window += 1.0;
        } else if dupack_threshold.is_some_and(|threshold| self.duplicates >= threshold) {
            self.in_recovery = true;
            // Duplicates caused by retransmissions after a timeout do not indicate a loss.
            if !self.after_timeout && self.acknowledged >= self.recover {
                self.retransmit(now_ns, out);
            }
            return;
        }
        self.send(now_ns, out);
    }

    /// Returns the number of duplicate acknowledgements that indicates a loss now; `None` if only timeouts do.
    fn dupack_threshold(&self) -> Option<u32> {
        if self.recovery == Recovery::Timeout {
            return None;
        }
        let out = self.sent - self.acknowledged;
        if self.early_retransmit && out < 4 && self.sent == self.segments {
            // RFC 5827, 3.1
            Some((out - 1).clamp(1, self.dupack_threshold))
        } else {
            Some(self.dupack_threshold)
        }
    }

    /// Performs fast retransmit.
    fn retransmit(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        self.fast_retransmits += 1;
        self.reduce_window();
        self.timer_ns = NEVER;
        self.timed = None;
        self.recover = self.sent;
        if self.recovery == Recovery::Tahoe {
            self.in_recovery = false;
            self.after_timeout = true;
            self.window = 1.0;
            self.next = self.acknowledged;
        } else {
            self.transmit(now_ns, self.acknowledged, out);
            self.window = self.ssthresh + f64::from(self.duplicates);
        }
        self.send(now_ns, out);
    }

    fn reduce_window(&mut self) {
        self.ssthresh = (self.window * self.decrease).floor().max(2.0);
    }

    /// Processes a retransmission timeout.
    pub(super) fn timeout(&mut self, now_ns: u64, out: &mut Vec<u32>) {
        self.timeouts += 1;
        // RFC 5681, 3.1: a further timeout of a retransmitted segment does not reduce the threshold.
        if self.sets_timer_first || self.timeouts_in_a_row == 0 {
            self.reduce_window();
        }
        self.timeouts_in_a_row += 1;
        self.window = 1.0;
        self.rtt.back_off();
        self.set_timer(now_ns);
        self.next = self.acknowledged;
        self.recover = self.sent;
        self.after_timeout = true;
        self.in_recovery = false;
        self.duplicates = 0;
        self.timed = None;
        self.send(now_ns, out);
    }
}
