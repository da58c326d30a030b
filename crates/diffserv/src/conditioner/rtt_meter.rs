//! What an edge measures itself.

use super::{Aggregate, Inputs, Minima};
use crate::Error;
use crate::error::ensure;

/// Estimates RTT and retransmission timeout of an aggregate from single round trips, as a sender
/// does for one connection (RFC 6298 §2): srtt with a gain of 1/8, rttvar with 1/4,
/// RTO = max(srtt + 4·rttvar, smallest RTO).
#[derive(Clone, Debug)]
pub struct RttMeter {
    min_rto_s: f64,
    smoothed: Option<Smoothed>,
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt_s: f64,
    rttvar_s: f64,
}

impl RttMeter {
    /// A meter that has seen nothing. `min_rto_s` is the smallest retransmission timeout of the
    /// senders' TCP in seconds (0.2 in ns-2 and Linux).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if that is not within 0 to 1e9 s.
    pub fn new(min_rto_s: f64) -> Result<RttMeter, Error> {
        let good = (0.0..=1e9).contains(&min_rto_s);
        ensure(good, "smallest timeout in s", min_rto_s, "0 to 1e9")?;
        Ok(RttMeter {
            min_rto_s,
            smoothed: None,
        })
    }

    /// Counts a round trip of so many nanoseconds, from a packet that passed to its
    /// acknowledgement (of a packet sent once: Karn's rule).
    pub fn round_trip(&mut self, rtt_ns: u64) {
        let rtt_s = rtt_ns as f64 / 1e9;
        self.smoothed = Some(match self.smoothed {
            None => Smoothed {
                srtt_s: rtt_s,
                rttvar_s: rtt_s / 2.0,
            },
            Some(Smoothed { srtt_s, rttvar_s }) => Smoothed {
                rttvar_s: 0.75 * rttvar_s + 0.25 * (srtt_s - rtt_s).abs(),
                srtt_s: 0.875 * srtt_s + 0.125 * rtt_s,
            },
        });
    }

    /// What it has measured so far.
    pub fn aggregate(&self) -> Aggregate {
        Aggregate {
            rtt_s: self.smoothed.map(|s| s.srtt_s),
            rto_s: self
                .smoothed
                .map(|s| (s.srtt_s + 4.0 * s.rttvar_s).max(self.min_rto_s)),
            window_pkts: None,
        }
    }
}

/// [`Inputs`] as an edge has them: its own aggregate measured, the minima from the other edges.
/// Windows, it knows packet by packet at most.
#[derive(Clone, Debug)]
pub struct Measured {
    /// This aggregate's meter.
    pub meter: RttMeter,
    /// What the other edges told last.
    pub others: Minima,
}

impl Measured {
    /// The minima over this aggregate and the others.
    pub fn minima(&self) -> Minima {
        Minima::over([&self.meter.aggregate()]).and(self.others)
    }
}

impl Inputs for Measured {
    fn rtt_s(&self) -> Option<f64> {
        self.meter.aggregate().rtt_s
    }

    fn rto_s(&self) -> Option<f64> {
        self.meter.aggregate().rto_s
    }

    fn min_rtt_s(&self) -> Option<f64> {
        self.minima().rtt_s
    }

    fn min_rto_s(&self) -> Option<f64> {
        self.minima().rto_s
    }

    fn below_window(&self, _: f64) -> Option<f64> {
        None
    }
}
