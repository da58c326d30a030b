//! One end of a connection: handshake, sending and receiving half.

use crate::Stack;
use crate::tcp::{Clock, NEVER, Receiver, Sender, ns};

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// Waits for a SYN.
    Listening,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// May send data.
    Open,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub handshake: Handshake,
    /// When the SYN or the SYN-ACK is sent again.
    pub handshake_timer_ns: u64,
    /// How often that timer fired.
    pub handshake_timeouts: u32,
    /// How often the SYN or the SYN-ACK was sent again.
    pub handshake_again: u32,
    pub handshake_sent_ns: u64,
    pub clock: Clock,
    pub sender: Sender,
    pub receiver: Receiver,
    /// When it last sent or received anything.
    pub active_ns: u64,
}

impl End {
    /// An end that has not yet sent anything.
    pub(super) fn new(clock: Clock, sender: Sender, receiver: Receiver) -> Self {
        Self {
            handshake: Handshake::Listening,
            handshake_timer_ns: NEVER,
            handshake_timeouts: 0,
            handshake_again: 0,
            handshake_sent_ns: 0,
            clock,
            sender,
            receiver,
            active_ns: 0,
        }
    }

    /// Sets the timer that sends a SYN or a SYN-ACK again.
    pub(super) fn set_handshake_timer(&mut self, stack: &Stack, now_ns: u64, linear: bool) {
        let delay_ns = ns(stack.handshake_timeout_s(self.handshake_timeouts, linear));
        self.handshake_timer_ns = self.clock.after(now_ns, delay_ns);
    }

    /// The other end has answered: data may flow.
    pub(super) fn open(&mut self, stack: &Stack, now_ns: u64, echo_ns: u64) {
        self.handshake = Handshake::Open;
        self.handshake_timer_ns = NEVER;
        if self.sender.has_timestamps() {
            self.sender.measure(now_ns, echo_ns);
        } else if self.handshake_again == 0 {
            self.sender.measure(now_ns, self.handshake_sent_ns);
        } else if let Some(least_s) = stack.rto_after_syn_timeout_s {
            self.sender.begin_above(least_s);
        }
        let (cwnd, ssthresh) = stack.first_window(self.handshake_timeouts, self.handshake_again);
        self.sender.open(cwnd, ssthresh);
    }
}
