//! Elements of links that not every model has.

use std::fmt;

/// Element of a link that the packet model simulates, and not every other model or simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkElement {
    /// Token bucket that drops packets.
    Policer,
    /// Token bucket in which packets wait.
    Shaper,
    /// Packet-delivery trace.
    DeliveryTrace,
    /// Values that follow a table over time.
    Series,
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

impl LinkElement {
    /// Returns what to write instead for the other models, as an imperative.
    pub fn alternative(self) -> &'static str {
        match self {
            LinkElement::Policer => {
                "give the link the rate of the policer as `bandwidth` and its burst as `buffer`"
            }
            LinkElement::Shaper => "give the link the rate of the shaper as `bandwidth`",
            LinkElement::DeliveryTrace => "give the link the mean rate of the trace as `bandwidth`",
            LinkElement::Series => {
                "give the link the mean of each column as `bandwidth`, `delay` and `loss`"
            }
            LinkElement::Jitter => "leave out `jitter`, and add its mean to `delay`",
            LinkElement::Reordering => "leave out `reordering`",
            LinkElement::Duplication => "leave out `duplication`",
            LinkElement::InFlightLimit => "leave out `in-flight-limit`",
            LinkElement::Slots => "leave out `slots`, and add half of their interval to `delay`",
            LinkElement::Pause => "set a small `bandwidth`",
            LinkElement::Htb => "describe a link for each class, with its `rate` as `bandwidth`",
        }
    }
}

impl fmt::Display for LinkElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkElement::Policer => "policer",
            LinkElement::Shaper => "shaper",
            LinkElement::DeliveryTrace => "delivery trace",
            LinkElement::Series => "trace over time",
            LinkElement::Jitter => "jitter",
            LinkElement::Reordering => "reordering",
            LinkElement::Duplication => "duplication",
            LinkElement::InFlightLimit => "in-flight limit",
            LinkElement::Slots => "transmission slots",
            LinkElement::Pause => "bandwidth of 0",
            LinkElement::Htb => "HTB scheduler",
        })
    }
}
