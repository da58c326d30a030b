//! Profiles without extrapolation, as in the paper: outside the measured range they use the nearest
//! point.

use std::sync::Arc;

use netflow_profile::{Domain, Profile};

/// Profile that is never extrapolated. The reference trajectories use such profiles.
#[derive(Debug)]
pub struct ClampedProfile(pub Arc<dyn Profile>);

impl Profile for ClampedProfile {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn description(&self) -> &str {
        self.0.description()
    }

    fn domain(&self) -> Domain {
        self.0.domain()
    }

    fn throughput(&self, loss: f64, rtt_s: f64) -> f64 {
        let (loss, rtt_s) = self.domain().clamp(loss, rtt_s);
        self.0.throughput(loss, rtt_s)
    }
}
