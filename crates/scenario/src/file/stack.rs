//! `source = { stack = … }` in `[[connection]]`

use netflow_document::{Spanned, table, words};
use netflow_tcpmodel::CongestionControl;

use super::{PacketCount, allowed};

/// A TCP source by the rules of a real stack, at both ends; only packets follow it.
#[table]
pub struct StackSetting {
    /// The name of a built-in stack, or the path of a stack file beside the scenario.
    #[key(example = "linux-6")]
    pub stack: Spanned<String>,
    /// How its congestion window moves. Default: what the stack says, `"cubic"` for `linux-6`.
    #[key(example = "cubic")]
    pub congestion: Option<Spanned<CongestionSetting>>,
    /// The window of the data's first round trip. Default: what the stack says, 10 pkt for `linux-6`.
    #[key(allowed = allowed::FIRST_WINDOW, example = "10 pkt")]
    pub initial_window: Option<PacketCount>,
    /// Whether its packets may be marked instead of being dropped, where queues do that (ECN). Default:
    /// what the stack says, false for `linux-6`; always with `"dctcp"`.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
}

/// How the congestion window of a stack moves.
#[words(lowercase)]
#[schemars(rename = "CongestionControl")]
pub enum CongestionSetting {
    /// One packet more in each round trip, and half of the window at a loss.
    Reno,
    /// The window grows with the time since the last loss.
    Cubic,
    /// A model of the path sets pacing and window (version 1).
    Bbr,
    /// The window shrinks by the share of packets that met congestion.
    Dctcp,
}

impl From<CongestionSetting> for CongestionControl {
    fn from(name: CongestionSetting) -> CongestionControl {
        match name {
            CongestionSetting::Reno => CongestionControl::Reno,
            CongestionSetting::Cubic => CongestionControl::Cubic,
            CongestionSetting::Bbr => CongestionControl::Bbr,
            CongestionSetting::Dctcp => CongestionControl::Dctcp,
        }
    }
}
