//! A drop-tail queue that congestion windows fill: how much it loses, and how busy it is, beside how long it is.
//!
//! Windows are not Poisson. They grow until the queue overflows, lose a packet or so each, and shrink:
//! what is in flight swings like a saw. So a queue under windows stands near to full while next to nothing
//! is lost, where M/M/1/K would need much loss. With n windows and the loss p, half of that swing is, in
//! packets,
//!
//! > A/2 = σ (c (n + n₀) / (√p s(p)) + K e(a)/√(n + n₀)),   e(a) = e₀ (1 − e^(−a/a₀)) + e₁ a
//!
//! The first term is the sawtooth: one window is about 1.2/√p on average, and swings by a part of that, the
//! same for any number of windows that lose together. Windows of few packets do not: s rises from 1 to
//! beyond where p exceeds p₀. The second is what acknowledgements do that share the queue, a being their part of
//! the packets: they bunch, and the windows that follow them arrive in bunches. σ says how far the windows of a TCP
//! swing beside those of ns-2's Reno, for which it is 1: its profile has it, and it is a mean where several meet. As long as the queue never
//! empties, its mean is as far from full as half the swing; else the saw is cut off below:
//!
//! > N = K − A/2 where A ≤ K,   N = K²/(2A) beyond.
//!
//! Read backwards this gives the loss B(N) of a queue of so many packets. A queue that swings so is empty
//! for more of the time than M/M/1/K with the same mean, the more the less full it is:
//!
//! > U(N) = U_M/M/1/K(N) · (1 − σ h (1 − N/K)^5/2 N/(N + 3)),
//!
//! which rises with N as long as 3h ≤ 1 − h; where there is hardly a queue, nothing swings.
//!
//! c, n₀, p₀, e₀, e₁ and h were fitted to packets on random networks of five families (studies/fluid-population,
//! the development set), the whole engine running; a₀ and the 3 packets were chosen beside. Traffic that does not react fills a queue as
//! in M/M/1/K; where both are, with the part u of the bandwidth wanted by the latter, ln B is the mean of
//! both with these weights, and h is smaller by u. A queue of two packets is M/M/1/K; up to
//! ten, 1 − u is smaller by a part that falls to none. What is counted of whom is said in [`crossing`](crate::crossing).

use netflow_network::Calibration;
use netflow_units::math::{exp, exp_m1, ln, ln_1p};

use crate::bursts::Bursts;
use crate::mm1k::{Equilibrium, equilibrium};

/// c, the part of a window by which it swings, times 1.2.
const SWING: f64 = 0.255;
/// n₀.
const MORE_WINDOWS: f64 = 0.8;
/// p₀.
const SMALL_WINDOWS: f64 = 0.032;
/// e₀, e₁ and a₀.
const BUNCHED: f64 = 0.4;
const BUNCHED_BY_ACKS: f64 = 0.25;
const FEW_ACKS: f64 = 0.03;
/// h.
pub(crate) const EMPTY: f64 = 0.23;

/// Of the packets that wait in M/M/1/K at a utilization, so many do if they have one size (M/D/1).
const ONE_SIZE: f64 = 0.5;

/// Of the packets that wait in M/M/1/K, about so many do of windows under PIE.
const CONTROLLED: f64 = 0.1;

/// Of the packets that wait in M/M/1/K, the share that waits behind a link that is no faster: nearly none.
const PACED: f64 = 1e-5;

/// In a queue of so many packets half of its swings are there.
const SWINGS_FROM: f64 = 3.0;

/// No loss is told that is less than about this.
const NONE: f64 = 1e-6;

/// What is told is more than this.
const NOTHING: f64 = 1e-9;

/// Where √p is less, it is less than that.
const LIGHT: f64 = 1e-4;

/// What fills one queue, as far as it does not change from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// Windows whose data crosses it and may grow until it overflows (n).
    pub windows: f64,
    /// How far they swing (σ), as a mean.
    pub swing: f64,
    /// Acknowledgements, as a part of the packets of windows, each window counting the same (a).
    pub acks: f64,
    /// The weight of M/M/1/K (u): what sources that do not react want, as a part of the bandwidth, and nearly all
    /// where there is room for few packets only.
    pub poisson: f64,
    /// Part of the time that an empty queue would be idle beyond what M/M/1/K says (σ h).
    pub idle: f64,
    /// Transfers that come and go, where no windows fill the queue.
    pub bursts: Bursts,
    /// What packets showed of this queue.
    pub calibration: Calibration,
}

/// M/M/1/K in which some other number waits at the same utilization U (w times as many as M/M/1/K says):
///
/// > N = U + w (N_M/M/1/K' − U),   K' = 1 + (K − 1)/w
///
/// and of what that leaves of the room, [bursts](crate::bursts) fill a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretched {
    /// M/M/1/K'.
    pub inner: Equilibrium,
    /// K'.
    pub room_pkts: f64,
    /// N, K − N, and dN/dx.
    pub mean_pkts: f64,
    /// See [`mean_pkts`](Self::mean_pkts).
    pub free_pkts: f64,
    /// See [`mean_pkts`](Self::mean_pkts).
    pub slope: f64,
    /// The part that bursts fill.
    bursts: FilledByBursts,
    /// The room without them.
    free_without: f64,
}

/// The part of a queue's room that bursts fill, and its slopes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FilledByBursts {
    part: f64,
    /// By ln ρ, and by the room.
    by_x: f64,
    by_buffer: f64,
    /// By the part of the time that the queue is busy.
    by_busy: f64,
    /// By packets of bursts.
    by: Bursts,
}

/// By how much a measure changes with each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByFilling {
    /// By [`Filling::windows`].
    pub windows: f64,
    /// By [`Filling::swing`].
    pub swing: f64,
    /// By [`Filling::acks`].
    pub acks: f64,
    /// By [`Filling::poisson`].
    pub poisson: f64,
    /// By [`Filling::idle`].
    pub idle: f64,
    /// By [`Filling::bursts`].
    pub bursts: Bursts,
}

/// A loss, and how its logarithm changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FilledLoss {
    /// Probability that a packet finds the queue full.
    pub loss: f64,
    /// d ln B by the mean packets in the queue.
    pub by_queue: f64,
    /// By its room, the mean staying.
    pub by_buffer: f64,
    /// By what fills it, the mean staying.
    pub by: ByFilling,
}

/// How M/M/1/K changes with its room, ln ρ staying.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByRoomAlone {
    /// Its mean.
    pub mean_pkts: f64,
    /// ln of its blocking.
    pub ln_blocking: f64,
}

/// A loss in a queue at one ln ρ, and how it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueLoss {
    /// Probability that a packet finds the queue full, B.
    pub loss: f64,
    /// 1 − B, to the last digit where that is small.
    pub pass: f64,
    /// dB/dx.
    pub by_x: f64,
    /// dB/dK.
    pub by_buffer: f64,
    /// dB by the mean queue, ln ρ staying.
    pub by_queue: f64,
    /// dB by what fills the queue.
    pub by: ByFilling,
}

impl QueueLoss {
    /// ln(1 − B), to the last digit where B is small, too.
    pub fn ln_pass(&self) -> f64 {
        match self.loss > 0.5 {
            true => ln(self.pass),
            false => ln_1p(-self.loss),
        }
    }
}

fn ln_of_loss(loss: f64, pass: f64) -> f64 {
    match loss > 0.5 {
        true => ln_1p(-pass),
        false => ln(loss.max(1e-300)),
    }
}

impl FilledLoss {
    /// So much less, and the same slopes but of the logarithm of what is left.
    fn take_off(&mut self, loss: f64) {
        let scale = self.loss / (self.loss - loss);
        self.loss -= loss;
        self.by_queue *= scale;
        self.by_buffer *= scale;
        self.by.windows *= scale;
        self.by.swing *= scale;
        self.by.acks *= scale;
    }
}

impl Default for Filling {
    /// M/M/1/K.
    fn default() -> Filling {
        Filling {
            windows: 0.0,
            swing: 1.0,
            acks: 0.0,
            poisson: 1.0,
            idle: 0.0,
            bursts: Bursts::default(),
            calibration: Calibration::default(),
        }
    }
}

impl Filling {
    /// The queue behind a link that is no faster, of packets that do not wait again.
    pub fn paced() -> Filling {
        Filling {
            calibration: Calibration {
                waiting: PACED,
                ..Calibration::default()
            },
            ..Filling::default()
        }
    }
}

impl Bursts {
    /// The part of a queue's room that it fills: f = U n/(n + K e) with n = D e + X U, e = 1 − U.
    #[inline]
    fn fills(&self, inner: &Equilibrium, k: f64) -> FilledByBursts {
        let (d, x) = (self.own_pkts, self.others_pkts);
        let (busy, idle) = (inner.utilization(), inner.empty);
        let n = d * idle + x * busy;
        let all = n + k * idle;
        if n <= 0.0 {
            return FilledByBursts::default();
        }
        let full = n / all;
        let per_n = busy * k * idle / (all * all);
        // By U, which makes e less.
        let by_busy = full + per_n * (x - d) + busy * n * k / (all * all);
        FilledByBursts {
            part: busy * full,
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

impl Stretched {
    /// The queue, with M/M/1/K's loss and idle time.
    pub fn equilibrium(&self) -> Equilibrium {
        Equilibrium {
            mean_pkts: self.mean_pkts,
            free_pkts: self.free_pkts,
            slope: self.slope,
            ..self.inner
        }
    }

    fn filled_by(self, bursts: &Bursts, k: f64) -> Stretched {
        if *bursts == Bursts::default() {
            return self;
        }
        let bursts = bursts.fills(&self.inner, k);
        Stretched {
            mean_pkts: self.mean_pkts + bursts.part * self.free_pkts,
            free_pkts: (1.0 - bursts.part) * self.free_pkts,
            slope: (1.0 - bursts.part) * self.slope + bursts.by_x * self.free_pkts,
            bursts,
            ..self
        }
    }

    /// How the mean changes with the room, ln ρ staying, that of M/M/1/K and its utilization changing by `mean` and `busy`.
    pub fn mean_by_room(&self, mean: f64, busy: f64, waiting: f64) -> f64 {
        let without = waiting * mean + (1.0 - waiting) * busy;
        let bursts = &self.bursts;
        without
            + bursts.part * (1.0 - without)
            + (bursts.by_buffer + bursts.by_busy * busy) * self.free_without
    }

    /// How the mean changes with what bursts are, ln ρ staying.
    pub fn mean_by_bursts(&self) -> Bursts {
        Bursts {
            own_pkts: self.bursts.by.own_pkts * self.free_without,
            others_pkts: self.bursts.by.others_pkts * self.free_without,
        }
    }
}

impl Filling {
    /// The queue at ln ρ = `x` as far as the loss does not matter.
    #[inline]
    pub fn queue(&self, x: f64, k: f64) -> Stretched {
        let w = self.calibration.waiting;
        if w == 1.0 {
            let inner = equilibrium(x, k);
            return Stretched {
                room_pkts: k,
                mean_pkts: inner.mean_pkts,
                free_pkts: inner.free_pkts,
                slope: inner.slope,
                bursts: FilledByBursts::default(),
                free_without: inner.free_pkts,
                inner,
            }
            .filled_by(&self.bursts, k);
        }
        let room_pkts = 1.0 + (k - 1.0).max(0.0) / w;
        let inner = equilibrium(x, room_pkts);
        let busy = inner.utilization();
        let free_pkts = inner.empty + w * (inner.free_pkts - inner.empty);
        Stretched {
            room_pkts,
            mean_pkts: busy + w * (inner.mean_pkts - busy),
            free_pkts,
            slope: w * inner.slope + (1.0 - w) * inner.empty * inner.mean_pkts,
            bursts: FilledByBursts::default(),
            free_without: free_pkts,
            inner,
        }
        .filled_by(&self.bursts, k)
    }

    /// The same at a queue whose drops hold its wait at a target (PIE): at a given wait the link is busier than M/M/1/K
    /// says, and what it sends is all that matters there. Windows meet few losses, one at a time, and send what is
    /// acknowledged.
    pub fn controlled(&self) -> Filling {
        Filling {
            calibration: Calibration {
                waiting: self.poisson * ONE_SIZE + (1.0 - self.poisson) * CONTROLLED,
                ..Calibration::default()
            },
            bursts: self.bursts,
            ..Filling::default()
        }
    }

    /// Whether it differs from M/M/1/K.
    pub fn is_some(&self) -> bool {
        self.poisson < 1.0 || self.has_bursts() || self.is_paced()
    }

    /// Whether its packets come from a link that is no faster, and do not wait again.
    pub fn is_paced(&self) -> bool {
        self.calibration.waiting == PACED
    }

    /// How many packets bursts add to the queue at ln ρ = `x`.
    pub fn added_by_bursts_pkts(&self, x: f64, k: f64) -> f64 {
        match self.has_bursts() {
            true => {
                let queue = self.queue(x, k);
                queue.bursts.part * queue.free_without
            }
            false => 0.0,
        }
    }

    /// Whether transfers come and go.
    pub fn has_bursts(&self) -> bool {
        self.bursts != Bursts::default()
    }

    /// Whether windows lose nothing to speak of in a queue with so many of `k` packets: a bound that costs little.
    #[inline]
    pub fn is_light(&self, queue_pkts: f64, k: f64) -> bool {
        if queue_pkts > 0.25 * k || self.poisson > 0.0 {
            return false;
        }
        let windows = self.windows + MORE_WINDOWS;
        let bunched = BUNCHED + BUNCHED_BY_ACKS * self.acks;
        let half = 0.25 * k * k / queue_pkts.max(1e-9 * k);
        let over = half / self.swing - bunched * k / windows.sqrt();
        let more = self.calibration.losses.max(1.0).sqrt();
        over > 0.0 && SWING * windows * more < LIGHT * over
    }

    /// The part of the time that M/M/1/K would be busy and this queue is, and its slopes by the mean queue and by
    /// its room.
    pub fn busy(&self, queue_pkts: f64, k: f64) -> (f64, f64, f64) {
        let room = (1.0 - queue_pkts / k).max(0.0);
        let rise = room * room.sqrt();
        let swings = queue_pkts / (queue_pkts + SWINGS_FROM);
        let by_room = -2.5 * self.idle * rise * swings;
        let by_swings = -self.idle * rise * room * SWINGS_FROM / (queue_pkts + SWINGS_FROM).powi(2);
        (
            1.0 - self.idle * rise * room * swings,
            by_swings - by_room / k,
            by_room * queue_pkts / (k * k),
        )
    }

    /// The loss of a queue that is M/M/1/K with ln ρ = `x` else.
    pub fn in_equilibrium(&self, x: f64, queue: &Stretched, by_room: ByRoomAlone) -> QueueLoss {
        let eq = &queue.inner;
        if self.poisson >= 1.0 {
            return QueueLoss {
                loss: eq.blocking,
                pass: eq.admitted(x),
                by_x: eq.blocking * eq.free_pkts,
                by_buffer: eq.blocking * by_room.ln_blocking,
                by_queue: 0.0,
                by: ByFilling::default(),
            };
        }
        let mut of_windows = self.of_windows(queue.mean_pkts, queue.free_pkts);
        if self.poisson <= 0.0 {
            // Of a loss so small nobody needs to know.
            match of_windows.loss > NOTHING {
                true => of_windows.take_off(NOTHING),
                false => of_windows = FilledLoss::default(),
            }
        }
        let (blocking, admitted) = (eq.blocking, eq.admitted(x));
        // However much comes, no more gets in than leaves: a wall where M/M/1/K's blocking is near 1.
        let wall = blocking.powi(4);
        let beyond_wall = admitted * (1.0 + blocking) * (1.0 + blocking * blocking);
        let passed = 1.0 - of_windows.loss;
        let pass = passed * beyond_wall;
        let loss = of_windows.loss + passed * wall;
        let free = eq.free_pkts;
        let w = of_windows.loss * beyond_wall;
        let by = &of_windows.by;
        let of_windows = QueueLoss {
            loss,
            pass,
            by_x: w * of_windows.by_queue * queue.slope + passed * 4.0 * wall * free,
            by_buffer: w * (of_windows.by_queue * by_room.mean_pkts + of_windows.by_buffer)
                + passed * 4.0 * wall * by_room.ln_blocking,
            by_queue: w * of_windows.by_queue,
            by: ByFilling {
                windows: w * by.windows,
                swing: w * by.swing,
                acks: w * by.acks,
                ..ByFilling::default()
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
        let of_first = (1.0 - u) * loss / of_windows.loss.max(1e-300);
        QueueLoss {
            loss,
            pass: -exp_m1(ln_loss),
            by_x: of_first * of_windows.by_x + u * loss * free,
            by_buffer: of_first * of_windows.by_buffer + u * loss * by_room.ln_blocking,
            by_queue: of_first * of_windows.by_queue,
            by: ByFilling {
                windows: of_first * of_windows.by.windows,
                swing: of_first * of_windows.by.swing,
                acks: of_first * of_windows.by.acks,
                poisson: loss * (ln_poisson - ln_windows),
                ..ByFilling::default()
            },
        }
    }

    /// What windows alone lose at a queue of `queue_pkts` packets on average, with room for `free_pkts` more.
    pub fn of_windows(&self, queue_pkts: f64, free_pkts: f64) -> FilledLoss {
        let k = queue_pkts + free_pkts;
        if self.is_light(queue_pkts, k) {
            return FilledLoss::default();
        }
        let n = queue_pkts.clamp(1e-9 * k, k);
        let windows = self.windows + MORE_WINDOWS;
        // Half the swing by σ, and its slopes by N and K.
        let (half, half_by_n, half_by_k) = match n > 0.5 * k {
            true => (free_pkts, -1.0, 1.0),
            false => (0.25 * k * k / n, -0.25 * (k / n).powi(2), 0.5 * k / n),
        };
        let [half, half_by_n, half_by_k] = [half, half_by_n, half_by_k].map(|it| it / self.swing);
        let without = exp(-self.acks / FEW_ACKS);
        let bunched = BUNCHED * (1.0 - without) + BUNCHED_BY_ACKS * self.acks;
        let bunched_by_acks = BUNCHED * without / FEW_ACKS + BUNCHED_BY_ACKS;
        let per_bunched = k / windows.sqrt();
        let bunches = per_bunched * bunched;
        // What is left for the sawtooth: their difference, kept above zero.
        let softly = 0.1 * (1.0 + bunches);
        let over = half - bunches;
        let root = (over * over + 4.0 * softly * softly).sqrt();
        let saw = match over > 0.0 {
            true => 0.5 * (over + root),
            false => 2.0 * softly * softly / (root - over),
        };
        let by_over = saw / root;
        let by_softly = 2.0 * softly / root;
        let by_bunches = 0.1 * by_softly - by_over;
        // √p = g (1 + g²/p₀)^(−1/3), with g = c n/saw
        let load = SWING * windows / saw;
        let small = load * load / SMALL_WINDOWS;
        let p = self.calibration.losses * load * load / libm::cbrt((1.0 + small).powi(2));
        let by_ln_load = 2.0 - 4.0 / 3.0 * small / (1.0 + small);
        // Too little is none, and no more is lost than there is.
        let told = p * p / (p + NONE);
        let loss = told / (1.0 + told);
        let by_ln_p = (p + 2.0 * NONE) / (p + NONE) * (1.0 - loss);
        let per_saw = -by_ln_p * by_ln_load / saw;
        FilledLoss {
            loss,
            by_queue: per_saw * by_over * half_by_n,
            by_buffer: per_saw * (by_over * half_by_k + by_bunches * bunches / k),
            by: ByFilling {
                windows: by_ln_p * by_ln_load / windows
                    - per_saw * by_bunches * 0.5 * bunches / windows,
                swing: -per_saw * by_over * half / self.swing,
                acks: per_saw * by_bunches * per_bunched * bunched_by_acks,
                ..ByFilling::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filling(windows: f64, swing: f64, acks: f64) -> Filling {
        Filling {
            windows,
            swing,
            acks,
            poisson: 0.0,
            ..Filling::default()
        }
    }

    /// One way, the equations as printed: the queue is as far from full as half the swing.
    #[test]
    fn a_saw_stands_below_full() {
        for (windows, swing, load) in [(4.0, 1.0, 0.03), (20.0, 0.5, 0.1), (100.0, 2.0, 0.3)] {
            let half = swing * SWING * (windows + MORE_WINDOWS) / load;
            let p = load * load / f64::powf(1.0 + load * load / SMALL_WINDOWS, 2.0 / 3.0);
            for k in [3.0 * half, 1.5 * half] {
                let queue_pkts = match half < 0.5 * k {
                    true => k - half,
                    false => 0.25 * k * k / half,
                };
                let found = filling(windows, swing, 0.0)
                    .of_windows(queue_pkts, k - queue_pkts)
                    .loss;
                assert!(
                    (found / p - 1.0).abs() < 0.1,
                    "{windows} {swing} {k}: {found} {p}"
                );
            }
        }
    }

    proptest! {
        /// The loss rises with the queue, and slopes are those of differences.
        #[test]
        fn slopes_are_those_of_differences(
            windows in 0.01..500.0_f64,
            swing in 0.2..2.0_f64,
            acks in 0.0..0.9_f64,
            k in 2.0..5000.0_f64,
            fill in 0.01..0.99_f64,
        ) {
            prop_assume!((fill - 0.5).abs() > 1e-3 && acks > 1e-3);
            let n = fill * k;
            let it = filling(windows, swing, acks).of_windows(n, k - n);
            prop_assert!(it.loss >= 0.0 && it.loss <= 1.0 && it.by_queue >= 0.0, "{it:?}");
            prop_assume!(it.loss > 1e-7 && it.loss < 0.9);
            let near = |slope: f64, at: &dyn Fn(f64) -> f64, scale: f64| {
                let h = 1e-6 * scale;
                let should = (at(h).ln() - at(-h).ln()) / (2.0 * h);
                (slope - should).abs() <= 1e-4 * (should.abs() + 1e-3 / scale)
            };
            let at = filling(windows, swing, acks);
            let loss = |it: Filling, n: f64, k: f64| it.of_windows(n, k - n).loss;
            prop_assert!(near(it.by_queue, &|h| loss(at, n + h, k), k), "{it:?}");
            prop_assert!(near(it.by_buffer, &|h| loss(at, n, k + h), k), "{it:?}");
            let of = |h: f64, part: fn(&mut Filling) -> &mut f64| {
                let mut aside = at;
                *part(&mut aside) += h;
                loss(aside, n, k)
            };
            prop_assert!(near(it.by.windows, &|h| of(h, |it| &mut it.windows), windows), "{it:?}");
            prop_assert!(near(it.by.swing, &|h| of(h, |it| &mut it.swing), swing), "{it:?}");
            prop_assert!(near(it.by.acks, &|h| of(h, |it| &mut it.acks), acks), "{it:?}");
        }

        /// What is passed over as light would lose nothing.
        #[test]
        fn light_queues_lose_nothing(
            windows in 0.0..5.0_f64,
            swing in 0.2..2.0_f64,
            acks in 0.0..0.9_f64,
            k in 100.0..5000.0_f64,
            fill in 0.0..0.01_f64,
        ) {
            let it = filling(windows, swing, acks);
            prop_assume!(it.is_light(fill * k, k));
            // Beside the threshold, the loss is told.
            let mut more = fill * k;
            while it.is_light(more, k) {
                more *= 1.001;
            }
            prop_assert!(it.of_windows(more, k - more).loss < 1.1e-10, "{:?}", it.of_windows(more, k - more));
        }
    }
}
