//! Power-law surfaces: \[Prof\] eqs. 2 and 3.

use netflow_units::math::{clamp, exp, ln};

use crate::axis::Axis;
use crate::domain::clamp_to_positive;
use crate::error::{ProfileError, ensure, ensure_losses, ensure_rtt};
use crate::extrapolation::{Extrapolation, clamp_derivative, constant_window_factor};
use crate::file::Definition;
use crate::profile::{BLOCK, SMALL_BLOCK};
use crate::{Domain, LogDerivatives, NumberLocation, Profile};

/// Row of a power law's table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerLawRow {
    /// Loss probability.
    pub loss: f64,
    /// Exponent A.
    pub a: f64,
    /// Factor B, for round-trip times in ms and throughput in packets/ms.
    pub b: f64,
}

/// Definition of a power law.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerLawSpec {
    /// Name in scenarios.
    pub name: String,
    /// One-line description of the measurement.
    pub description: String,
    /// A and B by increasing loss.
    pub rows: Vec<PowerLawRow>,
    /// Coefficient of rtt·loss in the exponent (rtt in ms): 0 in \[Prof\] eq. 2, 1e-4 in eq. 3.
    pub loss_rtt_exponent: f64,
    /// Shortest round-trip time of the domain in seconds.
    pub rtt_min_s: f64,
    /// Longest round-trip time of the domain in seconds.
    pub rtt_max_s: f64,
}

/// Power law F = B·rtt^(−A − c·rtt·loss), rtt in ms and F in packets/ms. A and B are linear in the
/// loss between the rows of a table (\[Prof\] eq. 2 with c = 0; eq. 3 with c = 1e-4).
///
/// Beyond the table's losses, a power of the loss fitted to its outermost rows applies. Beyond its
/// round-trip times, the window is that of the nearest one. The coefficients themselves are not
/// used there, because they were not fitted to that range.
///
/// Eq. 3 is printed with exponent A − 10⁻⁴·rtt·loss. Only the sign used here agrees with the
/// paper's text and figures.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerLaw {
    spec: PowerLawSpec,
    losses: Axis,
    cells: Vec<LossInterval>,
    domain: Domain,
    /// Extrapolation to losses outside the table; `None` if no row has a positive loss.
    extrapolation: Option<Extrapolation>,
}

/// A and B at the start of a loss interval, and their increase over it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LossInterval {
    a: f64,
    a_rise: f64,
    b: f64,
    b_rise: f64,
}

impl PowerLaw {
    /// Creates a power law from its table.
    ///
    /// # Errors
    /// There are no rows, losses are outside 0 to 1 or do not increase, |A| is above 100, B is not
    /// positive or beyond 1e±100, or the range of round-trip times is empty or not positive.
    pub fn new(spec: PowerLawSpec) -> Result<Self, ProfileError> {
        let (Some(first), Some(last)) = (spec.rows.first(), spec.rows.last()) else {
            return Err(ProfileError::Empty {
                place: NumberLocation::Rows,
                what: "rows",
            });
        };
        let domain = Domain {
            loss_min: first.loss,
            loss_max: last.loss,
            rtt_min_s: spec.rtt_min_s,
            rtt_max_s: spec.rtt_max_s,
        };
        ensure_losses(spec.rows.iter().map(|row| row.loss))?;
        for (row, &PowerLawRow { a, b, .. }) in spec.rows.iter().enumerate() {
            ensure(
                (-100.0..=100.0).contains(&a),
                NumberLocation::Exponent { row },
                "exponent a",
                a,
                "-100 to 100",
            )?;
            ensure(
                (1e-100..=1e100).contains(&b),
                NumberLocation::Factor { row },
                "factor b",
                b,
                "above 0, 1e-100 to 1e100",
            )?;
        }
        let c = spec.loss_rtt_exponent;
        ensure(
            (-1.0..=1.0).contains(&c),
            NumberLocation::LossRttExponent,
            "coefficient of rtt·loss",
            c,
            "-1 to 1",
        )?;
        ensure_rtt(spec.rtt_min_s, NumberLocation::RttMin)?;
        ensure_rtt(spec.rtt_max_s, NumberLocation::RttMax)?;
        if spec.rtt_max_s < spec.rtt_min_s {
            return Err(ProfileError::NotIncreasing {
                place: NumberLocation::RttMax,
                what: "round-trip times (s)",
                value: spec.rtt_max_s,
                before: spec.rtt_min_s,
            });
        }
        let losses = Axis::new(spec.rows.iter().map(|row| row.loss).collect());
        let next = spec.rows.iter().skip(1).chain(std::iter::once(last));
        let cells = spec
            .rows
            .iter()
            .zip(next)
            .take(losses.intervals())
            .map(|(row, next)| LossInterval {
                a: row.a,
                a_rise: next.a - row.a,
                b: row.b,
                b_rise: next.b - row.b,
            })
            .collect();
        let mut law = Self {
            spec,
            losses,
            cells,
            domain,
            extrapolation: None,
        };
        let rows: Vec<(f64, Vec<f64>)> = law
            .spec
            .rows
            .iter()
            .filter(|row| row.loss > 0.0)
            .map(|row| {
                let at = |rtt_s| ln(law.throughput(row.loss, rtt_s));
                (row.loss, vec![at(domain.rtt_min_s), at(domain.rtt_max_s)])
            })
            .collect();
        if !rows.is_empty() {
            law.extrapolation = Some(Extrapolation::fit_exponents(&rows, domain.loss_min > 0.0));
        }
        Ok(law)
    }

    /// Returns the definition.
    pub fn spec(&self) -> &PowerLawSpec {
        &self.spec
    }

    /// Returns A and B at a loss probability: linear between the rows, and clamped to them.
    #[inline]
    pub fn coefficients(&self, loss: f64) -> (f64, f64) {
        let (i, t) = self
            .losses
            .locate(clamp(loss, self.domain.loss_min, self.domain.loss_max));
        let cell = self.cells[i];
        (cell.a + t * cell.a_rise, cell.b + t * cell.b_rise)
    }

    /// Evaluates blocks in separate passes of logarithms, table look-ups and exponentials, so that
    /// the first and the last are vectorised.
    fn in_blocks<const N: usize>(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        let Domain {
            loss_min,
            loss_max,
            rtt_min_s,
            rtt_max_s,
        } = self.domain;
        let mut logs = [0.0; N];
        let mut rtts_ms = [0.0; N];
        for ((out, loss), rtt_s) in out.chunks_mut(N).zip(loss.chunks(N)).zip(rtt_s.chunks(N)) {
            let n = out.len().min(loss.len()).min(rtt_s.len());
            let (out, logs, rtts_ms) = (&mut out[..n], &mut logs[..n], &mut rtts_ms[..n]);
            for ((log, rtt_ms), &rtt_s) in logs.iter_mut().zip(&mut *rtts_ms).zip(rtt_s) {
                *rtt_ms = clamp(rtt_s, rtt_min_s, rtt_max_s) * 1000.0;
                *log = ln(*rtt_ms);
            }
            for (((out, log), &loss), &rtt_ms) in
                out.iter_mut().zip(&mut *logs).zip(loss).zip(&*rtts_ms)
            {
                (*out, *log) = self.factor_and_log(clamp(loss, loss_min, loss_max), rtt_ms, *log);
            }
            for (((out, &log), &loss), &rtt_s) in out.iter_mut().zip(&*logs).zip(loss).zip(rtt_s) {
                *out = self.extrapolated_rate(*out, log, loss, rtt_s);
            }
        }
    }

    /// Computes the rate from B and the logarithm of the power at the nearest point of the domain.
    #[inline(always)]
    fn extrapolated_rate(&self, factor: f64, log: f64, loss: f64, rtt_s: f64) -> f64 {
        let beyond = match &self.extrapolation {
            Some(extension) if !(loss <= self.domain.loss_max && loss >= self.domain.loss_min) => {
                extension.clamp_with_correction(extension.log_loss(loss)).1
            }
            _ => 0.0,
        };
        clamp_to_positive(factor * exp(log + beyond) * constant_window_factor(self.domain, rtt_s))
    }

    /// Returns B in packets/s, and −(A + c·rtt·loss)·ln rtt, for a point within the domain.
    #[inline]
    fn factor_and_log(&self, loss: f64, rtt_ms: f64, log_rtt: f64) -> (f64, f64) {
        let (i, t) = self.losses.locate(loss);
        let cell = &self.cells[i];
        let exponent = cell.a + t * cell.a_rise + self.spec.loss_rtt_exponent * rtt_ms * loss;
        (1000.0 * (cell.b + t * cell.b_rise), -exponent * log_rtt)
    }
}

impl Profile for PowerLaw {
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
        let (nearest_loss, nearest_s) = self.domain.clamp(loss, rtt_s);
        let rtt_ms = nearest_s * 1000.0;
        let (factor, log) = self.factor_and_log(nearest_loss, rtt_ms, ln(rtt_ms));
        self.extrapolated_rate(factor, log, loss, rtt_s)
    }

    fn throughputs(&self, loss: &[f64], rtt_s: &[f64], out: &mut [f64]) {
        if out.len() <= SMALL_BLOCK {
            self.in_blocks::<SMALL_BLOCK>(loss, rtt_s, out);
        } else {
            self.in_blocks::<BLOCK>(loss, rtt_s, out);
        }
    }

    /// ln F = ln B − (A + c·rtt·p) ln rtt, A and B linear in p.
    fn log_derivatives(&self, loss: f64, rtt_s: f64) -> LogDerivatives {
        let (p, nearest_s) = self.domain.clamp(loss, rtt_s);
        let rtt_ms = nearest_s * 1000.0;
        let (i, t) = self.losses.locate(p);
        let (cell, per_loss) = (&self.cells[i], self.losses.inverse_width(i));
        let c = self.spec.loss_rtt_exponent;
        let by_loss = if loss >= self.domain.loss_min && loss < self.domain.loss_max {
            let b = cell.b + t * cell.b_rise;
            let exponent = cell.a_rise * per_loss + c * rtt_ms;
            cell.b_rise * per_loss / b - exponent * ln(rtt_ms)
        } else {
            self.extrapolation.as_ref().map_or(0.0, |extension| {
                let [by_loss, _, beyond] = extension.slopes(loss);
                by_loss * beyond
            })
        };
        let exponent = cell.a + t * cell.a_rise + c * rtt_ms * p;
        let within = clamp_derivative(self.domain, rtt_s);
        let by_ln_rtt = -exponent - c * rtt_ms * p * ln(rtt_ms);
        LogDerivatives {
            by_loss,
            by_rtt: (within * by_ln_rtt - (1.0 - within)) / rtt_s,
        }
    }

    fn definition(&self) -> Option<Definition<'_>> {
        Some(Definition::PowerLaw(self))
    }
}
