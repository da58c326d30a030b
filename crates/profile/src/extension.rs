//! Beyond the measured domain: what is known of every TCP takes over.
//!
//! | beyond | law | held out: error (r.m.s.) |
//! |---|---|---|
//! | lower loss | F ∝ p^(−a), a fitted to the rows from the lowest loss to twice that | 28 % over a factor of 20 (`ns-reno`, most at 1 ms), 20 % over 20 (`linux-cubic`) |
//! | the same, CUBIC | the windows of RFC 9438 at each round-trip time, as rows of the grid ([`extend_cubic`](crate::fit::extend_cubic)) | 10 % to 1e-6 from 5 to 600 ms, compared with packets |
//! | higher loss | F ∝ p^(−b), b fitted to the rows from two thirds of the highest loss on | 30 % over a factor of 1.25 (`ns-reno`), 96 % over 1.5 |
//! | shorter round-trip times | the same window: F ∝ 1/rtt | 7 % over a factor of 8 from 500 ms at losses to 5 % (`ns-reno`); 16 % over 8 from 10 ms at losses to 0.5 % (`linux-cubic`); where timeouts set the pace, which is at ever lower losses the shorter they are, as much as the factor |
//! | longer ones | the same | 12 % over a factor of 3.3 (`ns-reno`), 81 % over 3 (`linux-cubic`, whose window grows with them) |
//!
//! One exponent serves all round-trip times: fitted to each by itself, noise made the errors larger
//! (13 to 26 % for `ns-reno`), and rates that cross far from where they were measured. Rates never
//! rise with the loss nor with the round-trip time on the way out, and are continuous at the edge.
//! That is not enough for CUBIC, whose exponent is 1/2 at short and 3/4 at long round-trip times.
//! A test leaves out the outer cells of measured grids and says how far the rest, extended, is off.

use netflow_units::math::{ln, within};

use crate::error::{RTT_MAX_S, RTT_MIN_S};
use crate::{Domain, ProfileUse};

/// No rate rises any more below this loss, which nobody can measure.
pub(crate) const LEAST_LOSS: f64 = 1e-8;

/// The exponent of the square-root law, for what has a single row.
const SQUARE_ROOT: f64 = 0.5;

/// Exponents that a fit may give at the low end: from a window that the loss does not reach to a
/// scalable TCP.
const LOW: (f64, f64) = (0.0, 1.0);
/// And at the high end, where timers back off.
const HIGH: (f64, f64) = (0.0, 10.0);

/// The rows that count for a fit are within these factors of the outermost.
const LOW_SPAN: f64 = 2.0;
const HIGH_SPAN: f64 = 1.5;

/// Power laws in the loss on both sides of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extension {
    low: f64,
    high: f64,
    log_first: f64,
    log_last: f64,
    /// The lowest loss that anything is told apart from.
    least: f64,
}

impl Extension {
    /// Of rows with positive losses, increasing, and the logarithms of their rates at some
    /// round-trip times, which are the same for all. Without `below` there is no way further down:
    /// what happens below the first loss is known otherwise.
    pub(crate) fn fitted(rows: &[(f64, Vec<f64>)], below: bool) -> Self {
        let first = rows.first().map_or(1.0, |row| row.0);
        let last = rows.last().map_or(1.0, |row| row.0);
        // Rounding must not decide whether the row at twice the loss counts.
        let near_first = rows.partition_point(|row| row.0 <= LOW_SPAN * first * (1.0 + 1e-9));
        let near_last = rows.partition_point(|row| row.0 < last / HIGH_SPAN * (1.0 - 1e-9));
        let low = &rows[..near_first.max(2).min(rows.len())];
        let high = &rows[near_last.min(rows.len().saturating_sub(2))..];
        Self {
            low: within(exponent(low), LOW.0, LOW.1),
            high: within(exponent(high), HIGH.0, HIGH.1),
            log_first: ln(first),
            log_last: ln(last),
            least: if below { first.min(LEAST_LOSS) } else { first },
        }
    }

    /// ln p of a loss, moved to where there is a law for it.
    #[inline(always)]
    pub(crate) fn log_loss(&self, loss: f64) -> f64 {
        ln(within(loss, self.least, 1.0))
    }

    /// The nearest ln p among the rows, and what has to be added to ln F there.
    #[inline(always)]
    pub(crate) fn split(&self, log_loss: f64) -> (f64, f64) {
        let inside = within(log_loss, self.log_first, self.log_last);
        let below = within(self.log_first - log_loss, 0.0, f64::MAX);
        let above = within(log_loss - self.log_last, 0.0, f64::MAX);
        (inside, self.low * below - self.high * above)
    }
}

impl Extension {
    /// d ln p of [`log_loss`](Self::log_loss) by the loss, and of what [`split`](Self::split) makes of
    /// it d(nearest) and d(added) by ln p: in the region to the right.
    pub(crate) fn slopes(&self, loss: f64) -> [f64; 3] {
        if !(loss >= self.least && loss < 1.0) {
            return [0.0; 3];
        }
        let log_loss = self.log_loss(loss);
        let [inside, beyond] = match log_loss {
            x if x < self.log_first => [0.0, -self.low],
            x if x >= self.log_last => [0.0, -self.high],
            _ => [1.0, 0.0],
        };
        [1.0 / loss, inside, beyond]
    }
}

/// d ln of the round-trip time's nearest one in the domain, by ln rtt; what remains to one is lost
/// by the window that stays the same.
#[inline]
pub(crate) fn inside_slope(domain: Domain, rtt_s: f64) -> f64 {
    f64::from(u8::from(
        rtt_s >= domain.rtt_min_s && rtt_s < domain.rtt_max_s,
    ))
}

/// −d ln F / d ln p over some rows by least squares, each round-trip time with a level of its own.
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
        SQUARE_ROOT
    }
}

/// By what a rate at the nearest round-trip time of the domain is multiplied for its window to be
/// the same; exactly 1 inside.
#[inline(always)]
pub(crate) fn same_window(domain: Domain, rtt_s: f64) -> f64 {
    let rtt_s = within(rtt_s, RTT_MIN_S, RTT_MAX_S);
    within(rtt_s, domain.rtt_min_s, domain.rtt_max_s) / rtt_s
}

/// How far from a domain what is extended can be used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// Factors beyond the highest loss, below the shortest and beyond the longest round-trip time.
    pub above_loss: f64,
    pub below_rtt: f64,
    pub above_rtt: f64,
}

impl Reach {
    /// Of measured grids: rates there are within a factor of two of the truth.
    pub(crate) const GRID: Self = Self {
        above_loss: 1.25,
        below_rtt: 1.75,
        above_rtt: 2.0,
    };

    /// Of coefficients fitted to measurements that are gone: nobody can say how good they are
    /// further out.
    pub(crate) const FIT: Self = Self {
        above_loss: 1.0,
        below_rtt: 2.0,
        above_rtt: 2.0,
    };

    /// Of formulas, which say themselves where they end.
    pub(crate) const FORMULA: Self = Self {
        above_loss: 1.0,
        below_rtt: 1.0,
        above_rtt: 1.0,
    };

    pub(crate) fn of(&self, domain: Domain, loss: f64, rtt_s: f64) -> ProfileUse {
        if domain.contains(loss, rtt_s) {
            return ProfileUse::Measured;
        }
        let usable = (0.0..=(domain.loss_max * self.above_loss).min(1.0)).contains(&loss)
            && (domain.rtt_min_s / self.below_rtt..=domain.rtt_max_s * self.above_rtt)
                .contains(&rtt_s);
        if usable {
            ProfileUse::Extended
        } else {
            ProfileUse::NotUsable
        }
    }
}
