//! Average queue of RED: an exponentially weighted moving average (EWMA) over arrivals (Floyd & Jacobson
//! 1993, Fig. 2). While the queue is empty, each packet that the link could have sent counts as an arrival.

/// Expected EWMA update over a time step: average' = `decay`·average + `gain`·queue, where queue is the mean
/// queue found by arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EwmaStep {
    /// Factor of the old average.
    pub decay: f64,
    /// Factor of the queue. It is below 1 − `decay` if the queue is sometimes empty, because the correction
    /// for idle time pulls the average towards 0.
    pub gain: f64,
}

impl EwmaStep {
    /// Computes the update over `step_s` seconds. Every arrival pulls the average with weight w towards the
    /// queue, and every packet that the idle link could have sent pulls it towards 0. After n such updates,
    /// (1 − w)ⁿ of the old average remains.
    pub(super) fn over_step(weight: f64, arrival_pps: f64, idle_pps: f64, step_s: f64) -> EwmaStep {
        let updates_pps = arrival_pps + idle_pps;
        if updates_pps <= 0.0 {
            return EwmaStep {
                decay: 1.0,
                gain: 0.0,
            };
        }
        let exponent = updates_pps * step_s * libm::log1p(-weight);
        EwmaStep {
            decay: libm::exp(exponent),
            gain: -libm::expm1(exponent) * (arrival_pps / updates_pps),
        }
    }

    /// Returns the average after the step.
    pub fn after(&self, average_pkts: f64, queue_pkts: f64) -> f64 {
        self.decay * average_pkts + self.gain * queue_pkts
    }
}

/// Returns the factor of an average after idle time in which the link could have sent `missed_pkts`: (1 − w)
/// per packet, linear in the fraction of a packet.
pub(super) fn idle_decay(weight: f64, missed_pkts: f64) -> f64 {
    let whole = missed_pkts.floor();
    power(1.0 - weight, whole as u64) * (1.0 - weight * (missed_pkts - whole))
}

/// Computes a power by squaring, which is the same on every platform.
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
