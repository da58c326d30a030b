//! Exact token buckets: time in whole nanoseconds, rates in whole bit/s, packets in whole bytes.

use crate::Error;
use crate::error::{MAX_BPS, ensure};

/// Tokens per byte. A rate of 1 bit/s adds one token per nanosecond, so nothing is rounded.
const PER_BYTE: u64 = 8 * 1_000_000_000;

/// Largest burst in bytes. Two buckets of this size and a packet still fit in 64 bits of tokens.
const MAX_BURST_BYTES: u64 = 1_000_000_000;

/// Token bucket with a constant rate and a limit.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate_bps: u64,
    limit: u64,
    tokens: u64,
}

impl Bucket {
    /// Returns a full bucket. The names appear in error messages.
    pub fn new(
        (rate_name, rate_bps): (&'static str, u64),
        (burst_name, burst_bytes): (&'static str, u64),
    ) -> Result<Bucket, Error> {
        let rate = rate_bps as f64;
        ensure(rate <= MAX_BPS, rate_name, rate, "0 to 1e18")?;
        let good = burst_bytes <= MAX_BURST_BYTES;
        ensure(good, burst_name, burst_bytes as f64, "0 to 1e9")?;
        let limit = burst_bytes * PER_BYTE;
        Ok(Bucket {
            rate_bps,
            limit,
            tokens: limit,
        })
    }

    /// Adds the tokens of `elapsed_ns` and returns the overflow.
    ///
    /// A product above 64 bits saturates, which fills any two buckets.
    #[inline]
    pub fn fill(&mut self, elapsed_ns: u64) -> u64 {
        self.add(self.rate_bps.saturating_mul(elapsed_ns))
    }

    /// Adds tokens and returns the overflow.
    #[inline]
    pub fn add(&mut self, tokens: u64) -> u64 {
        let added = tokens.min(self.limit - self.tokens);
        self.tokens += added;
        tokens - added
    }

    /// Takes the tokens of `bytes` bytes and returns true, or returns false if there are too few.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> bool {
        let wanted = u64::from(bytes).saturating_mul(PER_BYTE);
        let there = self.tokens >= wanted;
        if there {
            self.tokens -= wanted;
        }
        there
    }

    /// Returns the time in ns until `bytes` bytes can be taken, or until the bucket is full if they never can.
    #[inline]
    pub fn wait_ns(&self, bytes: u32) -> u64 {
        let wanted = u64::from(bytes).saturating_mul(PER_BYTE).min(self.limit);
        let missing = wanted.saturating_sub(self.tokens);
        match missing.checked_div(self.rate_bps) {
            Some(_) => missing.div_ceil(self.rate_bps),
            None if missing == 0 => 0,
            None => u64::MAX,
        }
    }

    /// Takes the tokens of `bytes` bytes, or all if there are fewer.
    #[inline]
    pub fn take_all(&mut self, bytes: u32) {
        let wanted = u64::from(bytes).saturating_mul(PER_BYTE);
        self.tokens -= wanted.min(self.tokens);
    }

    pub fn tokens_bytes(&self) -> f64 {
        self.tokens as f64 / PER_BYTE as f64
    }

    /// Returns its limit in bytes.
    pub fn burst_bytes(&self) -> u64 {
        self.limit / PER_BYTE
    }

    /// Returns a bucket with the same tokens and another rate.
    pub fn with_rate(&self, rate: (&'static str, u64)) -> Result<Bucket, Error> {
        let bucket = Bucket::new(rate, ("burst in B", self.burst_bytes()))?;
        Ok(Bucket {
            tokens: self.tokens,
            ..bucket
        })
    }
}

/// Time of the last token update.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenClock {
    last_ns: u64,
}

impl TokenClock {
    /// Returns the time since the last call, or 0 if the time went back.
    #[inline]
    pub fn elapsed_ns(&mut self, now_ns: u64) -> u64 {
        let elapsed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns += elapsed_ns;
        elapsed_ns
    }
}

/// Token bucket: the bytes that the rate allows conform, plus a burst (RFC 2475 §2.3.3).
///
/// ```
/// use netflow_diffserv::TokenBucket;
///
/// let mut bucket = TokenBucket::new(8000, 1500)?; // 1000 B/s
/// assert!(bucket.conforms(0, 1000));
/// assert!(!bucket.conforms(0, 1000));
/// assert!(!bucket.conforms(499_999_999, 1000)); // a token short of 1000 B
/// assert!(bucket.conforms(500_000_000, 1000));
/// # Ok::<(), netflow_diffserv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenBucket {
    bucket: Bucket,
    clock: TokenClock,
}

impl TokenBucket {
    /// Returns a full bucket of `burst_bytes` that fills at `rate_bps` bit/s.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate above 1e18 bit/s or a burst above 1e9 bytes.
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Result<TokenBucket, Error> {
        let bucket = Bucket::new(("rate in bit/s", rate_bps), ("burst in B", burst_bytes))?;
        Ok(TokenBucket {
            bucket,
            clock: TokenClock::default(),
        })
    }

    /// Returns true and takes the tokens if a packet of `bytes` bytes conforms at this time.
    ///
    /// A time before that of the last packet is replaced by that of the last packet.
    #[inline]
    pub fn conforms(&mut self, now_ns: u64, bytes: u32) -> bool {
        let elapsed_ns = self.clock.elapsed_ns(now_ns);
        self.bucket.fill(elapsed_ns);
        self.bucket.take(bytes)
    }

    /// Returns the time in ns from `now_ns` on at which a packet of `bytes` bytes first conforms. A packet larger than the
    /// burst waits for a full bucket.
    #[inline]
    pub fn conforms_at_ns(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let elapsed_ns = self.clock.elapsed_ns(now_ns);
        self.bucket.fill(elapsed_ns);
        now_ns.saturating_add(self.bucket.wait_ns(bytes))
    }

    /// Takes the tokens of a packet of `bytes` bytes that is sent at this time.
    #[inline]
    pub fn send(&mut self, now_ns: u64, bytes: u32) {
        let elapsed_ns = self.clock.elapsed_ns(now_ns);
        self.bucket.fill(elapsed_ns);
        self.bucket.take_all(bytes);
    }

    /// Returns its rate in bit/s.
    pub fn rate_bps(&self) -> u64 {
        self.bucket.rate_bps
    }

    /// Returns the tokens in the bucket after the last packet, in bytes.
    pub fn tokens_bytes(&self) -> f64 {
        self.bucket.tokens_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s and 3000 B: two packets of 1500 B pass at once, then one each 1.5 ms.
    #[test]
    fn shaped_packets_leave_at_the_rate_after_the_burst() {
        let mut bucket = TokenBucket::new(8_000_000, 3000).unwrap();
        let mut now_ns = 0;
        let starts_ns: Vec<u64> = (0..5)
            .map(|_| {
                now_ns = bucket.conforms_at_ns(now_ns, 1500);
                bucket.send(now_ns, 1500);
                now_ns
            })
            .collect();
        assert_eq!(starts_ns, [0, 0, 1_500_000, 3_000_000, 4_500_000]);
        // After 1 s the bucket is full, not more.
        now_ns = bucket.conforms_at_ns(1_000_000_000, 3000);
        bucket.send(now_ns, 3000);
        assert_eq!(bucket.conforms_at_ns(now_ns, 1), now_ns + 1000);
    }

    #[test]
    fn a_packet_larger_than_the_burst_waits_for_a_full_bucket() {
        let mut bucket = TokenBucket::new(8000, 1000).unwrap();
        assert_eq!(bucket.conforms_at_ns(0, 1500), 0);
        bucket.send(0, 1500);
        assert_eq!(bucket.conforms_at_ns(0, 1500), 1_000_000_000);
    }
}
