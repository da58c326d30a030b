//! The input of the solvers: a chain of packets and its timers.

use crate::error::ensure;
use crate::{Error, MAX_PACKETS};

/// The initial, base and maximum values of a retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timers {
    /// The timer of the first packet, before any measurement, in seconds.
    pub initial_s: f64,
    /// The timer after a packet that was sent once, in seconds: v0 of \[Short\].
    pub base_s: f64,
    /// The maximum of the doubled timer in seconds; at least the other two.
    pub max_s: f64,
}

/// A sequence of packets, sent one after the other, whose losses cost timeouts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoChain {
    /// The number of packets that must arrive, up to 10 million.
    pub packets: u64,
    /// The probability that a send times out, from 0 to 0.9999.
    pub loss: f64,
    /// The timers.
    pub timers: Timers,
    /// The probability that the chain takes place; otherwise it takes no time.
    pub probability: f64,
}

impl RtoChain {
    /// Returns a chain that takes place with probability 1.
    pub fn new(packets: u64, loss: f64, timers: Timers) -> Self {
        Self {
            packets,
            loss,
            timers,
            probability: 1.0,
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let duration = "1e-6 to 1e6 s";
        let Timers {
            initial_s,
            base_s,
            max_s,
        } = self.timers;
        ensure(
            self.packets <= MAX_PACKETS,
            "number of packets",
            self.packets as f64,
            "at most 10 million",
        )?;
        ensure(
            (0.0..=MAX_LOSS).contains(&self.loss),
            "loss probability",
            self.loss,
            "0 to 0.9999",
        )?;
        ensure(
            (0.0..=1.0).contains(&self.probability),
            "probability of a chain",
            self.probability,
            "0 to 1",
        )?;
        for (what, time_s) in [
            ("initial timer (s)", initial_s),
            ("base timer (s)", base_s),
            ("maximum timer (s)", max_s),
        ] {
            ensure((1e-6..=1e6).contains(&time_s), what, time_s, duration)?;
        }
        ensure(
            max_s >= initial_s.max(base_s),
            "maximum timer (s)",
            max_s,
            "at least the initial and the base timer",
        )
    }
}

/// The largest loss probability. At this value a packet needs 10 000 sends on average.
const MAX_LOSS: f64 = 0.9999;
