//! Calibration of the model of TCP windows for one queue, from measurements of the packet model.

use netflow_network::Calibration;

use crate::tcp_drop_tail::{DropTailTcpLaw, Mm1kBufferDerivatives};

/// Measurements of one link over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkMeasurement {
    /// Mean packets in its queue, including the one in service.
    pub queue_pkts: f64,
    /// Fraction of time that it was busy.
    pub utilization: f64,
    /// Packets that arrived.
    pub arrived_pkts: f64,
    /// Packets that found the queue full.
    pub lost_pkts: f64,
    /// Mean number of windows that crossed it.
    pub windows: f64,
}

/// Minimum utilization and minimum number of arrived packets for a calibration.
const MIN_UTILIZATION: f64 = 0.3;
const MIN_ARRIVED_PKTS: f64 = 200.0;

/// Search intervals of the two factors.
const MIN_WAITING_FACTOR: f64 = 1e-3;
const MAX_WAITING_FACTOR: f64 = 30.0;
const MAX_LOSS_FACTOR: f64 = 1e4;

/// Number of lost packets at which half of the measured deviation counts as significant. It was fitted,
/// together with the factor of rates, to the development networks of studies/fluid-population.
pub const SHRINKAGE_PKTS: f64 = 30.0;

/// Returns the root of an increasing function by bisection of its logarithm.
fn root_by_bisection(least: f64, most: f64, rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (libm::log(least), libm::log(most));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if rising(libm::exp(middle)) > 0.0 {
            high = middle
        } else {
            low = middle
        }
    }
    libm::exp(0.5 * (low + high))
}

impl DropTailTcpLaw {
    /// Returns the calibration with which the model reproduces the measurements, in a queue with buffer size
    /// `k`.
    pub fn calibrated(&self, measurement: &LinkMeasurement, k: f64) -> Calibration {
        let nothing = Calibration::default();
        let few = measurement.arrived_pkts < MIN_ARRIVED_PKTS
            || measurement.utilization < MIN_UTILIZATION;
        if !self.differs_from_mm1k() || few || k < 2.0 {
            return nothing;
        }
        // Half a packet is the resolution: zero losses or zero idle time may be random.
        let one = 0.5 / measurement.arrived_pkts;
        let queue_pkts = measurement
            .queue_pkts
            .clamp(1.01 * measurement.utilization, k - 1e-3);
        let inner_busy = measurement.utilization.min(1.0 - one);
        let with = |waiting: f64| DropTailTcpLaw {
            calibration: Calibration {
                waiting,
                losses: 1.0,
                windows: measurement.windows,
            },
            idle: 0.0,
            waiting: 1.0,
            ..*self
        };
        let ln_rho = |filling: &DropTailTcpLaw| {
            let busy = |rho: f64| filling.queue(libm::log(rho), k).inner.utilization() - inner_busy;
            libm::log(root_by_bisection(1e-6, 1e6, busy))
        };
        let waiting = root_by_bisection(MIN_WAITING_FACTOR, MAX_WAITING_FACTOR, |waiting| {
            let filling = with(waiting);
            filling.queue(ln_rho(&filling), k).mean_pkts - queue_pkts
        });
        let filling = with(waiting);
        let x = ln_rho(&filling);
        let loss = |losses: f64| {
            let mut filling = filling;
            filling.calibration.losses = losses;
            let queue = filling.queue(x, k);
            filling
                .loss_in_equilibrium(x, &queue, Mm1kBufferDerivatives::default())
                .loss
        };
        let was = measurement.lost_pkts / measurement.arrived_pkts;
        let losses = match was < one {
            true if loss(1.0) <= one => 1.0,
            true => root_by_bisection(1.0 / MAX_LOSS_FACTOR, 1.0, |losses| loss(losses) - one),
            false => root_by_bisection(1.0 / MAX_LOSS_FACTOR, MAX_LOSS_FACTOR, |losses| {
                loss(losses) - was
            }),
        };
        let sure = if was < one {
            1.0
        } else {
            measurement.lost_pkts / (measurement.lost_pkts + SHRINKAGE_PKTS)
        };
        Calibration {
            losses: libm::pow(losses, sure),
            waiting,
            windows: measurement.windows,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queue_fixed_point::Queue;

    proptest! {
        /// The steady state of a calibrated queue equals the measurement, if enough packets were lost.
        #[test]
        fn calibrated_fixed_point_equals_measurement(
            windows in 1.0..60.0_f64,
            acks in 0.0..0.7_f64,
            poisson in prop::sample::select(vec![0.0, 0.2]),
            k in 10.0..900.0_f64,
            fill in 0.15..0.9_f64,
            idle in 1e-4..0.1_f64,
            loss in 1e-4..0.1_f64,
        ) {
            let filling = DropTailTcpLaw { windows, acks, poisson, ..DropTailTcpLaw::default() };
            let watched = LinkMeasurement {
                queue_pkts: fill * k,
                utilization: 1.0 - idle,
                arrived_pkts: 1e12,
                lost_pkts: loss * 1e12,
                windows,
            };
            let calibration = filling.calibrated(&watched, k);
            prop_assume!(calibration.waiting > 1.01 * MIN_WAITING_FACTOR && calibration.waiting < 0.99 * MAX_WAITING_FACTOR);
            prop_assume!(calibration.losses > 1.01 / MAX_LOSS_FACTOR && calibration.losses < 0.99 * MAX_LOSS_FACTOR);
            let filling = DropTailTcpLaw { calibration, ..filling };
            // Offered load at which arrivals and departures balance.
            let offered = (1.0 - idle) / (1.0 - loss);
            let queue = Queue { buffer_pkts: k, red: None };
            let rest = queue.fixed_point(offered.ln(), &filling);
            let near = |is: f64, should: f64| (is / should - 1.0).abs() < 1e-3;
            prop_assert!(near(rest.queue_pkts, fill * k), "{calibration:?} {rest:?}");
            prop_assert!(near(1.0 - rest.ln_pass.exp(), loss), "{calibration:?} {rest:?}");
            prop_assert!(near(1.0 - rest.utilization, idle), "{calibration:?} {rest:?}");
        }
    }

    /// Queues with low utilization or without windows are not calibrated.
    #[test]
    fn idle_queues_are_not_calibrated() {
        let watched = LinkMeasurement {
            queue_pkts: 3.0,
            utilization: 0.2,
            arrived_pkts: 1e4,
            lost_pkts: 10.0,
            windows: 3.0,
        };
        let windows = DropTailTcpLaw {
            windows: 3.0,
            poisson: 0.0,
            ..DropTailTcpLaw::default()
        };
        assert_eq!(windows.calibrated(&watched, 50.0), Calibration::default());
        let busy = LinkMeasurement {
            utilization: 0.9,
            ..watched
        };
        assert_eq!(
            DropTailTcpLaw::default().calibrated(&busy, 50.0),
            Calibration::default()
        );
    }
}
