//! The single rate three colour marker.

use super::{arriving, fractions};
use crate::meter::{Bucket, Clock};
use crate::{DropPrecedence, Error, Fractions};

/// The single rate three colour marker (RFC 2697): green within the committed burst, yellow
/// within the excess burst, red beyond. Tokens come at the committed rate; those that find the
/// first bucket full go to the second.
#[derive(Clone, Debug)]
pub struct SrTcm {
    committed: Bucket,
    excess: Bucket,
    clock: Clock,
    committed_bps: f64,
}

impl SrTcm {
    /// A marker with full buckets: CIR in bit/s, CBS and EBS in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate above 1e18 bit/s, a burst above 1e9 bytes, or two bursts
    /// of nothing (RFC 2697 §2).
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
            clock: Clock::default(),
            committed_bps: committed_bps as f64,
        })
    }

    /// The committed rate in bit/s.
    pub fn committed_bps(&self) -> f64 {
        self.committed_bps
    }

    /// The same marker with another committed rate from `now_ns` on; the tokens that have come until then stay.
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

    /// The colour of a packet that has none yet (colour-blind mode).
    #[inline]
    pub fn mark(&mut self, now_ns: u64, bytes: u32) -> DropPrecedence {
        self.remark(now_ns, bytes, DropPrecedence::Dp0)
    }

    /// The new colour of a packet that has one, never a better one (colour-aware mode).
    ///
    /// A time before that of the last packet counts as that.
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

    /// Lets the tokens come that are due.
    #[inline]
    fn fill(&mut self, now_ns: u64) {
        let elapsed_ns = self.clock.elapsed_ns(now_ns);
        let overflow = self.committed.fill(elapsed_ns);
        self.excess.put(overflow);
    }

    /// The tokens in the committed and the excess bucket after the last packet, in bytes.
    pub fn tokens_bytes(&self) -> (f64, f64) {
        (self.committed.tokens_bytes(), self.excess.tokens_bytes())
    }

    /// The colours of a smooth, lasting stream of so many bit/s that arrives with the colours
    /// `before` ([`Fractions::GREEN`] for the colour-blind mode).
    ///
    /// Green takes its tokens first; yellow lives of those that green leaves. A bursty stream
    /// below the committed rate loses some colour that bursts cost.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate outside 0 to 1e18 bit/s, a fraction outside 0 to 1.
    pub fn fractions(&self, rate_bps: f64, before: Fractions) -> Result<Fractions, Error> {
        let [green_in, yellow_in, _] = arriving(rate_bps, before)?;
        let green = green_in.min(self.committed_bps);
        let yellow = (green_in - green + yellow_in).min(self.committed_bps - green);
        Ok(fractions(rate_bps, green, yellow))
    }
}
