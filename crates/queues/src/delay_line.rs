//! Delay line behind a link: jitter, reordering, duplication, a limit and transmission slots, as Linux netem
//! (`net/sched/sch_netem.c`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, LazyLock};

use rand::Rng;

/// One deviation in the values of a [`JitterTable`] (`NETEM_DIST_SCALE`).
pub const JITTER_TABLE_SCALE: i64 = 8192;

/// Number of values in the tables that netem ships.
const TABLE_LEN: usize = 4096;

const TWO_POW_32: f64 = 4_294_967_296.0;

/// Propagation that differs between packets. Without settings, every packet takes the delay of the link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelayLine {
    /// Random delay of each packet.
    pub jitter: Option<Jitter>,
    /// Packets that skip the delay.
    pub reordering: Option<Reordering>,
    /// Probability that a packet arrives twice, 0–1.
    pub duplication: f64,
    /// Maximum number of packets in propagation; more are lost.
    pub limit_pkts: Option<u64>,
    /// Times at which packets are delivered, in order; without them, each packet is delivered after its delay.
    pub slots: Option<Slots>,
}

/// Random delay of each packet, added to the delay of the link. The sum is at least 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// Deviation in ns: half the range of a uniform distribution, or the unit of a table.
    pub deviation_ns: u64,
    /// Distribution.
    pub distribution: JitterDistribution,
    /// Correlation between consecutive delays, 0–1. In netem, correlated delays also vary less.
    pub correlation: f64,
    /// True if a packet with a shorter delay overtakes others; false if it waits for them.
    pub reorders: bool,
}

/// Distribution of the jitter.
#[derive(Clone, Debug, PartialEq)]
pub enum JitterDistribution {
    /// Uniform between minus one and plus one deviation.
    Uniform,
    /// Normal distribution, at most four deviations.
    Normal,
    /// Pareto distribution with exponent 3, mean 0, from -2/3 to four deviations.
    Pareto,
    /// A quarter of the normal and three quarters of the Pareto value.
    ParetoNormal,
    /// Own table.
    Table(JitterTable),
}

/// Equally likely delays in units of 1/[`JITTER_TABLE_SCALE`] of the deviation: the content of a `.dist` file of
/// iproute2. It has at least one value.
#[derive(Clone, Debug, PartialEq)]
pub struct JitterTable(Arc<[i16]>);

impl JitterTable {
    /// Returns the table of these values, if there are any.
    pub fn new(values: Vec<i16>) -> Option<JitterTable> {
        (!values.is_empty()).then(|| JitterTable(values.into()))
    }

    /// Returns the values.
    pub fn values(&self) -> &[i16] {
        &self.0
    }
}

/// Packets that skip the delay and thereby overtake others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// Probability of a packet whose turn it is, 0–1.
    pub probability: f64,
    /// Every which packet has its turn, at least 1.
    pub gap: u32,
}

/// Transmission slots: packets wait for the next slot, as on media that send in bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// Shortest and longest time between slots in ns; the times are uniform.
    pub interval_ns: (u64, u64),
    /// Maximum number of packets in a slot.
    pub max_pkts: Option<u32>,
    /// Number of bytes after which a slot ends.
    pub max_bytes: Option<u64>,
}

/// Values of a distribution, in table units.
static NORMAL: LazyLock<Vec<i16>> = LazyLock::new(|| table(normal_quantile));
static PARETO: LazyLock<Vec<i16>> = LazyLock::new(|| table(pareto_quantile));
static PARETO_NORMAL: LazyLock<Vec<i16>> =
    LazyLock::new(|| table(|p| (normal_quantile(p) + 3.0 * pareto_quantile(p)) / 4.0));

/// Returns the table of a distribution with this quantile function in deviations.
fn table(quantile: impl Fn(f64) -> f64) -> Vec<i16> {
    let value = |i: usize| {
        let at = (i as f64 + 0.5) / TABLE_LEN as f64;
        let scaled = libm::rint(quantile(at) * JITTER_TABLE_SCALE as f64);
        scaled.clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16
    };
    (0..TABLE_LEN).map(value).collect()
}

/// Returns the quantile of the standard normal distribution, by bisection.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..50 {
        let x = (low + high) / 2.0;
        if 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2) < p {
            low = x
        } else {
            high = x
        }
    }
    (low + high) / 2.0
}

/// Returns the quantile of netem's Pareto distribution, at most four deviations.
fn pareto_quantile(p: f64) -> f64 {
    let scaled = (libm::cbrt(1.0 / (1.0 - p)) - 1.5) * 4.0 / 3.0;
    scaled.min(f64::from(i16::MAX) / JITTER_TABLE_SCALE as f64)
}

impl Jitter {
    /// Returns the table of the distribution; `None` if it is uniform.
    fn table(&self) -> Option<&[i16]> {
        match &self.distribution {
            JitterDistribution::Uniform => None,
            JitterDistribution::Normal => Some(&NORMAL),
            JitterDistribution::Pareto => Some(&PARETO),
            JitterDistribution::ParetoNormal => Some(&PARETO_NORMAL),
            JitterDistribution::Table(table) => Some(table.values()),
        }
    }

    /// Returns the delay of this value of a table in ns.
    fn scaled_ns(&self, value: i16) -> i64 {
        let scaled = i128::from(self.deviation_ns) * i128::from(value);
        // Rounded to the nearest ns, halves away from zero.
        let half = i128::from(JITTER_TABLE_SCALE / 2) * scaled.signum();
        ((scaled + half) / i128::from(JITTER_TABLE_SCALE)) as i64
    }

    /// Returns the shortest random delay in ns, which is usually negative.
    fn min_ns(&self) -> i64 {
        match self.table() {
            None => -(self.deviation_ns as i64),
            Some(table) => table
                .iter()
                .map(|&it| self.scaled_ns(it))
                .min()
                .unwrap_or(0),
        }
    }

    /// Returns the mean random delay in seconds, without correlation. It is 0 except for the rounding of tables.
    pub fn mean_s(&self) -> f64 {
        match self.table() {
            None => 0.0,
            Some(table) => {
                let sum: f64 = table.iter().map(|&it| f64::from(it)).sum();
                let mean = sum / table.len() as f64 / JITTER_TABLE_SCALE as f64;
                mean * self.deviation_ns as f64 * 1e-9
            }
        }
    }
}

impl DelayLine {
    /// Returns true if every packet takes the delay of the link.
    pub fn is_plain(&self) -> bool {
        self.first_element().is_none()
    }

    /// Returns the name of the first element that it has.
    pub fn first_element(&self) -> Option<&'static str> {
        let elements = [
            (self.jitter.is_some(), "jitter"),
            (self.reordering.is_some(), "reordering"),
            (self.duplication > 0.0, "duplication"),
            (self.limit_pkts.is_some(), "in-flight limit"),
            (self.slots.is_some(), "transmission slots"),
        ];
        let present = elements.into_iter().find(|(is_present, _)| *is_present);
        present.map(|(_, name)| name)
    }

    /// Returns the shortest possible delay in ns, if that of the link is `delay_ns`.
    pub fn min_delay_ns(&self, delay_ns: u64) -> u64 {
        if self.reordering.is_some() {
            return 0;
        }
        let jitter_ns = self.jitter.as_ref().map_or(0, Jitter::min_ns);
        delay_ns.saturating_add_signed(jitter_ns)
    }
}

/// Propagation of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The packet is lost, because the limit is reached.
    Lost,
    /// The packet arrives at this time in ns, and its copy, if there is one.
    Arrives {
        /// Arrival of the packet.
        at_ns: u64,
        /// Arrival of its copy.
        copy_ns: Option<u64>,
    },
}

/// A [`DelayLine`] and its packets.
#[derive(Clone, Debug)]
pub struct DelayLineQueue<R> {
    settings: DelayLine,
    random: R,
    /// Last random value of a delay.
    last_value: u32,
    /// Packets since the last one that skipped the delay.
    since_reordered: u32,
    /// Latest arrival of a packet that keeps its order, in ns.
    last_arrival_ns: u64,
    /// Arrivals of packets in propagation, if there is a limit.
    arrivals_ns: BinaryHeap<Reverse<u64>>,
    slot: Slot,
}

/// Current or next transmission slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    begins_ns: u64,
    pkts_left: u32,
    bytes_left: u64,
}

impl<R: Rng> DelayLineQueue<R> {
    /// Returns an empty delay line.
    pub fn new(settings: DelayLine, mut random: R) -> DelayLineQueue<R> {
        let last_value = random.next_u32();
        DelayLineQueue {
            settings,
            random,
            last_value,
            since_reordered: 0,
            last_arrival_ns: 0,
            arrivals_ns: BinaryHeap::new(),
            slot: Slot::default(),
        }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &DelayLine {
        &self.settings
    }

    /// Processes a packet of `bytes` bytes that the link has transmitted by `now_ns`, which does not decrease.
    /// `delay_ns` is the delay of the link.
    pub fn propagate(&mut self, now_ns: u64, bytes: u32, delay_ns: u64) -> Propagation {
        let is_copied = self.settings.duplication > 0.0 && self.draw(self.settings.duplication);
        if self.is_full(now_ns) {
            return Propagation::Lost;
        }
        // The copy comes first and may fill the line, but the packet has its place already.
        let copy_ns = is_copied.then(|| self.arrival_ns(now_ns, bytes, delay_ns));
        let at_ns = self.arrival_ns(now_ns, bytes, delay_ns);
        Propagation::Arrives { at_ns, copy_ns }
    }

    /// Makes later packets that keep their order arrive at `at_ns` or later.
    pub fn wait_for(&mut self, at_ns: u64) {
        self.last_arrival_ns = self.last_arrival_ns.max(at_ns);
    }

    fn is_full(&mut self, now_ns: u64) -> bool {
        let Some(limit_pkts) = self.settings.limit_pkts else {
            return false;
        };
        while self
            .arrivals_ns
            .peek()
            .is_some_and(|&Reverse(at_ns)| at_ns <= now_ns)
        {
            self.arrivals_ns.pop();
        }
        self.arrivals_ns.len() as u64 >= limit_pkts
    }

    /// Returns the arrival of the next packet in ns.
    fn arrival_ns(&mut self, now_ns: u64, bytes: u32, delay_ns: u64) -> u64 {
        let at_ns = if self.skips_delay() {
            now_ns
        } else {
            let own_ns = now_ns + delay_ns.saturating_add_signed(self.jitter_ns());
            let reorders = self.settings.jitter.as_ref().is_some_and(|it| it.reorders);
            let at_ns = if reorders {
                own_ns
            } else {
                own_ns.max(self.last_arrival_ns)
            };
            let at_ns = self.in_slot_ns(at_ns, bytes);
            self.last_arrival_ns = self.last_arrival_ns.max(at_ns);
            at_ns
        };
        if self.settings.limit_pkts.is_some() {
            self.arrivals_ns.push(Reverse(at_ns));
        }
        at_ns
    }

    /// Returns true if the next packet skips the delay.
    fn skips_delay(&mut self) -> bool {
        let Some(Reordering { probability, gap }) = self.settings.reordering else {
            return false;
        };
        let count = self.since_reordered.saturating_add(1);
        let skips = count >= gap && self.draw(probability);
        self.since_reordered = if skips { 0 } else { count };
        skips
    }

    /// Returns the random delay of the next packet in ns.
    fn jitter_ns(&mut self) -> i64 {
        let Some(jitter) = &self.settings.jitter else {
            return 0;
        };
        // A packet repeats the last delay with this probability, so the distribution stays and consecutive delays have
        // this correlation.
        let repeats = jitter.correlation > 0.0
            && f64::from(self.random.next_u32()) < jitter.correlation * TWO_POW_32;
        if !repeats {
            self.last_value = self.random.next_u32();
        }
        let value = self.last_value;
        let share = |n: u64| (u64::from(value) * n) >> 32;
        match jitter.table() {
            None => {
                let range_ns = 2 * jitter.deviation_ns;
                let below_ns = ((u128::from(value) * u128::from(range_ns)) >> 32) as i64;
                below_ns - jitter.deviation_ns as i64
            }
            Some(table) => jitter.scaled_ns(table[share(table.len() as u64) as usize]),
        }
    }

    /// Returns the time in ns at which a packet that is ready at `ready_ns` leaves in a slot.
    fn in_slot_ns(&mut self, ready_ns: u64, bytes: u32) -> u64 {
        let Some(slots) = self.settings.slots else {
            return ready_ns;
        };
        if self.slot.begins_ns < ready_ns || self.slot.pkts_left == 0 || self.slot.bytes_left == 0 {
            let (least_ns, most_ns) = slots.interval_ns;
            let range_ns = u128::from(most_ns - least_ns);
            let more_ns = (u128::from(self.random.next_u32()) * range_ns) >> 32;
            self.slot = Slot {
                begins_ns: self.slot.begins_ns.max(ready_ns) + least_ns + more_ns as u64,
                pkts_left: slots.max_pkts.unwrap_or(u32::MAX),
                bytes_left: slots.max_bytes.unwrap_or(u64::MAX),
            };
        }
        self.slot.pkts_left -= 1;
        self.slot.bytes_left = self.slot.bytes_left.saturating_sub(u64::from(bytes));
        self.slot.begins_ns
    }

    /// Returns true with this probability.
    fn draw(&mut self, probability: f64) -> bool {
        f64::from(self.random.next_u32()) < probability * TWO_POW_32
    }
}

#[cfg(test)]
mod tests;
