//! One end of a connection: handshake, sending and receiving half.

use super::{clock::Clock, receiver::Receiver, sender::Sender};
use crate::Stack;

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
    /// When the SYN or the SYN-ACK is sent again, in seconds.
    pub handshake_timer_s: f64,
    /// How often that timer fired.
    pub handshake_timeouts: u32,
    /// How often the SYN or the SYN-ACK was sent again.
    pub handshake_again: u32,
    pub handshake_sent_s: f64,
    pub clock: Clock,
    pub sender: Sender,
    pub receiver: Receiver,
    /// When it last sent or received anything, in seconds.
    pub active_s: f64,
}

impl End {
    /// An end that has not yet sent anything.
    pub(super) fn new(clock: Clock, sender: Sender, receiver: Receiver) -> Self {
        Self {
            handshake: Handshake::Listening,
            handshake_timer_s: f64::INFINITY,
            handshake_timeouts: 0,
            handshake_again: 0,
            handshake_sent_s: 0.0,
            clock,
            sender,
            receiver,
            active_s: 0.0,
        }
    }

    /// Sets the timer that sends a SYN or a SYN-ACK again.
    pub(super) fn set_handshake_timer(&mut self, stack: &Stack, now_s: f64, linear: bool) {
        let doubled = if linear {
            self.handshake_timeouts
                .saturating_sub(stack.linear_syn_timeouts)
        } else {
            self.handshake_timeouts
        };
        let delay_s = stack.initial_rto_s * f64::from(doubled.min(60)).exp2();
        self.handshake_timer_s = self.clock.after(now_s, delay_s.min(stack.max_rto_s));
    }

    /// The other end has answered: data may flow.
    pub(super) fn open(&mut self, stack: &Stack, now_s: f64, echo_s: f64) {
        self.handshake = Handshake::Open;
        self.handshake_timer_s = f64::INFINITY;
        let rto = self.sender.rto();
        if rto.has_timestamps() {
            rto.measure(now_s, echo_s, false);
        } else if self.handshake_again == 0 {
            rto.measure(now_s, self.handshake_sent_s, false);
        } else if let Some(least_s) = stack.rto_after_syn_timeout_s {
            rto.begin_above(least_s);
        }
        let window = if self.handshake_again > stack.handshake_timeouts_forgiven
            && self.handshake_timeouts > 0
        {
            1.0
        } else {
            f64::from(stack.initial_window_pkts)
        };
        let threshold = if stack.syn_timeout_ends_slow_start && self.handshake_timeouts > 0 {
            2.0
        } else {
            f64::INFINITY
        };
        self.sender.open(window, threshold);
    }
}
