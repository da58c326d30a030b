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
        let exponent = updates_pps * step_s * libm::log1p(-weight);
        Relaxation {
            keep: libm::exp(exponent),
            gain: -libm::expm1(exponent) * (arrival_pps / updates_pps),
        }
    }

    /// The average after the step.
    pub fn after(&self, average_pkts: f64, queue_pkts: f64) -> f64 {
        self.keep * average_pkts + self.gain * queue_pkts
    }
}

/// What remains of an average after a time without packets, in which the link could have sent
/// `missed_pkts`: (1 − w) for each; a part of one counts in part.
pub(super) fn kept_while_idle(weight: f64, missed_pkts: f64) -> f64 {
    let whole = missed_pkts.floor();
    power(1.0 - weight, whole as u64) * (1.0 - weight * (missed_pkts - whole))
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
