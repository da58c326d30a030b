//! Measured surfaces: throughputs on a grid of losses and round-trip times.

use netflow_units::math::{clamp, exp, ln};

use crate::axis::Axis;
use crate::error::{
    ProfileError, ensure, ensure_increasing, ensure_losses, ensure_rtt, ensure_window,
};
use crate::extrapolation::{
    Extrapolation, ExtrapolationLimit, clamp_derivative, constant_window_factor,
};
use crate::file::Definition;
use crate::profile::{BLOCK, SMALL_BLOCK};
use crate::{Domain, LogDerivatives, NumberLocation, Profile, Provenance};

/// Row of a grid: a loss probability and the throughput at every round-trip time.
#[derive(Debug, Clone, PartialEq)]
pub struct GridRow {
    /// Loss probability.
    pub loss: f64,
    /// Throughput in packets/s at each round-trip time.
    pub throughput_pps: Vec<f64>,
    /// Indices of the round-trip times that were not measured at this loss, in increasing order.
    /// Their throughputs were extrapolated from those measured, or computed by a formula. A lowest
    /// or highest row without any measurement is outside the domain.
    pub extrapolated: Vec<usize>,
}

/// Definition of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct GridSpec {
    /// Name in scenarios.
    pub name: String,
    /// One-line description of the measurement.
    pub description: String,
    /// Maximum window in packets, if the sender had one.
    pub window_pkts: Option<f64>,
    /// Amplitude of the window sawtooth; see [`Profile::sawtooth_amplitude`].
    pub sawtooth_amplitude: f64,
    /// Round-trip times in seconds, increasing.
    pub rtts_s: Vec<f64>,
    /// Rows, by increasing loss probability. There are no holes: cells that were not measured must
    /// be filled when the grid is made.
    pub rows: Vec<GridRow>,
}

/// Measured surface with an optional window limit.
///
/// Between grid points ln F is bilinear in (ln loss, ln rtt). The r.m.s. error of held-out rows of
/// the ns-2 surfaces is then 4.2 % (Reno). It is 5.0 % with √loss, and 6.2 % with the loss itself.
/// Below 1 % loss, these errors are 7, 10 and 13 %. For held-out round-trip times the error is
/// 4.0 % with ln rtt, and 6.4 % with rtt. About 3 % is the measurement's own noise.
///
/// Between loss 0 and the first positive loss p₁, 1/F² is linear in the loss:
/// 1/F² = (1 − p/p₁)/F₀² + (p/p₁)/F₁². This is the square-root law F ∝ p^(−1/2) if F is far below
/// F₀, and it approaches F₀ at p = 0. F₀ is the row measured at loss 0 if there is one, else W/rtt
/// if there is a window limit W. Without either, the domain begins at p₁, and below it the power
/// law of the lowest rows applies down to a loss of 1e-8. For ns-2's held-out row at 0.05 % loss the
/// r.m.s. error is 23 % (Reno; few losses were observed in that row). With ln F linear in the loss it
/// is a factor of 9.5. With a window of 64 packets it is 11 %.
///
/// Rows at the lowest or highest losses may contain only extrapolated rates. They are interpolated
/// as all others, but the domain ends before them. The grid of CUBIC has such rows, because its
/// exponent depends on the round-trip time.
///
/// Beyond the highest loss, the power law of the highest rows applies. At round-trip times outside
/// the grid, the window is that of the nearest one. Finally F ≤ W/rtt.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    spec: GridSpec,
    domain: Domain,
    /// Axis of ln loss, over the rows with a positive loss.
    losses: Axis,
    /// Axis of ln rtt.
    rtts: Axis,
    /// Cells, by loss, then round-trip time.
    cells: Vec<BilinearCell>,
    /// First positive loss, p₁.
    first_loss: f64,
    inverse_first_loss: f64,
    extrapolation: Extrapolation,
    /// True if any throughput of the rows was not measured.
    has_extrapolated: bool,
    lossless: Option<Lossless>,
    /// Window limit; infinite without one.
    window_pkts: f64,
}

/// Bilinear interpolation: ln F = base + t·(along + u·twist) + u·across, with the positions u in
/// the loss interval and t in the round-trip time interval, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BilinearCell {
    base: f64,
    across: f64,
    along: f64,
    twist: f64,
}

/// Throughput without loss, F₀.
#[derive(Debug, Clone, PartialEq)]
enum Lossless {
    /// W/rtt.
    Window(f64),
    /// Measured: ln F₀ = .0 + t·.1 per interval of the round-trip time.
    Row(Vec<(f64, f64)>),
}

/// Returns the indices of increasing values next to `x`: one, or the two that enclose it.
fn neighbours(values: impl Iterator<Item = f64>, x: f64) -> std::ops::RangeInclusive<usize> {
    let (mut below, mut above) = (0, None);
    for (i, value) in values.enumerate() {
        if value <= x {
            below = i;
        }
        if value >= x {
            above = Some(i);
            break;
        }
    }
    below..=above.unwrap_or(below)
}

impl Grid {
    /// Returns whether the interpolation at this point uses throughputs that were not measured.
    fn uses_extrapolated(&self, loss: f64, rtt_s: f64) -> bool {
        let columns = neighbours(self.spec.rtts_s.iter().copied(), rtt_s);
        let mut rows = neighbours(self.spec.rows.iter().map(|row| row.loss), loss);
        rows.any(|row| {
            let extended = &self.spec.rows[row].extrapolated;
            extended.iter().any(|column| columns.contains(column))
        })
    }

    /// Creates a grid from its rows.
    ///
    /// # Errors
    /// There are no rows or round-trip times, an axis does not increase, losses are outside 0 to 1,
    /// the only row is at loss 0, a row has the wrong length, or a value is not positive and
    /// finite.
    pub fn new(spec: GridSpec) -> Result<Self, ProfileError> {
        check(&spec)?;
        let measured_lossless = spec.rows.first().is_some_and(|row| row.loss == 0.0);
        let (without, lossy) = spec.rows.split_at(usize::from(measured_lossless));
        let (Some(first), Some(last)) = (lossy.first(), lossy.last()) else {
            return Err(ProfileError::Empty {
                place: NumberLocation::Rows,
                what: "rows with a positive loss",
            });
        };
        let losses = Axis::new(lossy.iter().map(|row| ln(row.loss)).collect());
        let rtts = Axis::new(spec.rtts_s.iter().map(|&rtt| ln(rtt)).collect());
        let logs: Vec<Vec<f64>> = lossy
            .iter()
            .map(|row| row.throughput_pps.iter().map(|&rate| ln(rate)).collect())
            .collect();

        let columns = spec.rtts_s.len();
        let mut cells = Vec::with_capacity(losses.intervals() * rtts.intervals());
        for i in 0..losses.intervals() {
            let (low, high) = (&logs[i], &logs[(i + 1).min(logs.len() - 1)]);
            for j in 0..rtts.intervals() {
                let k = (j + 1).min(columns - 1);
                let (base, across, along) = (low[j], high[j] - low[j], low[k] - low[j]);
                cells.push(BilinearCell {
                    base,
                    across,
                    along,
                    twist: high[k] - high[j] - along,
                });
            }
        }
        let lossless = match (without.first(), spec.window_pkts) {
            (Some(row), _) => {
                let logs: Vec<f64> = row.throughput_pps.iter().map(|&rate| ln(rate)).collect();
                let rise = |j: usize| logs[(j + 1).min(columns - 1)] - logs[j];
                Some(Lossless::Row(
                    (0..rtts.intervals()).map(|j| (logs[j], rise(j))).collect(),
                ))
            }
            (None, Some(window)) => Some(Lossless::Window(window)),
            (None, None) => None,
        };
        // The domain ends before rows without any measurement.
        let measured =
            |row: &&GridRow| (0..columns).any(|column| !row.extrapolated.contains(&column));
        let lowest = lossy.iter().find(measured).unwrap_or(first);
        let highest = lossy.iter().rev().find(measured).unwrap_or(last);
        let domain = Domain {
            loss_min: if lossless.is_some() { 0.0 } else { lowest.loss },
            loss_max: highest.loss,
            rtt_min_s: spec.rtts_s[0],
            rtt_max_s: spec.rtts_s[columns - 1],
        };
        let first_loss = first.loss;
        let rows: Vec<(f64, Vec<f64>)> = lossy.iter().map(|row| row.loss).zip(logs).collect();
        let extension = Extrapolation::fit_exponents(&rows, lossless.is_none());
        // Rounded up, so that s reaches 1 at the first loss itself.
        let inverse_first_loss = (1.0 / first_loss).next_up();
        let window_pkts = spec.window_pkts.unwrap_or(f64::INFINITY);
        let has_extended = spec.rows.iter().any(|row| !row.extrapolated.is_empty());
        Ok(Self {
            spec,
            domain,
            losses,
            rtts,
            cells,
            first_loss,
            inverse_first_loss,
            extrapolation: extension,
            has_extrapolated: has_extended,
            lossless,
            window_pkts,
        })
    }

    /// Returns the definition.
    pub fn spec(&self) -> &GridSpec {
        &self.spec
    }

    fn in_blocks<const N: usize>(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        let mut log_losses = [0.0; N];
        let mut log_rtts = [0.0; N];
        for ((out, loss), rtt_s) in out.chunks_mut(N).zip(loss.chunks(N)).zip(rtt_s.chunks(N)) {
            let n = out.len().min(loss.len()).min(rtt_s.len());
            self.evaluate(
                &loss[..n],
                &rtt_s[..n],
                &mut out[..n],
                &mut log_losses[..n],
                &mut log_rtts[..n],
            );
        }
    }

    /// Evaluates one block of slices of equal length. Logarithms, table look-ups and the rest are
    /// separate passes, so that the first and the last are vectorised.
    #[inline]
    fn evaluate(
        &self,
        loss: &[f64],
        rtt_s: &[f64],
        out: &mut [f64],
        log_losses: &mut [f64],
        log_rtts: &mut [f64],
    ) {
        let domain = self.domain;
        for (log_loss, &loss) in log_losses.iter_mut().zip(loss) {
            *log_loss = self.extrapolation.log_loss(loss);
        }
        for (log_rtt, &rtt_s) in log_rtts.iter_mut().zip(rtt_s) {
            *log_rtt = ln(clamp(rtt_s, domain.rtt_min_s, domain.rtt_max_s));
        }
        let logs = out.iter_mut().zip(&mut *log_losses).zip(&*log_rtts);
        match &self.lossless {
            None => {
                for ((out, log_loss), &log_rtt) in logs {
                    *out = self.log_rate(*log_loss, log_rtt).0;
                }
                for (out, &rtt_s) in out.iter_mut().zip(rtt_s) {
                    *out = self.limited_to_window(exp(*out), rtt_s);
                }
            }
            Some(Lossless::Window(window)) => {
                for ((out, log_loss), &log_rtt) in logs {
                    *out = self.log_rate(*log_loss, log_rtt).0;
                }
                let inverse_window = 1.0 / window;
                for ((out, &loss), &rtt_s) in out.iter_mut().zip(loss).zip(rtt_s) {
                    let (p, rtt) = domain.clamp(loss, rtt_s);
                    let rate = exp(*out);
                    *out = self.limited_to_window(
                        self.low_loss_interpolation(p, rate, rate * rtt * inverse_window),
                        rtt_s,
                    );
                }
            }
            Some(Lossless::Row(lossless)) => {
                for ((out, log_loss), &log_rtt) in logs {
                    let (log_rate, j, t) = self.log_rate(*log_loss, log_rtt);
                    let (low, rise) = lossless[j];
                    // The second slice contains ln F₀ from here on.
                    (*out, *log_loss) = (log_rate, low + t * rise);
                }
                for (((out, log_lossless), &loss), &rtt_s) in
                    out.iter_mut().zip(log_losses).zip(loss).zip(rtt_s)
                {
                    let p = clamp(loss, domain.loss_min, domain.loss_max);
                    let ratio = exp(*out - *log_lossless);
                    *out = self
                        .limited_to_window(self.low_loss_interpolation(p, exp(*out), ratio), rtt_s);
                }
            }
        }
    }

    /// Returns ln F at a round-trip time of the domain, with the interval of the round-trip time
    /// and the position in it; arguments are logarithms. Below the first positive loss it is that
    /// of the power law.
    #[inline]
    fn log_rate(&self, log_loss: f64, log_rtt: f64) -> (f64, usize, f64) {
        let (log_loss, beyond) = self.extrapolation.clamp_with_correction(log_loss);
        let (i, u) = self.losses.locate(log_loss);
        let (j, t) = self.rtts.locate(log_rtt);
        let cell = &self.cells[i * self.rtts.intervals() + j];
        (
            cell.base + t * (cell.along + u * cell.twist) + u * cell.across + beyond,
            j,
            t,
        )
    }

    /// Returns d ln F by the loss and by ln rtt within the axes, for the rows with a loss; and d ln
    /// F₀ by ln rtt.
    fn unlimited_slopes(&self, loss: f64, rtt_s: f64) -> ([f64; 2], f64) {
        let [by_loss, inside, beyond] = self.extrapolation.slopes(loss);
        let (log_loss, _) = self
            .extrapolation
            .clamp_with_correction(self.extrapolation.log_loss(loss));
        let (_, rtt) = self.domain.clamp(loss, rtt_s);
        let (i, u) = self.losses.locate(log_loss);
        let (j, t) = self.rtts.locate(ln(rtt));
        let cell = &self.cells[i * self.rtts.intervals() + j];
        let within = clamp_derivative(self.domain, rtt_s);
        let across = (cell.across + t * cell.twist) * self.losses.inverse_width(i);
        let along = (cell.along + u * cell.twist) * self.rtts.inverse_width(j) * within;
        let lossless = match &self.lossless {
            Some(Lossless::Row(rows)) => rows[j].1 * self.rtts.inverse_width(j) * within,
            Some(Lossless::Window(_)) => -within,
            None => 0.0,
        };
        let by_loss = by_loss * (across * inside + beyond);
        ([by_loss, along], lossless)
    }

    /// Returns ln(F₁/F₀) at this round-trip time.
    fn log_ratio(&self, lossless: &Lossless, rtt: f64) -> f64 {
        let log_first = ln(self.first_loss);
        let (log_rate, j, t) = self.log_rate(log_first, ln(rtt));
        match lossless {
            Lossless::Row(rows) => log_rate - (rows[j].0 + t * rows[j].1),
            Lossless::Window(window) => log_rate + ln(rtt) - ln(*window),
        }
    }

    /// Applies both rules without a branch on the loss: from the first positive loss on, s is 1 and
    /// the divisor is exactly 1. `rate` is F at that loss or beyond, `ratio` is F₁/F₀.
    #[inline(always)]
    fn low_loss_interpolation(&self, p: f64, rate: f64, ratio: f64) -> f64 {
        let s = clamp(p * self.inverse_first_loss, 0.0, 1.0);
        rate / (s + (1.0 - s) * (ratio * ratio)).sqrt()
    }

    /// Converts the rate at the domain's nearest round-trip time to the given one, and limits it to
    /// W/rtt. The bounds only matter for invalid round-trip times.
    #[inline(always)]
    fn limited_to_window(&self, rate: f64, rtt_s: f64) -> f64 {
        let rate = rate * constant_window_factor(self.domain, rtt_s);
        let most = self.window_pkts / clamp(rtt_s, f64::MIN_POSITIVE, f64::MAX);
        clamp(
            rate,
            f64::MIN_POSITIVE,
            clamp(most, f64::MIN_POSITIVE, f64::MAX),
        )
    }
}

fn check(spec: &GridSpec) -> Result<(), ProfileError> {
    if spec.rtts_s.is_empty() {
        return Err(ProfileError::Empty {
            place: NumberLocation::Rtts,
            what: "round-trip times",
        });
    }
    if spec.rows.is_empty() {
        return Err(ProfileError::Empty {
            place: NumberLocation::Rows,
            what: "rows",
        });
    }
    ensure_increasing(
        spec.rtts_s.iter().copied(),
        "round-trip times (s)",
        |column| NumberLocation::Rtt { column },
        ensure_rtt,
    )?;
    ensure_losses(spec.rows.iter().map(|row| row.loss))?;
    ensure_window(spec.window_pkts)?;
    ensure(
        (0.01..=100.0).contains(&spec.sawtooth_amplitude),
        NumberLocation::SawtoothAmplitude,
        "swing",
        spec.sawtooth_amplitude,
        "0.01 to 100",
    )?;
    for (row, it) in spec.rows.iter().enumerate() {
        let GridRow {
            throughput_pps,
            extrapolated: extended,
            ..
        } = it;
        if throughput_pps.len() != spec.rtts_s.len() {
            return Err(ProfileError::RowLength {
                place: NumberLocation::Row { row },
                found: throughput_pps.len(),
                wanted: spec.rtts_s.len(),
            });
        }
        let column = extended.iter().max().copied().unwrap_or(0);
        ensure(
            column < throughput_pps.len(),
            NumberLocation::Row { row },
            "extended round-trip time",
            column as f64,
            "one of the grid's",
        )?;
        for (column, &rate) in throughput_pps.iter().enumerate() {
            // The bounds keep squares of ratios finite.
            let good = (1e-60..=1e60).contains(&rate);
            let place = NumberLocation::Cell { row, column };
            ensure(
                good,
                place,
                "throughput (pkt/s)",
                rate,
                "above 0, 1e-60 to 1e60",
            )?;
        }
    }
    Ok(())
}

impl Profile for Grid {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn description(&self) -> &str {
        &self.spec.description
    }

    fn domain(&self) -> Domain {
        self.domain
    }

    fn throughput(&self, loss: f64, rtt_s: f64) -> f64 {
        if loss >= self.first_loss {
            // The divisor of the low-loss rule would be exactly 1.
            let (_, rtt) = self.domain.clamp(loss, rtt_s);
            let log_loss = self.extrapolation.log_loss(loss);
            return self.limited_to_window(exp(self.log_rate(log_loss, ln(rtt)).0), rtt_s);
        }
        let mut out = [0.0];
        self.evaluate(&[loss], &[rtt_s], &mut out, &mut [0.0], &mut [0.0]);
        out[0]
    }

    fn throughputs(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        if out.len() <= SMALL_BLOCK {
            self.in_blocks::<SMALL_BLOCK>(loss, rtt_s, out);
        } else {
            self.in_blocks::<BLOCK>(loss, rtt_s, out);
        }
    }

    fn provenance(&self, loss: f64, rtt_s: f64) -> Provenance {
        match ExtrapolationLimit::GRID.provenance(self.domain, loss, rtt_s) {
            Provenance::Measured
                if self.has_extrapolated && self.uses_extrapolated(loss, rtt_s) =>
            {
                Provenance::Extrapolated
            }
            rests_on => rests_on,
        }
    }

    fn log_derivatives(&self, loss: f64, rtt_s: f64) -> LogDerivatives {
        // Without losses F may equal W/rtt, and decrease from there.
        let aside = loss.max(0.0) + 1e-9 * self.first_loss;
        if self.throughput(aside, rtt_s) * rtt_s >= self.window_pkts * (1.0 - 1e-14) {
            return LogDerivatives {
                by_loss: 0.0,
                by_rtt: -1.0 / rtt_s,
            };
        }
        let ([mut by_loss, mut along], lossless) = self.unlimited_slopes(loss, rtt_s);
        if let Some(rows) = &self.lossless
            && loss < self.first_loss
        {
            // ln F = ln F₁ − ½ ln D, D = s + (1 − s) q, s = p/p₁, q = (F₁/F₀)²
            let (_, rtt) = self.domain.clamp(loss, rtt_s);
            let s = clamp(loss * self.inverse_first_loss, 0.0, 1.0);
            let q = exp(2.0 * self.log_ratio(rows, rtt));
            let divisor = s + (1.0 - s) * q;
            by_loss = if loss >= 0.0 {
                -0.5 * (1.0 - q) * self.inverse_first_loss / divisor
            } else {
                0.0
            };
            along -= (1.0 - s) * q * (along - lossless) / divisor;
        }
        let same_window = 1.0 - clamp_derivative(self.domain, rtt_s);
        LogDerivatives {
            by_loss,
            by_rtt: (along - same_window) / rtt_s,
        }
    }

    fn window_limit_pkts(&self) -> Option<f64> {
        self.spec.window_pkts
    }

    fn sawtooth_amplitude(&self) -> f64 {
        self.spec.sawtooth_amplitude
    }

    fn definition(&self) -> Option<Definition<'_>> {
        Some(Definition::Grid(self))
    }
}
