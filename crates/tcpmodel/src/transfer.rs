//! The input of \[Short\] and of the models with which it is compared.

use crate::Error;
use crate::error::ensure;

/// The largest number of packets of a transfer. 10 million packets are several gigabytes. Such a transfer
/// is not short, and state is kept for every packet.
pub const MAX_PACKETS: u64 = 10_000_000;

/// Checks that the number of packets is from 1 to 10 million.
pub(crate) fn ensure_packets(packets: u64) -> Result<(), Error> {
    let what = "number of packets";
    let good = (1..=MAX_PACKETS).contains(&packets);
    ensure(good, what, packets as f64, "1 to 10 million")
}

/// A transfer over a path with independent losses, with the same loss probability in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The number of data segments, from 1 to 10 million.
    pub packets: u64,
    /// The loss probability in each direction, from 0 to 0.99.
    pub loss: f64,
    /// The one-way delay in seconds, from 0 to 10 000.
    pub delay_s: f64,
}

impl Transfer {
    /// Returns the probability that a packet or its acknowledgement is lost: p = pl + pl(1−pl) of
    /// \[Short\].
    pub fn effective_loss(&self) -> f64 {
        self.loss + self.loss * (1.0 - self.loss)
    }

    /// Returns the round-trip time in seconds: twice the one-way delay.
    pub fn rtt_s(&self) -> f64 {
        2.0 * self.delay_s
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        ensure_packets(self.packets)?;
        let good = (0.0..=0.99).contains(&self.loss);
        ensure(
            good,
            "loss probability in each direction",
            self.loss,
            "0 to 0.99",
        )?;
        let good = (0.0..=1e4).contains(&self.delay_s);
        ensure(good, "one-way delay (s)", self.delay_s, "0 to 10000 s")
    }
}
