//! Inexact Newton's method with step halving; GMRES solves its linear equations as exactly as the
//! residual requires.

use crate::gmres::Gmres;
use crate::jacobian::{JacobianOperator, LinkTangents};
use crate::problem::Problem;
use crate::residual::NetworkState;

/// Largest change of an unknown in one step: a factor e² in load.
const MAX_STEP: f64 = 2.0;
/// Number of step halvings before the equations are damped instead.
const MAX_HALVINGS: usize = 6;
const MAX_PRODUCTS: usize = 400;
/// Parameters of [`Newton::relax`]: number of calls, steps per call, and relaxation factor.
const MAX_RELAXATIONS: usize = 8;
const RELAXATION_STEPS: usize = 20;
const RELAXATION_FACTOR: f64 = 0.3;

/// Work space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newton {
    pub residuals: Vec<f64>,
    diagonal: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    trial_residuals: Vec<f64>,
    rhs: Vec<f64>,
    pub tangents: LinkTangents,
    pub gmres: Gmres,
}

/// Outcome of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewtonOutcome {
    /// Largest residual.
    pub residual: f64,
    pub newton_steps: usize,
    pub products: usize,
}

fn norm_squared(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().map(|x| x * x).sum();
    if sum.is_nan() { f64::INFINITY } else { sum }
}

pub(crate) fn max_norm(x: &[f64]) -> f64 {
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
            trial: zeros.clone(),
            trial_residuals: zeros.clone(),
            rhs: zeros,
            tangents: LinkTangents::new(problem),
            gmres: Gmres::default(),
        }
    }

    /// Iterates on `z` until no residual exceeds `tolerance`, or the maximum number of steps is
    /// reached. The point is left at `z`, evaluated with slopes.
    pub fn solve(
        &mut self,
        problem: &Problem,
        point: &mut NetworkState,
        z: &mut [f64],
        tolerance: f64,
        max_steps: usize,
    ) -> NewtonOutcome {
        let (mut damping, mut products, mut relaxed) = (0.0_f64, 0, 0);
        point.evaluate(problem, z, true, &mut self.residuals);
        let mut rounds = 0;
        loop {
            let residual = max_norm(&self.residuals);
            if residual <= tolerance || rounds >= max_steps || !residual.is_finite() {
                return NewtonOutcome {
                    residual,
                    newton_steps: rounds,
                    products,
                };
            }
            rounds += 1;
            products += self.compute_step(problem, point, damping, residual);
            match self.line_search(problem, point, z) {
                true => damping = if damping > 0.02 { damping * 0.2 } else { 0.0 },
                false if damping > 1e3 => {
                    if relaxed == MAX_RELAXATIONS {
                        return NewtonOutcome {
                            residual,
                            newton_steps: rounds,
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
        for _ in 0..RELAXATION_STEPS {
            point.evaluate(problem, z, true, &mut self.residuals);
            JacobianOperator { problem, point }.diagonal(&mut self.diagonal);
            for ((z, residuals), d) in z.iter_mut().zip(&self.residuals).zip(&self.diagonal) {
                let step = RELAXATION_FACTOR * residuals / d.abs().max(1.0);
                *z -= step.clamp(-RELAXATION_FACTOR, RELAXATION_FACTOR);
            }
        }
        point.evaluate(problem, z, true, &mut self.residuals);
    }

    /// Computes the Newton step, with the diagonal enlarged by the fraction `damping`.
    fn compute_step(
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
        for (right, residuals) in self.rhs.iter_mut().zip(&self.residuals) {
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
            &self.rhs,
            exact,
            MAX_PRODUCTS,
            &mut self.step,
        );
        solved.products
    }

    /// Moves along the step, halved until the residual falls; returns whether it did.
    fn line_search(&mut self, problem: &Problem, point: &mut NetworkState, z: &mut [f64]) -> bool {
        let longest = max_norm(&self.step);
        if !longest.is_finite() {
            return false;
        }
        let before = norm_squared(&self.residuals);
        let mut part = (MAX_STEP / longest.max(1e-300)).min(1.0);
        for _ in 0..MAX_HALVINGS {
            for ((tried, z), step) in self.trial.iter_mut().zip(&*z).zip(&self.step) {
                *tried = z + part * step;
            }
            point.evaluate(problem, &self.trial, true, &mut self.trial_residuals);
            if norm_squared(&self.trial_residuals) < before * (1.0 - 1e-4 * part) {
                z.copy_from_slice(&self.trial);
                std::mem::swap(&mut self.residuals, &mut self.trial_residuals);
                return true;
            }
            part *= 0.5;
        }
        false
    }
}
