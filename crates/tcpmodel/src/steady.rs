//! How fast a long transfer is: formulas for the steady state.
//!
//! All give packets per second from the loss probability `loss` (above 0), the round-trip time
//! `rtt_s` in seconds, and, where timeouts count, the length `timeout_s` of the retransmission
//! timer (T0); `segments_per_ack` is b.
//!
//! ```
//! use netflow_tcpmodel::steady::{Path, cond_eq_3, mathis};
//!
//! let path = Path { loss: 0.01, rtt_s: 0.1, timeout_s: 1.0, segments_per_ack: 2.0 };
//! assert!((mathis(&path)? - 86.6025).abs() < 1e-4);
//! assert!((cond_eq_3(&path)? - 50.0).abs() < 1e-9);
//! # Ok::<(), netflow_tcpmodel::Error>(())
//! ```

use crate::Error;
use crate::error::ensure;

/// What a connection meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Loss probability: above 0 and below 1.
    pub loss: f64,
    /// Round-trip time in seconds; above 0.
    pub rtt_s: f64,
    /// Length of the retransmission timer, T0, in seconds; not used by [`mathis`] and
    /// [`cond_eq_2`].
    pub timeout_s: f64,
    /// Segments that an acknowledgement covers, b: 1 to 255; not used by \[Cond\].
    pub segments_per_ack: f64,
}

impl Path {
    pub(crate) fn check(&self) -> Result<(), Error> {
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

/// √(3/(2bp)) / rtt, in packets/s (Mathis, Semke, Mahdavi & Ott 1997).
///
/// # Errors
/// A number of the path is outside of what it may be.
pub fn mathis(path: &Path) -> Result<f64, Error> {
    path.check()?;
    Ok((3.0 / (2.0 * path.segments_per_ack * path.loss)).sqrt() / path.rtt_s)
}

/// 1/(rtt·√p), in packets/s: \[Cond\] eq. 2.
///
/// # Errors
/// A number of the path is outside of what it may be.
pub fn cond_eq_2(path: &Path) -> Result<f64, Error> {
    path.check()?;
    Ok(1.0 / (path.rtt_s * path.loss.sqrt()))
}

/// 1/(rtt·√p + T0·p), in packets/s: \[Cond\] eq. 3.
///
/// # Errors
/// A number of the path is outside of what it may be.
pub fn cond_eq_3(path: &Path) -> Result<f64, Error> {
    path.check()?;
    Ok(1.0 / (path.rtt_s * path.loss.sqrt() + path.timeout_s * path.loss))
}

/// The approximate model, in packets/s: \[PFTK\] eq. 30,
/// 1/(rtt·√(2bp/3) + T0·min(1, 3√(3bp/8))·p·(1 + 32p²)), at most the window limit over the
/// round-trip time.
///
/// # Errors
/// A number of the path is outside of what it may be, or the window limit below 1 packet.
pub fn pftk_approximate(path: &Path, window_limit_pkts: Option<f64>) -> Result<f64, Error> {
    path.check()?;
    let limit = checked_window(window_limit_pkts)?;
    let (p, b) = (path.loss, path.segments_per_ack);
    let recovery_s = path.rtt_s * (2.0 * b * p / 3.0).sqrt();
    let timeouts_s =
        path.timeout_s * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    Ok((limit / path.rtt_s).min(1.0 / (recovery_s + timeouts_s)))
}

/// The full model's send rate, in packets/s: \[PFTK\] eq. 29, and eq. 31 where the window limit holds;
/// what is lost counts.
///
/// # Errors
/// A number of the path is outside of what it may be, or the window limit below 1 packet.
pub fn pftk_send_rate(path: &Path, window_limit_pkts: Option<f64>) -> Result<f64, Error> {
    let period = Period::of(path, window_limit_pkts)?;
    let p = path.loss;
    let sent = (1.0 - p) / p + period.window_pkts + period.timeout_share / (1.0 - p);
    Ok(sent / period.length_s)
}

/// The full model's throughput, in packets/s that arrive: \[PFTK\], the send rate with the packets that
/// are received.
///
/// # Errors
/// A number of the path is outside of what it may be, or the window limit below 1 packet.
pub fn pftk_throughput(path: &Path, window_limit_pkts: Option<f64>) -> Result<f64, Error> {
    let period = Period::of(path, window_limit_pkts)?;
    let p = path.loss;
    let arrived = (1.0 - p) / p + period.window_pkts / 2.0 + period.timeout_share;
    Ok(arrived / period.length_s)
}

/// The mean window at a loss if nothing limits it, in packets: \[PFTK\] eq. 13.
///
/// # Errors
/// A number of the path is outside of what it may be.
pub fn pftk_window(path: &Path) -> Result<f64, Error> {
    path.check()?;
    let (p, b) = (path.loss, path.segments_per_ack);
    let c = (2.0 + b) / (3.0 * b);
    Ok(c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt())
}

/// The probability that a loss within a window of so many packets is found by a timeout:
/// \[PFTK\] eq. 24.
pub(crate) fn timeout_share(loss: f64, window_pkts: f64) -> f64 {
    // 1 − (1−p)^n without cancellation at small p.
    let log_arrives = (-loss).ln_1p();
    let lost_among = |n: f64| -(n * log_arrives).exp_m1();
    let lost_of_three = lost_among(3.0);
    let found = lost_of_three * (1.0 + (1.0 - lost_of_three) * lost_among(window_pkts - 3.0));
    (found / lost_among(window_pkts)).min(1.0)
}

/// The mean length of a series of timeouts in units of the first: G(p)/(1−p) with
/// G = 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶, as in \[PFTK\] eq. 29.
pub(crate) fn timeout_series(loss: f64) -> f64 {
    let p = loss;
    let g = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
    g / (1.0 - p)
}

/// What lies between two losses, and the timeouts that follow.
struct Period {
    window_pkts: f64,
    timeout_share: f64,
    length_s: f64,
}

impl Period {
    fn of(path: &Path, window_limit_pkts: Option<f64>) -> Result<Self, Error> {
        let limit = checked_window(window_limit_pkts)?;
        let unlimited = pftk_window(path)?;
        let (p, b) = (path.loss, path.segments_per_ack);
        let window_pkts = unlimited.min(limit);
        let round_trips = if unlimited < limit {
            b / 2.0 * window_pkts + 1.0
        } else {
            b / 8.0 * window_pkts + (1.0 - p) / (p * window_pkts) + 2.0
        };
        let timeout_share = timeout_share(p, window_pkts);
        let timeouts_s = timeout_share * path.timeout_s * timeout_series(p);
        Ok(Self {
            window_pkts,
            timeout_share,
            length_s: path.rtt_s * round_trips + timeouts_s,
        })
    }
}

fn checked_window(window_limit_pkts: Option<f64>) -> Result<f64, Error> {
    let limit = window_limit_pkts.unwrap_or(f64::INFINITY);
    ensure(
        limit >= 1.0,
        "window limit (packets)",
        limit,
        "1 packet or more",
    )?;
    Ok(limit)
}
