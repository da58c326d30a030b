//! Smooth trend of conditions: ln F as a quadratic in (ln loss, ln rtt).

use nalgebra::{DMatrix, DVector};

/// Point to which the trend is fitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// ln loss and ln rtt.
    pub(super) at: [f64; 2],
    /// ln F.
    pub(super) value: f64,
    /// Standard error of the value.
    pub(super) error: f64,
}

/// Quadratic ln F ≈ c·(1, x, y, x², xy, y²), with x and y relative to the centre of the points.
///
/// It only moves values over short distances to grid points and fills holes; it is not the surface
/// itself.
#[derive(Debug, Clone)]
pub(super) struct Trend {
    middle: [f64; 2],
    coefficients: [f64; TERMS],
}

const TERMS: usize = 6;

/// Smallest standard error in the weights, because the quadratic itself is no more accurate.
const LEAST_ERROR: f64 = 0.03;

/// Number of reweighting iterations.
const ROUNDS: usize = 10;

impl Trend {
    /// Fits by weighted least squares, reweighted with Huber's function so that outliers count
    /// less. For an underdetermined system it takes the minimum-norm solution.
    pub(super) fn new(points: &[Point]) -> Trend {
        let count = points.len().max(1) as f64;
        let middle = [0, 1].map(|axis| points.iter().map(|p| p.at[axis]).sum::<f64>() / count);
        let mut trend = Trend {
            middle,
            coefficients: [0.0; TERMS],
        };
        // Curvature needs more than a handful of points.
        let terms = match points.len() {
            0..=2 => 1,
            3..=8 => 3,
            _ => TERMS,
        };
        let mut weights: Vec<f64> = points
            .iter()
            .map(|point| 1.0 / point.error.max(LEAST_ERROR))
            .collect();
        for _ in 0..ROUNDS {
            let matrix = DMatrix::from_fn(points.len(), terms, |i, j| {
                weights[i] * trend.basis(points[i].at)[j]
            });
            let values = DVector::from_fn(points.len(), |i, _| weights[i] * points[i].value);
            let Ok(solution) = matrix.svd(true, true).solve(&values, 1e-9) else {
                break;
            };
            for (coefficient, &found) in trend.coefficients.iter_mut().zip(solution.iter()) {
                *coefficient = found;
            }
            let residuals: Vec<f64> = points
                .iter()
                .map(|point| (point.value - trend.value(point.at)).abs())
                .collect();
            let scale = 1.4826 * median(&residuals);
            for ((weight, point), residual) in weights.iter_mut().zip(points).zip(&residuals) {
                let limit = 1.5 * scale.max(point.error).max(LEAST_ERROR);
                let huber = (limit / residual.max(limit)).sqrt();
                *weight = huber / point.error.max(LEAST_ERROR);
            }
        }
        trend
    }

    /// Returns ln F at a point.
    pub(super) fn value(&self, at: [f64; 2]) -> f64 {
        let terms = self.coefficients.iter().zip(self.basis(at));
        terms.map(|(coefficient, term)| coefficient * term).sum()
    }

    /// Returns ∂ ln F / ∂ ln loss at a point.
    pub(super) fn loss_slope(&self, at: [f64; 2]) -> f64 {
        let step = 1e-3;
        let moved = |by: f64| self.value([at[0] + by, at[1]]);
        (moved(step) - moved(-step)) / (2.0 * step)
    }

    fn basis(&self, at: [f64; 2]) -> [f64; TERMS] {
        let (x, y) = (at[0] - self.middle[0], at[1] - self.middle[1]);
        [1.0, x, y, x * x, x * y, y * y]
    }
}

/// Returns the median, or 0 for no values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        None => 0.0,
        Some(&high) if sorted.len() % 2 == 1 => high,
        Some(&high) => 0.5 * (sorted[middle - 1] + high),
    }
}
