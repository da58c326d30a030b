//! Accuracy of the fluid model compared with the packet model, from studies/fluid-population, and the
//! reasons of its errors.

use netflow_network::Estimate;

/// Median errors over 300 random networks. The study fails if its results differ from these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccuracyBounds {
    /// Σ|error|/Σ over the twelve longest queues of a network.
    pub queues: f64,
    /// Median factor between the losses of both models, over links that lose packets.
    pub link_loss: f64,
    /// Median relative error of a connection's goodput.
    pub goodput: f64,
    /// 90th percentile of the relative error of a connection's goodput.
    pub goodput_p90: f64,
    /// Largest error of a utilization, over links that are at least 50 % utilized.
    pub utilization: f64,
}

impl AccuracyBounds {
    /// Returns the errors of the fluid model, either calibrated by 10 s of packets or uncalibrated.
    pub const fn of_fluid_model(calibrated: bool) -> AccuracyBounds {
        if !calibrated {
            AccuracyBounds {
                queues: 0.186,
                link_loss: 1.26,
                goodput: 0.093,
                goodput_p90: 0.262,
                utilization: 0.098,
            }
        } else {
            AccuracyBounds {
                queues: 0.119,
                link_loss: 1.20,
                goodput: 0.071,
                goodput_p90: 0.210,
                utilization: 0.063,
            }
        }
    }
}

impl AccuracyBounds {
    /// Describes the accuracy of queues that TCP with profiles fills, and of their losses.
    pub fn queues_in_words(&self) -> String {
        let within = whole_percent(self.queues);
        let factor = self.link_loss;
        format!(
            "an estimate, the longest within {within} on half of the networks tried, losses within a factor of {factor:.2}"
        )
    }
}

pub(crate) fn whole_percent(part: f64) -> String {
    // Ties round up.
    format!("{:.0} %", 100.0 * part + 1e-9)
}

/// The explanation of losses that are estimates.
pub const SIZE_DEPENDENT_LOSS_NOTE: &str = "where a buffer is bytes, or a time, small packets are lost less than large ones, about in proportion to their size, and not alike, as \
     is told; where it has room for few of the large ones, more of all are lost";

/// Explains why the queue of a link is an estimate. For TCP with profiles, [`AccuracyBounds`] gives numbers
/// instead.
pub fn estimate_reason(estimate: Estimate) -> &'static str {
    match estimate {
        Estimate::Classes => {
            "queues of classes share a link: what each gets of it is near that of packets, what its packets wait and lose may be \
             several times as much"
        }
        Estimate::Profiles => "a drop-tail queue filled by TCP with profiles",
        Estimate::EarlyDrops => {
            "of RED and RIO that TCP with profiles fills, and of PIE, the means are near those of packets; how long the queue \
             gets, and p99 of delays, are an estimate"
        }
        Estimate::Transfers => {
            "transfers that come and go are carried as their mean, with a law for their bursts"
        }
        Estimate::Bursts => {
            "users of workloads, applications that switch on and off, and transfers of a hundred packets or less are carried as their mean: \
             queues that their bursts fill, and what is lost there, are not told"
        }
        Estimate::Acks => {
            "acknowledgements are taken for packets at random; clocked by data, they wait and are lost less than is told as long as they \
             fit, and more where they do not"
        }
        Estimate::Constant => {
            "sources at a constant rate are taken for random ones, whose queues are longer, and lose more, as long as they fit"
        }
        Estimate::InOrder => {
            "most of the data comes over one link that is no faster, one packet after the other, and hardly waits again: queues and losses \
             are told too large"
        }
        Estimate::Sizes => {
            "packets differ so much in size that queues are longer, and lose more, than is told"
        }
        Estimate::Alike => {
            "packets are nearly of one size, for which queues are shorter, down to half, and lose less than is told"
        }
        Estimate::Nanoseconds => {
            "packets are followed in whole nanoseconds, and take so few to be sent that the link is another hundredth, or more, faster or \
             slower than was said; utilizations and losses are as wrong"
        }
    }
}
