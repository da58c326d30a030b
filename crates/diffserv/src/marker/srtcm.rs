//! Single rate three colour marker (RFC 2697).

use super::{arrival_rates, fractions};
use crate::meter::{Bucket, TokenClock};
use crate::{DropPrecedence, Error, Fractions};

/// Single rate three colour marker (RFC 2697): green within the committed burst, yellow within the excess
/// burst, otherwise red. Tokens arrive at the committed rate; those that overflow the committed bucket fill
/// the excess bucket.
#[derive(Clone, Debug)]
pub struct SrTcm {
    committed: Bucket,
    excess: Bucket,
    clock: TokenClock,
    committed_bps: f64,
}

impl SrTcm {
    /// Returns a marker with full buckets: CIR in bit/s, CBS and EBS in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate above 1e18 bit/s, a burst above 1e9 bytes, or two bursts of 0 (RFC
    /// 2697 §2).
    pub fn new(
        committed_bps: u64,
        committed_burst_bytes: u64,
        excess_burst_bytes: u64,
    ) -> Result<SrTcm, Error> {
        let rate = ("committed rate in bit/s", committed_bps);
        let committed = Bucket::new(rate, ("committed burst in B", committed_burst_bytes))?;
        let excess = Bucket::new(rate, ("excess burst in B", excess_burst_bytes))?;
        crate::error::ensure(
            committed_burst_bytes > 0 || excess_burst_bytes > 0,
            "excess burst in B",
            0.0,
            "1 to 1e9 if the committed burst is 0",
        )?;
        Ok(SrTcm {
            committed,
            excess,
            clock: TokenClock::default(),
            committed_bps: committed_bps as f64,
        })
    }

    /// Returns the committed rate in bit/s.
    pub fn committed_bps(&self) -> f64 {
        self.committed_bps
    }

    /// Returns the same marker with another committed rate from `now_ns` on. Tokens accumulated until then
    /// remain.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate above 1e18 bit/s.
    pub fn with_rate(&self, now_ns: u64, committed_bps: u64) -> Result<SrTcm, Error> {
        let mut marker = self.clone();
        marker.fill(now_ns);
        let rate = ("committed rate in bit/s", committed_bps);
        Ok(SrTcm {
            committed: marker.committed.with_rate(rate)?,
            committed_bps: committed_bps as f64,
            ..marker
        })
    }

    /// Returns the colour of an uncoloured packet (colour-blind mode).
    #[inline]
    pub fn mark(&mut self, now_ns: u64, bytes: u32) -> DropPrecedence {
        self.remark(now_ns, bytes, DropPrecedence::Dp0)
    }

    /// Returns the new colour of a coloured packet, which is never better than the old one (colour-aware
    /// mode).
    ///
    /// A time before that of the last packet is replaced by that of the last packet.
    #[inline]
    pub fn remark(&mut self, now_ns: u64, bytes: u32, before: DropPrecedence) -> DropPrecedence {
        self.fill(now_ns);

        if before == DropPrecedence::Dp0 && self.committed.take(bytes) {
            DropPrecedence::Dp0
        } else if before != DropPrecedence::Dp2 && self.excess.take(bytes) {
            DropPrecedence::Dp1
        } else {
            DropPrecedence::Dp2
        }
    }

    /// Adds the tokens that are due.
    #[inline]
    fn fill(&mut self, now_ns: u64) {
        let elapsed_ns = self.clock.elapsed_ns(now_ns);
        let overflow = self.committed.fill(elapsed_ns);
        self.excess.add(overflow);
    }

    /// Returns the tokens in the committed and the excess bucket after the last packet, in bytes.
    pub fn tokens_bytes(&self) -> (f64, f64) {
        (self.committed.tokens_bytes(), self.excess.tokens_bytes())
    }

    /// Returns the colours of a smooth stream of `rate_bps` that arrives with the colours `before`
    /// ([`Fractions::GREEN`] for colour-blind mode).
    ///
    /// Green packets take tokens first; yellow packets use the tokens that green did not consume. A bursty
    /// stream below the committed rate receives worse colours than this.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate outside 0 to 1e18 bit/s or a fraction outside 0 to 1.
    pub fn fractions(&self, rate_bps: f64, before: Fractions) -> Result<Fractions, Error> {
        let [green_in, yellow_in, _] = arrival_rates(rate_bps, before)?;
        let green = green_in.min(self.committed_bps);
        let yellow = (green_in - green + yellow_in).min(self.committed_bps - green);
        Ok(fractions(rate_bps, green, yellow))
    }
}
