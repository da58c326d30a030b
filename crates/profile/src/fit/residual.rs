//! Residuals of samples with respect to the surface.

use super::{Condition, FlowSamples};
use crate::Profile;

/// Sample with the profile's rate at its loss and round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// Index of the flow in the input.
    pub flow: usize,
    /// Index of the sample in the flow.
    pub sample: usize,
    /// End time of the sample in seconds.
    pub time_s: f64,
    /// Loss of the condition to which the sample belongs; without conditions its own fraction of
    /// resends.
    pub loss: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// Throughput in packets/s; infinite if all its packets left at once.
    pub throughput_pps: f64,
    /// F(loss, rtt) in packets/s.
    pub fitted_pps: f64,
    /// True if the sample is in a condition; others are start-up.
    pub is_after_startup: bool,
}

impl Residual {
    /// Returns the ratio of the sample's throughput to the surface.
    pub fn factor(&self) -> f64 {
        self.throughput_pps / self.fitted_pps
    }
}

/// Returns the residuals of all samples in the order of the input. Start-up samples take the loss
/// of the following condition.
///
/// A sample's throughput is above the surface more often than below, because the surface is the
/// long-run rate, in which slow samples have more time.
pub fn residuals(
    flows: &[FlowSamples],
    conditions: &[Condition],
    profile: &dyn Profile,
) -> Vec<Residual> {
    let mut residuals = Vec::new();
    for (flow, FlowSamples { samples, .. }) in flows.iter().enumerate() {
        let mut own = conditions.iter().filter(|c| c.flow == flow).peekable();
        let mut loss = own.peek().map(|condition| condition.loss());
        for (i, sample) in samples.iter().enumerate() {
            while let Some(condition) = own.next_if(|condition| condition.samples.end <= i) {
                loss = Some(condition.loss());
            }
            let settled = own
                .peek()
                .is_some_and(|condition| condition.samples.contains(&i));
            if let Some(condition) = own.peek() {
                loss = Some(condition.loss());
            }
            let loss = loss.unwrap_or_else(|| sample.resent_fraction());
            residuals.push(Residual {
                flow,
                sample: i,
                time_s: sample.time_s,
                loss,
                rtt_s: sample.rtt_s,
                throughput_pps: sample.throughput_pps(),
                fitted_pps: profile.throughput(loss, sample.rtt_s),
                is_after_startup: settled || conditions.is_empty(),
            });
        }
    }
    residuals
}
