//! Loss and utilization of a drop-tail queue filled by TCP windows, as functions of its mean length.
//!
//! TCP traffic is not Poisson. Windows grow until the queue overflows, lose about one packet each, and
//! shrink, so the packets in flight follow a sawtooth. A queue under TCP is therefore nearly full at a very
//! small loss, where M/M/1/K would require a large loss. For n windows and the loss p, half of the amplitude
//! is, in packets,
//!
//! > A/2 = σ c (n + n₀) / (√p s(p)) + K e(a)/√(n + n₀),   e(a) = e₀ (1 − e^(−a/a₀)) + e₁ a
//!
//! The first term is the sawtooth. One window is about 1.2/√p on average. It oscillates by a fixed fraction
//! of that, for any number of windows that lose together. Small windows oscillate less: s increases from 1
//! where p exceeds p₀. The second term comes from acknowledgements that share the queue. They make packets
//! bunch; a is their fraction of the packets. σ is the amplitude of a TCP relative to the Reno of ns-2. The
//! profile gives σ; for a mix of TCPs it is the mean. If the queue never empties, its mean is half the
//! amplitude below full. Otherwise the sawtooth is cut off at zero:
//!
//! > N = K − A/2 where A ≤ K,   N = K²/(2A) beyond.
//!
//! The inverse of this gives the loss B(N) of a queue with mean N. Such a queue is empty more often than
//! M/M/1/K with the same mean, and more so if it is shorter or contains acknowledgements:
//!
//! > U(N) = U_M/M/1/K(N) · (1 − w σ h(a) (1 − N/K)^3/2 N/(N + 2)),   h(a) = h₀ (1 + h₁ a/(a + a₁)).
//!
//! U(N) increases with N if 2h ≤ 1 − h. The factor N/(N + 2) suppresses the effect in very short queues. CUBIC
//! keeps its queue from emptying: the weight w(σ) increases from 0 for CUBIC to 1 for Reno.
//!
//! The constants c, n₀, p₀, e₀, e₁, h₀ and h₁ and the σ of CUBIC were fitted to the packet model with the whole
//! engine. The fit used random networks of five families, which are the development set of
//! studies/fluid-population, and single links. The other constants were chosen by hand.
//!
//! Unresponsive traffic fills a queue as in M/M/1/K. If it demands the fraction u of the bandwidth, ln B is the
//! mean of both models with weights u and 1 − u. In this case h is multiplied by 1 − u. A queue of one packet
//! is M/M/1/K; up to eight packets, 1 − u is reduced.
//!
//! A link serves packets of one size evenly, so fewer of them wait in small buffers. Below 16 packets, a queue
//! of windows has v times the waiting packets of M/M/1/K at the same utilization:
//!
//! > N = U + v (N_M/M/1/K' − U),   K' = 1 + (K − 1)/v.
//!
//! [`crossing`](crate::link_traffic) defines these numbers.

use netflow_network::Calibration;
use netflow_units::hash_mix;
use netflow_units::math::{exp, exp_m1, ln, ln_1p};

use crate::mm1k::{Equilibrium, equilibrium};
use crate::slow_start_bursts::Bursts;

/// Relative amplitude of a window (c), including the factor 1.2.
const SAWTOOTH_COEFFICIENT: f64 = 0.265;
/// Constant n₀.
const WINDOW_OFFSET: f64 = 0.8;
/// Constant p₀.
const SMALL_WINDOW_LOSS: f64 = 0.019;
/// Constants e₀, e₁ and a₀.
const ACK_BUNCHING_LIMIT: f64 = 0.6;
const ACK_BUNCHING_SLOPE: f64 = 0.32;
const ACK_BUNCHING_SCALE: f64 = 0.03;
/// Constants h₀, h₁ and a₁.
const EXTRA_IDLE: f64 = 0.115;
const ACK_IDLE: f64 = 1.5;
const ACK_IDLE_SCALE: f64 = 0.1;

/// Returns the extra idle time h(a) of windows, where `acks` is the fraction of acknowledgements, and its derivative.
pub(crate) fn extra_idle(acks: f64) -> (f64, f64) {
    let all = acks + ACK_IDLE_SCALE;
    (
        EXTRA_IDLE * (1.0 + ACK_IDLE * acks / all),
        EXTRA_IDLE * ACK_IDLE * ACK_IDLE_SCALE / (all * all),
    )
}

/// Waiting packets of M/D/1 (one packet size) relative to M/M/1 at the same utilization.
const MD1_WAITING_FACTOR: f64 = 0.5;

/// Approximate waiting packets of TCP windows under PIE, relative to M/M/1/K.
const PIE_WAITING_FACTOR: f64 = 0.1;

/// Waiting packets behind a link that is not faster, relative to M/M/1/K: almost none.
const PACED_WAITING_FACTOR: f64 = 1e-5;

/// Mean queue length in packets at which the sawtooth reaches half of its effect.
const SAWTOOTH_ONSET_PKTS: f64 = 2.0;

/// Smallest loss probability that is reported: one loss per 10⁹ packets, less than windows of 10⁴ packets need.
const MIN_LOSS: f64 = 1e-9;

/// Amplitudes of the sawtooth up to which a queue has no extra idle time (CUBIC), and from which it has all (Reno).
pub(crate) use netflow_profile::CUBIC_AMPLITUDE as NO_IDLE_AMPLITUDE;
pub(crate) const RENO_AMPLITUDE: f64 = 1.0;

/// Model parameters of one queue, which do not change from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropTailTcpLaw {
    /// Number of windows whose data crosses it and which may grow until it overflows (n).
    pub windows: f64,
    /// Mean sawtooth amplitude of these windows (σ).
    pub sawtooth_amplitude: f64,
    /// Acknowledgements as a fraction of the packets of windows (a); all windows count equally.
    pub acks: f64,
    /// Weight of M/M/1/K (u): demand of unresponsive sources as a fraction of the bandwidth. It is nearly 1
    /// if the buffer holds only a few packets.
    pub poisson: f64,
    /// Fraction of time that an empty queue is idle beyond M/M/1/K (σ h w).
    pub idle: f64,
    /// Waiting packets relative to M/M/1/K at the same utilization (v): less than 1 for windows in small buffers.
    pub waiting: f64,
    /// Bursts of finite transfers, where no windows fill the queue.
    pub bursts: Bursts,
    /// Calibration of this queue by the packet model.
    pub calibration: Calibration,
}

/// M/M/1/K with another number of waiting packets at the same utilization U: w times that of M/M/1/K,
///
/// > N = U + w (N_M/M/1/K' − U),   K' = 1 + (K − 1)/w
///
/// [Bursts](crate::slow_start_bursts) then fill a fraction of the space that is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaledMm1k {
    /// Equilibrium of M/M/1/K'.
    pub inner: Equilibrium,
    /// Buffer size K' in packets.
    pub buffer_pkts: f64,
    /// Mean queue length N in packets.
    pub mean_pkts: f64,
    /// Mean free space K − N in packets.
    pub free_pkts: f64,
    /// Derivative dN/dx, with x = ln ρ.
    pub slope: f64,
    /// Fraction of the free space that bursts fill.
    bursts: BurstFill,
    /// Mean free space without bursts, in packets.
    free_without_bursts_pkts: f64,
}

/// Fraction of the free space that bursts fill, with its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BurstFill {
    fraction: f64,
    /// Derivatives with respect to ln ρ and to the buffer size.
    by_x: f64,
    by_buffer: f64,
    /// Derivative with respect to the utilization.
    by_busy: f64,
    /// Derivatives with respect to the burst sizes.
    by: Bursts,
}

/// Gradient of a scalar with respect to the fields of [`DropTailTcpLaw`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LawGradient {
    /// Derivative with respect to [`DropTailTcpLaw::windows`].
    pub windows: f64,
    /// Derivative with respect to [`DropTailTcpLaw::sawtooth_amplitude`].
    pub sawtooth_amplitude: f64,
    /// Derivative with respect to [`DropTailTcpLaw::acks`].
    pub acks: f64,
    /// Derivative with respect to [`DropTailTcpLaw::poisson`].
    pub poisson: f64,
    /// Derivative with respect to [`DropTailTcpLaw::idle`].
    pub idle: f64,
    /// Derivative with respect to [`DropTailTcpLaw::waiting`].
    pub waiting: f64,
    /// Derivatives with respect to [`DropTailTcpLaw::bursts`].
    pub bursts: Bursts,
}

/// Loss probability B, with derivatives of ln B.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowLoss {
    /// Probability that a packet finds the queue full.
    pub loss: f64,
    /// Derivative of ln B with respect to the mean queue length.
    pub by_queue: f64,
    /// Derivative of ln B with respect to the buffer size, at constant mean.
    pub by_buffer: f64,
    /// Gradient of ln B with respect to the model parameters, at constant mean.
    pub by: LawGradient,
}

/// Derivatives of M/M/1/K with respect to its buffer size, at constant ln ρ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mm1kBufferDerivatives {
    /// Derivative of the mean.
    pub mean_pkts: f64,
    /// Derivative of ln blocking.
    pub ln_blocking: f64,
}

/// Loss probability of a queue at one ln ρ, with its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossWithGradient {
    /// Probability that a packet finds the queue full, B.
    pub loss: f64,
    /// Accepted fraction 1 − B, accurate also where it is small.
    pub pass: f64,
    /// Derivative dB/dx, with x = ln ρ.
    pub by_x: f64,
    /// Derivative dB/dK.
    pub by_buffer: f64,
    /// Derivative of B with respect to the mean queue, at constant ln ρ.
    pub by_queue: f64,
    /// Derivative of B with respect to ln of the M/M/1/K blocking, at constant mean.
    pub by_ln_blocking: f64,
    /// Gradient of B with respect to the model parameters.
    pub by: LawGradient,
}

impl LossWithGradient {
    /// Returns ln(1 − B), accurate also for small B.
    pub fn ln_pass(&self) -> f64 {
        if self.loss > 0.5 {
            ln(self.pass)
        } else {
            ln_1p(-self.loss)
        }
    }
}

/// Smallest loss whose logarithm is computed; smaller ones count as this.
const LEAST_LOSS: f64 = 1e-300;

fn ln_of_loss(loss: f64, pass: f64) -> f64 {
    if loss > 0.5 {
        ln_1p(-pass)
    } else {
        ln(loss.max(LEAST_LOSS))
    }
}

impl WindowLoss {
    /// Subtracts `loss` and rescales the derivatives to those of the new logarithm.
    fn subtract_loss(&mut self, loss: f64) {
        let scale = self.loss / (self.loss - loss);
        self.loss -= loss;
        self.by_queue *= scale;
        self.by_buffer *= scale;
        self.by.windows *= scale;
        self.by.sawtooth_amplitude *= scale;
        self.by.acks *= scale;
    }
}

impl Default for DropTailTcpLaw {
    /// Returns M/M/1/K.
    fn default() -> DropTailTcpLaw {
        DropTailTcpLaw {
            windows: 0.0,
            sawtooth_amplitude: 1.0,
            acks: 0.0,
            poisson: 1.0,
            idle: 0.0,
            waiting: 1.0,
            bursts: Bursts::default(),
            calibration: Calibration::default(),
        }
    }
}

impl DropTailTcpLaw {
    /// Returns the weight w of the idle time, and its derivative with respect to the amplitude. At the ends it is
    /// the derivative beyond them, 0. The weight is 0 for CUBIC, and for windows that cannot fill the queue.
    pub fn idle_weight(&self) -> (f64, f64) {
        const RANGE: f64 = RENO_AMPLITUDE - NO_IDLE_AMPLITUDE;
        if self.windows <= 0.0 {
            return (0.0, 0.0);
        }
        match (self.sawtooth_amplitude - NO_IDLE_AMPLITUDE) / RANGE {
            weight if weight <= 0.0 => (0.0, 0.0),
            weight if weight >= 1.0 => (1.0, 0.0),
            weight => (weight, 1.0 / RANGE),
        }
    }

    /// Returns the waiting packets relative to M/M/1/K, with the calibration.
    pub fn waiting_factor(&self) -> f64 {
        self.waiting * self.calibration.waiting
    }

    /// Returns a hash of the model.
    pub(crate) fn hash(&self) -> u64 {
        let DropTailTcpLaw {
            windows,
            sawtooth_amplitude,
            acks,
            poisson,
            idle,
            waiting: spaced,
            bursts: Bursts {
                own_pkts,
                others_pkts,
            },
            calibration:
                Calibration {
                    losses,
                    waiting,
                    windows: calibrated_windows,
                },
        } = *self;
        if *self == DropTailTcpLaw::default() {
            return 0;
        }
        let numbers = [
            windows,
            sawtooth_amplitude,
            acks,
            poisson,
            idle,
            spaced,
            own_pkts,
            others_pkts,
            losses,
            waiting,
            calibrated_windows,
        ];
        numbers
            .iter()
            .fold(0, |hash, number| hash_mix(hash ^ number.to_bits()))
    }

    /// Returns the model of a queue behind a link that is not faster, where packets do not wait again.
    pub fn paced() -> DropTailTcpLaw {
        DropTailTcpLaw {
            calibration: Calibration {
                waiting: PACED_WAITING_FACTOR,
                ..Calibration::default()
            },
            ..DropTailTcpLaw::default()
        }
    }
}

impl Bursts {
    /// Returns the fraction of the free space that bursts fill: f = U n/(n + K e) with n = D e + X U, e = 1 −
    /// U.
    #[inline]
    fn burst_fill(&self, inner: &Equilibrium, k: f64) -> BurstFill {
        let (d, x) = (self.own_pkts, self.others_pkts);
        let (busy, idle) = (inner.utilization(), inner.empty);
        let n = d * idle + x * busy;
        let all = n + k * idle;
        if n <= 0.0 {
            return BurstFill::default();
        }
        let full = n / all;
        let per_n = busy * k * idle / (all * all);
        // Derivative with respect to U, with e = 1 − U.
        let by_busy = full + per_n * (x - d) + busy * n * k / (all * all);
        BurstFill {
            fraction: busy * full,
            by_x: by_busy * idle * inner.mean_pkts,
            by_buffer: -busy * n * idle / (all * all),
            by_busy,
            by: Bursts {
                own_pkts: per_n * idle,
                others_pkts: per_n * busy,
            },
        }
    }
}

impl ScaledMm1k {
    /// Returns the queue, with the loss and idle time of M/M/1/K.
    pub fn equilibrium(&self) -> Equilibrium {
        Equilibrium {
            mean_pkts: self.mean_pkts,
            free_pkts: self.free_pkts,
            slope: self.slope,
            ..self.inner
        }
    }

    fn with_bursts(self, bursts: &Bursts, k: f64) -> ScaledMm1k {
        if *bursts == Bursts::default() {
            return self;
        }
        let bursts = bursts.burst_fill(&self.inner, k);
        ScaledMm1k {
            mean_pkts: self.mean_pkts + bursts.fraction * self.free_pkts,
            free_pkts: (1.0 - bursts.fraction) * self.free_pkts,
            slope: (1.0 - bursts.fraction) * self.slope + bursts.by_x * self.free_pkts,
            bursts,
            ..self
        }
    }

    /// Returns the derivative of the mean with respect to the buffer size at constant ln ρ. `mean` and `busy`
    /// are those derivatives of the M/M/1/K mean and utilization.
    pub fn mean_by_buffer(&self, mean: f64, busy: f64, waiting: f64) -> f64 {
        let without = waiting * mean + (1.0 - waiting) * busy;
        let bursts = &self.bursts;
        without
            + bursts.fraction * (1.0 - without)
            + (bursts.by_buffer + bursts.by_busy * busy) * self.free_without_bursts_pkts
    }

    /// Returns the derivative of the mean with respect to the waiting factor at constant ln ρ. `mean` and `busy`
    /// are those derivatives of the M/M/1/K mean and utilization.
    pub fn mean_by_waiting(&self, mean: f64, busy: f64, waiting: f64) -> f64 {
        let more = self.inner.mean_pkts - self.inner.utilization();
        let without = more + waiting * mean + (1.0 - waiting) * busy;
        let bursts = &self.bursts;
        (1.0 - bursts.fraction) * without + bursts.by_busy * busy * self.free_without_bursts_pkts
    }

    /// Returns the derivatives of the mean with respect to the burst sizes, at constant ln ρ.
    pub fn mean_by_bursts(&self) -> Bursts {
        Bursts {
            own_pkts: self.bursts.by.own_pkts * self.free_without_bursts_pkts,
            others_pkts: self.bursts.by.others_pkts * self.free_without_bursts_pkts,
        }
    }
}

impl DropTailTcpLaw {
    /// Returns the queue at ln ρ = `x`, without its loss.
    #[inline]
    pub fn queue(&self, x: f64, k: f64) -> ScaledMm1k {
        let w = self.waiting_factor();
        if w == 1.0 {
            let inner = equilibrium(x, k);
            return ScaledMm1k {
                buffer_pkts: k,
                mean_pkts: inner.mean_pkts,
                free_pkts: inner.free_pkts,
                slope: inner.slope,
                bursts: BurstFill::default(),
                free_without_bursts_pkts: inner.free_pkts,
                inner,
            }
            .with_bursts(&self.bursts, k);
        }
        let room_pkts = 1.0 + (k - 1.0).max(0.0) / w;
        let inner = equilibrium(x, room_pkts);
        let busy = inner.utilization();
        let free_pkts = inner.empty + w * (inner.free_pkts - inner.empty);
        ScaledMm1k {
            buffer_pkts: room_pkts,
            mean_pkts: busy + w * (inner.mean_pkts - busy),
            free_pkts,
            slope: w * inner.slope + (1.0 - w) * inner.empty * inner.mean_pkts,
            bursts: BurstFill::default(),
            free_without_bursts_pkts: free_pkts,
            inner,
        }
        .with_bursts(&self.bursts, k)
    }

    /// Returns the model of the same queue under a controller that keeps its delay at a target (PIE). At a
    /// given delay the link is busier than in M/M/1/K, and only its throughput matters. TCP loses few
    /// packets, one at a time, and sends at the rate of acknowledged data.
    pub fn under_pie(&self) -> DropTailTcpLaw {
        DropTailTcpLaw {
            calibration: Calibration {
                waiting: self.poisson * MD1_WAITING_FACTOR
                    + (1.0 - self.poisson) * PIE_WAITING_FACTOR,
                ..Calibration::default()
            },
            bursts: self.bursts,
            ..DropTailTcpLaw::default()
        }
    }

    /// Returns true if it differs from M/M/1/K.
    pub fn differs_from_mm1k(&self) -> bool {
        self.poisson < 1.0 || self.waiting < 1.0 || self.has_bursts() || self.is_paced()
    }

    /// Returns true if its packets arrive over a link that is not faster and do not wait again.
    pub fn is_paced(&self) -> bool {
        self.calibration.waiting == PACED_WAITING_FACTOR
    }

    /// Returns the packets that bursts add to the mean queue at ln ρ = `x`.
    pub fn added_by_bursts_pkts(&self, x: f64, k: f64) -> f64 {
        if self.has_bursts() {
            let queue = self.queue(x, k);
            queue.bursts.fraction * queue.free_without_bursts_pkts
        } else {
            0.0
        }
    }

    /// Returns true if there are finite transfers.
    pub fn has_bursts(&self) -> bool {
        self.bursts != Bursts::default()
    }

    /// Returns true if the loss of windows is negligible in a queue of mean `queue_pkts` and buffer `k`: a
    /// bound that is cheap to evaluate.
    #[inline]
    pub fn has_negligible_loss(&self, queue_pkts: f64, k: f64) -> bool {
        if queue_pkts > 0.25 * k || self.poisson > 0.0 {
            return false;
        }
        let windows = self.windows + WINDOW_OFFSET;
        let bunched = ACK_BUNCHING_LIMIT + ACK_BUNCHING_SLOPE * self.acks;
        let half = 0.25 * k * k / queue_pkts.max(1e-9 * k);
        let over = (half - bunched * k / windows.sqrt()) / self.sawtooth_amplitude;
        let more = self.calibration.losses.max(1.0).sqrt();
        over > 0.0 && SAWTOOTH_COEFFICIENT * windows * more < MIN_LOSS.sqrt() * over
    }

    /// Returns the utilization relative to M/M/1/K with the same mean, and its derivatives with respect to
    /// the mean queue and to the buffer size.
    pub fn relative_utilization(&self, queue_pkts: f64, k: f64) -> (f64, f64, f64) {
        let room = (1.0 - queue_pkts / k).max(0.0);
        let rise = room.sqrt();
        let swings = queue_pkts / (queue_pkts + SAWTOOTH_ONSET_PKTS);
        let by_room = -1.5 * self.idle * rise * swings;
        let by_swings = -self.idle * rise * room * SAWTOOTH_ONSET_PKTS
            / (queue_pkts + SAWTOOTH_ONSET_PKTS).powi(2);
        (
            1.0 - self.idle * rise * room * swings,
            by_swings - by_room / k,
            by_room * queue_pkts / (k * k),
        )
    }

    /// Returns the loss at ln ρ = `x` of M/M/1/K.
    pub fn loss_in_equilibrium(
        &self,
        x: f64,
        queue: &ScaledMm1k,
        by_room: Mm1kBufferDerivatives,
    ) -> LossWithGradient {
        let eq = &queue.inner;
        if self.poisson >= 1.0 {
            return LossWithGradient {
                loss: eq.blocking,
                pass: eq.admitted(x),
                by_x: eq.blocking * eq.free_pkts,
                by_buffer: eq.blocking * by_room.ln_blocking,
                by_queue: 0.0,
                by_ln_blocking: eq.blocking,
                by: LawGradient::default(),
            };
        }
        // Windows that cannot fill the queue lose packets only where it overflows.
        let mut of_windows = if self.windows > 0.0 {
            self.window_loss(queue.mean_pkts, queue.free_pkts)
        } else {
            WindowLoss::default()
        };
        if self.poisson <= 0.0 {
            // Removes negligible losses.
            if of_windows.loss > MIN_LOSS {
                of_windows.subtract_loss(MIN_LOSS)
            } else {
                of_windows = WindowLoss::default()
            }
        }
        let (blocking, admitted) = (eq.blocking, eq.admitted(x));
        // No more packets enter than leave. The term B⁴, with the blocking B of M/M/1/K, enforces this where
        // B is near 1.
        let wall = blocking.powi(4);
        let beyond_wall = admitted * (1.0 + blocking) * (1.0 + blocking * blocking);
        let passed = 1.0 - of_windows.loss;
        let pass = passed * beyond_wall;
        let loss = of_windows.loss + passed * wall;
        let free = eq.free_pkts;
        let w = of_windows.loss * beyond_wall;
        let by = &of_windows.by;
        let of_windows = LossWithGradient {
            loss,
            pass,
            by_x: w * of_windows.by_queue * queue.slope + passed * 4.0 * wall * free,
            by_buffer: w * (of_windows.by_queue * by_room.mean_pkts + of_windows.by_buffer)
                + passed * 4.0 * wall * by_room.ln_blocking,
            by_queue: w * of_windows.by_queue,
            by_ln_blocking: passed * 4.0 * wall,
            by: LawGradient {
                windows: w * by.windows,
                sawtooth_amplitude: w * by.sawtooth_amplitude,
                acks: w * by.acks,
                ..LawGradient::default()
            },
        };
        let u = self.poisson;
        if u <= 0.0 {
            return of_windows;
        }
        let ln_windows = ln_of_loss(of_windows.loss, of_windows.pass);
        let ln_poisson = ln_of_loss(blocking, admitted);
        let ln_loss = (1.0 - u) * ln_windows + u * ln_poisson;
        let loss = exp(ln_loss);
        let of_first = (1.0 - u) * loss / of_windows.loss.max(LEAST_LOSS);
        let of_blocking = if blocking > LEAST_LOSS { u * loss } else { 0.0 };
        LossWithGradient {
            loss,
            pass: -exp_m1(ln_loss),
            by_x: of_first * of_windows.by_x + of_blocking * free,
            by_buffer: of_first * of_windows.by_buffer + of_blocking * by_room.ln_blocking,
            by_queue: of_first * of_windows.by_queue,
            by_ln_blocking: of_first * of_windows.by_ln_blocking + of_blocking,
            by: LawGradient {
                windows: of_first * of_windows.by.windows,
                sawtooth_amplitude: of_first * of_windows.by.sawtooth_amplitude,
                acks: of_first * of_windows.by.acks,
                poisson: loss * (ln_poisson - ln_windows),
                ..LawGradient::default()
            },
        }
    }

    /// Returns the loss of windows alone, at a mean queue of `queue_pkts` packets with space for `free_pkts`
    /// more.
    pub fn window_loss(&self, queue_pkts: f64, free_pkts: f64) -> WindowLoss {
        let k = queue_pkts + free_pkts;
        if self.has_negligible_loss(queue_pkts, k) {
            return WindowLoss::default();
        }
        let n = queue_pkts.clamp(1e-9 * k, k);
        let windows = self.windows + WINDOW_OFFSET;
        // Half amplitude divided by σ, and its derivatives with respect to N and K.
        let (half, half_by_n, half_by_k) = if n > 0.5 * k {
            (free_pkts, -1.0, 1.0)
        } else {
            (0.25 * k * k / n, -0.25 * (k / n).powi(2), 0.5 * k / n)
        };
        let [half, half_by_n, half_by_k] =
            [half, half_by_n, half_by_k].map(|it| it / self.sawtooth_amplitude);
        let without = exp(-self.acks / ACK_BUNCHING_SCALE);
        let bunched = ACK_BUNCHING_LIMIT * (1.0 - without) + ACK_BUNCHING_SLOPE * self.acks;
        let bunched_by_acks =
            ACK_BUNCHING_LIMIT * without / ACK_BUNCHING_SCALE + ACK_BUNCHING_SLOPE;
        let per_bunched = k / (windows.sqrt() * self.sawtooth_amplitude);
        let bunches = per_bunched * bunched;
        // Remainder for the sawtooth term: the difference, smoothly kept positive.
        let softly = 0.1 * (1.0 + bunches);
        let over = half - bunches;
        let root = (over * over + 4.0 * softly * softly).sqrt();
        let saw = if over > 0.0 {
            0.5 * (over + root)
        } else {
            2.0 * softly * softly / (root - over)
        };
        let by_over = saw / root;
        let by_softly = 2.0 * softly / root;
        let by_bunches = 0.1 * by_softly - by_over;
        // √p = g (1 + g²/p₀)^(−1/3), with g = c n/saw
        let load = SAWTOOTH_COEFFICIENT * windows / saw;
        let small = load * load / SMALL_WINDOW_LOSS;
        let p = self.calibration.losses * load * load / libm::cbrt((1.0 + small).powi(2));
        let by_ln_load = 2.0 - 4.0 / 3.0 * small / (1.0 + small);
        // Suppresses tiny losses and keeps the loss below 1.
        let told = p * p / (p + MIN_LOSS);
        let loss = told / (1.0 + told);
        let by_ln_p = (p + 2.0 * MIN_LOSS) / (p + MIN_LOSS) * (1.0 - loss);
        let per_saw = -by_ln_p * by_ln_load / saw;
        WindowLoss {
            loss,
            by_queue: per_saw * by_over * half_by_n,
            by_buffer: per_saw * (by_over * half_by_k + by_bunches * bunches / k),
            by: LawGradient {
                windows: by_ln_p * by_ln_load / windows
                    - per_saw * by_bunches * 0.5 * bunches / windows,
                sawtooth_amplitude: -per_saw * (by_over * half + by_bunches * bunches)
                    / self.sawtooth_amplitude,
                acks: per_saw * by_bunches * per_bunched * bunched_by_acks,
                ..LawGradient::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filling(windows: f64, sawtooth_amplitude: f64, acks: f64) -> DropTailTcpLaw {
        DropTailTcpLaw {
            windows,
            sawtooth_amplitude,
            acks,
            poisson: 0.0,
            ..DropTailTcpLaw::default()
        }
    }

    /// Agrees with the equations of the module documentation: the mean is half the amplitude below full.
    #[test]
    fn mean_is_half_amplitude_below_full() {
        for (windows, sawtooth_amplitude, load) in
            [(4.0, 1.0, 0.03), (20.0, 0.5, 0.1), (100.0, 2.0, 0.3)]
        {
            let half = sawtooth_amplitude * SAWTOOTH_COEFFICIENT * (windows + WINDOW_OFFSET) / load;
            let p = load * load / f64::powf(1.0 + load * load / SMALL_WINDOW_LOSS, 2.0 / 3.0);
            for k in [3.0 * half, 1.5 * half] {
                let queue_pkts = if half < 0.5 * k {
                    k - half
                } else {
                    0.25 * k * k / half
                };
                let found = filling(windows, sawtooth_amplitude, 0.0)
                    .window_loss(queue_pkts, k - queue_pkts)
                    .loss;
                assert!(
                    (found / p - 1.0).abs() < 0.1,
                    "{windows} {sawtooth_amplitude} {k}: {found} {p}"
                );
            }
        }
    }

    proptest! {
        /// The loss increases with the queue, and the derivatives agree with finite differences.
        #[test]
        fn loss_derivatives_match_finite_differences(
            windows in 0.01..500.0_f64,
            sawtooth_amplitude in 0.2..2.0_f64,
            acks in 0.0..0.9_f64,
            k in 2.0..5000.0_f64,
            fill in 0.01..0.99_f64,
        ) {
            prop_assume!((fill - 0.5).abs() > 1e-3 && acks > 1e-3);
            let n = fill * k;
            let it = filling(windows, sawtooth_amplitude, acks).window_loss(n, k - n);
            prop_assert!(it.loss >= 0.0 && it.loss <= 1.0 && it.by_queue >= 0.0, "{it:?}");
            prop_assume!(it.loss > 1e-7 && it.loss < 0.9);
            let near = |slope: f64, at: &dyn Fn(f64) -> f64, scale: f64| {
                let h = 1e-6 * scale;
                let should = (at(h).ln() - at(-h).ln()) / (2.0 * h);
                (slope - should).abs() <= 1e-4 * (should.abs() + 1e-3 / scale)
            };
            let at = filling(windows, sawtooth_amplitude, acks);
            let loss = |it: DropTailTcpLaw, n: f64, k: f64| it.window_loss(n, k - n).loss;
            prop_assert!(near(it.by_queue, &|h| loss(at, n + h, k), k), "{it:?}");
            prop_assert!(near(it.by_buffer, &|h| loss(at, n, k + h), k), "{it:?}");
            let of = |h: f64, part: fn(&mut DropTailTcpLaw) -> &mut f64| {
                let mut aside = at;
                *part(&mut aside) += h;
                loss(aside, n, k)
            };
            prop_assert!(near(it.by.windows, &|h| of(h, |it| &mut it.windows), windows), "{it:?}");
            prop_assert!(near(it.by.sawtooth_amplitude, &|h| of(h, |it| &mut it.sawtooth_amplitude), sawtooth_amplitude), "{it:?}");
            prop_assert!(near(it.by.acks, &|h| of(h, |it| &mut it.acks), acks), "{it:?}");
        }

        /// Queues that are skipped as light have a negligible loss.
        #[test]
        fn skipped_queues_have_negligible_loss(
            windows in 0.0..5.0_f64,
            sawtooth_amplitude in 0.2..2.0_f64,
            acks in 0.0..0.9_f64,
            k in 100.0..5000.0_f64,
            fill in 1e-9..0.01_f64,
        ) {
            let it = filling(windows, sawtooth_amplitude, acks);
            prop_assume!(it.has_negligible_loss(fill * k, k));
            // The loss just beyond the threshold is not reported either.
            let mut more = fill * k;
            while it.has_negligible_loss(more, k) {
                more *= 1.001;
            }
            prop_assert!(it.window_loss(more, k - more).loss < 0.6 * MIN_LOSS, "{:?}", it.window_loss(more, k - more));
        }
    }
}
