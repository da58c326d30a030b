//! The handshake at one end of a connection.

use super::{Clock, NEVER, Sender};
use netflow_units::ns;

use crate::Stack;

/// A SYN or SYN-ACK that has not been answered yet, with its retransmission timer.
#[derive(Clone, Debug)]
pub struct Handshake {
    clock: Clock,
    /// The time of the next retransmission.
    timer_ns: u64,
    /// Timeouts of that timer, and retransmissions for any reason.
    timeouts: u32,
    retransmissions: u32,
    first_ns: Option<u64>,
    sent_ns: u64,
}

impl Handshake {
    /// Returns the state before the first transmission. `phase`, from 0 to 1, is the position of the timer
    /// clock at time 0.
    pub fn new(stack: &Stack, phase: f64) -> Self {
        Self {
            clock: Clock::new(stack, phase),
            timer_ns: NEVER,
            timeouts: 0,
            retransmissions: 0,
            first_ns: None,
            sent_ns: 0,
        }
    }

    /// Returns the time of the next retransmission.
    #[inline]
    pub fn timer_ns(&self) -> u64 {
        self.timer_ns
    }

    /// Records the transmission of the packet. `linear` marks a SYN, whose first timeouts may have equal
    /// intervals.
    pub fn send(&mut self, stack: &Stack, now_ns: u64, linear: bool) {
        self.sent_ns = now_ns;
        self.first_ns.get_or_insert(now_ns);
        let delay_ns = ns(stack.handshake_timeout_s(self.timeouts, linear));
        self.timer_ns = self.clock.after(now_ns, delay_ns);
    }

    /// Counts a retransmission that was not caused by the timer.
    pub fn repeat(&mut self) {
        self.retransmissions += 1;
    }

    /// Returns true if it was sent more than once.
    pub fn has_repeated(&self) -> bool {
        self.retransmissions > 0
    }

    /// Counts a timeout; the caller sends the packet again.
    pub fn time_out(&mut self) {
        self.timeouts += 1;
        self.retransmissions += 1;
    }

    /// Ends the handshake after the other end has answered, so that data may flow. `echo_ns` is the send
    /// time of the answered packet, if packets carry timestamps.
    pub fn end(&mut self, stack: &Stack, now_ns: u64, echo_ns: Option<u64>, sender: &mut Sender) {
        self.timer_ns = NEVER;
        let echo_ns = echo_ns.filter(|_| sender.has_timestamps());
        // An answer to the first transmission means that nothing was lost (Linux:
        // `tcp_try_undo_spurious_syn`).
        let timeouts = match echo_ns {
            Some(_) if echo_ns == self.first_ns => 0,
            _ => self.timeouts,
        };
        let sent_ns = match echo_ns {
            None => (self.retransmissions == 0).then_some(self.sent_ns),
            echo_ns => echo_ns,
        };
        match (sent_ns, stack.rto_after_syn_timeout_s) {
            (Some(sent_ns), _) => sender.measure(now_ns, sent_ns),
            (None, Some(least_s)) => sender.set_min_initial_rto(least_s),
            (None, None) => {}
        }
        let (cwnd, ssthresh) = stack.first_window(timeouts, self.retransmissions);
        sender.open(now_ns, cwnd, ssthresh);
    }
}
