//! Accuracy of the fluid model compared with the packet model, from studies/fluid-population, and the
//! reasons of its errors.

use netflow_network::Estimate;

/// TCP of all windows of the test networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestedTcp {
    /// Reno of ns-2. Also stands for TCPs that back off more than CUBIC.
    Reno,
    /// CUBIC of Linux.
    Cubic,
}

impl TestedTcp {
    /// Returns the TCP whose errors apply to a network. The errors of CUBIC's queues are larger, and apply if any
    /// source has CUBIC.
    pub fn of(has_cubic: bool) -> TestedTcp {
        if has_cubic {
            TestedTcp::Cubic
        } else {
            TestedTcp::Reno
        }
    }
}

/// Median errors over 300 random networks. The study fails if its results differ from these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccuracyBounds {
    /// TCP of the networks.
    pub tcp: TestedTcp,
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
    /// Returns the errors of the fluid model for this TCP, either calibrated by 10 s of packets or uncalibrated.
    pub const fn of_fluid_model(tcp: TestedTcp, calibrated: bool) -> AccuracyBounds {
        match (tcp, calibrated) {
            (TestedTcp::Reno, false) => AccuracyBounds {
                tcp,
                queues: 0.174,
                link_loss: 1.25,
                goodput: 0.086,
                goodput_p90: 0.248,
                utilization: 0.096,
            },
            (TestedTcp::Reno, true) => AccuracyBounds {
                tcp,
                queues: 0.116,
                link_loss: 1.20,
                goodput: 0.068,
                goodput_p90: 0.208,
                utilization: 0.065,
            },
            (TestedTcp::Cubic, false) => AccuracyBounds {
                tcp,
                queues: 0.172,
                link_loss: 1.36,
                goodput: 0.065,
                goodput_p90: 0.211,
                utilization: 0.069,
            },
            (TestedTcp::Cubic, true) => AccuracyBounds {
                tcp,
                queues: 0.129,
                link_loss: 1.33,
                goodput: 0.063,
                goodput_p90: 0.187,
                utilization: 0.041,
            },
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

/// Explains why the queue of a link is an estimate. `accuracy` has the errors of TCP with profiles.
pub fn estimate_reason(estimate: Estimate, accuracy: &AccuracyBounds) -> String {
    match estimate {
        Estimate::Profiles => return filled_by_tcp(accuracy),
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
    let tcp = match errors.tcp {
        TestedTcp::Reno => "",
        TestedTcp::Cubic => " with CUBIC",
    };
    format!(
        "queues that TCP fills are estimates; median errors on 300 test networks{tcp}: longest queues {}, link loss a factor of {:.2}, goodput {}",
        whole_percent(errors.queues),
        errors.link_loss,
        whole_percent(errors.goodput),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The note has the errors of the TCP of the network.
    #[test]
    fn note_names_the_tested_tcp() {
        let note = |tcp| {
            let accuracy = AccuracyBounds::of_fluid_model(tcp, false);
            estimate_reason(Estimate::Profiles, &accuracy)
        };
        let (reno, cubic) = (note(TestedTcp::Reno), note(TestedTcp::Cubic));
        assert!(
            reno.contains("on 300 test networks: longest queues"),
            "{reno}"
        );
        assert!(
            cubic.contains("on 300 test networks with CUBIC: longest queues"),
            "{cubic}"
        );
    }
}
