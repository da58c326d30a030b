//! Extrapolation beyond the measured domain, by laws common to all TCP.
//!
//! | beyond | law | held out: error (r.m.s.) |
//! |---|---|---|
//! | lower loss | F ∝ p^(−a), a fitted to the rows from the lowest loss to twice that | 28 % over a factor of 20 (`ns-reno`, most at 1 ms), 20 % over 20 (`linux-cubic`) |
//! | the same, CUBIC | the windows of RFC 9438 at each round-trip time, as rows of the grid ([`extend_cubic`](crate::fit::extend_cubic)) | 10 % to 1e-6 from 5 to 600 ms, compared with packets |
//! | higher loss | F ∝ p^(−b), b fitted to the rows from two thirds of the highest loss on | 30 % over a factor of 1.25 (`ns-reno`), 96 % over 1.5 |
//! | shorter round-trip times | the same window: F ∝ 1/rtt | 7 % over a factor of 8 from 500 ms at losses to 5 % (`ns-reno`); 16 % over 8 from 10 ms at losses to 0.5 % (`linux-cubic`); with timeouts, as much as the factor itself (the shorter the round-trip time, the lower the loss at which they dominate) |
//! | longer ones | the same | 12 % over a factor of 3.3 (`ns-reno`), 81 % over 3 (`linux-cubic`, whose window grows with them) |
//!
//! One exponent serves all round-trip times. An exponent fitted to each round-trip time alone had
//! larger errors because of noise (13 to 26 % for `ns-reno`), and rates crossed far from the
//! measured domain. Away from the domain, rates never rise with the loss or the round-trip time,
//! and they are continuous at its edge. One exponent is not enough for CUBIC, whose exponent is 1/2
//! at short and 3/4 at long round-trip times. A test leaves out the outer cells of measured grids
//! and reports the extrapolation error.

use netflow_units::math::{clamp, ln};

use crate::error::{RTT_MAX_S, RTT_MIN_S};
use crate::{Domain, Provenance};

/// Loss below which no rate rises any more; such losses cannot be measured.
pub(crate) const MIN_LOSS: f64 = 1e-8;

/// Exponent of the square-root law, for tables with a single row.
const SQUARE_ROOT_EXPONENT: f64 = 0.5;

/// Range of fitted exponents at low loss: from 0 (limited by the window) to 1 (scalable TCP).
const LOW_EXPONENT_RANGE: (f64, f64) = (0.0, 1.0);
/// Range of fitted exponents at high loss, where timers back off.
const HIGH_EXPONENT_RANGE: (f64, f64) = (0.0, 10.0);

/// Factors from the outermost loss within which rows are used for a fit.
const LOW_SPAN: f64 = 2.0;
const HIGH_SPAN: f64 = 1.5;

/// Power laws of the loss on both sides of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extrapolation {
    low_loss_exponent: f64,
    high_loss_exponent: f64,
    log_first: f64,
    log_last: f64,
    /// Smallest loss that is distinguished.
    min_loss: f64,
}

impl Extrapolation {
    /// Fits the exponents to rows of increasing positive losses, each with the logarithms of its
    /// rates at the same round-trip times. Without `below`, nothing is extrapolated to lower
    /// losses, because the rates there are known otherwise.
    pub(crate) fn fit_exponents(rows: &[(f64, Vec<f64>)], below: bool) -> Self {
        let first = rows.first().map_or(1.0, |row| row.0);
        let last = rows.last().map_or(1.0, |row| row.0);
        // Rounding must not decide whether the row at twice the loss counts.
        let near_first = rows.partition_point(|row| row.0 <= LOW_SPAN * first * (1.0 + 1e-9));
        let near_last = rows.partition_point(|row| row.0 < last / HIGH_SPAN * (1.0 - 1e-9));
        let low = &rows[..near_first.max(2).min(rows.len())];
        let high = &rows[near_last.min(rows.len().saturating_sub(2))..];
        Self {
            low_loss_exponent: clamp(exponent(low), LOW_EXPONENT_RANGE.0, LOW_EXPONENT_RANGE.1),
            high_loss_exponent: clamp(exponent(high), HIGH_EXPONENT_RANGE.0, HIGH_EXPONENT_RANGE.1),
            log_first: ln(first),
            log_last: ln(last),
            min_loss: if below { first.min(MIN_LOSS) } else { first },
        }
    }

    /// Returns ln p, with p clamped to the range of the law.
    #[inline(always)]
    pub(crate) fn log_loss(&self, loss: f64) -> f64 {
        ln(clamp(loss, self.min_loss, 1.0))
    }

    /// Returns the nearest ln p among the rows, and the correction of ln F from there.
    #[inline(always)]
    pub(crate) fn clamp_with_correction(&self, log_loss: f64) -> (f64, f64) {
        let inside = clamp(log_loss, self.log_first, self.log_last);
        let below = clamp(self.log_first - log_loss, 0.0, f64::MAX);
        let above = clamp(log_loss - self.log_last, 0.0, f64::MAX);
        (
            inside,
            self.low_loss_exponent * below - self.high_loss_exponent * above,
        )
    }
}

impl Extrapolation {
    /// Returns right-sided derivatives: of [`log_loss`](Self::log_loss) by the loss, and of both
    /// results of [`clamp_with_correction`](Self::clamp_with_correction) by ln p.
    pub(crate) fn slopes(&self, loss: f64) -> [f64; 3] {
        if !(loss >= self.min_loss && loss < 1.0) {
            return [0.0; 3];
        }
        let log_loss = self.log_loss(loss);
        let [inside, beyond] = match log_loss {
            x if x < self.log_first => [0.0, -self.low_loss_exponent],
            x if x >= self.log_last => [0.0, -self.high_loss_exponent],
            _ => [1.0, 0.0],
        };
        [1.0 / loss, inside, beyond]
    }
}

/// Returns the derivative of ln(clamped rtt) by ln rtt, 1 or 0; outside, the rate varies as 1/rtt
/// because the window stays the same.
#[inline]
pub(crate) fn clamp_derivative(domain: Domain, rtt_s: f64) -> f64 {
    f64::from(u8::from(
        rtt_s >= domain.rtt_min_s && rtt_s < domain.rtt_max_s,
    ))
}

/// Computes −d ln F / d ln p over some rows by least squares, with a separate level for each
/// round-trip time.
fn exponent(rows: &[(f64, Vec<f64>)]) -> f64 {
    let n = rows.len() as f64;
    let mean_x = rows.iter().map(|row| ln(row.0)).sum::<f64>() / n;
    let (mut products, mut squares) = (0.0, 0.0);
    for column in 0..rows.first().map_or(0, |row| row.1.len()) {
        let mean_y = rows.iter().map(|row| row.1[column]).sum::<f64>() / n;
        for row in rows {
            let x = ln(row.0) - mean_x;
            products += x * (row.1[column] - mean_y);
            squares += x * x;
        }
    }
    if squares > 0.0 {
        -products / squares
    } else {
        SQUARE_ROOT_EXPONENT
    }
}

/// Returns the factor from the rate at the domain's nearest round-trip time to that of the same
/// window; exactly 1 inside.
#[inline(always)]
pub(crate) fn constant_window_factor(domain: Domain, rtt_s: f64) -> f64 {
    let rtt_s = clamp(rtt_s, RTT_MIN_S, RTT_MAX_S);
    clamp(rtt_s, domain.rtt_min_s, domain.rtt_max_s) / rtt_s
}

/// Distances from a domain within which extrapolated rates are usable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtrapolationLimit {
    /// Factors beyond the highest loss, below the shortest and above the longest round-trip time.
    pub above_loss: f64,
    pub below_rtt: f64,
    pub above_rtt: f64,
}

impl ExtrapolationLimit {
    /// Limits for measured grids, within which rates are correct to a factor of two.
    pub(crate) const GRID: Self = Self {
        above_loss: 1.25,
        below_rtt: 1.75,
        above_rtt: 2.0,
    };

    /// Limits for coefficients fitted to measurements that are no longer available, so that errors
    /// further out are unknown.
    pub(crate) const FIT: Self = Self {
        above_loss: 1.0,
        below_rtt: 2.0,
        above_rtt: 2.0,
    };

    /// Limits for formulas, which define their own domain.
    pub(crate) const FORMULA: Self = Self {
        above_loss: 1.0,
        below_rtt: 1.0,
        above_rtt: 1.0,
    };

    pub(crate) fn provenance(&self, domain: Domain, loss: f64, rtt_s: f64) -> Provenance {
        if domain.contains(loss, rtt_s) {
            return Provenance::Measured;
        }
        let usable = (0.0..=(domain.loss_max * self.above_loss).min(1.0)).contains(&loss)
            && (domain.rtt_min_s / self.below_rtt..=domain.rtt_max_s * self.above_rtt)
                .contains(&rtt_s);
        if usable {
            Provenance::Extrapolated
        } else {
            Provenance::Unreliable
        }
    }
}
