//! `source = { tcp = … }` in `[[connection]]`

use netflow_document::{Spanned, table};
use netflow_tcpmodel::CongestionControl;

use super::{ByteSize, PacketCount, Time, allowed};

/// TCP of an operating system at both ends, in the packet model only.
#[table]
pub struct StackSetting {
    /// Name of a built-in stack, or path of a stack file relative to the scenario.
    #[key(name = "tcp", example = "linux-6")]
    pub stack: Spanned<String>,
    /// Congestion control algorithm. Default: given by the stack, `"cubic"` for `linux-6`.
    #[key(example = "cubic")]
    pub congestion: Option<Spanned<CongestionControl>>,
    /// Initial congestion window of the data. Default: given by the stack, 10 pkt for `linux-6`.
    #[key(allowed = allowed::FIRST_WINDOW, example = "10 pkt")]
    pub initial_window: Option<PacketCount>,
    /// Largest send buffer, including the kernel's overhead per packet: the third number of Linux's `tcp_wmem`.
    /// Default: given by the stack, 4 MiB for `linux-6`: about 2000 to 2800 packets of 1500 B in flight.
    #[key(allowed = allowed::SEND_BUFFER, example = "16 MiB")]
    pub send_buffer: Option<ByteSize>,
    /// True to request ECN: queues that support it mark its packets instead of dropping them. Default: given by
    /// the stack, false for `linux-6`; always true with `"dctcp"` and `"prague"`.
    #[key(example = true)]
    pub ecn: Option<Spanned<bool>>,
    /// True to send ECT(1) instead of ECT(0): `dualpi2` then puts its data into the queue for L4S traffic. Only for
    /// `"dctcp"`, and for `"bbr3"` with `ecn-low`; always true with `"prague"`. Default: given by the stack, false for
    /// `linux-6`.
    #[key(example = true)]
    pub l4s: Option<Spanned<bool>>,
    /// True if CUBIC leaves slow start before losses (HyStart). Default: given by the stack, true for `linux-6`.
    #[key(example = false)]
    pub hystart: Option<Spanned<bool>>,
    /// Maximum random delay of an acknowledgement between link and sender, at most 1/16 of the RTT. Default: given
    /// by the stack, 100 us for `linux-6`. Only netflow's packet model has it.
    #[key(allowed = allowed::HOST_DELAY, example = "10 us")]
    pub host_delay: Option<Time>,
    /// True if the host sends bursts of up to 64 KB, as with segmentation offload (TSO, GSO). Default: given by the
    /// stack, false for `linux-6`. Senders with pacing (BBR, Prague) send bursts anyway.
    #[key(example = true)]
    pub segmentation_offload: Option<Spanned<bool>>,
}
