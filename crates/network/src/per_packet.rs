//! Elements of links that only the packet model simulates.

use std::fmt;

/// Element of a link that only the packet model simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerPacketElement {
    /// Token bucket that drops packets.
    Policer,
    /// Token bucket in which packets wait.
    Shaper,
    /// Packet-delivery trace.
    DeliveryTrace,
    /// Random delay.
    Jitter,
    /// Packets that overtake others.
    Reordering,
    /// Packets that arrive twice.
    Duplication,
    /// Limit of packets in propagation.
    InFlightLimit,
    /// Transmission slots.
    Slots,
    /// Bandwidth of 0.
    Pause,
    /// Hierarchical token bucket.
    Htb,
}

impl PerPacketElement {
    /// Returns what to write instead for the other models, as an imperative.
    pub fn alternative(self) -> &'static str {
        match self {
            PerPacketElement::Policer => {
                "give the link the rate of the policer as `bandwidth` and its burst as `buffer`"
            }
            PerPacketElement::Shaper => "give the link the rate of the shaper as `bandwidth`",
            PerPacketElement::DeliveryTrace => {
                "give the link the mean rate of the trace as `bandwidth`"
            }
            PerPacketElement::Jitter => "leave out `jitter`, and add its mean to `delay`",
            PerPacketElement::Reordering => "leave out `reordering`",
            PerPacketElement::Duplication => "leave out `duplication`",
            PerPacketElement::InFlightLimit => "leave out `in-flight-limit`",
            PerPacketElement::Slots => {
                "leave out `slots`, and add half of their interval to `delay`"
            }
            PerPacketElement::Pause => "set a small `bandwidth`",
            PerPacketElement::Htb => {
                "describe a link for each class, with its `rate` as `bandwidth`"
            }
        }
    }
}

impl fmt::Display for PerPacketElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PerPacketElement::Policer => "policer",
            PerPacketElement::Shaper => "shaper",
            PerPacketElement::DeliveryTrace => "delivery trace",
            PerPacketElement::Jitter => "jitter",
            PerPacketElement::Reordering => "reordering",
            PerPacketElement::Duplication => "duplication",
            PerPacketElement::InFlightLimit => "in-flight limit",
            PerPacketElement::Slots => "transmission slots",
            PerPacketElement::Pause => "bandwidth of 0",
            PerPacketElement::Htb => "HTB scheduler",
        })
    }
}
