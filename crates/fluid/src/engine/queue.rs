//! One queue over one step: backward Euler for the conservative fluid equation.
//!
//! N, B and U are explicit functions of x = ln ρ (pointwise-stationary M/M/1/K). The state at the end of a
//! step of length δ solves
//!
//! > N(x) + δ (μ U(x) − λ (1 − D(x))) = N₀,  1 − D = (1 − B(x)) (1 − R(x))
//!
//! where R is the fraction dropped [early](super::aqm_law) (0 for drop-tail). The left side increases with x if
//! the arrivals λ do not increase with the queue. The root is then unique, and 0 ≤ N < K for any δ.

use super::aqm_law::EarlyDropStep;
use crate::mm1k::{Equilibrium, equilibrium};
use crate::tcp_drop_tail::{DropTailTcpLaw, Mm1kBufferDerivatives};
use netflow_units::math::{exp, ln};
use serde::{Deserialize, Serialize};

/// Loss probability that counts as zero: one packet in 10¹².
pub(crate) const NEGLIGIBLE_LOSS: f64 = 1e-12;

/// Number of packets that counts as zero; its inverse would overflow.
pub(crate) const MIN_PKTS: f64 = 1e-200;

/// ln ρ of an empty queue.
pub(crate) const EMPTY_LN_RHO: f64 = -700.0;

/// Relative change of the queue in a step (of the queue plus one packet) above which the step is divided, and
/// the number of parts.
const MAX_RELATIVE_CHANGE: f64 = 0.2;
pub(crate) const SUBSTEPS: u32 = 4;
pub(crate) const SUBSTEP_FRACTION: f64 = 1.0 / SUBSTEPS as f64;

/// Fraction of the service capacity that an overfull queue must use, which keeps its load finite.
const MIN_CAPACITY_USE: f64 = 0.99;

/// Bounds of ln ρ in the search: beyond them a queue is empty or full to full precision.
const LOAD_BOUNDS: (f64, f64) = (-700.0, 700.0);

/// Distance up to which a tangent serves, relative to the queue or to its free space, whichever is less.
const TANGENT_REACH: f64 = 0.03;

/// Utilization and loss of a drop-tail queue near a solution, as linear functions of its mean length. They replace the
/// evaluation of the law in most steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LawTangent {
    /// Hash of the queue model.
    model: u64,
    buffer_pkts: f64,
    queue_pkts: f64,
    ln_rho: f64,
    utilization: f64,
    refused: f64,
    by_queue: LawSlopes,
    /// Largest distance from `queue_pkts` at which it serves; 0 if there is no tangent.
    reach_pkts: f64,
}

/// Derivatives of a queue law with respect to its mean length in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LawSlopes {
    pub ln_rho: f64,
    pub utilization: f64,
    pub refused: f64,
}

/// Returns a loss probability, or 0 if it is negligible.
fn without_negligible_loss(loss: f64) -> f64 {
    if loss < NEGLIGIBLE_LOSS { 0.0 } else { loss }
}

impl LawTangent {
    /// Returns the tangent at a solution of a drop-tail queue.
    pub fn at(solution: &QueueSolution, buffer_pkts: f64, model: u64) -> LawTangent {
        let reach_pkts = if solution.by_queue.ln_rho > 0.0 {
            TANGENT_REACH * solution.queue_pkts.min(buffer_pkts - solution.queue_pkts)
        } else {
            0.0
        };
        LawTangent {
            model,
            buffer_pkts,
            queue_pkts: solution.queue_pkts,
            ln_rho: solution.ln_rho,
            utilization: solution.utilization,
            refused: solution.refused,
            by_queue: solution.by_queue,
            reach_pkts,
        }
    }

    /// Solves a step with the tangent; `None` if the queue or its buffer leaves the reach. The square of the distance is
    /// at most proportional to the change in the step, so that a queue in steady state has no error.
    #[inline]
    pub fn solve(&self, step: &QueueStep, arriving_pkts: f64, model: u64) -> Option<QueueSolution> {
        if self.reach_pkts <= 0.0 || self.model != model {
            return None;
        }
        let (at, by) = (self.queue_pkts, &self.by_queue);
        let slope = 1.0 + step.service_pkts * by.utilization + arriving_pkts * by.refused;
        let moved = (step.before_pkts - at - step.service_pkts * self.utilization
            + arriving_pkts * (1.0 - self.refused))
            / slope;
        let queue_pkts = at + moved;
        let change_pkts = (queue_pkts - step.before_pkts).abs();
        let far_pkts = moved.abs() + (step.buffer_pkts() - self.buffer_pkts).abs();
        let scale_pkts = self.reach_pkts / TANGENT_REACH;
        let serves = far_pkts <= self.reach_pkts
            && far_pkts * far_pkts <= scale_pkts * (change_pkts + 1e-12 * scale_pkts);
        serves.then(|| QueueSolution {
            ln_rho: self.ln_rho + by.ln_rho * moved,
            queue_pkts,
            utilization: (self.utilization + by.utilization * moved).clamp(0.0, 1.0),
            refused: without_negligible_loss(self.refused + by.refused * moved).min(1.0),
            by_queue: self.by_queue,
            ..QueueSolution::default()
        })
    }
}

/// Queue over one step: everything that does not depend on the solution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueStep {
    /// Buffer size in packets of the present mean size.
    pub room_pkts: f64,
    /// ρ below which the buffer limit has no effect ([`light_rho`]).
    pub light_rho: f64,
    /// Packets at the start of the step.
    pub before_pkts: f64,
    /// Packets served in the step if never idle, δμ.
    pub service_pkts: f64,
    /// ln ρ at the start of the step, where the search begins.
    pub guess: f64,
    pub early: Option<EarlyDropStep>,
    /// Queue model.
    pub filling: DropTailTcpLaw,
}

/// Queue at one load, with its derivatives with respect to ln ρ; dN/dx is V.
struct QueueAtLoad {
    eq: Equilibrium,
    busy_slope: f64,
    blocking_slope: f64,
}

impl QueueSolution {
    /// Returns the solution of a failed link, which loses everything.
    pub fn down() -> QueueSolution {
        QueueSolution {
            refused: 1.0,
            ln_rho: EMPTY_LN_RHO,
            ..QueueSolution::default()
        }
    }
}

/// Queue at the end of the step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueSolution {
    pub ln_rho: f64,
    pub queue_pkts: f64,
    pub utilization: f64,
    /// Fraction of arrivals dropped, by the full buffer or early.
    pub refused: f64,
    /// Memory of the early-drop law at the end: see [`EarlyDropStep::memory_after`] and [`EarlyDropStep::wait_s`].
    pub known: f64,
    /// See [`known`](Self::known).
    pub wait_s: f64,
    /// Derivatives of a drop-tail queue; zero where the buffer limit has no effect.
    pub by_queue: LawSlopes,
}

/// Returns the ρ below which a queue of `buffer_pkts` behaves as if its buffer were unlimited: (K+1)² ρ^(K+1)
/// is below rounding.
pub(crate) fn light_rho(buffer_pkts: f64) -> f64 {
    let k1 = buffer_pkts + 1.0;
    exp(-(38.0 + 2.0 * ln(k1)) / k1)
}

/// Returns true if Newton's method does not converge, judged by its last two steps: it can jump between both
/// sides of a kink forever.
pub(crate) fn is_oscillating(tries: u32, moved: f64, before: f64) -> bool {
    tries >= 8 && moved.abs() > 0.5 * before.abs()
}

impl QueueStep {
    /// Returns the state at the end of the step, given the arrivals `arriving_pkts`.
    pub fn solve(&self, arriving_pkts: f64) -> QueueSolution {
        let available = self.before_pkts + arriving_pkts;
        if available <= MIN_PKTS {
            return self.empty();
        }
        if self.early.is_none() {
            let filled = self.filling.differs_from_mm1k();
            let has_negligible_loss = |it: &QueueSolution| {
                let filling = &self.filling;
                !filled
                    || filling.idle == 0.0
                        && filling.waiting_factor() == 1.0
                        && filling.has_negligible_loss(it.queue_pkts, self.buffer_pkts())
            };
            if let Some(light) = self.solve_light(available).filter(has_negligible_loss) {
                return light;
            }
            return if filled {
                self.solve_drop_tail(arriving_pkts, |x| self.filled(x))
            } else {
                self.solve_drop_tail(arriving_pkts, |x| self.poisson(x))
            };
        }
        self.solve_by(|_| arriving_pkts)
    }

    /// Solves the step in parts if the queue changes much, because backward Euler alone smooths fast changes.
    /// The loss is then the mean over the step; the loss at its end is returned separately.
    pub fn solve_in_substeps(&self, arriving_pkts: f64) -> (QueueSolution, Option<f64>) {
        let whole = self.solve(arriving_pkts);
        if !self.needs_substeps(&whole) {
            return (whole, None);
        }
        let (mut refused, mut utilization) = (0.0, 0.0);
        let mut end = whole;
        let mut step = self.first_substep();
        for _ in 0..SUBSTEPS {
            end = step.solve(arriving_pkts * SUBSTEP_FRACTION);
            refused += end.refused * SUBSTEP_FRACTION;
            utilization += end.utilization * SUBSTEP_FRACTION;
            step.continue_from(&end);
        }
        let mean = QueueSolution {
            refused,
            utilization,
            ..end
        };
        (mean, Some(end.refused))
    }

    /// Returns true if the change of the queue requires a divided step.
    pub fn needs_substeps(&self, whole: &QueueSolution) -> bool {
        let change_pkts = (whole.queue_pkts - self.before_pkts).abs();
        let least_pkts = whole.queue_pkts.min(self.before_pkts);
        change_pkts > MAX_RELATIVE_CHANGE * (1.0 + least_pkts)
    }

    /// Returns the first substep.
    pub fn first_substep(&self) -> QueueStep {
        QueueStep {
            service_pkts: self.service_pkts * SUBSTEP_FRACTION,
            early: self.early.map(EarlyDropStep::first_substep),
            ..*self
        }
    }

    /// Returns the effective buffer size: the nominal one, or the packets present that cannot be sent in the
    /// step, if more. When large packets arrive at a byte buffer full of small ones, its capacity in packets
    /// decreases.
    pub fn buffer_pkts(&self) -> f64 {
        let left_pkts = self.before_pkts - MIN_CAPACITY_USE * self.service_pkts;
        self.room_pkts.max(left_pkts)
    }

    /// Continues with the next part after one that ended at `end`.
    pub fn continue_from(&mut self, end: &QueueSolution) {
        (self.before_pkts, self.guess) = (end.queue_pkts, end.ln_rho);
        if let Some(early) = &mut self.early {
            early.continue_from(end);
        }
    }

    fn empty(&self) -> QueueSolution {
        QueueSolution {
            ln_rho: EMPTY_LN_RHO,
            known: self.early.map_or(0.0, |early| early.memory_after(0.0, 0.0)),
            ..QueueSolution::default()
        }
    }

    /// Solves the step if the buffer limit has no effect: N = ρ/(1−ρ) without loss. It is the root of the
    /// quadratic N² + N(1 + δμ − c) = c with c = N₀ + λδ.
    fn solve_light(&self, available: f64) -> Option<QueueSolution> {
        let half = 0.5 * (1.0 + self.service_pkts - available);
        let root = (half * half + available).sqrt();
        let queue_pkts = if half < 0.0 {
            root - half
        } else {
            available / (half + root)
        };
        let rho = queue_pkts / (1.0 + queue_pkts);
        (rho < self.light_rho).then_some(QueueSolution {
            ln_rho: EMPTY_LN_RHO,
            queue_pkts,
            utilization: rho,
            refused: 0.0,
            known: 0.0,
            wait_s: 0.0,
            by_queue: LawSlopes::default(),
        })
    }

    /// Evaluates M/M/1/K: dU/dx = π₀N, dB/dx = B(K−N).
    fn poisson(&self, x: f64) -> QueueAtLoad {
        let eq = equilibrium(x, self.buffer_pkts());
        QueueAtLoad {
            busy_slope: eq.empty * eq.mean_pkts,
            blocking_slope: eq.blocking * eq.free_pkts,
            eq,
        }
    }

    /// Evaluates the mean of M/M/1/K with the loss and the idle time of windows.
    fn filled(&self, x: f64) -> QueueAtLoad {
        let k = self.buffer_pkts();
        let queue = self.filling.queue(x, k);
        let found = self
            .filling
            .loss_in_equilibrium(x, &queue, Mm1kBufferDerivatives::default());
        let (busy, busy_by_queue, _) = self.filling.relative_utilization(queue.mean_pkts, k);
        let utilization = queue.inner.utilization();
        QueueAtLoad {
            blocking_slope: found.by_x,
            busy_slope: busy * queue.inner.empty * queue.inner.mean_pkts
                + utilization * busy_by_queue * queue.slope,
            eq: Equilibrium {
                mean_pkts: queue.mean_pkts,
                free_pkts: queue.free_pkts,
                slope: queue.slope,
                blocking: found.loss,
                empty: 1.0 - busy * utilization,
            },
        }
    }

    /// Solves by Newton's method with exact derivatives, within a bracket; `at` evaluates the queue at a
    /// load.
    fn solve_drop_tail(
        &self,
        arriving_pkts: f64,
        at: impl Fn(f64) -> QueueAtLoad,
    ) -> QueueSolution {
        let k = self.buffer_pkts();
        let (mut low, mut high) = LOAD_BOUNDS;
        let mut x = self.first_guess(arriving_pkts);
        let mut moved_before = f64::INFINITY;
        for tries in 0..200 {
            let QueueAtLoad {
                mut eq,
                busy_slope,
                blocking_slope,
            } = at(x);
            let residual = eq.mean_pkts - self.before_pkts + self.service_pkts * (1.0 - eq.empty)
                - arriving_pkts * (1.0 - eq.blocking);
            if residual > 0.0 {
                high = x;
            } else {
                low = x;
            }
            let slope = eq.slope + self.service_pkts * busy_slope + arriving_pkts * blocking_slope;
            let moved = -residual / slope;
            // The tangent is accurate enough here: its error is of second order.
            if moved.abs() * (1.0 + k) < 1e-7 || high - low < 1e-15 * (1.0 + high.abs()) {
                eq.mean_pkts += eq.slope * moved;
                eq.empty -= busy_slope * moved;
                eq.blocking += blocking_slope * moved;
                let per_pkt = 1.0 / eq.slope.max(MIN_PKTS);
                let by_queue = LawSlopes {
                    ln_rho: per_pkt,
                    utilization: busy_slope * per_pkt,
                    refused: blocking_slope * per_pkt,
                };
                return QueueSolution {
                    by_queue,
                    ..self.solution(x + moved, &eq)
                };
            }
            let next = x + moved;
            let within = next > low && next < high;
            x = if within && !is_oscillating(tries, moved, moved_before) {
                next
            } else {
                0.5 * (low + high)
            };
            moved_before = moved;
        }
        self.solution(x, &at(x).eq)
    }

    /// Returns a start close to the root unless the step reaches equilibrium. Newton's method needs few
    /// iterations from there.
    fn first_guess(&self, arriving_pkts: f64) -> f64 {
        let k = self.buffer_pkts();
        // In overload the queue ends full: 1 − B = 1/ρ.
        let service = k - self.before_pkts + self.service_pkts;
        let overload = arriving_pkts / service;
        if overload > 1.05 {
            return ln(overload);
        }
        self.guess()
    }

    fn guess(&self) -> f64 {
        if self.guess == EMPTY_LN_RHO {
            return ln((self.before_pkts / (1.0 + self.before_pkts)).max(1e-9));
        }
        self.guess.clamp(-30.0, 30.0)
    }

    fn solution(&self, ln_rho: f64, eq: &Equilibrium) -> QueueSolution {
        let refused = eq.blocking;
        let plain = QueueSolution {
            ln_rho,
            queue_pkts: eq.mean_pkts.clamp(0.0, self.buffer_pkts()),
            utilization: eq.utilization(),
            refused: without_negligible_loss(refused),
            ..QueueSolution::default()
        };
        match &self.early {
            Some(early) => QueueSolution {
                known: early.memory_after(eq.mean_pkts, plain.utilization),
                wait_s: early.wait_s(&plain),
                ..plain
            },
            None => plain,
        }
    }

    /// Solves a step with state-dependent arrivals: `arriving_pkts` returns the arrivals for a trial
    /// solution. These should not increase with the queue. If they do (not all profiles are monotone), one of
    /// the roots is found.
    ///
    /// The method is false position in a bracket (Illinois), which needs no derivatives. It also handles
    /// jumps of the arrivals, for example at the upper threshold of RED; the dropped fraction then follows
    /// from the balance.
    pub fn solve_by(&self, mut arriving_pkts: impl FnMut(&QueueSolution) -> f64) -> QueueSolution {
        let mut arriving = 0.0;
        let mut at = |x: f64| {
            let eq = self.filling.queue(x, self.buffer_pkts()).equilibrium();
            let mut tried = self.solution(x, &eq);
            if let Some(early) = &self.early {
                tried.refused += early.drops(&tried) * (1.0 - tried.refused);
            }
            arriving = arriving_pkts(&tried);
            let residual = eq.mean_pkts - self.before_pkts + self.service_pkts * tried.utilization
                - arriving * (1.0 - tried.refused);
            (tried, arriving, residual)
        };

        let (mut low, mut high) = LOAD_BOUNDS;
        let guess = self.guess();
        let (mut best, mut volume, mut f) = at(guess);
        // Expands the interval from the guess until it encloses the root.
        let (mut f_low, mut f_high) = (f64::NAN, f64::NAN);
        let mut reach = 1e-3 / (1.0 + self.buffer_pkts()).sqrt();
        let mut x = guess;
        while f != 0.0 {
            if f > 0.0 {
                (high, f_high) = (x, f);
                if !f_low.is_nan() {
                    break;
                }
                x = (x - reach).max(LOAD_BOUNDS.0);
            } else {
                (low, f_low) = (x, f);
                if !f_high.is_nan() {
                    break;
                }
                x = (x + reach).min(LOAD_BOUNDS.1);
            }
            if x == low || x == high {
                break; // at a bound of the search: empty or full
            }
            reach *= 8.0;
            (best, volume, f) = at(x);
        }
        let scale = 1.0 + self.before_pkts + self.service_pkts;
        let mut last_side = 0;
        for _ in 0..200 {
            if f.abs() <= 1e-13 * scale
                || high - low <= 1e-15 * (1.0 + high.abs())
                || f_low.is_nan()
                || f_high.is_nan()
            {
                break;
            }
            x = low + (high - low) * (f_low / (f_low - f_high));
            if !(x > low && x < high) {
                x = 0.5 * (low + high);
            }
            (best, volume, f) = at(x);
            let side = if f > 0.0 { 1 } else { -1 };
            if f > 0.0 {
                (high, f_high) = (x, f);
                if last_side == side {
                    f_low *= 0.5;
                }
            } else {
                (low, f_low) = (x, f);
                if last_side == side {
                    f_high *= 0.5;
                }
            }
            last_side = side;
        }
        if self.early.is_some() && volume > 0.0 && f.abs() > 1e-12 * scale {
            let admitted =
                best.queue_pkts - self.before_pkts + self.service_pkts * best.utilization;
            best.refused = (1.0 - admitted / volume).clamp(0.0, 1.0);
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step(k: f64, before: f64, service: f64) -> QueueStep {
        QueueStep {
            room_pkts: k,
            light_rho: light_rho(k),
            before_pkts: before,
            service_pkts: service,
            guess: crate::mm1k::ln_rho_of_mean(before, k).clamp(-50.0, 50.0),
            early: None,
            filling: DropTailTcpLaw::default(),
        }
    }

    /// Part of a step in which Newton's method oscillated and lost 120 packets.
    #[test]
    fn full_queue_conserves_packets() {
        let (k, service) = (155.1774270415016, 434.4755003215194);
        let s = step(k, 0.9901971505037107 * k, service);
        let arriving = 0.9044313937499706 * service;
        for s in [
            s,
            s.first_substep(),
            QueueStep {
                service_pkts: service / 256.0,
                ..s
            },
        ] {
            let arriving = arriving * s.service_pkts / service;
            let end = s.solve(arriving);
            let balance = s.before_pkts + arriving * (1.0 - end.refused)
                - s.service_pkts * end.utilization
                - end.queue_pkts;
            assert!(balance.abs() < 1e-7 * (1.0 + arriving), "{balance} {end:?}");
        }
    }

    proptest! {
        /// N + δ(μU − λ(1−B)) = N₀, and 0 ≤ N ≤ K, for any step.
        #[test]
        fn every_step_conserves_packets(
            k in 1.0..20_000.0_f64,
            fill in 0.0..=1.0_f64,
            service in prop::num::f64::POSITIVE.prop_map(|x| 1e-6 + (x % 1e6)),
            ln_rho in 1e-6..50.0_f64,
        ) {
            let s = step(k, fill * k, service);
            let arriving = service * ln_rho;
            let end = s.solve(arriving);
            let scale = 1.0 + s.before_pkts + arriving;
            let residual = end.queue_pkts + service * end.utilization
                - arriving * (1.0 - end.refused) - s.before_pkts;
            prop_assert!(residual.abs() < 1e-9 * scale, "{end:?} {residual}");
            prop_assert!(end.queue_pkts >= 0.0 && end.queue_pkts <= k);
        }

        /// A divided step conserves packets, too, and is closer to the limit of short steps.
        #[test]
        fn substeps_are_closer_to_short_steps(k in 1.0..1000.0_f64, fill in 0.0..=1.0_f64, service in 0.01..500.0_f64, ln_rho in 0.01..5.0_f64) {
            let s = step(k, fill * k, service);
            let arriving = service * ln_rho;
            let (parts, at_end) = s.solve_in_substeps(arriving);
            let balance = s.before_pkts + arriving * (1.0 - parts.refused)
                - service * parts.utilization - parts.queue_pkts;
            prop_assert!(balance.abs() < 1e-7 * (1.0 + s.before_pkts + arriving), "{balance}");
            prop_assume!(at_end.is_some());
            let mut short = QueueStep { service_pkts: service / 256.0, ..s };
            for _ in 0..256 {
                let end = short.solve(arriving / 256.0);
                (short.before_pkts, short.guess) = (end.queue_pkts, end.ln_rho);
            }
            let error = |queue_pkts: f64| (queue_pkts - short.before_pkts).abs();
            let whole = s.solve(arriving).queue_pkts;
            prop_assert!(error(parts.queue_pkts) <= error(whole) + 1e-6 * (1.0 + k), "{parts:?} {whole}");
        }

        /// A tangent conserves packets, and its error is of second order in the distance.
        #[test]
        fn tangent_is_near_the_law(
            k in 2.0..1000.0_f64, fill in 0.05..0.95_f64, service in 0.01..500.0_f64, part in -0.03..0.03_f64,
        ) {
            let s = step(k, fill * k, service);
            let solution = s.solve(service);
            let tangent = LawTangent::at(&solution, k, 1);
            let other = QueueStep { before_pkts: s.before_pkts * (1.0 + part), ..s };
            prop_assert!(tangent.solve(&other, service, 2).is_none());
            let Some(near) = tangent.solve(&other, service, 1) else { return Ok(()) };
            let balance = other.before_pkts + service * (1.0 - near.refused)
                - service * near.utilization - near.queue_pkts;
            prop_assert!(balance.abs() < 1e-9 * (1.0 + other.before_pkts + service), "{balance}");
            let exact = other.solve(service);
            let error = (near.queue_pkts - exact.queue_pkts).abs();
            prop_assert!(error <= 2e-3 * exact.queue_pkts.min(k - exact.queue_pkts) + 1e-9, "{near:?} {exact:?}");
        }

        /// The derivative-free search agrees with Newton's method.
        #[test]
        fn false_position_agrees_with_newton(k in 1.0..1000.0_f64, fill in 0.0..=1.0_f64, service in 0.01..500.0_f64, ln_rho in 0.01..5.0_f64) {
            let s = step(k, fill * k, service);
            let (a, b) = (s.solve(service * ln_rho), s.solve_by(|_| service * ln_rho));
            prop_assert!((a.queue_pkts - b.queue_pkts).abs() < 1e-8 * (1.0 + a.queue_pkts), "{a:?} {b:?}");
        }
    }
}
