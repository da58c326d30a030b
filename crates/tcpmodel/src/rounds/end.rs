//! One end of a connection: handshake, sending and receiving half.

use super::{clock::Clock, receiver::Receiver, rto::Rto, rules::Rules, sender::Sender};

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
    /// An end that will send and receive so many segments.
    pub(super) fn new(rules: &Rules, clock: Clock, tick_phase: f64, segments: u32) -> Self {
        Self {
            handshake: Handshake::Listening,
            handshake_timer_s: f64::INFINITY,
            handshake_timeouts: 0,
            handshake_again: 0,
            handshake_sent_s: 0.0,
            clock,
            sender: Sender::new(rules, Rto::new(rules, tick_phase), clock, segments),
            receiver: Receiver::new(rules.ack),
            active_s: 0.0,
        }
    }

    /// Sets the timer that sends a SYN or a SYN-ACK again.
    pub(super) fn set_handshake_timer(&mut self, rules: &Rules, now_s: f64, linear: bool) {
        let doubled = if linear {
            self.handshake_timeouts
                .saturating_sub(rules.linear_syn_timeouts)
        } else {
            self.handshake_timeouts
        };
        let delay_s = rules.initial_rto_s * f64::from(doubled.min(60)).exp2();
        self.handshake_timer_s = self.clock.after(now_s, delay_s.min(rules.max_rto_s));
    }

    /// The other end has answered: data may flow.
    pub(super) fn open(&mut self, rules: &Rules, now_s: f64, echo_s: f64) {
        self.handshake = Handshake::Open;
        self.handshake_timer_s = f64::INFINITY;
        let rto = self.sender.rto();
        if rto.has_timestamps() {
            rto.measure(now_s, echo_s, false);
        } else if self.handshake_again == 0 {
            rto.measure(now_s, self.handshake_sent_s, false);
        }
        let window = if self.handshake_again > rules.handshake_timeouts_forgiven
            && self.handshake_timeouts > 0
        {
            1.0
        } else {
            rules.initial_window
        };
        let threshold = if rules.syn_timeout_ends_slow_start && self.handshake_timeouts > 0 {
            2.0
        } else {
            f64::INFINITY
        };
        self.sender.open(window, threshold);
    }
}
