//! Steady-state throughput formulas for long transfers: Mathis et al. and \[PFTK\].
//!
//! All return packets per second. They depend on the loss probability `loss`, the round-trip time `rtt_s`
//! in seconds and b, `segments_per_ack`. Formulas with timeouts also use the duration `timeout_s` of the
//! retransmission timer (T0). A window limit is in packets, and infinite without a limit. The formulas are
//! valid for paths that pass [`Path::check`].
//!
//! ```
//! use netflow_tcpmodel::steady::{Path, mathis};
//!
//! let path = Path { loss: 0.01, rtt_s: 0.1, timeout_s: 1.0, segments_per_ack: 2.0 };
//! path.check()?;
//! assert!((mathis(&path) - 86.6025).abs() < 1e-4);
//! # Ok::<(), netflow_tcpmodel::Error>(())
//! ```

use crate::Error;
use crate::error::ensure;

/// The path of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// The loss probability, above 0 and below 1.
    pub loss: f64,
    /// The round-trip time in seconds, above 0.
    pub rtt_s: f64,
    /// T0, the duration of the retransmission timer in seconds; not used by [`mathis`].
    pub timeout_s: f64,
    /// b, segments per acknowledgement, from 1 to 255.
    pub segments_per_ack: f64,
}

impl Path {
    /// Checks every number.
    ///
    /// # Errors
    /// A number is outside its allowed range.
    pub fn check(&self) -> Result<(), Error> {
        let Self {
            loss,
            rtt_s,
            timeout_s,
            segments_per_ack: b,
        } = *self;
        let good = (1e-15..1.0).contains(&loss);
        ensure(
            good,
            "loss probability",
            loss,
            "above 0 (1e-15) and below 1",
        )?;
        let good = (1e-9..=1e6).contains(&rtt_s);
        ensure(good, "round-trip time (s)", rtt_s, "1e-9 to 1e6 s")?;
        let good = (0.0..=1e6).contains(&timeout_s);
        ensure(good, "timeout (s)", timeout_s, "0 to 1e6 s")?;
        let good = (1.0..=255.0).contains(&b);
        ensure(good, "segments per acknowledgement", b, "1 to 255")
    }
}

/// Returns √(3/(2bp)) / rtt, in packets/s (Mathis, Semke, Mahdavi & Ott 1997).
pub fn mathis(path: &Path) -> f64 {
    (3.0 / (2.0 * path.segments_per_ack * path.loss)).sqrt() / path.rtt_s
}

/// Returns the rate of the approximate model without its window limit, in packets/s: \[PFTK\] eq. 30,
/// 1/(rtt·√(2bp/3) + T0·min(1, 3√(3bp/8))·p·(1 + 32p²)).
pub fn pftk_approximate(path: &Path) -> f64 {
    let (p, b) = (path.loss, path.segments_per_ack);
    let recovery_s = path.rtt_s * (2.0 * b * p / 3.0).sqrt();
    let timeouts_s =
        path.timeout_s * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (recovery_s + timeouts_s)
}

/// Returns the send rate of the full model, in packets/s, lost packets included: \[PFTK\] eq. 29, and eq.
/// 31 where the window limit applies.
pub fn pftk_send_rate(path: &Path, window_limit_pkts: f64) -> f64 {
    let period = Period::of(path, window_limit_pkts);
    let p = path.loss;
    let sent = (1.0 - p) / p + period.window_pkts + period.timeout_share / (1.0 - p);
    sent / period.length_s
}

/// Returns the throughput of the full model of \[PFTK\], in packets/s: the send rate with only the packets
/// that are received.
pub fn pftk_throughput(path: &Path, window_limit_pkts: f64) -> f64 {
    let period = Period::of(path, window_limit_pkts);
    let p = path.loss;
    let arrived = (1.0 - p) / p + period.window_pkts / 2.0 + period.timeout_share;
    arrived / period.length_s
}

/// Returns the mean window at a loss without a window limit, in packets: \[PFTK\] eq. 13.
pub fn pftk_window(path: &Path) -> f64 {
    let (p, b) = (path.loss, path.segments_per_ack);
    let c = (2.0 + b) / (3.0 * b);
    c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt()
}

/// Returns the probability that a loss in a window of `window_pkts` packets is detected by a timeout:
/// \[PFTK\] eq. 24.
pub(crate) fn timeout_share(loss: f64, window_pkts: f64) -> f64 {
    // 1 − (1−p)^n without cancellation at small p.
    let log_arrives = libm::log1p(-loss);
    let lost_among = |n: f64| -libm::expm1(n * log_arrives);
    let lost_of_three = lost_among(3.0);
    let found = lost_of_three * (1.0 + (1.0 - lost_of_three) * lost_among(window_pkts - 3.0));
    (found / lost_among(window_pkts)).min(1.0)
}

/// Returns the mean duration of a series of timeouts in units of the first: G(p)/(1−p) with G = 1 + p + 2p²
/// + 4p³ + 8p⁴ + 16p⁵ + 32p⁶, as in \[PFTK\] eq. 29.
pub(crate) fn timeout_series(loss: f64) -> f64 {
    let p = loss;
    let g = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
    g / (1.0 - p)
}

/// The period between two loss indications, including the timeouts after it.
struct Period {
    window_pkts: f64,
    timeout_share: f64,
    length_s: f64,
}

impl Period {
    fn of(path: &Path, limit: f64) -> Self {
        let unlimited = pftk_window(path);
        let (p, b) = (path.loss, path.segments_per_ack);
        let window_pkts = unlimited.min(limit);
        let round_trips = if unlimited < limit {
            b / 2.0 * window_pkts + 1.0
        } else {
            b / 8.0 * window_pkts + (1.0 - p) / (p * window_pkts) + 2.0
        };
        let timeout_share = timeout_share(p, window_pkts);
        let timeouts_s = timeout_share * path.timeout_s * timeout_series(p);
        Self {
            window_pkts,
            timeout_share,
            length_s: path.rtt_s * round_trips + timeouts_s,
        }
    }
}
