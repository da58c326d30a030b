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
                queues: 0.175,
                link_loss: 1.25,
                goodput: 0.086,
                goodput_p90: 0.249,
                utilization: 0.098,
            }
        } else {
            AccuracyBounds {
                queues: 0.116,
                link_loss: 1.20,
                goodput: 0.069,
                goodput_p90: 0.210,
                utilization: 0.065,
            }
        }
    }
}

pub(crate) fn whole_percent(part: f64) -> String {
    // Ties round up.
    format!("{:.0} %", 100.0 * part + 1e-9)
}

/// Note on losses that depend on packet size.
pub const SIZE_DEPENDENT_LOSS_NOTE: &str = "in a byte- or time-limited buffer, small packets lose less than large ones; the model gives all the same \
     loss";

/// Explains why the queue of a link is an estimate. `calibrated` selects the errors of TCP with profiles.
pub fn estimate_reason(estimate: Estimate, calibrated: bool) -> String {
    match estimate {
        Estimate::Profiles => return filled_by_tcp(&AccuracyBounds::of_fluid_model(calibrated)),
        Estimate::Classes => {
            "queues of classes have accurate throughputs; their delay and loss may be several times higher"
        }
        Estimate::EarlyDrops => {
            "RED, RIO and PIE have accurate mean values; the maximum queue and the 99th percentile of delay are estimates"
        }
        Estimate::Transfers => {
            "transfers are modelled by their mean rate and a burst model; queues are within a factor of 2 on 90 % of test links"
        }
        Estimate::Bursts => {
            "users, on-off applications and short transfers are modelled by their mean rate; queueing and loss from their bursts are missing"
        }
        Estimate::Acks => {
            "ACKs are modelled as random arrivals; queueing and loss are overestimated, or underestimated where ACKs exceed the link or buffer"
        }
        Estimate::Constant => {
            "constant-rate sources are modelled as random arrivals; queueing and loss are overestimated while the traffic fits the link"
        }
        Estimate::InOrder => {
            "traffic arrives already spaced by an upstream link; queueing and loss are overestimated"
        }
        Estimate::Sizes => "packet sizes vary widely; queueing and loss are underestimated",
        Estimate::Alike => {
            "packets are nearly equal in size; queueing is overestimated, up to twice, and so is loss"
        }
        Estimate::Nanoseconds => {
            "rounding to nanoseconds changes the rate of the link by 1 % or more, and with it utilization and loss"
        }
    }
    .to_owned()
}

fn filled_by_tcp(errors: &AccuracyBounds) -> String {
    format!(
        "queues that TCP fills are estimates; median errors on 300 test networks: longest queues {}, link loss a factor of {:.2}, goodput {}",
        whole_percent(errors.queues),
        errors.link_loss,
        whole_percent(errors.goodput),
    )
}
