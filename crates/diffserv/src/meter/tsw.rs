//! Time sliding window rate estimator (RFC 2859 §3).

use crate::Error;
use crate::error::{ensure, ensure_rate};

/// Time sliding window estimator of the rate of a stream (RFC 2859 §3): avg ← (avg·W + B)/(now − `t_front` +
/// W). W is the averaging interval, and B is the packet size.
#[derive(Clone, Debug)]
pub struct Tsw {
    average_bps: f64,
    front_ns: u64,
    interval_s: f64,
}

impl Tsw {
    /// Returns an estimator that starts at `initial_bps` at `start_ns`. (RFC 2859 starts at the committed
    /// rate at time 0.)
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for a rate that is not within 0 to 1e18 bit/s, or an averaging
    /// interval that is not within 1 ns to 1e9 s.
    pub fn new(initial_bps: f64, interval_s: f64, start_ns: u64) -> Result<Tsw, Error> {
        ensure_rate("initial rate in bit/s", initial_bps)?;
        ensure_interval(interval_s)?;
        Ok(Tsw::starting(initial_bps, interval_s, start_ns))
    }

    /// Returns [`Tsw::new`] for values that have been checked.
    pub(crate) fn starting(initial_bps: f64, interval_s: f64, start_ns: u64) -> Tsw {
        Tsw {
            average_bps: initial_bps,
            front_ns: start_ns,
            interval_s,
        }
    }

    /// Adds a packet and returns the estimated rate in bit/s, including this packet.
    ///
    /// A time before that of the last packet is replaced by that of the last packet.
    #[inline]
    pub fn packet(&mut self, now_ns: u64, bytes: u32) -> f64 {
        let elapsed_ns = now_ns.saturating_sub(self.front_ns);
        self.front_ns += elapsed_ns;
        let in_window = self.average_bps * self.interval_s + 8.0 * f64::from(bytes);
        self.average_bps = in_window / (elapsed_ns as f64 / 1e9 + self.interval_s);
        self.average_bps
    }

    /// Returns the estimated rate in bit/s after the last packet.
    pub fn average_bps(&self) -> f64 {
        self.average_bps
    }
}

pub(crate) fn ensure_interval(interval_s: f64) -> Result<(), Error> {
    let good = (1e-9..=1e9).contains(&interval_s);
    ensure(good, "averaging interval in s", interval_s, "1e-9 to 1e9")
}
