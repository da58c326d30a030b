//! Deterministic markers with token buckets (RFC 2697, RFC 2698).

mod srtcm;
mod trtcm;

pub use srtcm::SrTcm;
pub use trtcm::TrTcm;

use crate::{Error, Fractions, error::ensure_rate};

/// Returns the arrival rate of each colour in bit/s.
fn arrival_rates(rate_bps: f64, before: Fractions) -> Result<[f64; 3], Error> {
    ensure_rate("rate in bit/s", rate_bps)?;
    for part in before.to_array() {
        let good = (0.0..=1.0).contains(&part);
        crate::error::ensure(good, "fraction of a colour", part, "0 to 1")?;
    }
    let sum = before.to_array().iter().sum::<f64>();
    let whole = (sum - 1.0).abs() <= 1e-9;
    crate::error::ensure(whole, "sum of the fractions of the colours", sum, "1")?;
    Ok(before.to_array().map(|part| part * rate_bps))
}

/// Returns the colour fractions of a stream with `green_bps` green and `yellow_bps` yellow.
fn fractions(rate_bps: f64, green_bps: f64, yellow_bps: f64) -> Fractions {
    if rate_bps <= 0.0 {
        return Fractions::GREEN;
    }
    // Rounding can make either slightly negative.
    let [dp0, dp1] = [green_bps, yellow_bps].map(|part| (part / rate_bps).max(0.0));
    Fractions {
        dp0,
        dp1,
        dp2: (1.0 - dp0 - dp1).max(0.0),
    }
}
