//! Two rate three colour marker (RFC 2698).

use super::{arrival_rates, fractions};
use crate::meter::{Bucket, TokenClock};
use crate::{DropPrecedence, Error, Fractions};

/// Two rate three colour marker (RFC 2698): red above the peak rate and its burst, otherwise yellow above the
/// committed rate and its burst, otherwise green.
#[derive(Clone, Debug)]
pub struct TrTcm {
    committed: Bucket,
    peak: Bucket,
    clock: TokenClock,
    committed_bps: f64,
    peak_bps: f64,
}

impl TrTcm {
    /// Returns a marker with full buckets: CIR in bit/s, CBS in bytes, PIR in bit/s, PBS in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::PeakBelowCommitted`]; [`Error::OutOfRange`] for a rate above 1e18 bit/s or a
    /// burst that is not within 1 to 1e9 bytes (RFC 2698 §2).
    pub fn new(
        committed_bps: u64,
        committed_burst_bytes: u64,
        peak_bps: u64,
        peak_burst_bytes: u64,
    ) -> Result<TrTcm, Error> {
        let committed = Bucket::new(
            ("committed rate in bit/s", committed_bps),
            ("committed burst in B", committed_burst_bytes),
        )?;
        let peak = Bucket::new(
            ("peak rate in bit/s", peak_bps),
            ("peak burst in B", peak_burst_bytes),
        )?;
        for (what, burst_bytes) in [
            ("committed burst in B", committed_burst_bytes),
            ("peak burst in B", peak_burst_bytes),
        ] {
            crate::error::ensure(burst_bytes > 0, what, 0.0, "1 to 1e9")?;
        }
        if peak_bps < committed_bps {
            return Err(Error::PeakBelowCommitted {
                peak_bps: peak_bps as f64,
                committed_bps: committed_bps as f64,
            });
        }
        Ok(TrTcm {
            committed,
            peak,
            clock: TokenClock::default(),
            committed_bps: committed_bps as f64,
            peak_bps: peak_bps as f64,
        })
    }

    /// Returns the committed rate in bit/s.
    pub fn committed_bps(&self) -> f64 {
        self.committed_bps
    }

    /// Returns the peak rate in bit/s.
    pub fn peak_bps(&self) -> f64 {
        self.peak_bps
    }

    /// Returns the same marker with other rates from `now_ns` on. Tokens accumulated until then remain.
    ///
    /// # Errors
    ///
    /// [`Error::PeakBelowCommitted`]; [`Error::OutOfRange`] for a rate above 1e18 bit/s.
    pub fn with_rates(
        &self,
        now_ns: u64,
        committed_bps: u64,
        peak_bps: u64,
    ) -> Result<TrTcm, Error> {
        let burst_bytes = [&self.committed, &self.peak].map(Bucket::burst_bytes);
        let checked = TrTcm::new(committed_bps, burst_bytes[0], peak_bps, burst_bytes[1])?;
        let mut marker = self.clone();
        marker.fill(now_ns);
        let (committed, peak) = (
            ("committed rate in bit/s", committed_bps),
            ("peak rate in bit/s", peak_bps),
        );
        Ok(TrTcm {
            committed: marker.committed.with_rate(committed)?,
            peak: marker.peak.with_rate(peak)?,
            clock: marker.clock,
            ..checked
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

        if before == DropPrecedence::Dp2 || !self.peak.take(bytes) {
            DropPrecedence::Dp2
        } else if before == DropPrecedence::Dp1 || !self.committed.take(bytes) {
            DropPrecedence::Dp1
        } else {
            DropPrecedence::Dp0
        }
    }

    /// Adds the tokens that are due.
    #[inline]
    fn fill(&mut self, now_ns: u64) {
        let elapsed_ns = self.clock.elapsed_ns(now_ns);
        self.committed.fill(elapsed_ns);
        self.peak.fill(elapsed_ns);
    }

    /// Returns the tokens in the committed and the peak bucket after the last packet, in bytes.
    pub fn tokens_bytes(&self) -> (f64, f64) {
        (self.committed.tokens_bytes(), self.peak.tokens_bytes())
    }

    /// Returns the colours of a smooth, well-mixed stream of `rate_bps` that arrives with the colours
    /// `before` ([`Fractions::GREEN`] for colour-blind mode).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate outside 0 to 1e18 bit/s or a fraction outside 0 to 1.
    pub fn fractions(&self, rate_bps: f64, before: Fractions) -> Result<Fractions, Error> {
        let [green_in, yellow_in, _] = arrival_rates(rate_bps, before)?;
        let asking = green_in + yellow_in;
        let within_peak = asking.min(self.peak_bps);
        let green_within = if asking > 0.0 {
            green_in * (within_peak / asking)
        } else {
            0.0
        };
        let green = green_within.min(self.committed_bps);
        Ok(fractions(rate_bps, green, within_peak - green))
    }
}
