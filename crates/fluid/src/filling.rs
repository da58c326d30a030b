//! A drop-tail queue that congestion windows fill: how much it loses, and how busy it is, beside how long it is.
//!
//! Windows are not Poisson. They grow until the queue overflows, lose a packet or so each, and shrink:
//! what is in flight swings like a saw. So a queue under windows stands near to full while next to nothing
//! is lost, where M/M/1/K would need much loss. With n windows and the loss p, half of that swing is, in
//! packets,
//!
//! > A/2 = c (n + n₀) / (√p s(p)) + K e(a)/√(n + n₀),   e(a) = e₀ (1 − e^(−a/a₀)) + e₁ a
//!
//! The first term is the sawtooth: one window is about 1.2/√p on average, and swings by a part of that, the
//! same for any number of windows that lose together. Windows of few packets do not: s rises from 1 to
//! beyond where p exceeds p₀. The second is what acknowledgements do that share the queue, a being their part of
//! the packets: they bunch, and the windows that follow them arrive in bunches. As long as the queue never
//! empties, its mean is as far from full as half the swing; else the saw is cut off below:
//!
//! > N = K − A/2 where A ≤ K,   N = K²/(2A) beyond.
//!
//! Read backwards this gives the loss B(N) of a queue of so many packets. A queue that swings so is empty
//! for more of the time than M/M/1/K with the same mean, the more the less full it is:
//!
//! > U(N) = U_M/M/1/K(N) · (1 − h (1 − N/K)^5/2 N/(N + 3)),
//!
//! which rises with N as long as 3h ≤ 1 − h; where there is hardly a queue, nothing swings.
//!
//! c, p₀, e₀, e₁ and h were fitted to packets on random networks of five families (studies/fluid-population,
//! the development set); n₀ and a₀ only keep the ends in place. Traffic that does not react fills a queue as
//! in M/M/1/K; where both are, with the part u of the bandwidth wanted by the latter, ln B is the mean of
//! both with these weights, and h is smaller by u. A queue of two packets is M/M/1/K; up to
//! ten, 1 − u is smaller by a part that falls to none.

use crate::mm1k::Equilibrium;

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
const EMPTY: f64 = 0.23;

/// A queue with room for so many packets is M/M/1/K, and from so many on it is that of windows.
const ROOMS: (f64, f64) = (2.0, 10.0);

/// In a queue of so many packets half of its swings are there.
const SWINGS_FROM: f64 = 3.0;

/// No loss is told that is less than about this.
const NONE: f64 = 1e-6;

/// What is told is more than this.
const NOTHING: f64 = 1e-9;

/// Where √p is less, it is less than that.
const LIGHT: f64 = 1e-4;

/// Connections of a class whose congestion windows fill queues.
#[derive(Clone, Copy, Debug)]
pub struct Windowed {
    /// How many.
    pub count: f64,
    /// Largest window of each in packets; infinite if nothing limits it.
    pub window_pkts: f64,
    /// Propagation there and back, in seconds.
    pub round_trip_s: f64,
    /// Bits of a packet of data.
    pub data_bits: f64,
}

/// Who crosses one link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crossing {
    /// What the link sends, in bit/s.
    pub bandwidth_bps: f64,
    /// The room of its queue.
    pub buffer_pkts: f64,
    /// Windows whose data crosses it.
    pub windows: f64,
    /// Acknowledgements per packet of each window that has its way back over it.
    pub acks: f64,
    /// Of the windows, those that may grow until the queue overflows: each times
    /// [`reaction`](Self::reaction).
    pub reacting: f64,
    /// What sources want that do not react, in bit/s.
    pub unresponsive_bps: f64,
}

/// What fills one queue, as far as it does not change from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// Windows whose data crosses it and may grow until it overflows (n).
    pub windows: f64,
    /// Acknowledgements, as a part of the packets of windows, each window counting the same (a).
    pub acks: f64,
    /// The weight of M/M/1/K (u): what sources that do not react want, as a part of the bandwidth, and nearly all
    /// where there is room for few packets only.
    pub poisson: f64,
    /// Part of the time that an empty queue would be idle beyond what M/M/1/K says (h).
    pub idle: f64,
}

/// By how much a measure changes with each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByFilling {
    /// By [`Filling::windows`].
    pub windows: f64,
    /// By [`Filling::acks`].
    pub acks: f64,
    /// By [`Filling::poisson`].
    pub poisson: f64,
    /// By [`Filling::idle`].
    pub idle: f64,
}

/// The same by who crosses the link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByCrossing {
    /// By [`Crossing::bandwidth_bps`].
    pub bandwidth_bps: f64,
    /// By [`Crossing::buffer_pkts`].
    pub buffer_pkts: f64,
    /// By [`Crossing::windows`].
    pub windows: f64,
    /// By [`Crossing::acks`].
    pub acks: f64,
    /// By [`Crossing::reacting`].
    pub reacting: f64,
    /// By [`Crossing::unresponsive_bps`].
    pub unresponsive_bps: f64,
}

/// How [`Crossing::reaction`] changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByRoom {
    /// By [`Crossing::bandwidth_bps`].
    pub bandwidth_bps: f64,
    /// By [`Crossing::buffer_pkts`].
    pub buffer_pkts: f64,
    /// By [`Crossing::windows`].
    pub windows: f64,
    /// By [`Windowed::round_trip_s`].
    pub round_trip_s: f64,
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
    /// dB by what fills the queue.
    pub by: ByFilling,
}

/// M/M/1/K's blocking, and one less that, each to the last digit.
struct Poisson {
    blocking: f64,
    pass: f64,
}

impl Poisson {
    fn new(x: f64, eq: &Equilibrium) -> Poisson {
        Poisson {
            blocking: eq.blocking,
            pass: match x > 0.0 {
                true => eq.utilization() * (-x).exp(), // 1−B = U/ρ
                false => 1.0 - eq.blocking,
            },
        }
    }
}

fn ln_of_loss(loss: f64, pass: f64) -> f64 {
    match loss > 0.5 {
        true => (-pass).ln_1p(),
        false => loss.max(1e-300).ln(),
    }
}

/// From 0 at 0 to 1 at 1 without a bend, and its slope.
fn smooth_step(at: f64) -> (f64, f64) {
    let at = at.clamp(0.0, 1.0);
    (at * at * (3.0 - 2.0 * at), 6.0 * at * (1.0 - at))
}

impl FilledLoss {
    /// So much less, and the same slopes but of the logarithm of what is left.
    fn take_off(&mut self, loss: f64) {
        let scale = self.loss / (self.loss - loss);
        self.loss -= loss;
        self.by_queue *= scale;
        self.by_buffer *= scale;
        self.by.windows *= scale;
        self.by.acks *= scale;
    }
}

impl Crossing {
    /// Whether windows like these can fill the link and its queue if all that cross it are like them: 1 if a
    /// part of 3/4 of what they may have is enough, falling to 0 where all of it is not.
    pub fn reaction(&self, of: &Windowed) -> f64 {
        smooth_step(4.0 * (1.0 - self.wanted(of))).0
    }

    /// The part of their largest windows that fills the link and its queue.
    fn wanted(&self, of: &Windowed) -> f64 {
        let room_pkts = self.bandwidth_bps / of.data_bits * of.round_trip_s + self.buffer_pkts;
        room_pkts / (self.windows * of.window_pkts)
    }

    /// The slopes of [`reaction`](Self::reaction).
    pub fn reaction_slopes(&self, of: &Windowed) -> ByRoom {
        let wanted = self.wanted(of);
        let slope = smooth_step(4.0 * (1.0 - wanted)).1;
        if slope == 0.0 {
            return ByRoom::default();
        }
        let per_pkt = -4.0 * slope / (self.windows * of.window_pkts);
        ByRoom {
            bandwidth_bps: per_pkt * of.round_trip_s / of.data_bits,
            buffer_pkts: per_pkt,
            windows: 4.0 * slope * wanted / self.windows,
            round_trip_s: per_pkt * self.bandwidth_bps / of.data_bits,
        }
    }

    /// 0 where there is room for two packets, in which no saw swings, and 1 where there is for ten; and its slope
    /// by the room.
    fn roomy(&self) -> (f64, f64) {
        let (few, many) = ROOMS;
        let (step, slope) = smooth_step((self.buffer_pkts - few) / (many - few));
        (step, slope / (many - few))
    }

    /// What that makes of the queue.
    pub fn filling(&self) -> Filling {
        if self.windows <= 0.0 {
            return Filling::default();
        }
        let others = (1.0 - self.unresponsive_bps / self.bandwidth_bps).max(0.0);
        let poisson = 1.0 - others * self.roomy().0;
        Filling {
            windows: self.reacting,
            acks: self.acks / (self.windows + self.acks),
            poisson,
            idle: EMPTY * (1.0 - poisson) * self.reacting / self.windows,
        }
    }

    /// What a measure changes by that changes so with the filling.
    pub fn pull(&self, by: &ByFilling) -> ByCrossing {
        if self.windows <= 0.0 {
            return ByCrossing::default();
        }
        let all = self.windows + self.acks;
        let wanted = self.unresponsive_bps / self.bandwidth_bps;
        let others = (1.0 - wanted).max(0.0);
        let (roomy, roomy_by_buffer) = self.roomy();
        let part = self.reacting / self.windows;
        // By the weight of what is not M/M/1/K.
        let by_weight = by.idle * EMPTY * part - by.poisson;
        let by_others = if others > 0.0 { by_weight * roomy } else { 0.0 };
        let by_unresponsive = -by_others;
        let by_buffer = by_weight * others * roomy_by_buffer;
        let by_part = by.idle * EMPTY * others * roomy;
        ByCrossing {
            bandwidth_bps: -by_unresponsive * wanted / self.bandwidth_bps,
            buffer_pkts: by_buffer,
            windows: -by.acks * self.acks / (all * all) - by_part * part / self.windows,
            acks: by.acks * self.windows / (all * all),
            reacting: by.windows + by_part / self.windows,
            unresponsive_bps: by_unresponsive / self.bandwidth_bps,
        }
    }
}

impl Default for Filling {
    /// M/M/1/K.
    fn default() -> Filling {
        Filling {
            windows: 0.0,
            acks: 0.0,
            poisson: 1.0,
            idle: 0.0,
        }
    }
}

impl Filling {
    /// Whether it differs from M/M/1/K.
    pub fn is_some(&self) -> bool {
        self.poisson < 1.0
    }

    /// Whether windows lose nothing to speak of in a queue with so many of `k` packets: a bound that costs little.
    #[inline]
    pub fn is_light(&self, queue_pkts: f64, k: f64) -> bool {
        if queue_pkts > 0.25 * k || self.poisson > 0.0 {
            return false;
        }
        let windows = self.windows + MORE_WINDOWS;
        let bunched = BUNCHED + BUNCHED_BY_ACKS * self.acks;
        let over = 0.25 * k * k / queue_pkts.max(1e-9 * k) - bunched * k / windows.sqrt();
        over > 0.0 && SWING * windows < LIGHT * over
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
    pub fn in_equilibrium(&self, x: f64, eq: &Equilibrium, by_room: ByRoomAlone) -> QueueLoss {
        let mut of_windows = self.of_windows(eq.mean_pkts, eq.free_pkts);
        if self.poisson <= 0.0 {
            // Of a loss so small nobody needs to know.
            match of_windows.loss > NOTHING {
                true => of_windows.take_off(NOTHING),
                false => of_windows = FilledLoss::default(),
            }
        }
        let full = Poisson::new(x, eq);
        // However much comes, no more gets in than leaves: a wall where M/M/1/K's blocking is near 1.
        let wall = full.blocking.powi(4);
        let beyond_wall = full.pass * (1.0 + full.blocking) * (1.0 + full.blocking * full.blocking);
        let passed = 1.0 - of_windows.loss;
        let pass = passed * beyond_wall;
        let loss = of_windows.loss + passed * wall;
        let free = eq.free_pkts;
        let w = of_windows.loss * beyond_wall;
        let by = &of_windows.by;
        let of_windows = QueueLoss {
            loss,
            pass,
            by_x: w * of_windows.by_queue * eq.slope + passed * 4.0 * wall * free,
            by_buffer: w * (of_windows.by_queue * by_room.mean_pkts + of_windows.by_buffer)
                + passed * 4.0 * wall * by_room.ln_blocking,
            by: ByFilling {
                windows: w * by.windows,
                acks: w * by.acks,
                ..ByFilling::default()
            },
        };
        let u = self.poisson;
        if u <= 0.0 {
            return of_windows;
        }
        let ln_windows = ln_of_loss(of_windows.loss, of_windows.pass);
        let ln_poisson = ln_of_loss(full.blocking, full.pass);
        let ln_loss = (1.0 - u) * ln_windows + u * ln_poisson;
        let loss = ln_loss.exp();
        let of_first = (1.0 - u) * loss / of_windows.loss.max(1e-300);
        QueueLoss {
            loss,
            pass: -ln_loss.exp_m1(),
            by_x: of_first * of_windows.by_x + u * loss * free,
            by_buffer: of_first * of_windows.by_buffer + u * loss * by_room.ln_blocking,
            by: ByFilling {
                windows: of_first * of_windows.by.windows,
                acks: of_first * of_windows.by.acks,
                poisson: loss * (ln_poisson - ln_windows),
                idle: 0.0,
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
        // Half the swing, and its slopes by N and K.
        let (half, half_by_n, half_by_k) = match n > 0.5 * k {
            true => (free_pkts, -1.0, 1.0),
            false => (0.25 * k * k / n, -0.25 * (k / n).powi(2), 0.5 * k / n),
        };
        let without = (-self.acks / FEW_ACKS).exp();
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
        let p = load * load / (1.0 + small).powi(2).cbrt();
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

    fn filling(windows: f64, acks: f64) -> Filling {
        Filling {
            windows,
            acks,
            poisson: 0.0,
            idle: 0.0,
        }
    }

    /// One way, the equations as printed: the queue is as far from full as half the swing.
    #[test]
    fn a_saw_stands_below_full() {
        for (windows, load) in [(4.0, 0.03), (20.0, 0.1), (100.0, 0.3)] {
            let half = SWING * (windows + MORE_WINDOWS) / load;
            let p = load * load / f64::powf(1.0 + load * load / SMALL_WINDOWS, 2.0 / 3.0);
            for k in [3.0 * half, 1.5 * half] {
                let queue_pkts = match half < 0.5 * k {
                    true => k - half,
                    false => 0.25 * k * k / half,
                };
                let found = filling(windows, 0.0)
                    .of_windows(queue_pkts, k - queue_pkts)
                    .loss;
                assert!((found / p - 1.0).abs() < 0.1, "{windows} {k}: {found} {p}");
            }
        }
    }

    proptest! {
        /// The loss rises with the queue, and slopes are those of differences.
        #[test]
        fn slopes_are_those_of_differences(
            windows in 0.01..500.0_f64,
            acks in 0.0..0.9_f64,
            k in 2.0..5000.0_f64,
            fill in 0.01..0.99_f64,
        ) {
            prop_assume!((fill - 0.5).abs() > 1e-3 && acks > 1e-3);
            let n = fill * k;
            let it = filling(windows, acks).of_windows(n, k - n);
            prop_assert!(it.loss >= 0.0 && it.loss <= 1.0 && it.by_queue >= 0.0, "{it:?}");
            prop_assume!(it.loss > 1e-7 && it.loss < 0.9);
            let near = |slope: f64, at: &dyn Fn(f64) -> f64, scale: f64| {
                let h = 1e-6 * scale;
                let should = (at(h).ln() - at(-h).ln()) / (2.0 * h);
                (slope - should).abs() <= 1e-4 * (should.abs() + 1e-3 / scale)
            };
            let loss = |w: f64, a: f64, n: f64, k: f64| filling(w, a).of_windows(n, k - n).loss;
            prop_assert!(near(it.by_queue, &|h| loss(windows, acks, n + h, k), k), "{it:?}");
            prop_assert!(near(it.by_buffer, &|h| loss(windows, acks, n, k + h), k), "{it:?}");
            prop_assert!(near(it.by.windows, &|h| loss(windows + h, acks, n, k), windows), "{it:?}");
            prop_assert!(near(it.by.acks, &|h| loss(windows, acks + h, n, k), acks), "{it:?}");
        }

        /// What is passed over as light would lose nothing.
        #[test]
        fn light_queues_lose_nothing(
            windows in 0.0..5.0_f64,
            acks in 0.0..0.9_f64,
            k in 100.0..5000.0_f64,
            fill in 0.0..0.01_f64,
        ) {
            let it = filling(windows, acks);
            prop_assume!(it.is_light(fill * k, k));
            // Beside the threshold, the loss is told.
            let mut more = fill * k;
            while it.is_light(more, k) {
                more *= 1.001;
            }
            prop_assert!(it.of_windows(more, k - more).loss < 1.1e-10, "{:?}", it.of_windows(more, k - more));
        }

        /// What crosses a link changes its filling as said.
        #[test]
        fn pulls_are_those_of_differences(
            windows in 1.0..50.0_f64,
            acks in 0.0..50.0_f64,
            reacting in 0.1..0.9_f64,
            unresponsive in 0.0..0.9_f64,
        ) {
            let at = Crossing {
                bandwidth_bps: 1e6,
                buffer_pkts: 9.0,
                windows,
                acks,
                reacting: reacting * windows,
                unresponsive_bps: unresponsive * 1e6,
            };
            let by = ByFilling { windows: 0.3, acks: 2.0, poisson: -1.5, idle: 7.0 };
            let value = |it: Crossing| {
                let filling = it.filling();
                by.windows * filling.windows + by.acks * filling.acks
                    + by.poisson * filling.poisson + by.idle * filling.idle
            };
            let pull = at.pull(&by);
            let near = |slope: f64, change: &dyn Fn(&mut Crossing, f64), h: f64| {
                let (mut more, mut less) = (at, at);
                change(&mut more, h);
                change(&mut less, -h);
                let should = (value(more) - value(less)) / (2.0 * h);
                (slope - should).abs() <= 1e-5 * (should.abs() + 1e-9)
            };
            prop_assert!(near(pull.windows, &|c, h| c.windows += h, 1e-5));
            prop_assert!(near(pull.acks, &|c, h| c.acks += h, 1e-5));
            prop_assert!(near(pull.reacting, &|c, h| c.reacting += h, 1e-5));
            prop_assert!(near(pull.unresponsive_bps, &|c, h| c.unresponsive_bps += h, 1.0));
            prop_assert!(near(pull.buffer_pkts, &|c, h| c.buffer_pkts += h, 1e-5));
            prop_assert!(near(pull.bandwidth_bps, &|c, h| c.bandwidth_bps += h, 1.0));
            let of = Windowed { count: 1.0, window_pkts: 60.0 / windows, round_trip_s: 0.05, data_bits: 12000.0 };
            let slopes = at.reaction_slopes(&of);
            prop_assert!(slopes.windows >= 0.0 && slopes.buffer_pkts <= 0.0);
        }
    }
}
