//! What means hide: how busy a link was in its busiest recording interval, and for how long it was full.

use netflow_network::Interval;

use crate::Summary;

/// A link counts as saturated in a recording interval in which it was busy for so much of the time.
pub const SATURATED: f64 = 0.99;

/// The busiest interval of every link, and the time of those in which it was saturated.
#[derive(Clone, Debug, Default)]
pub struct Peaks {
    links: Vec<Peak>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    utilization: f64,
    saturated_s: f64,
}

impl Peaks {
    /// Adds an interval, or a piece of one, such as
    /// [`Recorder::piece`](netflow_network::Recorder::piece) hands out.
    pub fn add(&mut self, interval: &Interval<'_>) {
        let network = interval.network;
        self.links.resize(network.link_count(), Peak::default());
        for (id, peak) in network.links().zip(&mut self.links) {
            let utilization = interval.link(id).utilization;
            peak.utilization = peak.utilization.max(utilization);
            if utilization >= SATURATED {
                peak.saturated_s += interval.length_s;
            }
        }
    }
}

impl Summary {
    /// Adds what single intervals say of the links.
    pub fn add_peaks(&mut self, peaks: &Peaks) {
        for (link, peak) in self.links.iter_mut().zip(&peaks.links) {
            link.peak_utilization = Some(peak.utilization);
            link.saturated_s = Some(peak.saturated_s);
        }
    }
}
