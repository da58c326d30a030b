//! `source = { stack = … }` in `[[connection]]`

use netflow_document::{Spanned, table};
use netflow_tcpmodel::CongestionControl;

use super::{ByteSize, PacketCount, allowed};

/// A TCP source by the rules of a real stack, at both ends; only packets follow it.
#[table]
pub struct StackSetting {
    /// The name of a built-in stack, or the path of a stack file beside the scenario.
    #[key(example = "linux-6")]
    pub stack: Spanned<String>,
    /// How its congestion window moves. Default: what the stack says, `"cubic"` for `linux-6`.
    #[key(example = "cubic")]
    pub congestion: Option<Spanned<CongestionControl>>,
    /// The window of the data's first round trip. Default: what the stack says, 10 pkt for `linux-6`.
    #[key(allowed = allowed::FIRST_WINDOW, example = "10 pkt")]
    pub initial_window: Option<PacketCount>,
    /// The largest send buffer, with what the kernel keeps with each packet: the third number of Linux's `tcp_wmem`.
    /// Default: of the stack, 4 MiB for `linux-6`: about 2000 to 2800 packets of 1500 B in flight.
    #[key(allowed = allowed::SEND_BUFFER, example = "16 MiB")]
    pub send_buffer: Option<ByteSize>,
    /// Whether its packets may be marked instead of being dropped, where queues do that (ECN). Default:
    /// what the stack says, false for `linux-6`; always with `"dctcp"`.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
}
