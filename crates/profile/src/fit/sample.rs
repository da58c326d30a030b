//! What profiles are fitted to.

/// What a sender saw over k consecutive packets (\[Prof\] §2.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When it ended, in seconds by the trace's clock.
    pub time_s: f64,
    /// Time from its first packet to the first one after it, in seconds; 0 if all left at once.
    pub duration_s: f64,
    /// Packets sent, k.
    pub pkts: u32,
    /// Of these, packets that had been sent before.
    pub resent_pkts: u32,
    /// Resends found out meanwhile to have been needless: the packets had arrived.
    pub needless_pkts: u32,
    /// Mean round-trip time of its packets in seconds.
    pub rtt_s: f64,
}

impl Sample {
    /// The loss of \[Prof\]: the fraction of retransmissions.
    pub fn resent_fraction(&self) -> f64 {
        f64::from(self.resent_pkts) / f64::from(self.pkts.max(1))
    }

    /// Packets per second; infinite if all left at once.
    pub fn throughput_pps(&self) -> f64 {
        f64::from(self.pkts) / self.duration_s
    }
}

/// The samples of one flow, in the order of their times.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSamples {
    /// The trace that it is in.
    pub trace: String,
    /// Its name there.
    pub flow: String,
    /// How its round-trip times were found.
    pub rtt_method: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}
