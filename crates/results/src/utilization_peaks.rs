//! Peak utilization and saturated time of links, which a mean does not show.

use netflow_network::Interval;

use crate::Summary;

/// Utilization of a recording interval from which the link counts as saturated.
pub const SATURATION_UTILIZATION: f64 = 0.99;

/// Peak utilization of every link, and the total length of its saturated intervals.
#[derive(Clone, Debug, Default)]
pub struct LinkPeaks {
    links: Vec<LinkPeak>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LinkPeak {
    utilization: f64,
    at_capacity_s: f64,
}

impl LinkPeaks {
    /// Adds an interval or a piece of one, such as [`Recorder::partial_interval`](netflow_network::Recorder::partial_interval)
    /// passes.
    pub fn add(&mut self, interval: &Interval<'_>) {
        let network = interval.network;
        self.links.resize(network.link_count(), LinkPeak::default());
        for (id, peak) in network.links().zip(&mut self.links) {
            let utilization = interval.link(id).utilization;
            peak.utilization = peak.utilization.max(utilization);
            if utilization >= SATURATION_UTILIZATION {
                peak.at_capacity_s += interval.length_s;
            }
        }
    }
}

impl Summary {
    /// Adds the peaks of the links.
    pub fn add_peaks(&mut self, peaks: &LinkPeaks) {
        for (link, peak) in self.links.iter_mut().zip(&peaks.links) {
            link.peak_utilization = Some(peak.utilization);
            link.at_capacity_s = Some(peak.at_capacity_s);
        }
    }
}
