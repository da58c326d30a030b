//! Distribution of the queue length found by an accepted packet, given the mean queue length.

use crate::mm1k::{equilibrium, ln_rho_of_mean, third_moment};
use netflow_units::math::{exp, ln};

/// Moments of the number of packets that an accepted packet finds, as in an M/M/1/K queue with the same mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueOnArrival {
    /// Mean, in packets.
    pub mean_pkts: f64,
    /// Variance, in packets².
    pub variance: f64,
    /// Third central moment, in packets³.
    pub third: f64,
    /// Maximum: one less than the buffer size.
    pub max_pkts: f64,
    /// ln ρ of that queue.
    ln_rho: f64,
}

impl QueueOnArrival {
    /// Computes the moments for a queue with this mean and buffer size.
    pub fn of(queue_pkts: f64, buffer_pkts: f64) -> QueueOnArrival {
        let ln_rho = ln_rho_of_mean(queue_pkts, buffer_pkts);
        let room = (buffer_pkts - 1.0).max(0.0);
        let found = equilibrium(ln_rho, room);
        QueueOnArrival {
            mean_pkts: found.mean_pkts,
            variance: found.slope,
            third: third_moment(ln_rho, room),
            max_pkts: room,
            ln_rho,
        }
    }

    /// Computes the moments if the buffer limit has no effect.
    pub(super) fn light(queue_pkts: f64, buffer_pkts: f64) -> QueueOnArrival {
        let variance = queue_pkts * (1.0 + queue_pkts);
        QueueOnArrival {
            mean_pkts: queue_pkts,
            variance,
            third: variance * (1.0 + 2.0 * queue_pkts),
            max_pkts: (buffer_pkts - 1.0).max(0.0),
            ln_rho: ln(queue_pkts / (1.0 + queue_pkts)),
        }
    }

    /// Returns the relaxation rate of the M/M/1/K queue (its spectral gap), per packet served.
    pub(super) fn relaxation_rate(&self) -> f64 {
        let root = exp((0.5 * self.ln_rho).min(350.0));
        let turn = std::f64::consts::PI / (self.max_pkts + 2.0);
        (1.0 - root) * (1.0 - root) + 2.0 * root * (1.0 - libm::cos(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both formulas agree for a large buffer.
    #[test]
    fn light_queues_equal_large_buffers() {
        for mean_pkts in [1e-3, 0.1, 1.0, 20.0] {
            let (one, other) = (
                QueueOnArrival::light(mean_pkts, 1e4),
                QueueOnArrival::of(mean_pkts, 1e4),
            );
            for (one, other) in [
                (one.mean_pkts, other.mean_pkts),
                (one.variance, other.variance),
                (one.third, other.third),
            ] {
                assert!(
                    (one / other - 1.0).abs() < 1e-9,
                    "{mean_pkts}: {one} {other}"
                );
            }
        }
    }

    /// The moments equal those of the numbers 0 to K − 1 with geometric probabilities.
    #[test]
    fn moments_match_geometric_distribution() {
        for buffer in [1, 2, 5, 40] {
            for part in [0.01, 0.3, 0.499, 0.5, 0.6, 0.97] {
                let queue_pkts = part * f64::from(buffer);
                let rho = ln_rho_of_mean(queue_pkts, f64::from(buffer)).exp();
                let each: Vec<(f64, f64)> =
                    (0..buffer).map(|n| (f64::from(n), rho.powi(n))).collect();
                let all: f64 = each.iter().map(|(_, p)| p).sum();
                let mean = each.iter().map(|(n, p)| n * p).sum::<f64>() / all;
                let moment = |r: i32| {
                    each.iter()
                        .map(|(n, p)| (n - mean).powi(r) * p)
                        .sum::<f64>()
                        / all
                };
                let found = QueueOnArrival::of(queue_pkts, f64::from(buffer));
                for (is, should) in [
                    (found.mean_pkts, mean),
                    (found.variance, moment(2)),
                    (found.third, moment(3)),
                ] {
                    let error = (is - should).abs() / (1e-3 + should.abs());
                    assert!(error < 1e-7, "{buffer} {part}: {found:?} {is} {should}");
                }
            }
        }
    }
}
