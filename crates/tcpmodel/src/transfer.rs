//! The question that \[Short\] and the models it is compared with answer.

use crate::Error;
use crate::error::ensure;

/// The most packets of a transfer: some gigabytes, which is no short one any more, nor one whose packets
/// memory is kept for.
pub const MOST_PACKETS: u64 = 10_000_000;

/// Refuses other numbers of packets than a transfer has.
pub(crate) fn ensure_packets(packets: u64) -> Result<(), Error> {
    let what = "number of packets";
    let good = (1..=MOST_PACKETS).contains(&packets);
    ensure(good, what, packets as f64, "1 to 10 million")
}

/// A transfer over a path that loses packets independently, as many each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// How many segments of data: 1 to 10 million.
    pub packets: u64,
    /// Loss probability each way: from 0 to 0.99.
    pub loss: f64,
    /// One-way delay in seconds: from 0 to 10 000.
    pub delay_s: f64,
}

impl Transfer {
    /// The probability that either a packet or its acknowledgement is lost: p = pl + pl(1−pl) of
    /// \[Short\].
    pub fn effective_loss(&self) -> f64 {
        self.loss + self.loss * (1.0 - self.loss)
    }

    /// Twice the delay, in seconds.
    pub fn rtt_s(&self) -> f64 {
        2.0 * self.delay_s
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        ensure_packets(self.packets)?;
        let good = (0.0..=0.99).contains(&self.loss);
        ensure(good, "loss probability each way", self.loss, "0 to 0.99")?;
        let good = (0.0..=1e4).contains(&self.delay_s);
        ensure(good, "one-way delay (s)", self.delay_s, "0 to 10000 s")
    }
}
