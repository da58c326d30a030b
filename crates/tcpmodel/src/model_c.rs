//! The latency model "Model C" of \[Short\], the earlier form of \[CSA\] with which \[Short\] is compared.
//! It adds the handshake of \[CSA\], slow starts as in \[Short\] from a window of one packet, and data·p
//! losses. A fraction Q of these losses takes a series of timeouts.

use crate::csa::{ensure_loss, handshake_s};
use crate::error::ensure;
use crate::short;
use crate::steady::timeout_series;
use crate::transfer::ensure_packets;
use crate::{Error, Stack, Transfer};

/// The input of Model C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelC {
    /// Packets to transfer, from 1 to 10 million.
    pub packets: u64,
    /// p: the loss probability, from 0 to below 0.5.
    pub loss: f64,
    /// The round-trip time in seconds.
    pub rtt_s: f64,
    /// T0: the duration of the retransmission timer in seconds.
    pub timeout_s: f64,
    /// Ts: the first timer of a SYN in seconds.
    pub syn_timeout_s: f64,
    /// b: segments per acknowledgement.
    pub segments_per_ack: f64,
}

/// The result of Model C for a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelCLatency {
    /// The time of the handshake in seconds, its timeouts included.
    pub handshake_s: f64,
    /// data·p·Q·T0·G(p)/(1−p): the time that the data spends in timeouts, in seconds.
    pub timeout_s: f64,
    /// The total time of all slow starts, in seconds.
    pub transfer_s: f64,
}

impl ModelCLatency {
    /// Returns the total latency in seconds.
    pub fn total_s(&self) -> f64 {
        self.handshake_s + self.timeout_s + self.transfer_s
    }
}

impl ModelC {
    /// Returns the model of a transfer by a stack. It uses the stack's timers and b.
    ///
    /// `loss` is [`Transfer::loss`] ("low") or [`Transfer::effective_loss`] ("high").
    pub fn new(stack: &Stack, transfer: &Transfer, loss: f64) -> Self {
        Self {
            packets: transfer.packets,
            loss,
            rtt_s: transfer.rtt_s(),
            timeout_s: stack.rto_s(transfer.rtt_s()),
            syn_timeout_s: stack.initial_rto_s,
            segments_per_ack: f64::from(stack.segments_per_ack),
        }
    }

    /// Computes the latency.
    ///
    /// # Errors
    /// A number is outside its allowed range. A loss of 0.5 or more is rejected because the handshake then
    /// has no finite mean.
    pub fn solve(&self) -> Result<ModelCLatency, Error> {
        self.check()?;
        let (p, data, b) = (self.loss, self.packets as f64, self.segments_per_ack);
        let share = short::timeout_share(p, b);
        let lost_pkts = p * data / (1.0 - p);
        let slow_starts = lost_pkts * share * (1.0 - p) + 1.0;
        let packets_per_slow_start = (data + lost_pkts) / slow_starts;
        let growth = 1.0 + 1.0 / b;
        let round_trips =
            libm::log(packets_per_slow_start * (growth - 1.0) + 1.0) / libm::log(growth);
        Ok(ModelCLatency {
            handshake_s: handshake_s(p, self.rtt_s, self.syn_timeout_s),
            timeout_s: data * p * share * timeout_series(p) * self.timeout_s,
            transfer_s: slow_starts * round_trips * self.rtt_s,
        })
    }

    fn check(&self) -> Result<(), Error> {
        ensure_packets(self.packets)?;
        ensure_loss(self.loss)?;
        let times = [
            ("round-trip time (s)", self.rtt_s),
            ("timeout (s)", self.timeout_s),
            ("SYN timeout (s)", self.syn_timeout_s),
        ];
        for (what, time_s) in times {
            ensure((0.0..=1e6).contains(&time_s), what, time_s, "0 to 1e6 s")?;
        }
        let b = self.segments_per_ack;
        let good = (1.0..=255.0).contains(&b);
        ensure(good, "segments per acknowledgement", b, "1 to 255")
    }
}
