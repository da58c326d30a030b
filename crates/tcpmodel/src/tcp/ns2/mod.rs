//! Both ends of a connection by the rules and with the defaults of ns-2.35's one-way agents.
//!
//! The cost of a loss depends on these details. Packets are counted from 0. Except in Vegas, the first
//! packet opens the connection and has no data. Windows are fractions of packets.

mod receiver;
mod sender;
mod vegas;

pub use receiver::Receiver;
pub use sender::{Sender, Sent};

/// The congestion control of an ns-2 agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TcpVariant {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery, which a second loss in the window ends.
    #[default]
    Reno,
    /// Fast recovery until all packets in flight at its start are acknowledged.
    NewReno,
    /// Delay-based congestion avoidance.
    Vegas,
    /// Window growth along a cubic function (RFC 9438); recovery like NewReno.
    Cubic,
}

impl TcpVariant {
    /// All variants.
    pub const ALL: [TcpVariant; 5] = [
        TcpVariant::Tahoe,
        TcpVariant::Reno,
        TcpVariant::NewReno,
        TcpVariant::Vegas,
        TcpVariant::Cubic,
    ];
}

impl TcpVariant {
    /// Returns true if the first packet opens the connection and has no data. In ns-2, Vegas starts with a
    /// data packet.
    pub fn opens_connections(self) -> bool {
        self != TcpVariant::Vegas
    }
}

/// The parameters of a TCP source with a congestion window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSource {
    /// The congestion control.
    pub variant: TcpVariant,
    /// The window after the first acknowledgement, in packets.
    pub initial_window_pkts: f64,
    /// The retransmission timeout before the first measurement, in seconds.
    pub initial_rto_s: f64,
    /// The minimum retransmission timeout in seconds.
    pub min_rto_s: f64,
    /// The maximum retransmission timeout in seconds.
    pub max_rto_s: f64,
    /// The upper bound of a uniform random delay before each transmission, in seconds (ns-2's `overhead_`),
    /// to break phase effects. With `None` the driver chooses it. Users start at random times, so it does
    /// not apply to them.
    pub send_jitter_s: Option<f64>,
    /// Vegas' α: the window grows if fewer packets than this are queued.
    pub vegas_alpha_pkts: f64,
    /// Vegas' β: the window shrinks if more packets than this are queued.
    pub vegas_beta_pkts: f64,
    /// Vegas' γ: slow start ends if more packets than this are queued.
    pub vegas_gamma_pkts: f64,
}

impl Default for WindowSource {
    /// Returns Reno with the values of ns-2.35. The driver chooses the random send delay.
    fn default() -> Self {
        WindowSource {
            variant: TcpVariant::default(),
            initial_window_pkts: 2.0,
            initial_rto_s: 3.0,
            min_rto_s: 0.2,
            max_rto_s: 60.0,
            send_jitter_s: None,
            vegas_alpha_pkts: 1.0,
            vegas_beta_pkts: 3.0,
            vegas_gamma_pkts: 1.0,
        }
    }
}
