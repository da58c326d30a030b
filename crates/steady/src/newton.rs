//! Inexact Newton's method with step halving; GMRES solves its linear equations as exactly as the
//! residual requires.

use crate::gmres::Gmres;
use crate::jacobian::{JacobianOperator, LinkTangents};
use crate::problem::Problem;
use crate::residual::NetworkState;

/// Largest change of an unknown in one step: a factor e² in load.
const LONGEST: f64 = 2.0;
/// Number of step halvings before the equations are damped instead.
const HALVINGS: usize = 6;
const MOST_PRODUCTS: usize = 400;
/// Parameters of [`Newton::relax`]: number of calls, steps per call, and relaxation factor.
const MOST_RELAXATIONS: usize = 8;
const RELAXATIONS: usize = 20;
const RELAXED: f64 = 0.3;

/// Work space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newton {
    pub residuals: Vec<f64>,
    diagonal: Vec<f64>,
    step: Vec<f64>,
    tried: Vec<f64>,
    tried_off: Vec<f64>,
    right: Vec<f64>,
    pub tangents: LinkTangents,
    pub gmres: Gmres,
}

/// Outcome of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewtonOutcome {
    /// Largest residual.
    pub residual: f64,
    pub rounds: usize,
    pub products: usize,
}

fn square(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().map(|x| x * x).sum();
    if sum.is_nan() { f64::INFINITY } else { sum }
}

pub(crate) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| match x.abs() {
        x if x.is_nan() => f64::INFINITY,
        x => x.max(most),
    })
}

impl Newton {
    pub fn new(problem: &Problem) -> Newton {
        let zeros = vec![0.0; problem.size()];
        Newton {
            residuals: zeros.clone(),
            diagonal: zeros.clone(),
            step: zeros.clone(),
            tried: zeros.clone(),
            tried_off: zeros.clone(),
            right: zeros,
            tangents: LinkTangents::new(problem),
            gmres: Gmres::default(),
        }
    }

    /// Iterates on `z` until no residual exceeds `tolerance`, or the maximum number of steps is
    /// reached. The point is left at `z`, evaluated with slopes.
    pub fn find(
        &mut self,
        problem: &Problem,
        point: &mut NetworkState,
        z: &mut [f64],
        tolerance: f64,
        most_rounds: usize,
    ) -> NewtonOutcome {
        let (mut damping, mut products, mut relaxed) = (0.0_f64, 0, 0);
        point.evaluate(problem, z, true, &mut self.residuals);
        let mut rounds = 0;
        loop {
            let residual = largest(&self.residuals);
            if residual <= tolerance || rounds >= most_rounds || !residual.is_finite() {
                return NewtonOutcome {
                    residual,
                    rounds,
                    products,
                };
            }
            rounds += 1;
            products += self.direction(problem, point, damping, residual);
            match self.advance(problem, point, z) {
                true => damping = if damping > 0.02 { damping * 0.2 } else { 0.0 },
                false if damping > 1e3 => {
                    if relaxed == MOST_RELAXATIONS {
                        return NewtonOutcome {
                            residual,
                            rounds,
                            products,
                        };
                    }
                    relaxed += 1;
                    damping = 0.0;
                    self.relax(problem, point, z);
                }
                false => {
                    damping = (4.0 * damping).max(0.5);
                    point.evaluate(problem, z, true, &mut self.residuals);
                }
            }
        }
    }

    /// Takes damped Jacobi steps where no Newton step reduces the residual, because derivatives are
    /// discontinuous in between. Each link moves part of the distance to its own equilibrium with
    /// all other links fixed.
    fn relax(&mut self, problem: &Problem, point: &mut NetworkState, z: &mut [f64]) {
        for _ in 0..RELAXATIONS {
            point.evaluate(problem, z, true, &mut self.residuals);
            JacobianOperator { problem, point }.diagonal(&mut self.diagonal);
            for ((z, residuals), d) in z.iter_mut().zip(&self.residuals).zip(&self.diagonal) {
                let step = RELAXED * residuals / d.abs().max(1.0);
                *z -= step.clamp(-RELAXED, RELAXED);
            }
        }
        point.evaluate(problem, z, true, &mut self.residuals);
    }

    /// Computes the Newton step, with the diagonal enlarged by the fraction `damping`.
    fn direction(
        &mut self,
        problem: &Problem,
        point: &NetworkState,
        damping: f64,
        residual: f64,
    ) -> usize {
        let linear = JacobianOperator { problem, point };
        linear.diagonal(&mut self.diagonal);
        let Newton {
            diagonal, tangents, ..
        } = self;
        for d in diagonal.iter_mut() {
            // The sign is arbitrary where a source's rate rises with the loss.
            *d = d.abs().max(0.1);
        }
        for (right, residuals) in self.right.iter_mut().zip(&self.residuals) {
            *right = -residuals;
        }
        let apply = |x: &[f64], out: &mut [f64]| {
            linear.apply(x, tangents, out);
            if damping > 0.0 {
                for ((out, x), d) in out.iter_mut().zip(x).zip(diagonal.iter()) {
                    *out += damping * d * x;
                }
            }
        };
        let scaled: Vec<f64> = diagonal.iter().map(|d| d * (1.0 + damping)).collect();
        let exact = (0.1 * residual).clamp(1e-9, 0.01);
        let solved = self.gmres.solve(
            apply,
            &scaled,
            &self.right,
            exact,
            MOST_PRODUCTS,
            &mut self.step,
        );
        solved.products
    }

    /// Moves along the step, halved until the residual falls; returns whether it did.
    fn advance(&mut self, problem: &Problem, point: &mut NetworkState, z: &mut [f64]) -> bool {
        let longest = largest(&self.step);
        if !longest.is_finite() {
            return false;
        }
        let before = square(&self.residuals);
        let mut part = (LONGEST / longest.max(1e-300)).min(1.0);
        for _ in 0..HALVINGS {
            for ((tried, z), step) in self.tried.iter_mut().zip(&*z).zip(&self.step) {
                *tried = z + part * step;
            }
            point.evaluate(problem, &self.tried, true, &mut self.tried_off);
            if square(&self.tried_off) < before * (1.0 - 1e-4 * part) {
                z.copy_from_slice(&self.tried);
                std::mem::swap(&mut self.residuals, &mut self.tried_off);
                return true;
            }
            part *= 0.5;
        }
        false
    }
}
