//! Least relative entropy under linear measurements.
//!
//! Source: Y. Zhang, M. Roughan, C. Lund, D. Donoho, An information-theoretic approach to traffic matrix estimation,
//! SIGCOMM 2003. Of all demands x ≥ 0 that fit the measurements y ≈ A x, it finds those closest to a prior p, by the
//! Kullback–Leibler divergence D(x | p) = Σ (x ln(x/p) − x + p). With the total T of the prior it minimizes
//!
//! f(x) = D(x | p) / T + Σ ((A x)ₗ − yₗ)² / (2 σ² T yₗ)
//!
//! for σ → 0. Then x reproduces consistent measurements. Inconsistent ones are fitted by weighted least squares. Newton's
//! equations are reduced to one unknown per measurement by the Sherman–Morrison–Woodbury formula.

use netflow_units::Csr;
use rayon::prelude::*;

use super::cholesky;

/// Values of σ: the first approaches the solution, the second fits consistent measurements to 10⁻⁷.
const COARSE: f64 = 1e-2;
const EXACT: f64 = 1e-4;

/// Expected decrease of the function, relative to its value, below which a solution with the first σ is near enough,
/// and below which one is exact up to rounding.
const COARSE_TOLERANCE: f64 = 1e-6;
const TOLERANCE: f64 = 1e-12;

/// Largest number of Newton steps for one σ. Measurements with random errors of 50 % need up to 120.
const MAX_STEPS: usize = 1000;

/// Demands x that are measured: sums of shares of them.
pub(super) struct Measured {
    /// For each demand the measurements of which it is part, with its share.
    pub(super) shares: Csr<(u32, f64)>,
    /// Measured values, above 0.
    pub(super) values: Vec<f64>,
}

/// How exactly measurements are fitted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    /// To about 1 %.
    Coarse,
    /// As far as they are consistent.
    Exact,
}

impl Measured {
    /// Returns the number of demands.
    fn demands(&self) -> usize {
        self.shares.rows()
    }

    /// Returns the measurements that these demands imply.
    pub(super) fn implied(&self, demands: &[f64]) -> Vec<f64> {
        let mut implied = vec![0.0; self.values.len()];
        for (demand, &rate) in demands.iter().enumerate() {
            for &(row, share) in self.shares.row(demand) {
                implied[row as usize] += share * rate;
            }
        }
        implied
    }

    /// Returns the sum of `values` over the measurements of each demand, weighted by its share.
    fn transposed(&self, values: &[f64]) -> Vec<f64> {
        let of_demand = |demand| {
            let shares = self.shares.row(demand).iter();
            shares
                .map(|&(row, share)| share * values[row as usize])
                .sum()
        };
        (0..self.demands()).map(of_demand).collect()
    }

    /// Returns the factor by which demands fit the measurements best.
    pub(super) fn best_scale(&self, demands: &[f64]) -> f64 {
        let relative = self.implied(demands).into_iter().zip(&self.values);
        let relative = relative.map(|(implied, value)| implied / value);
        let (sum, squares) = relative.fold((0.0, 0.0), |(sum, squares), it| {
            (sum + it, squares + it * it)
        });
        sum / squares
    }

    /// Returns the demands closest to the prior, starting from `start`; `None` if `stop` returns true, or if they were
    /// not found within the largest number of steps.
    pub(super) fn closest_to(
        &self,
        prior: &[f64],
        start: &[f64],
        precision: Precision,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<f64>, Unsolved> {
        let mut demands = start.to_vec();
        Objective::new(self, prior, COARSE).minimize(&mut demands, COARSE_TOLERANCE, stop)?;
        if precision == Precision::Exact {
            Objective::new(self, prior, EXACT).minimize(&mut demands, TOLERANCE, stop)?;
        }
        Ok(demands)
    }
}

/// Reason why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsolved {
    /// The caller stopped the computation.
    Stopped,
    /// Newton's iteration did not converge.
    NotConverged,
}

/// The function to minimize.
struct Objective<'a> {
    measured: &'a Measured,
    prior: &'a [f64],
    /// Total of the prior.
    total: f64,
    sigma: f64,
    /// Weight of the residual of each measurement: 1/√(T y).
    weights: Vec<f64>,
}

impl<'a> Objective<'a> {
    fn new(measured: &'a Measured, prior: &'a [f64], sigma: f64) -> Objective<'a> {
        let total: f64 = prior.iter().sum();
        let weights = measured.values.iter();
        Objective {
            measured,
            prior,
            total,
            sigma,
            weights: weights.map(|value| 1.0 / (total * value).sqrt()).collect(),
        }
    }

    /// Returns the weighted residuals of the measurements.
    fn residuals(&self, demands: &[f64]) -> Vec<f64> {
        let implied = self.measured.implied(demands).into_iter();
        let measured = self.measured.values.iter().zip(&self.weights);
        let residual = |(implied, (value, weight)): (f64, (&f64, &f64))| (value - implied) * weight;
        implied.zip(measured).map(residual).collect()
    }

    fn value(&self, demands: &[f64]) -> f64 {
        let divergence = demands.iter().zip(self.prior).map(|(&rate, &prior)| {
            let logarithm = if rate > 0.0 {
                libm::log(rate / prior)
            } else {
                0.0
            };
            rate * logarithm - rate + prior
        });
        let squares = self.residuals(demands).into_iter().map(|it| it * it);
        divergence.sum::<f64>() / self.total + squares.sum::<f64>() / (2.0 * self.sigma.powi(2))
    }

    /// Minimizes by Newton's method with a line search, in which demands stay positive.
    fn minimize(
        &self,
        demands: &mut Vec<f64>,
        tolerance: f64,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Unsolved> {
        let mut value = self.value(demands);
        for _ in 0..MAX_STEPS {
            if stop() {
                return Err(Unsolved::Stopped);
            }
            let (growth, decrease) = self.newton_step(demands);
            if decrease <= tolerance * value.max(1e-3) {
                return Ok(());
            }
            let mut length = 1.0;
            loop {
                let next = demands.iter().zip(&growth);
                let next = next.map(|(rate, growth)| rate * stay_positive(length * growth));
                let next: Vec<f64> = next.collect();
                let new_value = self.value(&next);
                if new_value <= value - 1e-4 * length * decrease {
                    (*demands, value) = (next, new_value);
                    break;
                }
                length /= 2.0;
                if length * decrease <= TOLERANCE * value {
                    // The rest is rounding error.
                    return Ok(());
                }
            }
        }
        Err(Unsolved::NotConverged)
    }

    /// Returns the relative change of each demand by a Newton step, and the decrease of the function per length of the
    /// step at its start.
    fn newton_step(&self, demands: &[f64]) -> (Vec<f64>, f64) {
        let rows = self.weights.len();
        let residuals = self.residuals(demands);
        let logarithms: Vec<f64> = demands
            .iter()
            .zip(self.prior)
            .map(|(rate, prior)| libm::log(rate.max(f64::MIN_POSITIVE) / prior))
            .collect();
        let mut matrix = self.measurement_matrix(demands);
        let pulls: Vec<f64> = demands
            .iter()
            .zip(&logarithms)
            .map(|(x, l)| x * l)
            .collect();
        let pulled = self.measured.implied(&pulls);
        let mut multipliers: Vec<f64> = (0..rows)
            .map(|row| residuals[row] + self.weights[row] * pulled[row])
            .collect();
        cholesky::solve(&mut matrix, &mut multipliers);
        let weighted = |values: &[f64]| -> Vec<f64> {
            values
                .iter()
                .zip(&self.weights)
                .map(|(a, b)| a * b)
                .collect()
        };
        let pushes = self.measured.transposed(&weighted(&multipliers));
        let gains = self.measured.transposed(&weighted(&residuals));
        let mut decrease = 0.0;
        let growth = (0..demands.len()).map(|i| {
            let growth = self.total * pushes[i] - logarithms[i];
            let slope = logarithms[i] / self.total - gains[i] / self.sigma.powi(2);
            decrease -= slope * demands[i] * growth;
            growth
        });
        let growth = growth.collect();
        (growth, decrease)
    }

    /// Returns T · W A diag(x) Aᵀ W + σ², of which only the lower triangle is computed.
    fn measurement_matrix(&self, demands: &[f64]) -> Vec<f64> {
        let rows = self.weights.len();
        let mut matrix = vec![0.0; rows * rows];
        for (demand, &rate) in demands.iter().enumerate() {
            let shares = self.measured.shares.row(demand);
            for (i, &(row, share)) in shares.iter().enumerate() {
                let factor = self.total * rate * share;
                for &(column, other) in &shares[..=i] {
                    matrix[row as usize * rows + column as usize] += factor * other;
                }
            }
        }
        let weights = &self.weights;
        matrix
            .par_chunks_mut(rows)
            .enumerate()
            .for_each(|(i, row)| {
                for (entry, weight) in row[..=i].iter_mut().zip(weights) {
                    *entry *= weights[i] * weight;
                }
                row[i] += self.sigma.powi(2);
            });
        matrix
    }
}

/// Returns 1 + x for a positive x, and exp(x) for a negative one, which has the same slope at 0 and stays positive.
fn stay_positive(x: f64) -> f64 {
    if x < 0.0 { libm::exp(x) } else { 1.0 + x }
}
