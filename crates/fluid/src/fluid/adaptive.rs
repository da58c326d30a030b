//! Adaptive step control by step doubling: one full step is compared with two half steps.
//!
//! The difference estimates the error of the first-order method. Local extrapolation (twice the half steps
//! minus the full step) cancels it. The extrapolated state is kept if all queues stay within their bounds.
//! All volumes are extrapolated in the same manner, so the balance is preserved.
//!
//! A step can be so long that both solutions jump over a transient and reach the same equilibrium. In that
//! case the queue moves in the first half step and not in the second. If a step resolves the dynamics, both
//! differences are equal (δ²N''/4 for backward Euler): that of the moves of the half steps and that of the
//! two solutions. Therefore the error estimate is the larger of the two.

use netflow_network::{Adaptive, RunError};

use super::Fluid;
use crate::engine::{Span, advance};
use crate::state::State;

impl Fluid {
    /// Takes one accepted step, which ends at `limit_s` at the latest.
    pub(super) fn take_adaptive_step(
        &mut self,
        Adaptive {
            tolerance,
            min_s,
            max_s,
        }: Adaptive,
        limit_s: f64,
    ) -> Result<(), RunError> {
        let mut trials = self
            .trial_states
            .take()
            .unwrap_or_else(|| Box::new((self.state.clone(), self.state.clone())));
        let (whole, halves) = &mut *trials;
        // Reported statistics are not part of the trial states.
        let told = std::mem::take(&mut self.state.told);
        let result = loop {
            let wanted_s = self.state.next_step_s.clamp(min_s, max_s);
            let left_s = limit_s - self.state.time_s;
            // Two equal steps are better than a long and a very short one.
            let length_s = if wanted_s >= left_s {
                left_s
            } else if 2.0 * wanted_s > left_s {
                0.5 * left_s
            } else {
                wanted_s
            };
            let start_s = self.state.time_s;
            let end_s = if length_s == left_s {
                limit_s
            } else {
                start_s + length_s
            };
            self.scratch
                .update_sources(&self.setup, &mut self.state, end_s);
            let bend = match self.try_full_and_half_steps(whole, halves, end_s) {
                Ok(bend) => bend,
                Err(e) => break Err(e),
            };
            let error = State::distance(whole, halves).max(bend) / tolerance;
            // Square root, because the error of one step grows with the square of its length.
            let factor = (0.9 / error.sqrt()).clamp(0.1, 4.0);
            if error <= 1.0 || length_s <= min_s * (1.0 + 1e-9) {
                let cut = length_s < wanted_s;
                halves.next_step_s = (length_s * factor).clamp(min_s, max_s);
                if cut && error <= 1.0 {
                    halves.next_step_s = halves.next_step_s.max(wanted_s);
                }
                halves.evaluations += 1; // the full step
                if self.setup.forwards_at_once(&self.state) {
                    halves.extrapolate(&self.state, whole, &self.setup.plan);
                }
                std::mem::swap(&mut self.state, halves);
                break Ok(());
            }
            self.state.evaluations += 3;
            self.state.next_step_s = length_s * factor;
        };
        self.state.told = told;
        self.trial_states = Some(trials);
        result
    }

    /// Computes the full step and the two half steps. Returns the difference between the moves of the half
    /// steps.
    fn try_full_and_half_steps(
        &mut self,
        whole: &mut State,
        halves: &mut State,
        end_s: f64,
    ) -> Result<f64, RunError> {
        let start_s = self.state.time_s;
        let middle_s = 0.5 * (start_s + end_s);
        let (setup, scratch) = (&*self.setup, &mut self.scratch);
        whole.clone_from(&self.state);
        advance(setup, whole, scratch, Span::new(start_s, middle_s))?;
        halves.clone_from(whole);
        advance(setup, halves, scratch, Span::new(middle_s, end_s))?;
        let bend = State::half_step_difference(&self.state, whole, halves);
        whole.clone_from(&self.state);
        advance(setup, whole, scratch, Span::new(start_s, end_s))?;
        Ok(bend)
    }
}
