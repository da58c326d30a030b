//! Inverse of a TCP profile: the loss probability at which a window of given size is in equilibrium.
//!
//! A profile gives the rate F(p, R). The window in equilibrium is W = R F(p, R), and p*(W, R) is its inverse. A
//! table over (ln R, ln W) holds ln p*; the row of a round-trip time is computed at its first use. Where a
//! profile is not monotone, windows that the loss would raise count as slightly falling, so that the inverse
//! exists.

use std::sync::{Arc, OnceLock};

use netflow_profile::Profile;
use netflow_units::math::{exp, ln};

/// Range of round-trip times in the table, in seconds, and their number.
const RTT_RANGE_S: (f64, f64) = (1e-5, 20.0);
const RTTS: usize = 240;

/// Range of windows in the table, in packets, and their number.
const WINDOW_RANGE_PKTS: (f64, f64) = (0.02, 1e8);
const WINDOWS: usize = 480;

/// Range of losses at which the profile is evaluated, and their number.
const LOSS_RANGE: (f64, f64) = (2e-8, 0.95);
const LOSSES: usize = 600;

/// Smallest decrease of ln W from one loss to the next.
const MIN_DECREASE: f64 = 1e-5;

/// Bounds of −d ln W / d ln p below the smallest loss: that of Reno, and of a TCP whose rate is ∝ 1/p.
const SLOPE_BOUNDS: (f64, f64) = (0.45, 1.0);

/// The same above the largest loss, where timers dominate.
const SLOPE_AT_HIGH_LOSS: f64 = 2.0;

/// Table of ln p*(W, R).
#[derive(Clone, Debug)]
pub(crate) struct InverseProfile {
    profile: Arc<dyn Profile>,
    rtts: LogAxis,
    windows: LogAxis,
    /// One row for each round-trip time.
    rows: Vec<OnceLock<Row>>,
}

/// Logarithmic axis of the table.
#[derive(Clone, Copy, Debug)]
struct LogAxis {
    ln_first: f64,
    ln_last: f64,
    count: usize,
    steps_per_ln: f64,
}

impl LogAxis {
    fn new((first, last): (f64, f64), count: usize) -> LogAxis {
        let (ln_first, ln_last) = (ln(first), ln(last));
        LogAxis {
            ln_first,
            ln_last,
            count,
            steps_per_ln: (count - 1) as f64 / (ln_last - ln_first),
        }
    }

    /// Returns the interval that contains a value, and the position in it from 0 to 1.
    fn position(&self, value: f64) -> (usize, f64) {
        let x = (ln(value) - self.ln_first) * self.steps_per_ln;
        let x = x.clamp(0.0, (self.count - 1) as f64 - 1e-9);
        (x as usize, x - (x as usize) as f64)
    }

    /// Returns ln of the value at each position.
    fn ln_values(&self) -> impl Iterator<Item = f64> {
        let LogAxis {
            ln_first,
            ln_last,
            count,
            ..
        } = *self;
        (0..count).map(move |i| ln_first + (ln_last - ln_first) * i as f64 / (count - 1) as f64)
    }
}

/// Values for one round-trip time.
#[derive(Clone, Debug, Default)]
struct Row {
    /// ln p* at each window.
    ln_losses: Box<[f64]>,
    /// ln of the window in packets without loss.
    ln_lossless_window: f64,
}

/// Profile around a window: p*, and the window without loss in packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InversePoint {
    pub loss: f64,
    pub lossless_window_pkts: f64,
}

impl InverseProfile {
    /// Creates the table of a profile.
    pub fn new(profile: Arc<dyn Profile>) -> InverseProfile {
        InverseProfile {
            profile,
            rtts: LogAxis::new(RTT_RANGE_S, RTTS),
            windows: LogAxis::new(WINDOW_RANGE_PKTS, WINDOWS),
            rows: vec![OnceLock::new(); RTTS],
        }
    }

    /// Computes the row of round-trip time `i`.
    fn row(&self, i: usize) -> Row {
        let Some(ln_rtt) = self.rtts.ln_values().nth(i) else {
            return Row::default();
        };
        let ln_losses: Vec<f64> = LogAxis::new(LOSS_RANGE, LOSSES).ln_values().collect();
        let losses: Vec<f64> = ln_losses.iter().map(|&x| exp(x)).collect();
        let rtts_s = vec![exp(ln_rtt); LOSSES];
        let mut rates_pps = vec![0.0; LOSSES];
        self.profile.throughputs(&losses, &rtts_s, &mut rates_pps);
        let mut windows: Vec<f64> = rates_pps.iter().map(|&pps| ln(pps) + ln_rtt).collect();
        for j in 1..LOSSES {
            windows[j] = windows[j].min(windows[j - 1] - MIN_DECREASE);
        }
        // The slope of the two lowest decades.
        let (first, last) = (ln_losses[0], ln_losses[LOSSES - 1]);
        let per_loss = (last - first) / (LOSSES - 1) as f64;
        let decades = ln(100.0);
        let two_decades = (decades / per_loss) as usize;
        let low =
            ((windows[0] - windows[two_decades]) / decades).clamp(SLOPE_BOUNDS.0, SLOPE_BOUNDS.1);
        let ln_loss = self.windows.ln_values().map(|x| {
            if x >= windows[0] {
                first - (x - windows[0]) / low
            } else if x <= windows[LOSSES - 1] {
                (last + (windows[LOSSES - 1] - x) / SLOPE_AT_HIGH_LOSS).min(0.0)
            } else {
                let j = windows.partition_point(|&window| window > x);
                let part = (windows[j - 1] - x) / (windows[j - 1] - windows[j]);
                ln_losses[j - 1] + part * per_loss
            }
        });
        let lossless_pps = self.profile.throughput(0.0, exp(ln_rtt));
        Row {
            ln_losses: ln_loss.collect(),
            ln_lossless_window: ln(lossless_pps.min(f64::MAX)) + ln_rtt,
        }
    }

    /// Returns the profile at a round-trip time.
    fn at_rtt(&self, rtt_s: f64) -> AtRtt<'_> {
        let (i, part) = self.rtts.position(rtt_s);
        let [below, above] = [i, i + 1].map(|i| self.rows[i].get_or_init(|| self.row(i)));
        AtRtt {
            windows: self.windows,
            below,
            above,
            part,
        }
    }

    /// Returns p*, the loss probability in equilibrium at this window in packets and round-trip time, and the window
    /// without loss.
    pub fn at(&self, window_pkts: f64, rtt_s: f64) -> InversePoint {
        let at_rtt = self.at_rtt(rtt_s);
        InversePoint {
            loss: at_rtt.loss(window_pkts),
            lossless_window_pkts: at_rtt.lossless_window_pkts(),
        }
    }

    /// Returns p*, corrected such that the window in equilibrium at the loss probability `loss` is exactly that of the
    /// profile: interpolation in the table has errors of up to 1 %.
    pub fn at_loss(&self, window_pkts: f64, rtt_s: f64, loss: f64) -> InversePoint {
        if loss < LOSS_RANGE.0 {
            return self.at(window_pkts, rtt_s);
        }
        let at_rtt = self.at_rtt(rtt_s);
        let in_equilibrium_pkts = rtt_s * self.profile.throughput(loss, rtt_s);
        let interpolated = at_rtt.loss(in_equilibrium_pkts);
        let correction = (loss / interpolated).clamp(0.5, 2.0);
        InversePoint {
            loss: (at_rtt.loss(window_pkts) * correction).min(1.0),
            lossless_window_pkts: at_rtt.lossless_window_pkts(),
        }
    }
}

/// Rows of the table next to a round-trip time, and the position between them from 0 to 1.
struct AtRtt<'a> {
    windows: LogAxis,
    below: &'a Row,
    above: &'a Row,
    part: f64,
}

impl AtRtt<'_> {
    fn between(&self, below: f64, above: f64) -> f64 {
        exp(below + (above - below) * self.part)
    }

    fn loss(&self, window_pkts: f64) -> f64 {
        let (j, b) = self.windows.position(window_pkts);
        let of_window =
            |row: &Row| row.ln_losses[j] + (row.ln_losses[j + 1] - row.ln_losses[j]) * b;
        self.between(of_window(self.below), of_window(self.above))
    }

    fn lossless_window_pkts(&self) -> f64 {
        self.between(self.below.ln_lossless_window, self.above.ln_lossless_window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window at p*(W, R) is W, where the profile is monotone.
    #[test]
    fn loss_of_a_window_gives_the_window() {
        for name in ["ns-reno", "linux-cubic", "mathis", "pftk-full"] {
            let profile = netflow_profile::builtin(name).unwrap();
            let inverse = InverseProfile::new(profile.clone());
            let mut worst: f64 = 0.0;
            for rtt_s in [0.011, 0.034, 0.107, 0.3] {
                for window_pkts in [3.3, 10.0, 31.0, 99.0] {
                    let loss = inverse.at(window_pkts, rtt_s).loss;
                    let again_pkts = profile.throughput(loss, rtt_s) * rtt_s;
                    worst = worst.max((again_pkts / window_pkts - 1.0).abs());
                }
            }
            assert!(worst < 0.01, "{name}: {worst}");
        }
    }
}
