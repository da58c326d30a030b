//! The average queue: an exponential average over arrivals, and over the packets that could have
//! been sent while the queue was empty (Floyd & Jacobson 1993, Fig. 2).

/// How an average moves within a step: average' = `keep`·average + `gain`·queue, with the mean
/// queue that arrivals find.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxation {
    /// What remains of the old average.
    pub keep: f64,
    /// What the queue contributes. Less than 1 − `keep` where the queue is empty at times: the
    /// correction for idle time then pulls towards 0.
    pub gain: f64,
}

impl Relaxation {
    /// Every arrival brings the average by the weight w nearer to the queue it finds, and every
    /// packet that an empty queue's link could have sent brings it nearer to 0:
    /// within n of both together, (1 − w)ⁿ of the old average remain.
    pub(super) fn within(weight: f64, arrival_pps: f64, idle_pps: f64, step_s: f64) -> Relaxation {
        let updates_pps = arrival_pps + idle_pps;
        if updates_pps <= 0.0 {
            return Relaxation {
                keep: 1.0,
                gain: 0.0,
            };
        }
        let exponent = updates_pps * step_s * (-weight).ln_1p();
        Relaxation {
            keep: exponent.exp(),
            gain: -exponent.exp_m1() * (arrival_pps / updates_pps),
        }
    }

    /// The average after the step.
    pub fn after(&self, average_pkts: f64, queue_pkts: f64) -> f64 {
        self.keep * average_pkts + self.gain * queue_pkts
    }
}

/// One average, packet by packet, and what it counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Average {
    /// What is in the queue, in packets or, in byte mode, in bytes.
    pub held: u64,
    pub average_pkts: f64,
    /// Since when nothing is there; only while `held` is 0.
    pub empty_since_ns: u64,
}

/// How averages move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub weight: f64,
    /// 1, or 1 over the mean packet size in bytes.
    pub pkts_per_unit: f64,
    /// Packets, or mean packets, that the link can send per nanosecond.
    pub service_per_ns: f64,
}

impl Average {
    /// A packet arrives, and finds the queue as it is.
    #[inline]
    pub fn arrive(&mut self, now_ns: u64, pace: &Pace) {
        if self.held == 0 {
            self.idle(now_ns, pace);
        }
        let queue_pkts = self.held as f64 * pace.pkts_per_unit;
        self.average_pkts += pace.weight * (queue_pkts - self.average_pkts);
    }

    /// So many packets or bytes leave.
    #[inline]
    pub fn depart(&mut self, now_ns: u64, units: u64) {
        self.held = self.held.saturating_sub(units);
        if self.held == 0 {
            self.empty_since_ns = now_ns.max(self.empty_since_ns);
        }
    }

    /// The time without packets counts as so many arrivals at an empty queue as the link could
    /// have sent; a part of one counts in part.
    fn idle(&mut self, now_ns: u64, pace: &Pace) {
        let weight = pace.weight;
        let idle_ns = now_ns.saturating_sub(self.empty_since_ns);
        self.empty_since_ns += idle_ns;
        let missed_pkts = idle_ns as f64 * pace.service_per_ns;
        let whole = missed_pkts.floor();
        self.average_pkts *=
            power(1.0 - weight, whole as u64) * (1.0 - weight * (missed_pkts - whole));
        // Nothing; and further down every multiplication would be slow.
        if self.average_pkts < 1e-100 {
            self.average_pkts = 0.0;
        }
    }
}

/// By squaring: the same bits everywhere.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 && product > 0.0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}
