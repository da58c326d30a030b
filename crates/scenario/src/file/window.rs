//! `source = { window = … }` in `[[connection]]`

use netflow_document::{Spanned, Words, table, words};
use netflow_network::TcpVariant;

use super::{PacketCount, Time, allowed};

/// A TCP source that carries its congestion window. What is not given is as in ns-2.35.
#[table]
pub struct WindowSetting {
    /// How it reacts to losses: `"tahoe"`, `"reno"`, `"newreno"`, `"vegas"` or `"cubic"`, the last without SACK: today's is
    /// `stack = "linux-6"`.
    #[key(example = "reno")]
    pub window: Spanned<VariantSetting>,
    /// Whether the receiver acknowledges only every second packet, or after 100 ms. Default: false.
    #[key(example = true)]
    pub delayed_ack: Option<Spanned<bool>>,
    /// Window after the first acknowledgement. Default: 2 pkt.
    #[key(allowed = allowed::WINDOW, example = "10 pkt")]
    pub initial_window: Option<PacketCount>,
    /// Retransmission timeout before the first measurement. Default: 3 s.
    #[key(allowed = allowed::TIMEOUT, example = "1 s")]
    pub initial_rto: Option<Time>,
    /// Shortest retransmission timeout. Default: 200 ms.
    #[key(allowed = allowed::TIMEOUT, example = "200 ms")]
    pub min_rto: Option<Time>,
    /// Longest retransmission timeout. Default: 60 s.
    #[key(allowed = allowed::TIMEOUT, example = "60 s")]
    pub max_rto: Option<Time>,
    /// It waits up to this, at random, before it sends: without that, connections at a drop-tail
    /// queue can lock phase. Default: 1 ms, and at most what the slowest link of the way takes to send a packet.
    #[key(allowed = allowed::DELAY, example = "1 ms")]
    pub send_jitter: Option<Time>,
    /// Vegas: with fewer packets than this in the queues, it grows. Default: 1 pkt.
    #[key(allowed = allowed::SURPLUS, example = "1 pkt")]
    pub alpha: Option<PacketCount>,
    /// Vegas: with more than this, it shrinks. Default: 3 pkt.
    #[key(allowed = allowed::SURPLUS, example = "3 pkt")]
    pub beta: Option<PacketCount>,
    /// Vegas: with more than this, slow start ends. Default: 1 pkt.
    #[key(allowed = allowed::SURPLUS, example = "1 pkt")]
    pub gamma: Option<PacketCount>,
}

/// How a TCP reacts to losses.
#[words(lowercase)]
#[schemars(rename = "TcpVariant")]
pub enum VariantSetting {
    /// Slow start after every loss.
    Tahoe,
    /// Fast recovery.
    Reno,
    /// Fast recovery that outlasts partial acknowledgements.
    NewReno,
    /// It looks at delays.
    Vegas,
    /// The window grows with the time since the last loss.
    Cubic,
}

impl From<VariantSetting> for TcpVariant {
    fn from(name: VariantSetting) -> TcpVariant {
        match name {
            VariantSetting::Tahoe => TcpVariant::Tahoe,
            VariantSetting::Reno => TcpVariant::Reno,
            VariantSetting::NewReno => TcpVariant::NewReno,
            VariantSetting::Vegas => TcpVariant::Vegas,
            VariantSetting::Cubic => TcpVariant::Cubic,
        }
    }
}

impl WindowSetting {
    /// The variant's name.
    pub fn name(&self) -> &'static str {
        self.window.name()
    }
}
