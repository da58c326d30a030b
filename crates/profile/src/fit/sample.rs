//! Samples from a sender's trace, to which profiles are fitted.

/// Observation of k consecutive packets at the sender (\[Prof\] §2.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// End time in seconds by the trace's clock.
    pub time_s: f64,
    /// Time from its first packet to the first one after it, in seconds; 0 if all left at once.
    pub duration_s: f64,
    /// Packets sent, k.
    pub pkts: u32,
    /// Number of these that had been sent before.
    pub resent_pkts: u32,
    /// Spurious retransmissions detected meanwhile: the packets had arrived.
    pub spurious_pkts: u32,
    /// Mean round-trip time of its packets in seconds.
    pub rtt_s: f64,
}

impl Sample {
    /// Returns the loss as defined in \[Prof\]: the fraction of retransmissions.
    pub fn resent_fraction(&self) -> f64 {
        f64::from(self.resent_pkts) / f64::from(self.pkts.max(1))
    }

    /// Returns packets per second; infinite if all left at once.
    pub fn throughput_pps(&self) -> f64 {
        f64::from(self.pkts) / self.duration_s
    }
}

/// Samples of one flow, in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSamples {
    /// Trace that contains the flow.
    pub trace: String,
    /// Name of the flow in the trace.
    pub flow: String,
    /// Method by which its round-trip times were measured.
    pub rtt_method: String,
    /// Samples.
    pub samples: Vec<Sample>,
}
