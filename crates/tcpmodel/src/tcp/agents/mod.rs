//! Both ends of a connection by the rules, and with the defaults, of ns-2.35's one-way agents: what a loss costs there is in
//! these details. Packets are counted from 0, of which the first opens the connection and has no data (but of Vegas); windows are
//! fractions of packets.

mod receiver;
mod sender;
mod vegas;

pub use receiver::Receiver;
pub use sender::{Sender, Sent};

/// How a TCP reacts to what it learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TcpVariant {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery, which a second loss in the window ends.
    #[default]
    Reno,
    /// Fast recovery until all that was out is acknowledged.
    NewReno,
    /// Looks at round-trip times.
    Vegas,
    /// Grows along a cubic curve (RFC 9438); recovers like NewReno.
    Cubic,
}

impl TcpVariant {
    /// All of them.
    pub const ALL: [TcpVariant; 5] = [
        TcpVariant::Tahoe,
        TcpVariant::Reno,
        TcpVariant::NewReno,
        TcpVariant::Vegas,
        TcpVariant::Cubic,
    ];
}

impl TcpVariant {
    /// Whether its first packet opens the connection and has no data. In ns-2, Vegas begins with a packet like any other.
    pub fn opens_connections(self) -> bool {
        self != TcpVariant::Vegas
    }
}

/// A TCP source that carries its congestion window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSource {
    /// How it reacts.
    pub variant: TcpVariant,
    /// Window after the first acknowledgement, in packets.
    pub initial_window_pkts: f64,
    /// Retransmission timeout before the first measurement, in seconds.
    pub initial_rto_s: f64,
    /// Shortest retransmission timeout in seconds.
    pub min_rto_s: f64,
    /// Longest, in seconds.
    pub max_rto_s: f64,
    /// Whoever drives it lets it wait up to this many seconds, at random, before it sends; without, as long as seems good.
    /// (Users come at random anyway, and do not wait then.)
    pub send_jitter_s: Option<f64>,
    /// Vegas: fewer packets than this in the queues, and it grows.
    pub vegas_alpha_pkts: f64,
    /// Vegas: more than this, and it shrinks.
    pub vegas_beta_pkts: f64,
    /// Vegas: more than this, and slow start ends.
    pub vegas_gamma_pkts: f64,
}

impl Default for WindowSource {
    /// Reno with the values of ns-2.35, and the send delay that keeps phases from locking there.
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
