//! `source = { ns2-tcp = … }` in `[[connection]]`

use netflow_document::{Spanned, Words, keyword_enum, table};
use netflow_network::TcpVariant;

use super::{PacketCount, Time, allowed};

/// ns-2 TCP source, with the defaults of ns-2.35.
#[table]
pub struct Ns2TcpSetting {
    /// TCP variant: `"tahoe"`, `"reno"`, `"newreno"`, `"vegas"` or `"cubic"`. This CUBIC has no SACK; for the
    /// CUBIC of Linux use `tcp = "linux-6"`.
    #[key(name = "ns2-tcp", example = "reno")]
    pub window: Spanned<VariantSetting>,
    /// True if the receiver acknowledges only every second packet, or after 100 ms. Default: false.
    #[key(example = true)]
    pub delayed_ack: Option<Spanned<bool>>,
    /// Congestion window after the first acknowledgement. Default: 2 pkt.
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
    /// Largest random delay before sending. Without it, connections at a drop-tail queue can lock phase. Default:
    /// the transmission time of a packet on the slowest link of the path, at most 1 ms.
    #[key(allowed = allowed::DELAY, example = "1 ms")]
    pub send_jitter: Option<Time>,
    /// Vegas: number of queued packets below which the window grows. Default: 1 pkt.
    #[key(allowed = allowed::SURPLUS, example = "1 pkt")]
    pub alpha: Option<PacketCount>,
    /// Vegas: number of queued packets above which the window shrinks. Default: 3 pkt.
    #[key(allowed = allowed::SURPLUS, example = "3 pkt")]
    pub beta: Option<PacketCount>,
    /// Vegas: number of queued packets above which slow start ends. Default: 1 pkt.
    #[key(allowed = allowed::SURPLUS, example = "1 pkt")]
    pub gamma: Option<PacketCount>,
}

/// TCP variants.
#[keyword_enum(lowercase)]
#[schemars(rename = "TcpVariant")]
pub enum VariantSetting {
    /// Slow start after every loss.
    Tahoe,
    /// Fast recovery.
    Reno,
    /// Fast recovery that continues after partial acknowledgements.
    NewReno,
    /// Congestion control by delay.
    Vegas,
    /// Window growth as a cubic function of the time since the last loss.
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

impl Ns2TcpSetting {
    /// The variant's name.
    pub fn name(&self) -> &'static str {
        self.window.name()
    }
}
