//! Steady state of the fluid queue: fixed point of the step equation (equal state at start and end of a
//! step).
//!
//! The balance of a queue over a step is N + δ(μU − λ(1−D)) = N₀, with 1−D = (1−B)(1−R). Its fixed point is
//!
//! > μ U(x) = λ (1−B(x)) (1−R(N(x)))
//!
//! at N = N₀, for any step length. With U = ρ(1−B), \[Prof\] §3.3, this is e^x = (λ/μ)(1−R): without early
//! drops ln ρ is that of the offered load. The average of random early detection equals the queue. If TCP
//! windows fill the queue, [`DropTailTcpLaw`] gives U and B.

use netflow_network::Red;

use crate::engine::aqm_law::red_drop;
use crate::engine::queue::{NEGLIGIBLE_LOSS, is_oscillating};
use crate::mm1k::{Equilibrium, equilibrium};
use crate::tcp_drop_tail::{DropTailTcpLaw, LossWithGradient, Mm1kBufferDerivatives, ScaledMm1k};

pub use crate::engine::plan::acks_per_data;
pub use crate::engine::source_law::window_limited_pps;
pub use crate::engine::sources::ln_pass;
pub use crate::slow_start_bursts::own_burst_wait_s;

/// Queue without dependence on its history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Buffer size in packets, including the packet in service.
    pub buffer_pkts: f64,
    /// Random early detection in front of it.
    pub red: Option<Red>,
}

/// Steady state of a queue, with its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueFixedPoint {
    /// ln ρ of the M/M/1/K queue behind the early drops.
    pub ln_rho: f64,
    /// Mean packets in it, including the one in service.
    pub queue_pkts: f64,
    /// Mean packets found by a packet that is accepted: N/U − 1, by Little's law.
    pub found_pkts: f64,
    /// Fraction of time that the link is busy.
    pub utilization: f64,
    /// ln of the accepted fraction of arriving packets.
    pub ln_pass: f64,
    /// Derivatives with respect to ln of the offered load.
    pub by_load: QueueSlopes,
    /// Derivatives with respect to the buffer size in packets, at constant offered load.
    pub by_buffer: QueueSlopes,
    /// Derivatives with respect to the parameters of the queue model, at constant offered load.
    pub by_queue_model: QueueModelSlopes,
    /// True if the drop probability jumps at this queue length. The queue stays at the jump, and the drops
    /// balance it.
    pub at_jump: bool,
}

/// Derivatives of a queue with respect to each field of [`DropTailTcpLaw`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueModelSlopes {
    /// With respect to [`DropTailTcpLaw::windows`].
    pub windows: QueueSlopes,
    /// With respect to [`DropTailTcpLaw::sawtooth_amplitude`].
    pub sawtooth_amplitude: QueueSlopes,
    /// With respect to [`DropTailTcpLaw::acks`].
    pub acks: QueueSlopes,
    /// With respect to [`DropTailTcpLaw::poisson`].
    pub poisson: QueueSlopes,
    /// With respect to [`DropTailTcpLaw::idle`].
    pub idle: QueueSlopes,
    /// With respect to [`DropTailTcpLaw::waiting`].
    pub waiting: QueueSlopes,
    /// With respect to the own packets of [`DropTailTcpLaw::bursts`].
    pub own_bursts: QueueSlopes,
    /// With respect to the packets that others find of [`DropTailTcpLaw::bursts`].
    pub others_bursts: QueueSlopes,
}

/// Derivatives of a queue with respect to one parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSlopes {
    /// Derivative of ln ρ.
    pub ln_rho: f64,
    /// Derivative of the mean packets in it.
    pub queue_pkts: f64,
    /// Derivative of [`QueueFixedPoint::found_pkts`].
    pub found_pkts: f64,
    /// Derivative of ln of the accepted fraction.
    pub ln_pass: f64,
}

/// Returns ln(1−B), accurate also for B close to 1 (1−B = U/ρ), and its derivative −B(K−N)/(1−B).
fn ln_admitted(x: f64, k: f64, eq: &Equilibrium) -> (f64, f64) {
    if x > 0.0 {
        let busy = eq.utilization();
        return (libm::log(busy) - x, eq.empty * eq.mean_pkts / busy - 1.0);
    }
    if eq.blocking < NEGLIGIBLE_LOSS {
        return (0.0, 0.0);
    }
    let slope = -eq.blocking * (k - eq.mean_pkts) / (1.0 - eq.blocking);
    (libm::log1p(-eq.blocking), slope)
}

/// Returns derivatives of the M/M/1/K queue with respect to its buffer size at constant x: of the mean, U,
/// ln(1−B) and ln B. With y = (K+1)x: d ln B/dK = −x/expm1(y), dN/dK = 1/(1−e^(−y)) − y/(4 sinh²(y/2)).
fn mm1k_by_buffer(x: f64, k: f64, eq: &Equilibrium) -> [f64; 4] {
    let y = (k + 1.0) * x;
    let (ln_blocking, mean) = if y.abs() < 1e-4 {
        ((-1.0 + 0.5 * y - y * y / 12.0) / (k + 1.0), 0.5 + y / 6.0)
    } else if y.abs() > 700.0 {
        (if y > 0.0 { 0.0 } else { x }, f64::from(u8::from(y > 0.0)))
    } else {
        let half = libm::sinh(0.5 * y);
        let mean = -1.0 / libm::expm1(-y) - y / (4.0 * half * half);
        (-x / libm::expm1(y), mean)
    };
    // U = 1 − π₀, and π₀(x) = B(−x).
    let ln_empty = if y.abs() < 1e-4 {
        (-1.0 - 0.5 * y - y * y / 12.0) / (k + 1.0)
    } else if y.abs() > 700.0 {
        if y > 0.0 { -x } else { 0.0 }
    } else {
        x / libm::expm1(-y)
    };
    let busy = -eq.empty * ln_empty;
    let ln_admitted = match eq.blocking < NEGLIGIBLE_LOSS {
        true => 0.0,
        false if x > 0.0 => busy / eq.utilization(), // 1−B = U/ρ
        false => -eq.blocking * ln_blocking / (1.0 - eq.blocking),
    };
    [mean, busy, ln_admitted, ln_blocking]
}

/// Drop-tail queue filled by TCP windows, at one ln ρ of M/M/1/K.
struct DropTailPoint {
    queue: ScaledMm1k,
    /// Relative utilization and derivatives, see [`DropTailTcpLaw::relative_utilization`].
    busy: (f64, f64, f64),
    loss_with_gradient: LossWithGradient,
    /// ln of the accepted fraction.
    ln_pass: f64,
    /// ln of the offered load at this fixed point: ln U_M/M/1/K(x) + ln busy(N(x)) − ln(1−B(N(x))). It
    /// increases with x.
    ln_offered: f64,
    /// Derivative of `ln_offered`.
    slope: f64,
}

impl DropTailPoint {
    fn at(x: f64, k: f64, filling: &DropTailTcpLaw, room: Mm1kBufferDerivatives) -> DropTailPoint {
        let queue = filling.queue(x, k);
        let (ln_admitted, by_x) = ln_admitted(x, queue.buffer_pkts, &queue.inner);
        let busy = filling.relative_utilization(queue.mean_pkts, k);
        let found = filling.loss_in_equilibrium(x, &queue, room);
        // Without windows, ρ is the offered load to full accuracy.
        let (ln_pass, ln_offered, slope) = if filling.poisson >= 1.0 {
            (ln_admitted, x, 1.0)
        } else {
            let ln_pass = found.ln_pass();
            let ln_offered = x + ln_admitted + libm::log(busy.0) - ln_pass;
            let by_loss = found.by_x / found.pass;
            let slope = 1.0 + by_x + busy.1 / busy.0 * queue.slope + by_loss;
            (ln_pass, ln_offered, slope)
        };
        DropTailPoint {
            ln_pass,
            ln_offered,
            slope,
            queue,
            busy,
            loss_with_gradient: found,
        }
    }
}

/// Returns N/U − 1 and its derivative, given the derivatives of N and U.
fn found_on_arrival(eq: &Equilibrium, mean_slope: f64, busy_slope: f64) -> (f64, f64) {
    let busy = eq.utilization();
    if busy < 1e-9 {
        // For ρ → 0, ρ/(1−ρ) = ρ: the number found is the mean.
        return (eq.mean_pkts, mean_slope);
    }
    let there = eq.mean_pkts / busy;
    (there - 1.0, mean_slope / busy - there * busy_slope / busy)
}

impl Queue {
    /// Returns the steady state at this ln of the offered load, relative to the service rate.
    pub fn fixed_point(&self, ln_offered: f64, filling: &DropTailTcpLaw) -> QueueFixedPoint {
        let k = self.buffer_pkts;
        let Some(red) = self.red else {
            if filling.differs_from_mm1k() {
                return self.drop_tail_fixed_point(ln_offered, filling);
            }
            return self.fixed_point_at(ln_offered, ln_offered, 1.0, 0.0, false);
        };
        let dropped = |x: f64| red_drop(&red, equilibrium(x, k).mean_pkts);
        if dropped(ln_offered) == 0.0 {
            return self.fixed_point_at(ln_offered, ln_offered, 1.0, 0.0, false);
        }
        // x − ln(1 − R(N(x))) is increasing: bisection to full precision finds its only root.
        let (mut low, mut high) = (ln_offered.min(0.0) - 1.0, ln_offered);
        while dropped(low) > 0.0 && low > -700.0 {
            low = 2.0 * low - 1.0;
        }
        let over = |x: f64| match dropped(x) {
            all if all >= 1.0 => true,
            part => x - libm::log1p(-part) > ln_offered,
        };
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if over(middle) {
                high = middle
            } else {
                low = middle
            }
        }
        let x = low;
        let eq = equilibrium(x, k);
        let here = red_drop(&red, eq.mean_pkts);
        let by_balance = -libm::expm1(x - ln_offered);
        if (here - by_balance).abs() > 1e-9 {
            return self.fixed_point_at(x, ln_offered, 0.0, 0.0, true);
        }
        // dR/dN is constant between two kinks of the RED curve.
        let aside = 1e-6 * (1.0 + eq.mean_pkts);
        let rise = (red_drop(&red, eq.mean_pkts + aside) - here) / aside;
        let slope = rise / (1.0 - here);
        let follows = 1.0 / (1.0 + slope * eq.slope);
        self.fixed_point_at(x, ln_offered, follows, slope, false)
    }

    /// Returns the steady state of a drop-tail queue filled by TCP windows, by Newton's method with
    /// bisection.
    fn drop_tail_fixed_point(&self, ln_offered: f64, filling: &DropTailTcpLaw) -> QueueFixedPoint {
        let k = self.buffer_pkts;
        let at = |x: f64| DropTailPoint::at(x, k, filling, Mm1kBufferDerivatives::default());
        let (mut low, mut high) = (-700.0, 700.0);
        let mut x = if filling.poisson >= 1.0 {
            ln_offered.clamp(low, high)
        } else {
            ln_offered.clamp(-690.0, 2.0)
        };
        let mut moved_before = f64::INFINITY;
        for tries in 0..200 {
            let it = at(x);
            let over = it.ln_offered - ln_offered;
            if over > 0.0 {
                high = x
            } else {
                low = x
            }
            let moved = -over / it.slope;
            let next = x + moved;
            if moved.abs() <= 1e-14 * (1.0 + x.abs()) || high - low <= 1e-15 * (1.0 + x.abs()) {
                break;
            }
            let within = next > low && next < high;
            x = if within && !is_oscillating(tries, moved, moved_before) {
                next
            } else {
                0.5 * (low + high)
            };
            moved_before = moved;
        }
        let queue = filling.queue(x, k);
        let w = filling.waiting_factor();
        let by_inner = mm1k_by_buffer(x, queue.buffer_pkts, &queue.inner);
        let [inner_mean, inner_busy, admitted_by_room, ln_blocking] = by_inner.map(|by| by / w);
        let mean_by_room = queue.mean_by_buffer(inner_mean, inner_busy, w);
        let per_waiting = -(k - 1.0).max(0.0) / (w * w);
        let [mean_by_w, busy_by_w, admitted_by_w, ln_blocking_by_w] =
            by_inner.map(|by| by * per_waiting);
        let mean_by_waiting = queue.mean_by_waiting(mean_by_w, busy_by_w, w);
        let room = Mm1kBufferDerivatives {
            mean_pkts: mean_by_room,
            ln_blocking,
        };
        let DropTailPoint {
            queue,
            busy: (busy, busy_by_queue, busy_by_buffer),
            loss_with_gradient: mut found,
            ln_pass,
            slope,
            ..
        } = DropTailPoint::at(x, k, filling, room);
        if filling.poisson >= 1.0 && queue.inner.blocking < NEGLIGIBLE_LOSS {
            // The accepted fraction is 1.
            (found.by_x, found.by_buffer) = (0.0, 0.0);
        }
        let utilization = libm::exp(ln_offered + ln_pass).min(1.0);
        let there = if utilization > 1e-9 {
            queue.mean_pkts / utilization
        } else {
            1.0 + queue.mean_pkts
        };
        // Derivatives of the steady state, from partial derivatives at constant x. These are: of ln busy
        // (`ln_busy`), of the mean (`mean`), of B (`loss`), of ln U_M/M/1/K (`admitted`), and of ln of the
        // offered load (`offered`).
        let slopes = |admitted: f64, ln_busy: f64, mean: f64, loss: f64, offered: f64| {
            // Without windows, ρ is the offered load.
            let ln_rho = if filling.poisson >= 1.0 {
                offered
            } else {
                (offered - admitted - ln_busy - loss / found.pass) / slope
            };
            let queue_pkts = mean + queue.slope * ln_rho;
            let ln_pass = -(loss + found.by_x * ln_rho) / found.pass;
            QueueSlopes {
                ln_rho,
                queue_pkts,
                found_pkts: if utilization > 1e-9 {
                    queue_pkts / utilization - there * (offered + ln_pass)
                } else {
                    queue_pkts
                },
                ln_pass,
            }
        };
        let of_loss = |loss: f64| slopes(0.0, 0.0, 0.0, loss, 0.0);
        let by_bursts = queue.mean_by_bursts();
        let of_mean = |mean: f64| {
            slopes(
                0.0,
                busy_by_queue / busy * mean,
                mean,
                found.by_queue * mean,
                0.0,
            )
        };
        let busy_by_room = busy_by_queue * mean_by_room + busy_by_buffer;
        let whole = DropTailTcpLaw {
            idle: 1.0,
            ..*filling
        };
        let per_idle = whole.relative_utilization(queue.mean_pkts, k).0 - 1.0;
        QueueFixedPoint {
            ln_rho: x,
            queue_pkts: queue.mean_pkts.clamp(0.0, k),
            found_pkts: (there - 1.0).max(0.0),
            utilization,
            ln_pass,
            by_load: slopes(0.0, 0.0, 0.0, 0.0, 1.0),
            by_buffer: slopes(
                admitted_by_room,
                busy_by_room / busy,
                mean_by_room,
                found.by_buffer,
                0.0,
            ),
            by_queue_model: QueueModelSlopes {
                windows: of_loss(found.by.windows),
                sawtooth_amplitude: of_loss(found.by.sawtooth_amplitude),
                acks: of_loss(found.by.acks),
                poisson: of_loss(found.by.poisson),
                // A calibrated queue does not use the model of idle time.
                idle: if filling.calibration.is_some() {
                    QueueSlopes::default()
                } else {
                    slopes(0.0, per_idle / busy, 0.0, 0.0, 0.0)
                },
                // A calibrated queue has no such factor.
                waiting: if filling.calibration.is_some() {
                    QueueSlopes::default()
                } else {
                    slopes(
                        admitted_by_w,
                        busy_by_queue / busy * mean_by_waiting,
                        mean_by_waiting,
                        found.by_queue * mean_by_waiting + found.by_ln_blocking * ln_blocking_by_w,
                        0.0,
                    )
                },
                own_bursts: of_mean(by_bursts.own_pkts),
                others_bursts: of_mean(by_bursts.others_pkts),
            },
            at_jump: false,
        }
    }

    /// Returns the steady state at ln ρ = `x` behind early drops. `follows` is dx/d ln of the offered load;
    /// `early` is −d ln(1−R)/dN.
    fn fixed_point_at(
        &self,
        x: f64,
        offered: f64,
        follows: f64,
        early: f64,
        at_jump: bool,
    ) -> QueueFixedPoint {
        let k = self.buffer_pkts;
        let eq = equilibrium(x, k);
        let (ln_admitted, by_x) = ln_admitted(x, k, &eq);
        let [mean_by_room, busy_by_room, admitted_by_room, _] = mm1k_by_buffer(x, k, &eq);
        let busy_by_x = eq.empty * eq.mean_pkts;
        let (found_pkts, found_by_x) = found_on_arrival(&eq, eq.slope, busy_by_x);
        let (_, found_by_room) = found_on_arrival(&eq, mean_by_room, busy_by_room);
        // If the drops jump, N stays at the threshold: x decreases as the buffer grows, and the drop
        // probability adjusts to x.
        let x_by_room = if at_jump {
            -mean_by_room / eq.slope
        } else {
            -early * mean_by_room * follows
        };
        QueueFixedPoint {
            ln_rho: x,
            queue_pkts: eq.mean_pkts.clamp(0.0, k),
            found_pkts: found_pkts.max(0.0),
            utilization: eq.utilization(),
            ln_pass: (ln_admitted + (x - offered)).max(-700.0),
            by_load: QueueSlopes {
                ln_rho: follows,
                queue_pkts: eq.slope * follows,
                found_pkts: found_by_x * follows,
                ln_pass: by_x * follows + (follows - 1.0),
            },
            by_buffer: QueueSlopes {
                ln_rho: x_by_room,
                queue_pkts: mean_by_room + eq.slope * x_by_room,
                found_pkts: found_by_room + found_by_x * x_by_room,
                ln_pass: admitted_by_room + (by_x + 1.0) * x_by_room,
            },
            by_queue_model: QueueModelSlopes::default(),
            at_jump,
        }
    }
}

#[cfg(test)]
mod tests {
    use netflow_network::Calibration;

    use super::*;
    use crate::engine::aqm_law::{EarlyDropStep, RedStep};
    use crate::engine::queue::{QueueStep, light_rho};
    use crate::slow_start_bursts::Bursts;

    fn red(gentle: bool) -> Red {
        Red {
            min_pkts: 5.0,
            max_pkts: 20.0,
            max_p: 0.1,
            weight: 0.002,
            gentle,
            ecn: false,
            hard_drop: true,
        }
    }

    fn queue_models() -> Vec<DropTailTcpLaw> {
        let with_amplitude = |sawtooth_amplitude, windows, acks, poisson| DropTailTcpLaw {
            windows,
            sawtooth_amplitude,
            acks,
            poisson,
            idle: 0.2 * (1.0 - poisson),
            ..DropTailTcpLaw::default()
        };
        let filled = |windows, acks, poisson| with_amplitude(0.7, windows, acks, poisson);
        let bursts = |own_pkts, others_pkts, filled: DropTailTcpLaw| DropTailTcpLaw {
            bursts: Bursts {
                own_pkts,
                others_pkts,
            },
            ..filled
        };
        let spaced = |waiting, filled: DropTailTcpLaw| DropTailTcpLaw { waiting, ..filled };
        let calibrated = |waiting, losses| DropTailTcpLaw {
            idle: 0.0,
            calibration: Calibration {
                losses,
                waiting,
                windows: 8.0,
            },
            ..filled(8.0, 0.3, 0.1)
        };
        vec![
            DropTailTcpLaw::default(),
            filled(0.7, 0.0, 0.0),
            filled(12.0, 0.4, 0.0),
            filled(5.0, 0.2, 0.3),
            with_amplitude(0.33, 12.0, 0.4, 0.0),
            with_amplitude(0.6, 5.0, 0.2, 0.3),
            with_amplitude(0.8, 12.0, 0.4, 0.0),
            with_amplitude(1.0, 12.0, 0.4, 0.0),
            with_amplitude(1.0, 5.0, 0.2, 0.3),
            with_amplitude(1.7, 5.0, 0.2, 0.3),
            spaced(0.25, filled(12.0, 0.4, 0.0)),
            spaced(0.7, filled(5.0, 0.2, 0.3)),
            spaced(0.4, bursts(5.0, 9.0, filled(0.4, 0.1, 0.5))),
            calibrated(0.2, 3.0),
            calibrated(4.0, 0.3),
            bursts(20.0, 40.0, DropTailTcpLaw::default()),
            bursts(0.0, 3.0, DropTailTcpLaw::default()),
            bursts(5.0, 9.0, filled(0.4, 0.1, 0.5)),
            bursts(5.0, 9.0, calibrated(4.0, 0.3)),
        ]
    }

    fn queues() -> Vec<(Queue, DropTailTcpLaw, f64)> {
        let mut all = Vec::new();
        for buffer_pkts in [1.5, 7.5, 50.0, 2000.0] {
            for red in [None, Some(red(false)), Some(red(true))] {
                for rho in [0.01, 0.6, 0.9, 0.99, 1.0, 1.01, 1.3, 3.0, 40.0] {
                    for filling in
                        queue_models()
                            .into_iter()
                            .take(if red.is_some() { 1 } else { usize::MAX })
                    {
                        all.push((Queue { buffer_pkts, red }, filling, rho));
                    }
                }
            }
        }
        all
    }

    /// A queue in steady state does not change in a step of any length.
    #[test]
    fn a_step_keeps_the_fixed_point() {
        for (queue, filling, rho) in queues() {
            let rest = queue.fixed_point(f64::ln(rho), &filling);
            for service_pkts in [0.01, 3.0, 1e4] {
                let step = QueueStep {
                    room_pkts: queue.buffer_pkts,
                    light_rho: light_rho(queue.buffer_pkts),
                    before_pkts: rest.queue_pkts,
                    service_pkts,
                    guess: rest.ln_rho,
                    early: queue.red.map(|red| {
                        EarlyDropStep::Red(RedStep {
                            red,
                            average_before: rest.queue_pkts,
                            memory: 0.5,
                        })
                    }),
                    filling,
                };
                let end = step.solve(service_pkts * rho);
                let near = |is: f64, should: f64| {
                    let error = (is - should).abs() / (1e-6 + should.abs());
                    assert!(
                        error < 1e-6,
                        "{queue:?} {filling:?} {rho} {service_pkts}: {end:?} {rest:?}"
                    );
                };
                near(end.queue_pkts, rest.queue_pkts);
                near(end.utilization, rest.utilization);
                near(1.0 - end.refused, rest.ln_pass.exp());
            }
        }
    }

    /// The derivatives agree with finite differences, except at kinks.
    #[test]
    fn derivatives_match_finite_differences() {
        for (queue, filling, rho) in queues() {
            let at = |u: f64, k: f64| {
                let queue = Queue {
                    buffer_pkts: k,
                    ..queue
                };
                queue.fixed_point(u, &filling)
            };
            let (u, k) = (f64::ln(rho), queue.buffer_pkts);
            let rest = at(u, k);
            // The free space of long queues filled by windows has fewer significant digits.
            let digits = if filling.differs_from_mm1k() {
                1.0 + 0.1 * rest.queue_pkts
            } else {
                1.0
            };
            let near = |is: f64, more: f64, less: f64, h: f64, scale: f64| {
                let should = (more - less) / (2.0 * h);
                let error = (is - should).abs() / (should.abs() + 1e-3 * scale);
                assert!(
                    error < 1e-4,
                    "{queue:?} {filling:?} {rho}: {is} {should} {rest:?}"
                );
            };
            // A queue that fills between two close loads needs small differences.
            let h = 1e-6 / (1.0 + 1e-5 * rest.by_load.queue_pkts);
            let (more, less) = (at(u + h, k), at(u - h, k));
            near(
                rest.by_load.queue_pkts,
                more.queue_pkts,
                less.queue_pkts,
                h,
                digits,
            );
            near(
                rest.by_load.found_pkts,
                more.found_pkts,
                less.found_pkts,
                h,
                digits,
            );
            near(rest.by_load.ln_pass, more.ln_pass, less.ln_pass, h, digits);
            near(rest.by_load.ln_rho, more.ln_rho, less.ln_rho, h, digits);
            let h = 1e-6 * k;
            let (more, less) = (at(u, k + h), at(u, k - h));
            near(
                rest.by_buffer.queue_pkts,
                more.queue_pkts,
                less.queue_pkts,
                h,
                digits,
            );
            near(
                rest.by_buffer.found_pkts,
                more.found_pkts,
                less.found_pkts,
                h,
                digits,
            );
            near(
                rest.by_buffer.ln_pass,
                more.ln_pass,
                less.ln_pass,
                h,
                digits / k,
            );
            near(
                rest.by_buffer.ln_rho,
                more.ln_rho,
                less.ln_rho,
                h,
                digits / k,
            );
            if !filling.differs_from_mm1k() || queue.red.is_some() {
                continue;
            }
            type Part = (
                fn(&mut DropTailTcpLaw) -> &mut f64,
                fn(&QueueModelSlopes) -> QueueSlopes,
            );
            let parts: [Part; 8] = [
                (|it| &mut it.windows, |by| by.windows),
                (|it| &mut it.sawtooth_amplitude, |by| by.sawtooth_amplitude),
                (|it| &mut it.acks, |by| by.acks),
                (|it| &mut it.poisson, |by| by.poisson),
                (|it| &mut it.idle, |by| by.idle),
                (|it| &mut it.waiting, |by| by.waiting),
                (|it| &mut it.bursts.own_pkts, |by| by.own_bursts),
                (|it| &mut it.bursts.others_pkts, |by| by.others_bursts),
            ];
            for (part, slope) in parts {
                let mut aside = filling;
                let value = *part(&mut aside);
                // No acknowledgements, and only or no unresponsive traffic, are limits where only one side exists.
                if value == 0.0 || value == 1.0 {
                    continue;
                }
                let h = 1e-5 * value;
                let of = |by: f64| {
                    let mut aside = filling;
                    *part(&mut aside) += by;
                    queue.fixed_point(u, &aside)
                };
                let (more, less) = (of(h), of(-h));
                let slope = slope(&rest.by_queue_model);
                near(
                    slope.queue_pkts,
                    more.queue_pkts,
                    less.queue_pkts,
                    h,
                    digits,
                );
                near(
                    slope.found_pkts,
                    more.found_pkts,
                    less.found_pkts,
                    h,
                    digits,
                );
                near(slope.ln_pass, more.ln_pass, less.ln_pass, h, digits);
            }
        }
    }
}
