//! The packets that open a connection, at one of its ends.

use super::{Clock, NEVER, Sender};
use netflow_units::ns;

use crate::Stack;

/// A SYN, or the answer to one, until the other end has answered.
#[derive(Clone, Debug)]
pub struct Opening {
    clock: Clock,
    /// When it is sent again.
    timer_ns: u64,
    /// How often that timer fired, and how often it was sent again, for whatever reason.
    timeouts: u32,
    again: u32,
    first_ns: Option<u64>,
    sent_ns: u64,
}

impl Opening {
    /// Nothing is sent yet. `phase`, from 0 to 1, says where the clock of timers stands at time 0.
    pub fn new(stack: &Stack, phase: f64) -> Self {
        Self {
            clock: Clock::new(stack, phase),
            timer_ns: NEVER,
            timeouts: 0,
            again: 0,
            first_ns: None,
            sent_ns: 0,
        }
    }

    /// When the packet is sent again.
    #[inline]
    pub fn timer_ns(&self) -> u64 {
        self.timer_ns
    }

    /// The packet is sent; `linear` says that it is a SYN, whose first timeouts may not double.
    pub fn send(&mut self, stack: &Stack, now_ns: u64, linear: bool) {
        self.sent_ns = now_ns;
        self.first_ns.get_or_insert(now_ns);
        let delay_ns = ns(stack.handshake_timeout_s(self.timeouts, linear));
        self.timer_ns = self.clock.after(now_ns, delay_ns);
    }

    /// It will be sent again, not for want of an answer.
    pub fn repeat(&mut self) {
        self.again += 1;
    }

    /// Whether it was sent more than once.
    pub fn has_repeated(&self) -> bool {
        self.again > 0
    }

    /// The timer fires: it is to be sent again.
    pub fn time_out(&mut self) {
        self.timeouts += 1;
        self.again += 1;
    }

    /// The other end has answered what was sent at `echo_ns`, if packets carry that: data may flow.
    pub fn end(&mut self, stack: &Stack, now_ns: u64, echo_ns: Option<u64>, sender: &mut Sender) {
        self.timer_ns = NEVER;
        let echo_ns = echo_ns.filter(|_| sender.has_timestamps());
        // If what was sent first is answered, nothing was lost (tcp_try_undo_spurious_syn of Linux).
        let timeouts = match echo_ns {
            Some(_) if echo_ns == self.first_ns => 0,
            _ => self.timeouts,
        };
        let sent_ns = match echo_ns {
            None => (self.again == 0).then_some(self.sent_ns),
            echo_ns => echo_ns,
        };
        match (sent_ns, stack.rto_after_syn_timeout_s) {
            (Some(sent_ns), _) => sender.measure(now_ns, sent_ns),
            (None, Some(least_s)) => sender.begin_above(least_s),
            (None, None) => {}
        }
        let (cwnd, ssthresh) = stack.first_window(timeouts, self.again);
        sender.open(now_ns, cwnd, ssthresh);
    }
}
