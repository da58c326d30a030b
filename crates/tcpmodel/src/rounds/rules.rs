//! What a stack does that makes a difference within a transfer.

use crate::Stack;

/// The rules of a stack.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    pub rto: RtoRule,
    pub initial_rto_s: f64,
    pub min_rto_s: f64,
    pub max_rto_s: f64,
    /// So many timeouts of a SYN come one after the other before their interval doubles.
    pub linear_syn_timeouts: u32,
    /// Does a SYN that comes again have the SYN-ACK sent again?
    pub syn_answered_again: bool,
    pub initial_window: f64,
    /// More timeouts of the handshake than this leave a window of one packet.
    pub handshake_timeouts_forgiven: u32,
    /// Does a timeout of a SYN end slow start before it begins?
    pub syn_timeout_ends_slow_start: bool,
    pub recovery: Recovery,
    pub limited_transmit: bool,
    /// The share of the window that is left after a loss.
    pub decrease: f64,
    pub ack: AckRule,
    pub timers: Timers,
}

/// How the retransmission timeout follows from measured round-trip times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RtoRule {
    /// Whole ticks of a clock, in the integers of BSD and ns-2.
    Ticks { tick_s: f64 },
    /// RFC 6298 with an exact clock; a sent-again packet measures nothing (Karn).
    Rfc6298,
    /// Linux: the variance, not the sum, has a least value; timestamps measure every packet.
    Linux,
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Fast retransmit; fast recovery ends at the first new acknowledgement.
    Reno,
    /// Fast recovery lasts until all that was sent before it is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements, losses found by time (RACK), tail loss probes (RFC 8985).
    Rack,
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AckRule {
    /// Every so many full packets, at once.
    pub every: u32,
    /// Otherwise after a delay, in seconds.
    pub delay_s: f64,
    /// Does the delay end at the next beat of a free-running clock?
    pub beats: bool,
    /// So many first packets are acknowledged at once.
    pub quick: u32,
    /// After three duplicate acknowledgements, further ones are put together (Linux).
    pub compressed: bool,
}

/// When a timer that is due fires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Timers {
    /// At once.
    Exact,
    /// When the bucket of a hierarchical timer wheel comes by: up to an eighth late.
    Wheel { jiffy_s: f64 },
}

impl Rules {
    pub(super) fn of(stack: &Stack) -> Self {
        match stack.name.as_str() {
            "ns-2.35" | "ns-2.35-delack" => Self {
                rto: RtoRule::Ticks { tick_s: 0.01 },
                initial_rto_s: 3.0,
                min_rto_s: 0.2,
                max_rto_s: 60.0,
                linear_syn_timeouts: 0,
                syn_answered_again: false,
                initial_window: 2.0,
                handshake_timeouts_forgiven: u32::MAX,
                syn_timeout_ends_slow_start: true,
                recovery: Recovery::Reno,
                limited_transmit: false,
                decrease: 0.5,
                ack: AckRule {
                    every: if stack.name == "ns-2.35" { 1 } else { 2 },
                    delay_s: 0.1,
                    beats: true,
                    quick: 0,
                    compressed: false,
                },
                timers: Timers::Exact,
            },
            "linux-6-legacy" => Self {
                initial_window: 2.0,
                recovery: Recovery::NewReno,
                decrease: 0.5,
                limited_transmit: true,
                ..Self::linux()
            },
            _ => Self::linux(),
        }
    }

    fn linux() -> Self {
        Self {
            rto: RtoRule::Linux,
            initial_rto_s: 1.0,
            min_rto_s: 0.2,
            max_rto_s: 120.0,
            linear_syn_timeouts: 4,
            syn_answered_again: true,
            initial_window: 10.0,
            handshake_timeouts_forgiven: 1,
            syn_timeout_ends_slow_start: false,
            recovery: Recovery::Rack,
            limited_transmit: false,
            decrease: 0.7,
            ack: AckRule {
                every: 2,
                delay_s: 0.04,
                beats: false,
                quick: 16,
                compressed: true,
            },
            timers: Timers::Wheel { jiffy_s: 0.004 },
        }
    }
}
